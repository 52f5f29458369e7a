#!/usr/bin/env python3
"""Count the simulator's instructions a request, and refuse a change that costs more.

Each case runs twice under valgrind's callgrind, with few requests and with more; the difference is what requests cost
without the start. On one machine the count repeats to 0.1 %, however busy the machine is.

The figures of four short cases are compared with the last line of crates/bench/history/instructions.tsv (at most 2 %
more). If another compiler counted that line, they are compared with the parent commit instead, which is built beside
this tree. With uncommitted changes the parent is HEAD.

With --speed nine longer cases are counted, and timed by the processor time of runs ten times as long without valgrind;
nothing is compared.

exit codes: 0 no case costs more, 1 one does, 2 it could not be counted
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
HISTORY = TREE / "crates/bench/history/instructions.tsv"
MOST_OVER = 0.02
# Runs of each length, of which the least processor time counts.
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="append the figures to the history instead of comparing them")
    parser.add_argument("--speed", action="store_true", help="count and time the longer cases instead")
    parser.add_argument("--only", default="", help="only cases whose names contain this", metavar="TEXT")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        return stop("valgrind is missing; on Debian: apt-get install valgrind")
    try:
        program = build(TREE, target())
        if arguments.speed:
            speed(program, arguments.only)
            return 0
        figures = count(program, "guard", arguments.only)
        rustc = output("rustc", "--version").split()[1]
        if arguments.accept:
            accept(figures, rustc)
            return 0
        before, whose = accepted(rustc), "accepted"
        if before is None:
            before, whose = count_parent(), "parent's"
    except subprocess.CalledProcessError as error:
        return stop(said(error))
    return compare(figures, before or {}, whose)


def stop(reason: str) -> int:
    print(f"instructions: {reason}", file=sys.stderr)
    return 2


def said(error: subprocess.CalledProcessError) -> str:
    """The command that failed, and what it said."""
    return f"{' '.join(map(str, error.cmd))}: {(error.stderr or '').strip() or f'status {error.returncode}'}"


def output(*command: object, cwd: Path = TREE) -> str:
    return subprocess.run([str(word) for word in command], cwd=cwd, check=True, capture_output=True, text=True).stdout


def target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target")).resolve()


def build(tree: Path, into: Path) -> Path:
    """The program of `tree`. Each tree has a folder of its own: cargo takes crates of the same name in another tree for built."""
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--locked", "--profile", "counting"]
    command += ["--package", "stripewise-sim", "--example", "instructions"]
    subprocess.run(command, cwd=tree, check=True, env=os.environ | {"CARGO_TARGET_DIR": str(into)})
    return into / "counting/examples/instructions"


def cases(program: Path, group: str, only: str) -> dict[str, tuple[int, int]]:
    """The two lengths of each case of `group`, in requests."""
    lines = [line.split("\t") for line in output(program).splitlines()]
    return {name: (int(few), int(more)) for known, name, few, more in lines if known == group and only in name}


def count(program: Path, group: str, only: str = "") -> dict[str, float]:
    """Instructions a request, by case."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lengths = cases(program, group, only)
        runs = {case: pool.map(collected, [program] * 2, [case] * 2, both) for case, both in lengths.items()}
        return {case: difference(lengths[case], *counts) for case, counts in runs.items()}


def difference(lengths: tuple[int, int], few: float, more: float) -> float:
    return (more - few) / (lengths[1] - lengths[0])


def speed(program: Path, only: str) -> None:
    """Prints a table of the longer cases."""
    times = {}
    for case, (few, more) in cases(program, "speed", only).items():
        # Ten times as many requests as are counted: the difference must be long beside the noise of the start.
        lengths = (few, few + 10 * (more - few))
        rounds = zip(*([seconds(program, case, length) for length in lengths] for _ in range(ROUNDS)))
        times[case] = difference(lengths, *map(min, rounds)) * 1e9
    print("| case | instructions a request | processor time a request, ns |\n| --- | --: | --: |")
    for case, figure in count(program, "speed", only).items():
        print(f"| `{case}` | {figure:,.0f} | {times[case]:,.0f} |")


def seconds(program: Path, case: str, requests: int) -> float:
    """Processor time of a whole run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(program, case, requests)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def collected(program: Path, case: str, requests: int) -> int:
    """Instructions of a whole run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), case, str(requests)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if found is None:
        raise subprocess.CalledProcessError(1, command, stderr=f"valgrind printed no count: {run.stderr}")
    return int(found[1])


def count_parent() -> dict[str, float] | None:
    """The figures of the parent commit; none if it is not here, lacks the program, or cannot be built."""
    try:
        commit = "HEAD" if output("git", "status", "--porcelain", "--untracked-files=no") else "HEAD^"
        output("git", "cat-file", "-e", f"{commit}:crates/sim/examples/instructions.rs")
        # Always at the same place, so that its crates replace those of the last parent, and never older than they are.
        tree = target() / "parent/tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        archive = tree.with_suffix(".tar")
        output("git", "archive", "--output", archive, commit)
        output("tar", "--extract", "--touch", "--file", archive, "--directory", tree)
        return count(build(tree, target() / "parent"), "guard")
    except subprocess.CalledProcessError as error:
        print(f"no figures of the parent: {said(error)}")
        return None


def accepted(rustc: str) -> dict[str, float] | None:
    """The last figures of the history, if this compiler made them."""
    if not HISTORY.exists():
        print(f"{HISTORY} does not exist; --accept writes it")
        return None
    lines = [line.split("\t") for line in HISTORY.read_text().splitlines()]
    head, last = lines[0], lines[-1]
    if last[1] != rustc:
        print(f"the last accepted figures are of rustc {last[1]}, and this is {rustc}: compared with the parent commit")
        return None
    return {case: float(figure) for case, figure in zip(head[2:], last[2:])}


def accept(figures: dict[str, float], rustc: str) -> None:
    """Appends the figures, with the commit that they come after."""
    after = output("git", "rev-parse", "--short=8", "HEAD").strip()
    head = "\t".join(["after", "rustc", *figures])
    text = HISTORY.read_text() if HISTORY.exists() else f"{head}\n"
    if text.splitlines()[0] != head:
        raise SystemExit(f"{HISTORY}: its columns are not `{head}`; delete the file first")
    line = "\t".join([after, rustc, *(f"{figure:.1f}" for figure in figures.values())])
    HISTORY.write_text(f"{text}{line}\n")
    print(f"{head}\n{line}")


def compare(figures: dict[str, float], before: dict[str, float], whose: str) -> int:
    """Prints all figures; 1 if one is too high."""
    status = 0
    for case, figure in figures.items():
        remark = "nothing to compare with"
        if case in before:
            change = figure / before[case] - 1
            remark = f"{change:+.2%} to the {whose} {before[case]:.1f}"
            if change > MOST_OVER:
                remark += f", which is more than {MOST_OVER:.0%}"
                status = 1
        print(f"{case}: {figure:.1f} instructions a request; {remark}")
    if status:
        print("a case costs more; if what it does is worth that, say so in the commit, and append the figures with --accept")
    return status


if __name__ == "__main__":
    sys.exit(main())
