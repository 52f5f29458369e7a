"""Measures what Python adds: processor time of a run from Python beside the command's, and the time of a policy call.

Both are to be release builds: `make build`, `pip install .`, then `python python/tests/cost.py target/release/stripewise`.
`python python/tests/cost.py --axes` measures the calls on the other axes alone.
Medians of 7 interleaved runs, each computed again.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import stripewise

REQUESTS = 150_000
WORKLOAD = "paper000/hm_0"
TIMES = 7


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(line: list[str]) -> float:
    """Processor time of a program, in seconds."""
    before = children_seconds()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_seconds() - before


def beside_the_command(command: str) -> None:
    program = (
        "import resource, stripewise\n"
        f"workload = stripewise.workload({WORKLOAD!r}, requests={REQUESTS})\n"
        "def seconds():\n"
        "    usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    return usage.ru_utime + usage.ru_stime\n"
        "before = seconds()\n"
        "stripewise.run('baseline', workload, progress=False)\n"
        "print(seconds() - before)\n"
    )
    by_command, by_python = [], []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory() as folder:
            line = [command, "run", "--profile", WORKLOAD, "--requests", str(REQUESTS), "--quiet", "--out", folder]
            by_command.append(timed(line))
        with tempfile.TemporaryDirectory() as folder:
            output = subprocess.run([sys.executable, "-c", program], check=True, cwd=folder, capture_output=True)
            by_python.append(float(output.stdout))
    command_seconds, python_seconds = statistics.median(by_command), statistics.median(by_python)
    print(f"command {command_seconds:.3f} s, Python {python_seconds:.3f} s: {python_seconds / command_seconds:.3f} x")


class Rmw(stripewise.UpdatePolicy):
    """Chooses without looking."""

    def choose(self, update: stripewise.ParityUpdate) -> str:
        return "rmw"


class Lightest(stripewise.UpdatePolicy):
    """Looks at the queues of every member that it would read."""

    def choose(self, update: stripewise.ParityUpdate) -> str:
        reads, writes = update.queued_reads, update.queued_writes
        rmw = max(reads[e] + writes[e] for e in update.rmw_reads)
        return "rmw" if rmw <= max(reads[e] + writes[e] for e in update.rcw_reads) else "rcw"


class Counting(Rmw):
    """Counts its calls."""

    calls = 0

    def choose(self, update: stripewise.ParityUpdate) -> str:
        Counting.calls += 1
        return "rmw"


def of_a_call() -> None:
    workload = stripewise.workload(WORKLOAD, requests=REQUESTS)
    stripewise.run(Counting(), workload, progress=False)
    times: dict[str, list[int]] = {}
    for _ in range(TIMES):
        for scheme in ("always-rmw", Rmw(), Lightest()):
            run = stripewise.run(scheme, workload, progress=False, force=True)
            times.setdefault(run.scheme, []).append(run.cpu_ns or 0)
    medians = {name: statistics.median(ns) for name, ns in times.items()}
    for name in ("Rmw", "Lightest"):
        ns = (medians[name] - medians["always-rmw"]) / Counting.calls
        print(f"a call of {name}: {ns:.0f} ns ({Counting.calls} calls in {REQUESTS} requests)")


class Calls:
    """Counts the calls of a policy, outside of the instance, of which each run has a copy."""

    calls = 0


class Direct(stripewise.ReadPolicy):
    """Looks at nothing, and reads directly."""

    def avoid(self, read: stripewise.ReadChoice) -> None:
        Calls.calls += 1


class Arrival(stripewise.DispatchPolicy):
    """The order of arrival."""

    def rank(self, operation: stripewise.QueuedOperation) -> int:
        Calls.calls += 1
        return 0


class First(stripewise.DestagePolicy):
    """The first group."""

    scheme = "baseline,cache.policy=wow,cache.size=4MiB"

    def destage(self, cache: stripewise.WriteCache) -> None:
        Calls.calls += 1


class Emptiest(stripewise.ArrayGcPolicy):
    """The segment with the fewest valid chunks."""

    def segment(self, segments: stripewise.ArraySegments) -> None:
        Calls.calls += 1


class Greedy(stripewise.DeviceGcPolicy):
    """The block with the fewest valid pages."""

    def block(self, blocks: stripewise.DeviceBlocks) -> None:
        Calls.calls += 1


class Cold(stripewise.HotnessPolicy):
    """All chunks are cold."""

    def tier(self, write: stripewise.ChunkWrite) -> int:
        Calls.calls += 1
        return 0


OF_AXES = [
    (Direct(), "baseline", WORKLOAD, {}),
    (Arrival(), "baseline,dispatch.order=arrival", WORKLOAD, {}),
    (First(), First.scheme, WORKLOAD, {}),
    (Emptiest(), "was", "uniform:write=1,size=4KiB,span=1GiB", {"geometry.blocks": 64, "geometry.chips": 1}),
    (Greedy(), "baseline", WORKLOAD, {"geometry.blocks": 64}),
    (Cold(), "was", "uniform:write=1,size=4KiB,span=1GiB", {}),
]


def of_the_axes() -> None:
    """The time of a call on each other axis, of a policy that does nothing, beside a scheme without one."""
    for policy, scheme, what, settings in OF_AXES:
        workload = stripewise.workload(what, requests=REQUESTS)
        setup = {f"device.{key}": value for key, value in settings.items()}
        own, other = [], []
        for _ in range(TIMES):
            Calls.calls = 0
            how = dict(settings=setup, pacing="closed:16", progress=False, force=True)
            own.append(stripewise.run(policy, workload, **how).cpu_ns or 0)
            other.append(stripewise.run(scheme, workload, **how).cpu_ns or 0)
        ns = (statistics.median(own) - statistics.median(other)) / Calls.calls
        print(f"a call of {type(policy).__mro__[1].__name__}: {ns:.0f} ns ({Calls.calls} calls in {REQUESTS} requests)")


if __name__ == "__main__":
    if sys.argv[1:] == ["--axes"]:
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            of_the_axes()
        sys.exit()
    if len(sys.argv) != 2:
        sys.exit("usage: cost.py COMMAND, the command's file")
    chosen = os.path.abspath(sys.argv[1])
    began = time.monotonic()
    beside_the_command(chosen)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        of_a_call()
    print(f"measured in {time.monotonic() - began:.0f} s")
