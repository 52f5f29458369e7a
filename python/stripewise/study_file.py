"""Studies of many runs, from a study file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _stripewise, _toml, kinds
from ._stripewise import Stop
from .driving import Client, Engine, Executing, Reporter, drive, engine_of, shown_counts
from .errors import SettingError
from .notebook import Intervals

if TYPE_CHECKING:
    import altair
    import polars

BATCH_S = 30.0
"""The work of a batch, in seconds of processor time."""


class Study:
    """A study file that was read, and the store of its results. Make one with `stripewise.study`."""

    def __init__(self, path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(kinds.name_or_path("path", path, "study.toml"))
        self._store = None if store is None else kinds.name_or_path("store", store, "study-store")
        self._plan = _stripewise.Plan(os.fspath(self.path), text=None, store=self._store, stop=Stop())

    def _derived(self, changes: dict[str, Any]) -> Study:
        """The study with other keys in `[base]`, and without what is about all of its runs; in the same store."""
        document = self.document
        base = _toml.flat(document.get("base", {}))
        base.update(changes)
        kept = {key: value for key, value in document.items() if key not in ("tune", "on", "base")}
        derived = Study.__new__(Study)
        derived.path, derived._store = self.path, self.store
        text = _toml.text({**kept, "base": base})
        derived._plan = _stripewise.Plan(os.fspath(self.path), text=text, store=self.store, stop=Stop())
        return derived

    @property
    def document(self) -> dict[str, Any]:
        """The study file, as dictionaries."""
        return tomllib.loads(self.path.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """The label of the study."""
        return self._plan.name

    @property
    def digest(self) -> str:
        """The digest of the plan: of everything that decides the runs. The same on every machine."""
        return self._plan.digest

    @property
    def store(self) -> str:
        """The place of the results."""
        return self._plan.store

    @property
    def schemes(self) -> list[str]:
        """The schemes that are compared, as the file names them."""
        return self._plan.schemes

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes with their values."""
        return dict(self._plan.axes)

    def check(self) -> dict[str, Any]:
        """What the study would run: points, runs, processor time, bytes, and what it leaves out, with reasons. Runs
        nothing."""
        checked: dict[str, Any] = self._plan.check()
        return checked

    def status(self) -> dict[str, Any]:
        """How far the study is, from its store alone; it may be running meanwhile, here or elsewhere."""
        status: dict[str, Any] = self._plan.status()
        return status

    def errors(self) -> list[dict[str, Any]]:
        """The runs that failed and have no result: `run`, `attempts`, `message`, and whether it was `refused`, so that
        trying again cannot help."""
        failed: list[dict[str, Any]] = self._plan.errors()
        return failed

    def frame(self) -> polars.LazyFrame:
        """All runs as a lazy frame of polars: a column `axis.KEY` for each axis, scheme, seed, digests, and all totals.
        It is the catalogue, which is written again from the store first."""
        import polars

        place, _ = self._plan.index()
        return polars.scan_parquet(place)

    def intervals(self, figure: str | None = None) -> Intervals:
        """A figure at each point and of each scheme, with its interval, and its typical ratio to the scheme that the others
        are compared with. The intervals of one point hold for all its schemes together (Holm).

        Args:
            figure: a total of runs, whose beginning `response_` may be left out; by default the one that the study file names, or
                response_mean_ns.

        Raises:
            SettingError: an unknown figure, with the nearest known one; no runs in the store.
        """
        found = Intervals(self._plan.intervals(kinds.text("figure", figure, "response_p99_ns", optional=True)))
        if not len(found):
            raise SettingError(f"{self.store}: there are no runs of this study; make some with stripewise.study(...).run()")
        return found

    def show(self, figure: str | None = None) -> Intervals:
        """The table that `stripewise study show` prints, as the last line of a notebook's cell or for `print`: means with
        their intervals in one unit, typical ratios, and a star where a ratio's interval excludes 1. The same object as
        `intervals` gives."""
        return self.intervals(figure)

    def plot(self, figure: str | None = None, *, x: str | None = None) -> altair.LayerChart | altair.FacetChart:
        """The means of a figure over an axis, with their intervals: a line a scheme (extra `plots`).

        Args:
            figure: as `intervals`'s.
            x: the axis to draw over; by default the first with several values. One further axis becomes a panel a value.

        Raises:
            SettingError: an unknown axis or figure; more than two axes with several values.
        """
        from .plots import study_means

        return study_means(self.intervals(figure), x=kinds.text("x", x, "pacing", optional=True))

    def report(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        figures: Iterable[str] = (),
        over: Iterable[str] = (),
        only: Mapping[str, str] | None = None,
    ) -> Path:
        """Writes the report of the study, as `stripewise report` does: one HTML file with figures over the axes, heat maps,
        the front of a search, and the points.

        Args:
            out: the file; by default report.html in the store, which must be a folder then.
            figures: the totals to draw; by default the one that the study file names, the mean and the 99th percentile of the
                response times, and the programs a host page.
            over: the axes to draw figures over; by default all with several values.
            only: axes and the value that points have there.

        Returns:
            The path of the report.

        Raises:
            SettingError: an unknown figure, axis or value, with the nearest known one; no runs in the store.
            StoreError: the report cannot be written.
        """
        if out is None:
            if "://" in self.store:
                raise SettingError(f"{self.store} is a bucket; say where the report is to be, as in report('report.html')")
            out = Path(self.store) / "report.html"
        path = Path(kinds.name_or_path("out", out, "report.html"))
        points = [f"{axis}={value}" for axis, value in kinds.mapping("only", only, "{'pacing': 'open:4'}").items()]
        totals = kinds.several("figures", figures, "['p99_ns']")
        self._plan.report(str(path), totals, kinds.several("over", over, "['pacing']"), points)
        return path

    def digests(self) -> dict[str, str]:
        """The digest of the results of each run in the store, by the digest of the run."""
        return dict(self._plan.digests())

    def run(
        self,
        client: Client | Executor | None = None,
        *,
        jobs: int | None = None,
        limit: int | None = None,
        batch_s: float = BATCH_S,
        progress: bool | Reporter | None = None,
    ) -> dict[str, Any]:
        """Makes the runs that the store lacks, and commits them in batches. To resume, run again.

        Args:
            client: makes the batches: a `Client` of Dask `distributed`, or a `concurrent.futures.Executor`. Its workers
                need the same build of this package, and reach the store under the same name. By default threads of
                this process.
            jobs: how many runs to make at a time, without a client; by default one a processor.
            limit: the most runs to make now.
            batch_s: the work of a batch, in seconds: what a worker commits at once, and at most loses.
            progress: True or False; None shows progress on a terminal; or a function that takes the counts.

        Returns:
            The counts at the end: `made`, `found` (in the store already), `failed`, points, processor time.

        Raises:
            SettingError: a worker of another build; nothing in the study fits.
            StoreError: a store that cannot be used, or that has two results of one run.
            KeyboardInterrupt: Ctrl-C. What workers have committed is kept.
        """
        self._check(jobs, batch_s)
        kinds.count("limit", limit)
        if client is not None and jobs is not None:
            raise SettingError("jobs is about threads of this process; a client has workers of its own")
        if "tune" in self.document:
            raise SettingError(f"{self.path} is a search: its section [tune] is made by stripewise.study(...).tune()")
        engine: Engine = Executing.of_threads(jobs or os.cpu_count() or 1) if client is None else engine_of(client)
        try:
            return self._drive(engine, limit, batch_s, progress)
        finally:
            if client is None:
                engine.close()

    @staticmethod
    def _check(jobs: int | None, batch_s: float) -> None:
        if jobs is not None:
            kinds.whole("jobs", jobs, 1, 2**16)
        if not kinds.number("batch_s", batch_s) > 0:
            raise SettingError(f"batch_s is {batch_s!r}; give seconds above 0")

    def _drive(
        self, engine: Engine, limit: int | None, batch_s: float, progress: bool | Reporter | None
    ) -> dict[str, Any]:
        coordinator = self._plan.coordinator(workers=max(1, engine.workers()), batch_s=batch_s, limit=limit)
        with shown_counts(progress, self.name) as reporter:
            drive([coordinator], engine, reporter)
        counts: dict[str, Any] = coordinator.finish()
        if counts["made"] + counts["found"] > 0:
            self._plan.index()
        return counts

    def tune(
        self,
        client: Client | Executor | None = None,
        *,
        jobs: int | None = None,
        batch_s: float = BATCH_S,
        progress: bool | Reporter | None = None,
    ) -> Any:
        """Searches the space of the file's section `[tune]` (extra `study`, with Optuna). To resume, run again: the same
        points are asked for, and their runs are found in the store.

        Args:
            client: as `run`'s.
            jobs: as `run`'s.
            batch_s: as `run`'s.
            progress: as `run`'s.

        Returns:
            A `stripewise.tuning.Search`: the trials and the best of them.
        """
        from .tuning import search

        self._check(jobs, batch_s)
        engine: Engine = Executing.of_threads(jobs or os.cpu_count() or 1) if client is None else engine_of(client)
        try:
            return search(self, engine, batch_s=batch_s, progress=progress)
        finally:
            if client is None:
                engine.close()

    def __repr__(self) -> str:
        return f"<stripewise.Study {self.name}: {self.path}>"


def study(path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> Study:
    """Reads a study file (docs/how-to/studies.md).

    Args:
        path: the file.
        store: the place of the results, instead of the file's.

    Raises:
        SettingError: the first mistake in the file, with its line and a remedy.
        TraceError: a trace that cannot be read, or has another digest than the file says.
    """
    return Study(path, store=store)
