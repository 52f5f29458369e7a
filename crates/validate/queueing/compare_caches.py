"""Compares Stripewise's write caches in front of SSDs with a second implementation, on the same requests.

    target/venv/bin/python crates/validate/queueing/compare_caches.py        # after `make python`

Prints the mean response times of both, for each load, size of the cache and policy, as a Markdown table.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import stripewise

sys.path.insert(0, str(Path(__file__).parent))
from loads import Load, write_trace
from write_caches import PAGE, Array

MEMBERS = 8
MIB = 1 << 20
POLICIES = ("wow", "siw")
VARIANT = ""
"""Settings that only Stripewise gets: for a test that a difference is noticed."""

HPC = (1, 1, 1, 128, 256, 256)
"""Half of the requests have 4 KiB, a sixth 512 KiB, a third 1 MiB (paper 003, section 4)."""


def aligned(interval_ms: float, writes: float, sizes: tuple[int, ...], span_mib: int) -> Load:
    """Requests with this mean time between two of them, at multiples of their size."""
    return Load(1e3 / interval_ms, writes, sizes, span_mib * MIB // PAGE, is_aligned=True)


LOADS = {
    "HPC, 3 ms": (aligned(3, 0.6, HPC, 1408), 8),
    "HPC, small cache": (aligned(3, 0.6, HPC, 1408), 4),
    "HPC, 1.5 ms": (aligned(1.5, 0.6, HPC, 1408), 8),
    "rewrites": (aligned(0.3, 0.8, (1, 8, 32), 16), 8),
    "strips": (aligned(0.8, 0.7, (8, 32), 1408), 8),
    "small writes": (aligned(0.3, 0.9, (1, 2), 1408), 4),
}
"""Requests, and the size of the cache in MiB."""


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


def both(name: str, policy: str, count: int, folder: Path, seed: int = 1) -> Pair:
    """Runs both on the requests of a load; `folder` takes the trace and the results."""
    load, mib = LOADS[name]
    requests = load.requests(count, seed)
    trace = folder / "trace.csv"
    write_trace(trace, requests, PAGE)
    run = stripewise.run(
        f"paper003-{policy},geometry.level=raid0,cache.size={mib}MiB{VARIANT}",
        stripewise.open_trace(trace),
        device=device(),
        members=f"ssd:{MEMBERS}",
        precondition="sequential:60%",
        span=f"{load.span * PAGE}B",
        out=folder / "results",
        progress=False,
    )
    responses = Array(MEMBERS, policy, mib * MIB).run(requests)
    return Pair(run.totals["response_mean_ns"], sum(responses) / len(responses))


def main() -> None:
    print("| load | cache, MiB | policy | Stripewise, ms | second implementation, ms | difference |")
    print("| --- | --: | --- | --: | --: | --: |")
    for name, (_, mib) in LOADS.items():
        for policy in POLICIES:
            with tempfile.TemporaryDirectory() as folder:
                pair = both(name, policy, 6_000, Path(folder))
            print(
                f"| {name} | {mib} | {policy.upper()} | {pair.ours / 1e6:.3f} | {pair.theirs / 1e6:.3f} "
                f"| {pair.difference:+.1%} |"
            )


if __name__ == "__main__":
    main()
