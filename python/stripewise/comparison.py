"""Runs side by side."""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from ._stripewise import Run, Table, summary, totals_table, write_report

_COLUMNS = [
    ("mean response", "response_mean_ns", 1e6, "ms"),
    ("read", "read_mean_ns", 1e6, "ms"),
    ("write", "write_mean_ns", 1e6, "ms"),
    ("p99", "response_p99_ns", 1e6, "ms"),
    ("p99.9", "response_p999_ns", 1e6, "ms"),
    ("pre-reads", "pre_read_pages", 1, "pages"),
    ("erases", "erase_blocks", 1, "blocks"),
    ("programs a host page", "programs_per_host_page", 1, ""),
]


class Comparison(Sequence[Run]):
    """Several runs in the order of their schemes: a sequence, whose runs can be had by name too. Of a scheme with several
    seeds the name means the first.

    Printed, it is the table that the command prints; in a notebook, a table.

    Attributes:
        settings: what the runs share, in words, where they were made together.
    """

    def __init__(self, runs: Sequence[Run], settings: dict[str, str] | None = None) -> None:
        self._runs = list(runs)
        self.settings = dict(settings or {})

    @overload
    def __getitem__(self, which: int | str) -> Run: ...
    @overload
    def __getitem__(self, which: slice) -> Comparison: ...
    def __getitem__(self, which: int | str | slice) -> Run | Comparison:
        """The run at that place, or of that scheme.

        Raises:
            KeyError: no run is of that scheme.
        """
        if isinstance(which, slice):
            return Comparison(self._runs[which], self.settings)
        if isinstance(which, int):
            return self._runs[which]
        for run in self._runs:
            if run.scheme == which:
                return run
        raise KeyError(f"no run of scheme {which!r}; there are {', '.join(self.schemes)}")

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def schemes(self) -> list[str]:
        """The schemes' names."""
        return [run.scheme for run in self._runs]

    @property
    def totals(self) -> Table:
        """Every total of every run: a row each, with `scheme`, `seed`, `pacing` and `workload` first; the others end in
        their units."""
        return totals_table(self._runs)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report on these runs: one self-contained HTML file with figures.

        Returns:
            The file.

        Raises:
            StoreError: a table that cannot be read, a file that cannot be written.
        """
        write_report(self._runs, os.fspath(path))
        return Path(path)

    def __str__(self) -> str:
        return summary(self._runs, shutil.get_terminal_size((100, 24)).columns) if self._runs else "no runs"

    def __repr__(self) -> str:
        return f"<stripewise.Comparison of {', '.join(self.schemes)}>"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name}{f' ({unit})' if unit else ''}</th>" for name, _, _, unit in _COLUMNS)
        rows = "".join(
            f"<tr><th>{html.escape(run.scheme)}</th><td>{run.seed}</td>{_cells(run.totals)}</tr>" for run in self._runs
        )
        return f"<table><thead><tr><th>scheme</th><th>seed</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(totals: dict[str, Any]) -> str:
    cells = []
    for _, name, scale, unit in _COLUMNS:
        value = totals.get(name)
        if value is None:
            shown = "–"
        elif unit in ("pages", "blocks"):
            shown = f"{value:,}"
        else:
            shown = f"{value / scale:.4g}"
        cells.append(f"<td style='text-align:right'>{shown}</td>")
    return "".join(cells)
