"""Studies: the same requests through several schemes, and sweeps over any settings."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from . import _stripewise, frames, kinds
from ._stripewise import Run, Stop, Workload
from .comparison import Comparison
from .errors import SettingError, StripewiseWarning
from .names import Device, Scheme, Settings, open_trace, typed
from .names import workload as named
from .policy import Policy
from .progress import Progress, Shown

AnyScheme: TypeAlias = str | os.PathLike[str] | Scheme | Policy

DEFAULT_SCHEMES = tuple(_stripewise.BUILT_IN_SCHEMES)
"""The default schemes, the same as the command's."""

DEFAULT_TABLE_BUDGET = _stripewise.DEFAULT_TABLE_BUDGET
"""The most that rows of requests and the like take on disk: the command's too."""

DEFAULT_WORKLOAD = _stripewise.BUILT_IN_WORKLOAD
"""The generator and the number of its requests that are replayed when nothing else is asked for: the command's too."""


def compare(
    schemes: Iterable[AnyScheme] = DEFAULT_SCHEMES,
    workload: Workload | str | Any = None,
    *,
    device: str | os.PathLike[str] | Device | None = None,
    members: str | None = None,
    precondition: str = "steady:70%",
    pacing: str | None = None,
    span: str | None = None,
    warmup: int | str = 0,
    seed: int = 1,
    seeds: int = 1,
    settings: Settings | None = None,
    request_rows: bool = False,
    gc_rows: bool = False,
    gc_slice: str = "100us",
    sample_every: str = "0ns",
    table_budget: str = DEFAULT_TABLE_BUDGET,
    out: str | os.PathLike[str] = "stripewise-results",
    force: bool = False,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Executor | None = None,
    elements: str | None = None,
) -> Comparison:
    """Runs the same requests through each of `schemes`. Runs whose results are in the store are not made again.

    The interpreter's lock is released meanwhile. Ctrl-C ends all runs at once; those that were not finished leave
    nothing behind.

    Args:
        schemes: what to compare: names of presets, files, names with settings (`baseline,update.tie=rcw`), each with a
            label before it or none (`mine=baseline,update.tie=rcw`), `Scheme` objects, or policies of your own. By default
            those of the command, those with one acknowledgement together.
        workload: what is replayed: from `open_trace` or `workload`, or what `workload` takes; by default the built-in
            workload of the command, which all schemes sustain on its array.
        device: a preset's name, a file, or a `Device`; by default `ssdsim-5+1`, of the built-in workload `paper003`.
        members: what the array stripes over: `channel`, `chip` or `ssd`, and of how many devices: `ssd:5`; by default
            `channel`, of the built-in workload `ssd:6`.
        precondition: what the devices hold before the first request: `fresh`, or `sequential`, `steady` or `written`
            with a share of their pages, `steady:70%`.
        pacing: when requests are sent: `open[:SPEED-UP]`, `closed:DEPTH` or `think:USERS,TIME`. By default at their
            times, or `closed:16` where they have none.
        span: how much data addresses are folded onto, `4GiB`; by default a fifth of what the members hold, whatever
            the schemes are; for a generator with a larger `span` that all schemes hold, that span.
        warmup: number of requests at the start that are not counted, or `auto` for those before the response times of a
            run are steady (MSER-5): each run is then made twice.
        seed: seed of everything random.
        seeds: how many seeds each scheme runs with, from `seed` on. Two or more give intervals. The command's default is
            5; here it is 1, so that a cell of a notebook takes a fifth of the time and a scheme's name means one run. With
            one seed a difference may be chance.
        settings: keys of every scheme or of the device to change, `{"gc.victim": "fifo"}`.
        request_rows: keep a row of every request (table `requests`).
        gc_rows: keep a row of every garbage collection (table `gcs`).
        gc_slice: the length of the slices of simulated time in which collecting members are counted (table
            `gc_slices`); `0ns` for none.
        sample_every: the interval of simulated time at which a row of each member's state is kept, as in `10ms`
            (table `samples`).
        table_budget: the most that rows of requests, updates, collections and samples may take on disk, of all runs
            together: `4GiB`. What would take more is refused before it runs, where that is known then; otherwise the run
            ends when it takes more.
        out: the directory of results.
        force: compute existing runs again and compare the results.
        threads: how many runs to make at a time; by default one a processor.
        progress: True or False; None shows progress on a terminal or in a notebook; or a function
            that takes a list of (scheme, requests, share or None, simulated ns).
        executor: makes the runs in its workers, one task each, instead of in threads of this process. They need the
            same files and the same store; what they are given is pickled.
        elements: the former name of `members`, for one release.

    Returns:
        The runs, in the order of `schemes`, each with all seeds.

    Raises:
        SchemeError, DeviceError, SettingError, TraceError: an argument is invalid; nothing was run.
        TraceError, RunError, PolicyError, StoreError: a run that failed; the others are made all the same.
        KeyboardInterrupt: Ctrl-C.
    """
    if elements is not None:
        given = {"elements": elements} if members is None else {"elements": elements, "members": members}
        members = _renamed(given, 2)["members"]
    study = _specify(
        schemes,
        workload,
        device=device,
        members=members,
        precondition=precondition,
        pacing=pacing,
        span=span,
        warmup=warmup,
        seed=seed,
        seeds=seeds,
        settings=settings,
        request_rows=request_rows,
        gc_rows=gc_rows,
        gc_slice=gc_slice,
        sample_every=sample_every,
        table_budget=table_budget,
        out=out,
        force=force,
    )
    _submits(executor)
    if executor is not None:
        count = len(study["schemes"]) * study["seeds"]
        runs = _gather(executor, [(_one, (study, place)) for place in range(count)], progress)
        return Comparison(runs)
    if threads is not None:
        kinds.whole("threads", threads, 1, 2**16)
    opened = _open(study, Stop())
    with Shown(progress) as shown:
        runs = opened.run(threads=threads or os.cpu_count() or 1, progress=shown)
    return Comparison(runs, dict(opened.settings))


def run(scheme: AnyScheme = "baseline", workload: Workload | str | None = None, **study: Any) -> Run:
    """Runs one scheme with one seed, and gives its results.

    Args:
        scheme: as one of `compare`'s.
        workload: as `compare`'s.
        **study: everything else that `compare` takes, but `seeds`.

    Raises:
        SettingError: `seeds` other than 1: the result is one run.
        What `compare` raises.
    """
    kinds.known([name for name in inspect.signature(compare).parameters if name not in ("schemes", "workload")], study)
    if study.get("seeds", 1) != 1:
        raise SettingError(f"seeds is {study['seeds']!r}; run makes one run: use compare([{scheme!r}], ..., seeds=...)")
    return compare([scheme], workload, **_renamed(study, 2))[0]


def sweep(
    points: Iterable[Mapping[str, Any]],
    *,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
    **common: Any,
) -> Comparison:
    """Makes a run for each of `points`, or several with `seeds`: each a mapping of arguments of `run`, beside those in
    `common`.

    Args:
        points: what varies, such as `[{"scheme": s, "pacing": p} for s in schemes for p in ("closed:4", "closed:16")]`.
        executor: any `concurrent.futures.Executor` (of threads, processes, Dask, MPI …); by default threads of this
            process, one a processor. Workers in other processes need the same files and the same store; what they
            are given is pickled.
        progress: as `compare`'s; shows how many runs are done.
        **common: arguments of `run` that all points share. `seeds`, here or in a point, makes that many runs of it, from
            its `seed` on.

    Returns:
        The runs, in the order of the points, each with all seeds.

    Raises:
        SettingError: no points.
        What `compare` raises; the first failure ends the sweep. What is in the store by then is not computed again.
    """
    points = kinds.several("points", points, "[{'scheme': 'baseline'}]")
    for point in points:
        if not isinstance(point, Mapping):
            raise SettingError(f"a point is {point!r}; give a mapping, as in {{'scheme': 'baseline'}}")
    tasks: list[_Task] = []
    common = _renamed(common, 2)
    for point in (_renamed(point, 2) for point in points):
        arguments = {**_DEFAULTS, **common, **point}
        seed, seeds = _whole(arguments, "seed", 0), _whole(arguments, "seeds", 1)
        tasks += [(_point, ({**common, **point, "seed": seed + n, "seeds": 1},)) for n in range(seeds)]
    if not tasks:
        raise SettingError("points is empty; give at least one, as in [{'scheme': 'baseline'}]")
    return Comparison(_gather(executor, tasks, progress))


LOOK_SECONDS = 0.1
"""Between two looks at whether the user wants to stop."""

_Task: TypeAlias = tuple[Any, tuple[Any, ...]]


def _gather(executor: Executor | None, tasks: Sequence[_Task], progress: bool | Progress | None) -> list[Run]:
    """The results of the tasks, in order."""
    _submits(executor)
    stop = Stop()
    own = ThreadPoolExecutor(max_workers=os.cpu_count() or 1) if executor is None else None
    pool = own or executor
    assert pool is not None
    # Threads of this process can be told to stop; other workers receive Ctrl-C themselves, or finish their task.
    told = (stop,) if isinstance(pool, ThreadPoolExecutor) else (None,)
    futures: list[Future[Run]] = [pool.submit(work, *arguments, *told) for work, arguments in tasks]
    try:
        with Shown(progress) as shown:
            left = set(futures)
            while left:
                # With a limit: a signal that another thread receives does not wake this one.
                done, left = wait(left, timeout=LOOK_SECONDS, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if shown is not None:
                    made = len(futures) - len(left)
                    shown([("runs", made, made / len(futures), 0)])
        return [future.result() for future in futures]
    except BaseException:
        stop.set()
        for future in futures:
            future.cancel()
        raise
    finally:
        if own is not None:
            own.shutdown()


def _submits(executor: Executor | None) -> None:
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise SettingError(f"executor is {executor!r}; give a concurrent.futures.Executor, as in ThreadPoolExecutor()")


_DEFAULTS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(compare).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name not in ("threads", "progress", "executor", "elements")
}


def _renamed(given: Mapping[str, Any], level: int) -> dict[str, Any]:
    """The arguments under their present names; a warning of former ones points `level` callers up."""
    arguments = dict(given)
    if (former := arguments.pop("elements", None)) is not None:
        if arguments.get("members", former) != former:
            raise SettingError("`elements` is the former name of `members`; give one of them")
        message = "`elements` is now `members`; the next release will refuse the former name"
        warnings.warn(message, FutureWarning, stacklevel=level + 1)
        arguments["members"] = former
    return arguments


def _specify(
    schemes: Iterable[AnyScheme], workload: Workload | str | None, **options: Any
) -> dict[str, Any]:
    """What `_stripewise.Comparison` takes, of what `compare` takes; it can be pickled."""
    kinds.known(["scheme", "workload", *_DEFAULTS], options)
    given = {**_DEFAULTS, **options}
    schemes = kinds.several("schemes", schemes, "['baseline']")
    if not schemes:
        raise SettingError("schemes is empty; name at least one, as in ['baseline']")
    for name, least in (("seed", 0), ("seeds", 1)):
        _whole(given, name, least)
    if given["warmup"] != "auto":
        _whole(given, "warmup", 0)
    built_in = _stripewise.BUILT_IN_ARRAY if workload is None else (_stripewise.DEFAULT_DEVICE, "channel")
    for name, value in zip(("device", "members"), built_in, strict=True):
        given[name] = value if given[name] is None else given[name]
    if workload is None:
        name, requests = DEFAULT_WORKLOAD
        workload = Workload.generated(name, requests=requests)
    elif isinstance(workload, str):
        workload = named(workload)
    elif frames.is_frame(workload):
        workload = open_trace(workload)
    elif not isinstance(workload, Workload):
        raise SettingError(
            f"workload is {workload!r}; give a name, as in 'paper000/hm_0', or stripewise.open_trace('trace.csv')"
        )
    for name, example in _TEXTS.items():
        kinds.text(name, given[name], example, optional=name in ("pacing", "span"))
    for name in ("request_rows", "gc_rows", "force"):
        kinds.flag(name, given[name])
    return {
        **given,
        "schemes": [Scheme.of(scheme) for scheme in schemes],
        "workload": workload,
        "device": Device.of(given["device"]),
        "settings": typed(given["settings"]),
        "warmup": str(given["warmup"]),
        "out": kinds.name_or_path("out", given["out"], "stripewise-results"),
    }


_TEXTS = {
    "members": "ssd:5",
    "precondition": "steady:70%",
    "pacing": "closed:16",
    "span": "4GiB",
    "gc_slice": "100us",
    "sample_every": "10ms",
    "table_budget": "4GiB",
}
"""Arguments that are texts, with an example of each."""


def _whole(given: Mapping[str, Any], name: str, least: int) -> int:
    """The argument of that name, a whole number."""
    return kinds.whole(name, given[name], least, 2**32 - 1)


def _open(study: Mapping[str, Any], stop: Stop) -> _stripewise.Comparison:
    inner = {
        "schemes": [scheme._inner for scheme in study["schemes"]],
        "device": study["device"]._inner,
    }
    opened = _stripewise.Comparison(**{**study, **inner}, stop=stop)
    for remark in [*filter(None, [opened.note]), *opened.remarks]:
        # Shown as the line that calls `compare`.
        warnings.warn(remark, StripewiseWarning, stacklevel=3)
    return opened


def _one(study: Mapping[str, Any], place: int, stop: Stop | None) -> Run:
    """One run of a study, in a worker."""
    return _open(study, stop or Stop()).run(only=place)[0]


def _point(point: Mapping[str, Any], stop: Stop | None) -> Run:
    """One point of a sweep, in a worker."""
    arguments = dict(point)
    scheme, workload = arguments.pop("scheme", "baseline"), arguments.pop("workload", None)
    return _one(_specify([scheme], workload, **arguments), 0, stop)
