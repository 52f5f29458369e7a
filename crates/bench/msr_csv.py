#!/usr/bin/env python3
"""How fast MSR Cambridge CSV is read on one core: Stripewise beside polars' CSV reader.

    python3 -m venv .venv && .venv/bin/pip install polars
    .venv/bin/python crates/bench/msr_csv.py [--requests 20000000] [--rounds 7]

Writes a file of that many lines (about 58 bytes each) into a temporary directory, then lets the two read it by
turns, pinned to one core, so that whatever else the machine does hits both. Each reader gets all fields of every
line: Stripewise as batches of requests, polars as a table whose column types are given (it need not guess them). A
third row is polars' lazy reader for the five columns that a request has, which leaves the other two unparsed.
Speeds are megabytes (10^6) of text per second of processor time, the best of all rounds; wall clock stands beside.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLARS = """
import json, os, resource, sys, time
import polars as pl

def busy():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

path, how = sys.argv[1:]
schema = {"time": pl.UInt64, "host": pl.String, "disk": pl.UInt32, "kind": pl.String,
          "offset": pl.UInt64, "size": pl.UInt32, "response": pl.UInt64}
assert pl.thread_pool_size() == 1
cpu, wall = busy(), time.perf_counter()
if how == "all":
    table = pl.read_csv(path, has_header=False, schema=schema)
else:
    wanted = ["time", "disk", "kind", "offset", "size"]
    table = pl.scan_csv(path, has_header=False, schema=schema).select(wanted).collect()
cpu, wall = busy() - cpu, time.perf_counter() - wall
print(json.dumps({"bytes": os.path.getsize(path), "requests": table.height, "wall_s": wall, "cpu_s": cpu}))
"""


def run(command: list[str]) -> dict:
    """Runs a reader on one core and returns its last line."""
    core = max(os.sched_getaffinity(0))
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    try:
        import polars
    except ImportError:
        sys.exit("polars is missing: pip install polars")
    build = ["cargo", "build", "--release", "-q", "-p", "stripewise-trace", "--example", "msr_speed"]
    subprocess.run(build, check=True, cwd=ROOT)
    reader = str(ROOT / "target" / "release" / "examples" / "msr_speed")
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "msr.csv")
        subprocess.run([reader, "write", file, str(arguments.requests)], check=True)
        readers = {
            "stripewise": [reader, "read", file],
            f"polars {polars.__version__} read_csv": [sys.executable, "-c", POLARS, file, "all"],
            "polars scan_csv, 5 of 7 columns": [sys.executable, "-c", POLARS, file, "five"],
        }
        best: dict[str, dict] = {}
        for _ in range(arguments.rounds):
            for name, command in readers.items():
                found = run(command)
                assert found["requests"] == arguments.requests, (name, found)
                kept = best.setdefault(name, found)
                for clock in ("cpu_s", "wall_s"):
                    kept[clock] = min(kept[clock], found[clock])
    ours = best["stripewise"]
    print(f"{arguments.requests} lines, {ours['bytes'] / 1e6:.0f} MB, best of {arguments.rounds}, one core")
    print(f"{'reader':34} {'MB/s cpu':>9} {'MB/s wall':>9} {'ratio cpu':>9}")
    for name, found in best.items():
        speed = {clock: found["bytes"] / found[clock] / 1e6 for clock in ("cpu_s", "wall_s")}
        ratio = found["cpu_s"] / ours["cpu_s"]
        print(f"{name:34} {speed['cpu_s']:9.0f} {speed['wall_s']:9.0f} {ratio:9.2f}")


if __name__ == "__main__":
    main()
