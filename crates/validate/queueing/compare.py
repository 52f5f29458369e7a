"""Compares Stripewise's queueing of RAID-5 over channels with a second implementation, on the same requests.

    target/venv/bin/python crates/validate/queueing/compare.py                    # after `make python`
    target/venv/bin/python crates/validate/queueing/compare.py TRACE 1000         # a trace, 1000 times as fast

Prints the mean response times of both, for each load and policy, as a Markdown table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import stripewise

sys.path.insert(0, str(Path(__file__).parent))
from loads import PAGE, Load, Slice, write_trace
from raid5_channels import Array

MEMBERS = 6
COUNT = 20_000
POLICIES = ("baseline", "adaptive")


LOADS = {
    "mixed": Load(6_000, 0.7, (1, 1, 2, 3), 100_000),
    "small writes": Load(4_000, 1.0, (1,), 400_000),
    "large": Load(2_500, 0.5, (4, 8, 12), 400_000),
    "hot rows": Load(8_500, 0.8, (1, 2), 3_000),
    "heavy": Load(10_500, 0.8, (1, 1, 2), 200_000),
}


@dataclass(frozen=True)
class Pair:
    """Results of both implementations: mean response in ns, and updates by RMW."""

    ours: tuple[float, int]
    theirs: tuple[float, int]

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours[0] / self.theirs[0] - 1


def both(load: Load | Slice, policy: str, count: int, folder: Path, seed: int = 1) -> Pair:
    """Runs both on the same requests; `folder` takes the trace and the results."""
    requests = load.requests(count, seed)
    trace = folder / "trace.csv"
    write_trace(trace, requests, PAGE)
    run = stripewise.run(
        policy,
        stripewise.open_trace(trace),
        device="ssdsim-5+1",
        members="channel:1",
        precondition="sequential:60%",
        span=f"{load.span * PAGE}B",
        out=folder / "results",
        progress=False,
    )
    totals = run.totals
    array = Array(MEMBERS, policy)
    responses = array.run(requests)
    return Pair(
        (totals["response_mean_ns"], totals["updates_rmw"]),
        (sum(responses) / len(responses), array.routines["rmw"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="a trace instead of the built-in loads")
    parser.add_argument("times", nargs="?", type=float, default=1, help="how many times as fast its requests arrive")
    asked = parser.parse_args()
    loads = {asked.trace.name: Slice(asked.trace, asked.times)} if asked.trace else LOADS
    print("| load | policy | Stripewise, ms | second implementation, ms | difference | updates by RMW |")
    print("| --- | --- | --: | --: | --: | --: |")
    for name, load in loads.items():
        for policy in POLICIES:
            with tempfile.TemporaryDirectory() as folder:
                pair = both(load, policy, COUNT, Path(folder))
            (ours, ours_rmw), (theirs, theirs_rmw) = pair.ours, pair.theirs
            print(
                f"| {name} | {policy} | {ours / 1e6:.3f} | {theirs / 1e6:.3f} | {pair.difference:+.1%} "
                f"| {ours_rmw}, {theirs_rmw} |"
            )


if __name__ == "__main__":
    main()
