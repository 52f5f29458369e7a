"""Writes TOML: the standard library only reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Tables that are values, not sections: of workloads, ranges and conditions.
_LEAVES = ({"trace"}, {"from", "to"}, {"figure"})


def is_leaf(table: Mapping[str, Any]) -> bool:
    """Whether the table is one value."""
    return any(keys <= set(table) for keys in _LEAVES)


def flat(section: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The keys of a section with dots, `{"gc.victim": "fifo"}`, whichever way they were written."""
    keys: dict[str, Any] = {}
    for key, value in section.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and not is_leaf(value):
            keys.update(flat(value, f"{name}."))
        else:
            keys[name] = value
    return keys


def value(given: Any) -> str:
    """A value on one line."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, (int, float)):
        return repr(given)
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {value(one)}" for key, one in given.items()) + " }"
    if isinstance(given, (list, tuple)):
        return "[" + ", ".join(map(value, given)) + "]"
    # Escapes of JSON are escapes of TOML, but for characters beyond 16 bits, which stay as they are.
    return json.dumps(str(given), ensure_ascii=False).replace("\x7f", "\\u007f")


def text(document: Mapping[str, Any]) -> str:
    """A document of sections, each with values."""
    lines: list[str] = []
    for name, section in document.items():
        several = section if isinstance(section, list) else [section]
        for one in several:
            lines.append(f"[[{name}]]" if isinstance(section, list) else f"[{name}]")
            lines.extend(f"{json.dumps(key)} = {value(given)}" for key, given in flat(one).items())
    return "\n".join([*lines, ""])
