"""Progress of runs: a line on a terminal, a text in a notebook."""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeAlias

from .errors import SettingError

Line: TypeAlias = tuple[str, int, float | None, int]
"""Scheme, requests handled, share of all where it is known, simulated nanoseconds."""


class Progress(Protocol):
    """Takes, some ten times a second, how far each run under way has come."""

    def __call__(self, lines: list[Line], /) -> object: ...


def text(line: Line) -> str:
    """One run's progress in words."""
    scheme, requests, share, now_ns = line
    filled = round((share or 0.0) * 20)
    done = "  ?" if share is None else f"{share:4.0%}"
    return f"{scheme:<18.18} [{'=' * filled:<20}] {done}  {requests:,} requests, {now_ns / 1e9:.3g} s simulated"


class _Terminal:
    """One line on the standard error, written over again and again."""

    def __init__(self) -> None:
        self.width = 0

    def __call__(self, lines: list[Line], /) -> None:
        shown = "   ".join(text(line) if len(lines) == 1 else _short(line) for line in lines)[:118]
        sys.stderr.write("\r" + shown.ljust(self.width))
        sys.stderr.flush()
        self.width = len(shown)

    def close(self) -> None:
        sys.stderr.write("\r" + " " * self.width + "\r")
        sys.stderr.flush()


def _short(line: Line) -> str:
    scheme, _, share, _ = line
    return f"{scheme} " + ("?" if share is None else f"{share:.0%}")


class _Notebook:
    """A text below the cell, replaced again and again."""

    def __init__(self, display: Any) -> None:
        self.handle = display({"text/plain": ""}, raw=True, display_id=True)

    def __call__(self, lines: list[Line], /) -> None:
        self._show("\n".join(text(line) for line in lines))

    def close(self) -> None:
        self._show("")

    def _show(self, shown: str) -> None:
        self.handle.update({"text/plain": shown}, raw=True)


class Shown:
    """Shows progress while a `with` block runs: `True` as a bar, `False` not at all, `None` where somebody looks."""

    def __init__(self, progress: bool | Progress | None) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise SettingError(f"progress is {progress!r}; give True, False, None or a function")
        self.progress = progress
        self.bar: _Terminal | _Notebook | None = None

    def __enter__(self) -> Progress | None:
        if self.progress is False:
            return None
        if self.progress is not None and self.progress is not True:
            return self.progress
        shell = _notebook()
        if shell is not None:
            self.bar = _Notebook(shell)
        elif self.progress or sys.stderr.isatty():
            self.bar = _Terminal()
        return self.bar

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


def _notebook() -> Any:
    """IPython's `display` in a notebook; none elsewhere. IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display
