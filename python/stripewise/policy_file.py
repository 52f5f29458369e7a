"""Policies of study files: classes in files of Python."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
from types import ModuleType

from .errors import SettingError
from .names import Scheme
from .policy import Policy


def load(path: str, text: str, name: str) -> Scheme:
    """The scheme of an instance of the class `name` in a file with this text. Workers have the text, and not the file.

    Raises:
        SettingError: the text is no Python, or has no such policy.
    """
    module = _module(path, text)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Policy):
        known = [key for key, value in vars(module).items() if _is_own(value, module)]
        raise SettingError(f"{path}: it has no policy `{name}`; it has: {', '.join(known) or 'none'}")
    try:
        return Scheme.of(found())
    except TypeError as error:
        raise SettingError(f"{path}: {name} must be made without arguments: {error}") from error


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Policy) and value.__module__ == module.__name__


def _module(path: str, text: str) -> ModuleType:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = f"_stripewise_policies_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = f"<{os.path.basename(path)} {digest}>"
    # Tracebacks and the digests of runs read the source from here.
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    sys.modules[name] = module
    try:
        exec(compile(text, module.__file__, "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        raise SettingError(f"{path}: {type(error).__name__}: {error}") from error
    return module
