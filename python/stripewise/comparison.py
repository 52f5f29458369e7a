"""Runs side by side."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from . import kinds
from ._stripewise import Run, Table, aggregate_table, summary, summary_html, totals_table, unknown, write_report
from .errors import SettingError, UnknownName

class Comparison(Sequence[Run]):
    """Several runs in the order of their schemes: a sequence, indexed by position or by the scheme's name. If a scheme has
    several seeds, its name means the run with the first.

    `print` shows the tables that the command prints, means and typical ratios with their intervals and stars; a notebook
    shows the same as HTML.

    Attributes:
        settings: what the runs share, in words, where they were made together.
    """

    def __init__(self, runs: Sequence[Run], settings: dict[str, str] | None = None) -> None:
        self._runs: list[Run] = kinds.several("runs", runs, "[stripewise.run(...), ...]")
        for run in self._runs:
            if not isinstance(run, Run):
                raise SettingError(f"{run!r} is no run; `run`, `compare` and `open_run` give runs")
        self.settings = dict(kinds.mapping("settings", settings, '{"pacing": "open"}'))

    @overload
    def __getitem__(self, which: int | str) -> Run: ...
    @overload
    def __getitem__(self, which: slice) -> Comparison: ...
    def __getitem__(self, which: int | str | slice) -> Run | Comparison:
        """The run at that place, or of that scheme.

        Raises:
            UnknownName: no run is of that scheme; also a `KeyError`.
            IndexError: no run is at that place.
        """
        if isinstance(which, slice):
            return Comparison(self._runs[which], self.settings)
        if isinstance(which, int):
            return self._runs[which]
        for run in self._runs:
            if run.scheme == which:
                return run
        if not isinstance(which, str):
            raise SettingError(f"{which!r} is no place and no scheme; there are {', '.join(self.schemes)}")
        raise UnknownName(unknown("scheme", which, self.schemes))

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
        names = kinds.several("totals", totals, '["response_mean_ns"]')
        for name in names:
            kinds.text("totals", name, "response_mean_ns")
        if not self._runs:
            raise SettingError("there are no runs to aggregate")
        return aggregate_table(self._runs, names)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report on these runs: one self-contained HTML file with figures.

        Returns:
            The file.

        Raises:
            StoreError: a table that cannot be read, a file that cannot be written.
        """
        written = kinds.name_or_path("path", path, "report.html")
        write_report(self._runs, written)
        return Path(written)

    def __str__(self) -> str:
        return summary(self._runs, shutil.get_terminal_size((100, 24)).columns) if self._runs else "no runs"

    def __repr__(self) -> str:
        return f"<stripewise.Comparison of {', '.join(self.schemes)}>"

    def _repr_html_(self) -> str:
        return summary_html(self._runs) if self._runs else "<p>no runs</p>"
