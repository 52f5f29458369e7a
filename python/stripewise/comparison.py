"""Runs side by side."""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from ._stripewise import Run, Table, aggregate_table, labels, summary, totals_table, write_report
from .errors import SettingError

_COLUMNS = [
    ("mean response", "response_mean_ns", 1e6, "ms"),
    ("read", "read_mean_ns", 1e6, "ms"),
    ("write", "write_mean_ns", 1e6, "ms"),
    ("p99", "response_p99_ns", 1e6, "ms"),
    ("p99.9", "response_p999_ns", 1e6, "ms"),
    ("pre-reads", "pre_read_pages", 1, "pages"),
    ("erases", "erase_blocks", 1, "blocks"),
    ("programs a host page", "programs_per_host_page", 1, ""),
    ("drained", "drained_pages", 1, "pages"),
]


class Comparison(Sequence[Run]):
    """Several runs in the order of their schemes: a sequence, indexed by position or by the scheme's name. If a scheme has
    several seeds, its name means the run with the first.

    `print` shows the table that the command prints; a notebook shows an HTML table.

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
        """Every total of every run: a row each. First what the run is: `scheme`, `seed`, `workload`, `request_limit`, `pacing`,
        `device`, `members`, `precondition`, `span_bytes`, `fold`, `warmup_requests`, and any other setting in which the
        runs differ. The totals end in their units."""
        return totals_table(self._runs)

    def aggregate(self, totals: Iterable[str] = ()) -> Table:
        """Totals over the seeds, as the printed table has them: a row for each scheme, setup and total.

        The first columns say what was run, as those of `totals`. `row` is the name of the scheme and setup; `total` names
        the total, `seeds` counts the runs, `mean` is their mean, and `mean_low` and `mean_high` are the ends of its 95 %
        interval (Student; none with one seed). `first` names the row that this one is compared with: the first scheme of
        its setup, or the first row of all where no setup has two schemes. `kind` says how the total is compared.
        `ratio` is the typical ratio to that row (the geometric mean, seed by seed), `ratio_low` and `ratio_high` are the ends
        of its interval at 95 % for all rows together (Student on the logarithms, Holm); they are none for totals of another
        kind, and where a value is not above zero. `difference` is the mean of the differences, with `difference_low` and
        `difference_high`. `significant` tells whether the interval of the ratio excludes 1, or that of the difference 0.
        All of them are none where the two share fewer than two seeds, and where the seeds change nothing.

        Args:
            totals: names of totals, `["response_mean_ns"]`; by default all that every run has.

        Raises:
            SettingError: no runs, or a name that is no total.
        """
        if isinstance(totals, str):
            raise SettingError(f"totals is {totals!r}; give a list, [{totals!r}]")
        if not self._runs:
            raise SettingError("there are no runs to aggregate")
        return aggregate_table(self._runs, list(totals))

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
            f"<tr><th>{html.escape(label)}</th><td>{run.seed}</td><td>{html.escape(run.acknowledges or '–')}</td>"
            f"{_cells(run.totals)}</tr>"
            for run, label in zip(self._runs, labels(self._runs), strict=True)
        )
        first = "<th>scheme</th><th>seed</th><th>ack</th>"
        return f"<table><thead><tr>{first}{heads}</tr></thead><tbody>{rows}</tbody></table>"


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
