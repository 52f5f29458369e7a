"""Clusters for studies, by Dask `distributed`, from the tables `[on.NAME]` of a study file, as a command::

    python -P -m stripewise.cluster run study.toml --on slurm
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import SOURCES, __version__
from .driving import Computing, Executing, line_of, shown_counts
from .errors import RunError, SettingError, StripewiseError
from .hosts import cluster as hosts_of
from .secured import HEALTH, LOOPBACK, WITHOUT_PAGES, WORKERS, answer_to_loopback, certificate
from .study_file import BATCH_S, Study

REMEDY = "pip install 'stripewise[study]'"

SETTINGS: dict[str, Any] = {
    # Batches are alike and many; a batch that was stolen would run twice if its worker died.
    "distributed.scheduler.work-stealing": False,
    # Batches wait in the scheduler, not in workers: a worker that dies takes one batch with it.
    "distributed.scheduler.worker-saturation": 1.0,
    # The coordinator counts the deaths of a batch's workers itself, and halves the batch.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": "60s",
}
"""Settings of Dask for studies. With a client of your own, set them before you make its cluster."""

SOME_FAILED = 3
"""The exit code of a study with failed runs."""

SCALE_SECONDS = 10.0
"""Between two looks at jobs that ended, and so between two submissions."""

FRUITLESS = 3
"""How often all jobs may end before a worker of theirs has connected."""


def _import(name: str, remedy: str = REMEDY) -> Any:
    """A module of the extra `study`, or of another package."""
    import importlib

    # dask_jobqueue takes over Ctrl-C when it is imported.
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise SettingError(f"{missing} is not installed, which this study needs; install it with {remedy}") from error
    finally:
        if signal.getsignal(signal.SIGINT) is not interrupt and interrupt is not None:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGINT, interrupt)


def _only(table: Mapping[str, Any], name: str, known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise SettingError(f"[on.{name}]: unknown key `{key}`; known: {', '.join(known)}")


def _whole(table: Mapping[str, Any], name: str, key: str, default: int) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingError(f"[on.{name}]: {key} is {value!r}; give a whole number from 1 on")
    return value


class Place:
    """Workers that are up: a client, and what keeps them up."""

    def __init__(self, client: Any, keep: Callable[[], object] | None = None) -> None:
        self.client = client
        self.keep = keep


@contextlib.contextmanager
def place(name: str, table: Mapping[str, Any]) -> Iterator[Place]:
    """The workers that a table `[on.NAME]` describes. Its `kind` says which of those below it is; by default its name.

    - `local`: processes of this machine: `workers`.
    - `ssh`: hosts that `ssh` reaches without a password: `hosts`, `workers_per_host`, `python`, `port`, `username`, `keys`
      (files), `known_hosts` (a file, or false for no check).
    - `slurm`: jobs: `queue`, `jobs`, `cores`, `memory`, `walltime`, `python`, `interface`, `lines` (more lines of `#SBATCH`),
      `prologue` (commands before the worker).
    - `kubernetes`: pods of the operator of dask-kubernetes: `image`, `workers`, `namespace`, `resources`.
    """
    kinds = {"local": _local, "ssh": _ssh, "slurm": _slurm, "kubernetes": _kubernetes}
    kind = table.get("kind", name)
    if kind not in kinds:
        raise SettingError(f"[on.{name}]: no kind of place is called {kind!r}; known: {', '.join(kinds)}")
    dask = _import("dask")
    distributed = _import("distributed")
    with dask.config.set({**SETTINGS, **WORKERS}):
        security = certificate()
        cluster, keep = kinds[kind](name, {key: value for key, value in table.items() if key != "kind"}, security)
        try:
            with distributed.Client(cluster, security=security) as client:
                yield Place(client, keep)
        finally:
            # What remains ends with its scheduler.
            with contextlib.suppress(Exception):
                cluster.close(timeout=30)
            # Files of dask-jobqueue, which it removes when nothing refers to the cluster any more.
            for name in ("ca_file", "cert", "key"):
                if (file := getattr(cluster, f"_job_{name}", None)) is not None:
                    file.close()


def _local(name: str, table: Mapping[str, Any], security: Any) -> tuple[Any, None]:
    _only(table, name, ("workers",))
    distributed = _import("distributed")
    workers = _whole(table, name, "workers", os.cpu_count() or 1)
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=LOOPBACK,
        memory_limit=0,
        security=security,
    )
    answer_to_loopback(cluster.scheduler)
    return cluster, None


def _ssh(name: str, table: Mapping[str, Any], security: Any) -> tuple[Any, None]:
    _only(table, name, ("hosts", "workers_per_host", "python", "port", "username", "keys", "known_hosts"))
    _import("asyncssh")
    _import("distributed")
    hosts = table.get("hosts")
    if not isinstance(hosts, list) or not hosts or not all(isinstance(host, str) for host in hosts):
        raise SettingError(f"[on.{name}]: hosts is {hosts!r}; give a list, as in hosts = [\"a\", \"b\"]")
    options: dict[str, Any] = {}
    for key, option in (("port", "port"), ("username", "username"), ("keys", "client_keys")):
        if key in table:
            options[option] = table[key]
    if "known_hosts" in table:
        options["known_hosts"] = None if table["known_hosts"] is False else table["known_hosts"]
    per_host = _whole(table, name, "workers_per_host", os.cpu_count() or 1)
    python = str(table.get("python", sys.executable))
    cluster = hosts_of(hosts, options, per_host, python, security, {**SETTINGS, **WITHOUT_PAGES})
    return cluster, None


def _slurm(name: str, table: Mapping[str, Any], security: Any) -> tuple[Any, Callable[[], object]]:
    known = ("queue", "jobs", "cores", "memory", "walltime", "python", "interface", "lines", "prologue", "folder")
    _only(table, name, known)
    jobqueue = _import("dask_jobqueue")
    cores, jobs = _whole(table, name, "cores", 1), _whole(table, name, "jobs", 1)
    walltime = str(table.get("walltime", "1:00:00"))
    lifetime = max(seconds_of(walltime, name) - 300, seconds_of(walltime, name) // 2)
    stagger = min(120, lifetime // 10)
    logs = Path(table.get("folder", "slurm-logs"))
    python = table.get("python", sys.executable)
    keys = _own_folder(logs, name)
    cluster = jobqueue.SLURMCluster(
        queue=table.get("queue"),
        cores=cores,
        processes=cores,
        memory=table.get("memory", "4GB"),
        walltime=walltime,
        # Not the folder in which the job runs, but the packages of the interpreter.
        python=f"{python} -P",
        interface=table.get("interface"),
        job_extra_directives=list(table.get("lines", [])),
        job_script_prologue=[f"export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='{json.dumps(HEALTH)}'", *table.get("prologue", [])],
        security=security,
        # Files that only this user reads; jobs are given their names.
        shared_temp_directory=os.fspath(keys),
        log_directory=os.fspath(logs),
        # Workers end by themselves before Slurm ends them, not all at a time.
        worker_extra_args=[
            "--lifetime", f"{lifetime}s", "--lifetime-stagger", f"{stagger}s", "--dashboard-address", LOOPBACK,
        ],
        death_timeout=120,
        scheduler_options={"dashboard_address": LOOPBACK},
    )
    answer_to_loopback(cluster.scheduler)
    cluster.scale(jobs=jobs)
    return cluster, Again(cluster, jobs, logs)


def _own_folder(folder: Path, name: str) -> Path:
    """The folder, made if it is not there. The keys of a cluster are safe in it: no other user may put files into it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SettingError(
            f"[on.{name}]: others may write to {folder}, in which the keys of the cluster are put: chmod go-w {folder}, or "
            "give a folder of your own, as in folder = \"slurm-logs\""
        )
    return folder.resolve()


class Again:
    """Submits jobs again that have ended: Dask takes a job that has ended for one that still waits."""

    def __init__(self, cluster: Any, jobs: int, logs: Path) -> None:
        self.cluster, self.jobs, self.logs = cluster, jobs, logs
        self.looked = time.monotonic()
        self.fruitless = 0

    def __call__(self) -> None:
        if time.monotonic() - self.looked < SCALE_SECONDS:
            return
        self.looked = time.monotonic()
        submitted = {name: job.job_id for name, job in dict(self.cluster.workers).items() if job.job_id}
        if not submitted:
            return
        alive = self._alive(list(submitted.values()))
        if alive is None:
            return
        ended = [name for name, job in submitted.items() if job not in alive]
        if not ended:
            return
        connected = len(self.cluster.scheduler_info["workers"]) > 0
        self.fruitless = 0 if connected or len(ended) < len(submitted) else self.fruitless + 1
        if self.fruitless >= FRUITLESS:
            raise RunError(f"the jobs end before their workers connect; their output is in {self.logs}")
        for name in ended:
            self.cluster.worker_spec.pop(name, None)
        self.cluster.scale(jobs=self.jobs)

    @staticmethod
    def _alive(jobs: list[str]) -> set[str] | None:
        """Those of the jobs that wait or run; None where Slurm does not say."""
        line = ["squeue", "--noheader", "--format=%A", "--states=PENDING,RUNNING,CONFIGURING,SUSPENDED,REQUEUED"]
        try:
            told = subprocess.run([*line, f"--jobs={','.join(jobs)}"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if told.returncode != 0:
            # It refuses a list in which each job has been forgotten.
            return set() if "Invalid job id" in told.stderr else None
        return set(told.stdout.split())


def seconds_of(walltime: str, name: str) -> int:
    """Slurm's `[DAYS-]HOURS:MINUTES:SECONDS`, or `4h`."""
    units = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
    try:
        for unit in sorted(units, key=len, reverse=True):
            if walltime.endswith(unit):
                return int(float(walltime.removesuffix(unit)) * units[unit])
        days, _, clock = walltime.rpartition("-")
        parts = [int(part) for part in clock.split(":")]
        while len(parts) < 3:
            parts.append(0) if days else parts.insert(0, 0)
        return int(days or 0) * 86400 + parts[-3] * 3600 + parts[-2] * 60 + parts[-1]
    except ValueError:
        raise SettingError(f"[on.{name}]: walltime is {walltime!r}; write it as in 4:00:00") from None


def _kubernetes(name: str, table: Mapping[str, Any], security: Any) -> tuple[Any, None]:
    _only(table, name, ("image", "workers", "namespace", "resources"))
    if "image" not in table:
        raise SettingError(f"[on.{name}]: image is missing: a container image with this build of stripewise")
    _import("dask_kubernetes.operator", "pip install dask-kubernetes")
    from . import pods

    made = pods.cluster(
        image=str(table["image"]),
        workers=_whole(table, name, "workers", 1),
        namespace=table.get("namespace"),
        resources=table.get("resources"),
        security=security,
    )
    return made, None


class _Kept(Computing):
    """A client whose workers are kept up."""

    def __init__(self, up: Place) -> None:
        super().__init__(up.client)
        self.up = up

    def workers(self) -> int:
        if self.up.keep is not None:
            self.up.keep()
        return super().workers()


def run(study: Study, on: str | None, *, jobs: int | None, limit: int | None, batch_s: float, quiet: bool) -> int:
    """Runs a study, or its search, at a place of its file. Returns the exit code."""
    places: Mapping[str, Any] = study.document.get("on", {})
    if on is not None and on not in places and on not in ("local",):
        known = ", ".join(places) or "none"
        raise SettingError(f"{study.path}: it has no place [on.{on}]; it has: {known}")
    is_search = "tune" in study.document
    if on is None and not is_search and jobs is None:
        jobs = os.cpu_count() or 1
    with contextlib.ExitStack() as stack:
        if on is None:
            engine: Any = Executing.of_threads(jobs or os.cpu_count() or 1)
            stack.callback(engine.close)
        else:
            up = stack.enter_context(place(on, places.get(on, {})))
            engine = _Kept(up)
            if not quiet and up.client.dashboard_link:
                print(f"dashboard {up.client.dashboard_link}", file=sys.stderr)
        if is_search:
            if limit is not None:
                raise SettingError("--limit is about runs of a study; a search has trials, in [tune]")
            from .tuning import search

            found = search(study, engine, batch_s=batch_s, progress=False if quiet else None)
            print(found)
            _report(study)
            return 0
        with shown_counts(False if quiet else None, study.name) as reporter:
            counts = study._drive(engine, limit, batch_s, reporter or False)
    print(f"runs      {counts['made']:,} made in {counts['cpu_ns'] / 1e9:.0f} s of processor time, "
          f"{counts['found']:,} there already")
    left = counts["points_open"] + counts["points_left"]
    print(f"points    {counts['points_done']:,} complete" + (f", {left:,} left" if left else ""))
    if counts["combinations_refused"]:
        print(f"left out  {counts['combinations_refused']:,} combinations that do not fit")
    if counts["failed"]:
        stopped = "; the study stopped, as its file says" if counts["stopped"] else ""
        print(f"FAILED    {counts['failed']:,} runs of {counts['points_failed']:,} points{stopped}")
        print(f"`stripewise study errors {study.path}` shows why runs failed", file=sys.stderr)
        return SOME_FAILED
    if counts["found"] + counts["made"]:
        _report(study)
    return 0


def _report(study: Study) -> None:
    """Writes the report into the store, if that is a folder, and prints its path."""
    if "://" not in study.store:
        print(f"report    {study.report()}")


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -P -m stripewise.cluster", description="Runs studies on clusters.")
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run", help="make the runs of a study that its store lacks, or its search")
    running.add_argument("file")
    running.add_argument("--on", help="the place: a table [on.NAME] of the study file, or local")
    running.add_argument("--jobs", type=int, help="without --on: how many runs to make at a time")
    running.add_argument("--store", help="the place of the results")
    running.add_argument("--limit", type=int, help="the most runs to make now")
    running.add_argument("--batch-seconds", type=float, default=BATCH_S, help="the work of a batch")
    running.add_argument("--build", help="the build of the command that started this")
    running.add_argument("--quiet", action="store_true", help="show no progress")
    given = parser.parse_args(arguments)
    own = f"{__version__}+{SOURCES}"
    try:
        if given.build is not None and given.build != own:
            raise SettingError(
                f"the command is stripewise {given.build}, and the Python package {own}: their results may differ; "
                "install both from the same build"
            )
        study = Study(given.file, store=given.store)
        return run(
            study, given.on, jobs=given.jobs, limit=given.limit, batch_s=given.batch_seconds, quiet=given.quiet
        )
    except KeyboardInterrupt:
        print("interrupted; what was committed is kept: run the study again to resume", file=sys.stderr)
        return 130
    except SettingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except StripewiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


__all__ = ["SETTINGS", "Place", "line_of", "main", "place", "run"]

if __name__ == "__main__":
    sys.exit(main())
