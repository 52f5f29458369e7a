"""The compiled part of the package; a test compares this stub with the module."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import pandas
import polars
import pyarrow

__version__: str
BUILT_IN_ARRAY: tuple[str, str]
BUILT_IN_SCHEMES: list[str]
BUILT_IN_WORKLOAD: tuple[str, int]
DEFAULT_DEVICE: str
DEFAULT_TABLE_BUDGET: str
SOURCES: str
__all__ = [
    "ArraySegments",
    "BUILT_IN_ARRAY",
    "BUILT_IN_SCHEMES",
    "BUILT_IN_WORKLOAD",
    "ChunkWrite",
    "Comparison",
    "Coordinator",
    "DEFAULT_DEVICE",
    "DEFAULT_TABLE_BUDGET",
    "Device",
    "DeviceBlocks",
    "ParityUpdate",
    "Plan",
    "QueuedOperation",
    "ReadChoice",
    "Run",
    "SOURCES",
    "Scheme",
    "Stop",
    "Table",
    "Workload",
    "WriteCache",
    "__version__",
    "_workload_again",
    "aggregate_table",
    "cache_folder",
    "devices",
    "formats",
    "generators",
    "in_unit",
    "labels",
    "mttdl_years",
    "no_total",
    "open_run",
    "profile",
    "profiles",
    "schemes",
    "split_label",
    "study_work",
    "summary",
    "summary_html",
    "totals_table",
    "unknown",
    "write_report",
]

@final
class Stop:
    """Stops a study from another thread."""

    def __new__(cls) -> Stop: ...
    def set(self) -> None:
        """Requests the stop; the study ends soon after."""

    def is_set(self) -> bool:
        """Whether a stop was requested."""

@final
class Table:
    """A table of a run or of a trace's requests. It is read again for each access, one batch of rows at a
    time, and any Arrow consumer accepts it: `polars.DataFrame(table)`, `pyarrow.table(table)`,
    `pandas.DataFrame.from_arrow(table)`, `duckdb`."""

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def columns(self) -> list[str]:
        """The columns' names, in order. They end in their units: `_ns`, `_bytes`, `_pages`, `_blocks`."""

    def describe(self) -> dict[str, str]:
        """The meaning of each column, where it is known."""

    def head(self, rows: int = 10) -> tuple[list[list[str]], bool]:
        """The first `rows` rows as text, and whether there are more."""

    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows, for any consumer of Arrow streams. `requested_schema` is ignored."""

    def __arrow_c_schema__(self) -> Any:
        """The columns' names and types, for any consumer of Arrow schemas."""

    def to_polars(self) -> polars.DataFrame:
        """As a `polars.DataFrame`."""

    def to_pandas(self) -> pandas.DataFrame:
        """As a `pandas.DataFrame`; needs pandas 3 and pyarrow."""

    def to_pyarrow(self) -> pyarrow.Table:
        """As a `pyarrow.Table`."""

@final
class Workload:
    """Requests to replay: of a trace, a generator or a profile."""

    @staticmethod
    def trace(
        path: str | Path,
        *,
        format: str | None = None,
        skip_bad: int = 0,
        requests: int | None = None,
        fold: str = "modulo",
    ) -> Workload:
        """The requests of a trace in a file."""

    @staticmethod
    def generated(what: str, *, requests: int | None = None, fold: str = "modulo") -> Workload:
        """What a generator yields, `uniform:write=1,size=8KiB`, or a profile by its name or file."""

    def requests(self, *, seed: int = 1) -> Table:
        """The requests as a table, not yet folded onto an array."""

    def statistics(self, *, seed: int = 1) -> dict[str, Any]:
        """Statistics of the requests: mix, sizes, intervals, footprint, skew, updates."""

    def profile_toml(self, *, seed: int = 1) -> str:
        """A profile with these statistics, as TOML: a file of it is a workload again."""

    def describe(self, *, seed: int = 1) -> str:
        """A one-line description."""

    def _about(self) -> tuple[str, str, int | None, str]:
        """What it is, without reading it: where it comes from, how many requests are asked for, how they are folded."""

    def _repr_html_(self) -> str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

def _workload_again(
    how: str, what: str | Path, format: str | None, skip_bad: int, requests: int | None, fold: str
) -> Workload: ...
@final
class Scheme:
    """A scheme: one policy on every axis."""

    def __new__(
        cls,
        name: str,
        settings: list[str],
        text: str | None = None,
        policy: tuple[Any, str, str, list[str]] | None = None,
        label: str | None = None,
    ) -> Scheme: ...
    @property
    def name(self) -> str:
        """The scheme's name."""

    @property
    def label(self) -> str | None:
        """What results call it; None if it has no label."""

    @property
    def settings(self) -> list[str]:
        """The settings that it was given, `KEY=VALUE` each."""

    @property
    def source(self) -> str:
        """The text as it was written, with its comments and sources, before any setting."""

    def to_toml(self) -> str:
        """The scheme as TOML, with all defaults."""

    def to_dict(self) -> dict[str, Any]:
        """The scheme as dictionaries, with all defaults."""

@final
class Device:
    """A device: a modelled SSD."""

    def __new__(cls, name: str, settings: list[str], text: str | None = None) -> Device: ...
    @property
    def name(self) -> str:
        """The device's name."""

    @property
    def settings(self) -> list[str]:
        """The settings that it was given, `KEY=VALUE` each."""

    @property
    def source(self) -> str:
        """The text as it was written, with its comments and sources, before any setting."""

    def to_toml(self) -> str:
        """The device as TOML, with all defaults."""

    def to_dict(self) -> dict[str, Any]:
        """The device as dictionaries, with all defaults."""

    def describe(self) -> str:
        """A one-line description of its parts."""

@final
class ArraySegments:
    """The segments of a log that array GC may collect. The object is reused for the next collection: copy values
    that you keep."""

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""

    @property
    def chunks(self) -> int:
        """The most chunks of a segment."""

    @property
    def segments(self) -> list[int]:
        """The segments that may be collected, in ascending order. Those whose collection would free no space are
        not among them."""

    @property
    def valid(self) -> list[int]:
        """For each of `segments`: its valid chunks."""

    @property
    def ages(self) -> list[int]:
        """For each of `segments`: the segments that were closed after it."""

@final
class ChunkWrite:
    """A chunk that a host writes to a log. The object is reused for the next chunk: copy values that you keep."""

    @property
    def page(self) -> int:
        """The logical number of the chunk."""

    @property
    def offset(self) -> int:
        """The first byte of the request."""

    @property
    def bytes(self) -> int:
        """The bytes of the request."""

    @property
    def tiers(self) -> int:
        """The number of tiers."""

@final
class DeviceBlocks:
    """The written blocks of a plane of which one is to be collected. The object is reused for the next collection:
    copy values that you keep."""

    @property
    def plane(self) -> int:
        """The plane, counted over all members; 0 while the device is preconditioned."""

    @property
    def pages(self) -> int:
        """The pages of a block that hold data."""

    @property
    def blocks(self) -> list[int]:
        """The written blocks, by their numbers within the plane, in ascending order."""

    @property
    def valid(self) -> list[int]:
        """For each of `blocks`: its valid pages."""

    @property
    def ages(self) -> list[int]:
        """For each of `blocks`: the pages that the plane has programmed since the block was filled or last lost a
        page."""

    @property
    def erases(self) -> list[int]:
        """For each of `blocks`: its erases."""

@final
class QueuedOperation:
    """An operation that enters the queue of its member. The object is reused for the next operation: copy values
    that you keep."""

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""

    @property
    def member(self) -> int:
        """The member."""

    @property
    def page(self) -> int:
        """The page of the member."""

    @property
    def queued_reads(self) -> int:
        """Reads of this member queued or in flight, including this operation."""

    @property
    def queued_writes(self) -> int:
        """Writes of this member queued or in flight, including this operation."""

    @property
    def kind(self) -> str:
        """`read`, `write`, `trim` or `flush`."""

    @property
    def purpose(self) -> str:
        """What it is for: `host read`, `host write`, `pre-read`, `parity`, `log`, `decode`, `repair`, `array GC
        read`, `array GC write` or `metadata`."""

@final
class ReadChoice:
    """A read of chunks of one stripe that could be decoded from the others, and the state of every member. The
    object is reused for the next read: copy values that you keep."""

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""

    @property
    def wanted(self) -> list[int]:
        """Members of the chunks that are read."""

    @property
    def others(self) -> list[int]:
        """Members of the other chunks of the stripe, parity included."""

    @property
    def parity(self) -> int:
        """The number of chunks that can be decoded from the others."""

    @property
    def queued_reads(self) -> list[int]:
        """For each member: reads queued or in flight."""

    @property
    def queued_writes(self) -> list[int]:
        """For each member: writes queued or in flight."""

    @property
    def gc_wait_ns(self) -> list[int]:
        """For each member: how long garbage collection would delay a read of its page of this stripe, in
        nanoseconds; 0 where it would not, where it is not known, and for members without a chunk of the stripe."""

    @property
    def start_ns(self) -> list[int]:
        """For each member: how long a read of its page of this stripe, given to the member now, would wait in it,
        in nanoseconds; 0 where it is not known, and for members without a chunk of the stripe."""

    @property
    def read_ns(self) -> list[int]:
        """For each member: cell time of reading its page of this stripe, in nanoseconds; 0 where it is not known,
        and for members without a chunk of the stripe."""

    @property
    def write_ns(self) -> list[int]:
        """For each member: cell time of a write, in nanoseconds; 0 where it is not known."""

@final
class WriteCache:
    """A write cache from which a write group is to leave: the groups that may, one a stripe, by ascending address.
    The object is reused for the next call: copy values that you keep."""

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""

    @property
    def occupied(self) -> int:
        """Pages that the cache holds, those in flight to members included."""

    @property
    def size(self) -> int:
        """The most pages that it holds."""

    @property
    def pressed(self) -> bool:
        """Whether a write waits for room."""

    @property
    def groups(self) -> list[int]:
        """The groups that may leave: the numbers of their stripes, in ascending order."""

    @property
    def pages(self) -> list[int]:
        """For each of `groups`: its pages in the cache."""

    @property
    def writes(self) -> list[int]:
        """For each of `groups`: the requests that wrote it since it entered."""

    @property
    def first_ns(self) -> list[int]:
        """For each of `groups`: when the first of these requests arrived, in nanoseconds."""

    @property
    def last_ns(self) -> list[int]:
        """For each of `groups`: when the last of these requests arrived, in nanoseconds."""

@final
class Coordinator:
    """Hands out the batches of a study, and takes the reports of workers."""

    def next(self) -> tuple[int, int, bytes] | str | None:
        """The next batch: its number, the number of its runs, and its bytes for `study_work`. `wait` if a batch
        must end first; None when all runs are made."""

    def report(self, report: bytes) -> None:
        """Takes a report of a worker."""

    def lost(self, batch: int, reason: str) -> None:
        """The worker of a batch died with the runs of the batch that it has not reported."""

    def counts(self) -> dict[str, Any]:
        """The counts so far."""

    def finish(self) -> dict[str, Any]:
        """Ends: joins small files of the store, and gives the counts."""

@final
class Plan:
    """A study file that was read and resolved, and the store of its results."""

    def __new__(cls, path: str, *, text: str | None, store: str | None, stop: Stop) -> Plan: ...
    @property
    def name(self) -> str:
        """The label of the study."""

    @property
    def digest(self) -> str:
        """The digest of everything that decides the runs."""

    @property
    def store(self) -> str:
        """The place of the results."""

    @property
    def schemes(self) -> list[str]:
        """The schemes that are compared."""

    @property
    def axes(self) -> list[tuple[str, list[str]]]:
        """The axes: keys with their values."""

    def check(self) -> dict[str, Any]:
        """What the study would run, and what it leaves out."""

    def status(self) -> dict[str, Any]:
        """How far the study is, from its store alone."""

    def errors(self) -> list[dict[str, Any]]:
        """The runs that failed and have no result."""

    def index(self) -> tuple[str, int]:
        """Writes the catalogue, a table with a row for each run. Returns its place and the number of rows."""

    def means(self, figures: list[str]) -> list[float]:
        """The mean of each of `figures` over all points, each the mean over its seeds and schemes."""

    def report(self, out: str, figures: list[str], over: list[str], only: list[str]) -> None:
        """Writes the report of the study to the file `out`. The other arguments are what it shows: totals, axes, and points
        by an axis and its value."""

    def intervals(self, figure: str | None) -> Any:
        """The results of each point and scheme: the figure's name, and for each row its axes, the scheme, the seeds, why
        they ended, the mean with its interval and the effect beside the scheme that the others are compared with, as
        numbers and as the command prints them. Without a name: the figure that decides."""

    def kept(self, name: str, text: str) -> str | None:
        """Keeps a text under a name in the store's folder of trials; gives the one that is there already."""

    def digests(self) -> list[tuple[str, str]]:
        """The digests of each run in the store and of its results, also of runs of other studies."""

    def coordinator(self, *, workers: int, batch_s: float, limit: int | None) -> Coordinator:
        """What hands out the runs that the store lacks, to `workers` workers, in batches of about `batch_s` seconds
        each; `limit` of them at most."""

@final
class ParityUpdate:
    """A parity update whose routine a policy chooses: the members that each routine would pre-read, and the state of
    every member. The object is reused for the next update: copy values that you keep."""

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""

    @property
    def row(self) -> int:
        """Number of the row that is updated."""

    @property
    def updated(self) -> list[int]:
        """Members of the data chunks that are updated, completely or in part."""

    @property
    def parity(self) -> list[int]:
        """Members of the row's parity: of P, then of Q if there are two."""

    @property
    def rmw_reads(self) -> list[int]:
        """Members that read-modify-write would read: old data and old parity."""

    @property
    def rcw_reads(self) -> list[int]:
        """Members that read-construct-write would read: the data that is not updated."""

    @property
    def queued_reads(self) -> list[int]:
        """For each member: reads queued or in flight (paper 000's R_i)."""

    @property
    def queued_writes(self) -> list[int]:
        """For each member: writes queued or in flight (paper 000's W_i)."""

    @property
    def gc_average_ns(self) -> list[int]:
        """For each member: the average time of a garbage collection if one is active, else 0, in nanoseconds
        (paper 000, Eq. 3: T_GC)."""

    @property
    def gc_remaining_ns(self) -> list[int]:
        """For each member: time left of the garbage collections active now, in nanoseconds."""

    @property
    def read_ns(self) -> list[int]:
        """For each member: cell time of reading its page of this row now, in nanoseconds (paper 000's t_R); 0 where
        it is not known."""

    @property
    def write_ns(self) -> int:
        """Mean cell time of recent writes, in nanoseconds (paper 000's t_W); 0 before the first."""

    @property
    def collecting(self) -> list[bool]:
        """For each member: whether it collects garbage now."""

    @property
    def baseline(self) -> str:
        """The routine that Baseline would take: the one with fewer pre-reads, `rmw` when they are equal."""

@final
class Run:
    """A finished run: one scheme over one workload on one device, its tables in the store."""

    @property
    def scheme(self) -> str:
        """The scheme's name, with its own settings."""

    @property
    def path(self) -> Path:
        """The directory of its tables."""

    @property
    def run_digest(self) -> str:
        """Digest of the run's inputs, which is the name of the directory."""

    @property
    def results_digest(self) -> str:
        """Digest of the results. Equal runs have equal results digests on every machine."""

    @property
    def computed(self) -> bool:
        """Whether it was computed now, or found in the store."""

    @property
    def cpu_ns(self) -> int | None:
        """Processor time of computing it now, in nanoseconds; none when it was found in the store."""

    @property
    def seed(self) -> int:
        """Seed of everything random."""

    @property
    def workload(self) -> str:
        """The workload: a trace's digest, or a generator's specification."""

    @property
    def pacing(self) -> str | None:
        """When requests were sent, as `compare` takes it."""

    @property
    def acknowledges(self) -> str | None:
        """Where a write is when it is acknowledged: `members` or a kind of memory; None if unknown."""

    @property
    def version(self) -> str:
        """The program's version that computed it."""

    @property
    def configuration(self) -> str:
        """Scheme, device and members, as TOML."""

    @property
    def replay(self) -> str:
        """Workload and pacing, as TOML."""

    @property
    def totals(self) -> dict[str, int | float]:
        """Every total by its name, which ends in its unit."""

    @property
    def tables(self) -> list[str]:
        """The tables that it has."""

    def table(self, name: str) -> Table:
        """One of its tables."""

    def __reduce__(self) -> tuple[Any, ...]: ...

def open_run(path: str | Path, scheme: str | None = None, cpu_ns: int | None = None) -> Run:
    """The finished run in the directory `path`."""

def summary(runs: list[Run], width: int) -> str:
    """The text that the command prints for a comparison: the runs side by side, in `width` columns."""

def summary_html(runs: list[Run]) -> str:
    """The same as HTML, for a notebook."""

def no_total(name: str, known: list[str]) -> str:
    """The message for an unknown total, with the nearest of `known`."""

def in_unit(figure: str, values: list[float]) -> tuple[str, str, list[str]]:
    """Values of one total as tables show them: the total's name for a head, the unit, which may be empty, and the numbers in
    it."""

def cache_folder() -> str | None:
    """The folder of what can be made again; none where the user has no folder."""

def split_label(scheme: str) -> tuple[str | None, str]:
    """The label of `[LABEL=]NAME|FILE.toml[,KEY=VALUE]...`, if it has one, and the rest."""

def unknown(what: str, name: str, known: list[str]) -> str:
    """The message for an unknown `name` of a thing called `what`, with the nearest of `known`."""

def totals_table(runs: list[Run]) -> Table:
    """The totals of several runs: a row each, with scheme, seed and everything else that can vary first. Only what all of
    them have."""

def labels(runs: list[Run]) -> list[str]:
    """The label of each run's row in a comparison: its scheme, and the settings that distinguish it from the
    others."""

def aggregate_table(runs: list[Run], names: list[str]) -> Table:
    """Totals over the seeds: a row each setup and total, those of `names` or all, with the mean, its 95 % interval, and
    the difference from the first scheme. The totals' names end in their units."""

def write_report(runs: list[Run], path: str | Path) -> None:
    """The report on `runs` as one self-contained HTML file at `path`, which is overwritten."""

@final
class Comparison:
    """A comparison that can be run: every name resolved, every setting understood."""

    def __new__(
        cls,
        *,
        workload: Workload,
        schemes: list[Scheme],
        device: Device,
        members: str,
        precondition: str,
        pacing: str | None,
        span: str | None,
        warmup: str,
        seed: int,
        seeds: int,
        settings: list[str],
        request_rows: bool,
        gc_rows: bool,
        gc_slice: str,
        sample_every: str,
        table_budget: str,
        out: str | Path,
        force: bool,
        stop: Stop,
    ) -> Comparison: ...
    @property
    def schemes(self) -> list[str]:
        """The schemes' names, in the order of the runs."""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The settings that all runs share, as names and values."""

    @property
    def note(self) -> str | None:
        """A question that the choice of a trace's format left open."""

    @property
    def remarks(self) -> list[str]:
        """Settings that equal the current value."""

    def run(
        self,
        *,
        threads: int = 1,
        progress: Callable[[list[tuple[str, int, float | None, int]]], object] | None = None,
        only: int | None = None,
    ) -> list[Run]:
        """Makes the runs that are not in the store, on `threads` threads; `only` one of them if it is given.
        `progress` is called repeatedly with a list of (scheme, requests, share or None, simulated ns) of the current
        runs."""

def schemes() -> list[dict[str, Any]]:
    """The built-in schemes."""

def devices() -> list[dict[str, Any]]:
    """The built-in devices."""

def profiles() -> list[dict[str, Any]]:
    """The built-in workloads."""

def profile(name: str) -> dict[str, Any] | None:
    """The statistics of the profile `name`, a built-in one or a file that ends in `.toml`, as dictionaries; none when
    the workload of that name is a generator."""

def generators() -> list[dict[str, Any]]:
    """The generators, with their keys."""

def formats() -> list[dict[str, Any]]:
    """The trace formats."""

def mttdl_years(
    *,
    members: int = 8,
    parity: int = 1,
    groups: int = 1,
    failures_per_year: float = 0.25,
    repairs_per_year: float = 1e4,
    repair: str = "single",
    alpha: float = 1.0,
    elements: int | None = None,
) -> float:
    """The mean time to data loss of an array in years, by its Markov chain: `groups` parity groups of `members` members
    each, `parity` of them parity, that fail and are repaired at these rates; `repair` is `single`, `parallel` or
    `together`. Failures occur `alpha` times as often as that rate. Without arguments: paper 001's RAID-5. `elements` is the
    former name of `members`."""

def study_work(batch: bytes, *, name: str, stop: Stop) -> list[bytes]:
    """Makes the runs of a batch, commits them to the store of its study, and gives the reports for the coordinator. `name` is
    what errors call this worker."""
