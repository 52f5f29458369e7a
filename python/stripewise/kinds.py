"""Arguments of the wrong kind become errors of the package, which say what to give."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._stripewise import unknown
from .errors import SettingError

MOST = 2**64 - 1


def text(name: str, value: Any, example: str, *, optional: bool = False) -> str | None:
    """A text, such as a quantity with its unit."""
    if value is None and optional:
        return None
    if not isinstance(value, str):
        raise SettingError(f"{name} is {value!r}; give a text, as in {example!r}")
    return value


def name_or_path(name: str, value: Any, example: str) -> str:
    """A name or a file."""
    if not isinstance(value, (str, os.PathLike)):
        raise SettingError(f"{name} is {value!r}; give a name or a file, as in {example!r}")
    found = os.fspath(value)
    if isinstance(found, bytes):
        found = os.fsdecode(found)
    if "\0" in found:
        raise SettingError(f"{name} is {value!r}; names and files have no zero bytes")
    return found


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        hint = ""
        if isinstance(value, str):
            hint = ", without quotes or units"
        raise SettingError(f"{name} is {value!r}; give a whole number from {least} to {most}{hint}")
    return value


def count(name: str, value: Any) -> int | None:
    """A whole number of at least one, or None for all."""
    return None if value is None else whole(name, value, 1)


def number(name: str, value: Any) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SettingError(f"{name} is {value!r}; give a number")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise SettingError(f"{name} is {value!r}; give True or False")
    return value


def mapping(name: str, value: Any, example: str) -> Mapping[Any, Any]:
    """A mapping; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingError(f"{name} is {value!r}; give a mapping, as in {example}")
    return value


def several(name: str, value: Any, example: str) -> list[Any]:
    """A list of names or objects; one name alone is refused."""
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or not isinstance(value, Iterable):
        shown = f"[{value!r}]" if isinstance(value, str) else example
        raise SettingError(f"{name} is {value!r}; give a list, {shown}")
    return list(value)


def known(names: Iterable[str], given: Iterable[str]) -> None:
    """Refuses names of arguments that there are not."""
    names = list(names)
    for name in given:
        if name not in names:
            raise TypeError(unknown("argument", name, names))
