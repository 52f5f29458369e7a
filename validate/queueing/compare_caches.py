"""Compares Stripewise's write caches in front of SSDs with a second implementation, on the same requests.

    target/venv/bin/python validate/queueing/compare_caches.py        # after `make python`

Prints the mean response times of both, for each load, size of the cache and policy, as a Markdown table.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import stripewise

sys.path.insert(0, str(Path(__file__).parent))
from write_caches import PAGE, Array

MEMBERS = 8
MIB = 1 << 20
POLICIES = ("wow", "siw")
VARIANT = ""
"""Settings that only Stripewise gets: for a test that a difference is noticed."""


@dataclass(frozen=True)
class Load:
    """Requests of a Poisson process, at uniform addresses that are multiples of their size."""

    interval_ms: float
    """Mean time between two requests."""
    writes: float
    """Share of writes."""
    sizes: tuple[int, ...]
    """Sizes in pages, equally likely."""
    span_mib: int
    """MiB that are addressed."""
    cache_mib: int
    """Size of the cache."""

    def requests(self, count: int, seed: int) -> list[tuple[int, bool, int, int]]:
        """Arrival in ns, whether it writes, first page, pages. Times are multiples of 100 ns, as in MSR traces."""
        prng = random.Random(seed)
        made, now = [], 0.0
        for _ in range(count):
            now += prng.expovariate(1 / self.interval_ms) * 1e4
            pages = prng.choice(self.sizes)
            first = prng.randrange(self.span_mib * MIB // PAGE // pages) * pages
            made.append((int(now) * 100, prng.random() < self.writes, first, pages))
        return made


HPC = (1, 1, 1, 128, 256, 256)
"""Half of the requests have 4 KiB, a sixth 512 KiB, a third 1 MiB (paper 003, section 4)."""

LOADS = {
    "HPC, 3 ms": Load(3, 0.6, HPC, 1408, 8),
    "HPC, small cache": Load(3, 0.6, HPC, 1408, 4),
    "HPC, 1.5 ms": Load(1.5, 0.6, HPC, 1408, 8),
    "rewrites": Load(0.3, 0.8, (1, 8, 32), 16, 8),
    "strips": Load(0.8, 0.7, (8, 32), 1408, 8),
    "small writes": Load(0.3, 0.9, (1, 2), 1408, 4),
}


@dataclass(frozen=True)
class Pair:
    """Mean response of both implementations, in ns."""

    ours: float
    theirs: float

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours / self.theirs - 1


def device() -> stripewise.Device:
    """Paper 003's SSD without summary pages in its blocks; pages cross the host link one by one."""
    lines = stripewise.Device("paper003", {"timing.host_link_unit": "page"}).to_toml().splitlines()
    kept = (line for line in lines if not line.startswith("summary_page"))
    return stripewise.Device("paper003-plain", text="\n".join(kept))


def both(load: Load, policy: str, count: int, folder: Path, seed: int = 1) -> Pair:
    """Runs both on the same requests; `folder` takes the trace and the results."""
    requests = load.requests(count, seed)
    trace = folder / "trace.csv"
    lines = (
        f"{128_166_372_000_000_000 + at // 100},h,0,{'Write' if writes else 'Read'},{first * PAGE},{pages * PAGE},0\n"
        for at, writes, first, pages in requests
    )
    trace.write_text("".join(lines))
    run = stripewise.run(
        f"paper003-{policy},geometry.level=raid0,cache.size={load.cache_mib}MiB{VARIANT}",
        stripewise.open_trace(trace),
        device=device(),
        members=f"ssd:{MEMBERS}",
        precondition="sequential:60%",
        span=f"{load.span_mib}MiB",
        out=folder / "results",
        progress=False,
    )
    responses = Array(MEMBERS, policy, load.cache_mib * MIB).run(requests)
    return Pair(run.totals["response_mean_ns"], sum(responses) / len(responses))


def main() -> None:
    print("| load | cache, MiB | policy | Stripewise, ms | second implementation, ms | difference |")
    print("| --- | --: | --- | --: | --: | --: |")
    for name, load in LOADS.items():
        for policy in POLICIES:
            with tempfile.TemporaryDirectory() as folder:
                pair = both(load, policy, 6_000, Path(folder))
            print(
                f"| {name} | {load.cache_mib} | {policy.upper()} | {pair.ours / 1e6:.3f} | {pair.theirs / 1e6:.3f} "
                f"| {pair.difference:+.1%} |"
            )


if __name__ == "__main__":
    main()
