"""Policies of study files: classes in files of Python."""

from __future__ import annotations

import ast
import hashlib
import linecache
import os
import sys
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .errors import SettingError
from .names import Scheme
from .policy import KINDS, Policy, axes_of

_LOADING = threading.Lock()
"""A module that is half run has not all of its classes."""


def outline(path: str, text: str, name: str) -> tuple[str, list[str], str]:
    """What a study needs to know of the class `name` in a file with this text: its scheme, its axes and its name. Nothing of
    the text is run: it may be a stranger's, and the study is only looked at.

    Raises:
        SettingError: the text is no Python, or has no such policy.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"{path}: {type(error).__name__}: {error}") from error
    made: dict[str, type] = {}
    known: dict[str, type] = {kind.__name__: kind for kind in (*KINDS, Policy)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                kind = next((kind for kind in (*KINDS, Policy) if kind.__name__ == alias.name), None)
                if kind is not None:
                    known[alias.asname or alias.name] = kind
        elif isinstance(node, ast.ClassDef):
            made[node.name] = known[node.name] = _outlined(path, node, known)
    found = made.get(name)
    if found is None or not issubclass(found, Policy):
        policies = [key for key, value in made.items() if issubclass(value, Policy)]
        raise SettingError(f"{path}: it has no policy `{name}`; it has: {', '.join(policies) or 'none'}")
    axes = [kind._axis for kind in KINDS if issubclass(found, kind)]
    if not axes:
        names = ", ".join(kind.__name__ for kind in KINDS)
        raise SettingError(f"{path}: {name} decides nothing; derive it from one of {names}")
    return found.scheme, axes, found.name or name


def _outlined(path: str, node: ast.ClassDef, known: Mapping[str, type]) -> type:
    """A class of the same bases, with nothing but the texts `scheme` and `name`."""
    bases: list[type] = []
    for base in node.bases:
        called = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
        if called in known:
            bases.append(known[called])
    texts: dict[str, Any] = {}
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
        value = getattr(line, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and target.id in ("scheme", "name") and value is not None:
                if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                    raise SettingError(f"{path}:{line.lineno}: {node.name}.{target.id} must be written as a text")
                texts[target.id] = value.value
    try:
        return type(node.name, tuple(bases), texts)
    except TypeError as error:
        raise SettingError(f"{path}:{node.lineno}: {node.name}: {error}") from error


def load(path: str, text: str, name: str) -> tuple[Scheme, list[str]]:
    """The scheme of an instance of the class `name` in a file with this text, and its axes. Runs the text. Workers have the
    text, and not the file.

    Raises:
        SettingError: the text is no Python, or has no such policy.
    """
    with _LOADING:
        module = _module(path, text)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Policy):
        known = [key for key, value in vars(module).items() if _is_own(value, module)]
        raise SettingError(f"{path}: it has no policy `{name}`; it has: {', '.join(known) or 'none'}")
    try:
        policy = found()
    except TypeError as error:
        raise SettingError(f"{path}: {name} must be made without arguments: {error}") from error
    return Scheme.of(policy), axes_of(policy)


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
