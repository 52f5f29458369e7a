#!/usr/bin/env python3
"""Count the simulator's instructions a request, and refuse a change that costs more.

Each case runs twice under valgrind's callgrind, with few requests and with more; the difference is what requests cost
without the start. On one machine the count repeats to 0.1 %, however busy the machine is.

The figures are compared with those of the parent commit, which is built beside this tree (at most 2 % more), and with
the last line of crates/bench/history/instructions.tsv (at most 4 % more, if it was counted with the same compiler).
With uncommitted changes the parent is HEAD. A change that appends a line to that file accepts its own figures: it is
not compared with its parent.

exit codes: 0 no case costs more, 1 one does, 2 it could not be counted
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
HISTORY = TREE / "crates/bench/history/instructions.tsv"
LENGTHS = (10_000, 40_000)
MOST_OVER_PARENT = 0.02
MOST_OVER_ACCEPTED = 0.04


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="append the figures to the history instead of comparing them")
    parser.add_argument("--no-parent", action="store_true", help="compare with the history alone")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        return stop("valgrind is missing; on Debian: apt-get install valgrind")
    try:
        figures = count(build(TREE, target()))
        rustc = output("rustc", "--version").split()[1]
        if arguments.accept:
            accept(figures, rustc)
            return 0
        parent = None if arguments.no_parent else count_parent()
    except subprocess.CalledProcessError as error:
        return stop(said(error))
    return compare(figures, parent, accepted(rustc))


def stop(reason: str) -> int:
    print(f"instructions: {reason}", file=sys.stderr)
    return 2


def said(error: subprocess.CalledProcessError) -> str:
    """The command that failed, and what it said."""
    return f"{' '.join(map(str, error.cmd))}: {(error.stderr or '').strip() or f'status {error.returncode}'}"


def output(*command: object, cwd: Path = TREE) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target")).resolve()


def build(tree: Path, into: Path) -> Path:
    """The program of `tree`. Each tree has a folder of its own: cargo takes crates of the same name in another tree for built."""
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--locked", "--profile", "counting"]
    command += ["--package", "stripewise-sim", "--example", "instructions"]
    subprocess.run(command, cwd=tree, check=True, env=os.environ | {"CARGO_TARGET_DIR": str(into)})
    return into / "counting/examples/instructions"


def count(program: Path) -> dict[str, float]:
    """Instructions a request, by case."""
    cases = output(program).split()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [(case, pool.map(collected, [program] * 2, [case] * 2, LENGTHS)) for case in cases]
        return {case: difference(*counts) for case, counts in runs}


def difference(few: int, more: int) -> float:
    return (more - few) / (LENGTHS[1] - LENGTHS[0])


def collected(program: Path, case: str, requests: int) -> int:
    """Instructions of a whole run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case, str(requests)]
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
        if (tree / HISTORY.relative_to(TREE)).read_text() != HISTORY.read_text():
            print("this change accepts its figures: not compared with the parent's")
            return None
        return count(build(tree, target() / "parent"))
    except FileNotFoundError as error:
        print(f"no figures of the parent: {error}")
        return None
    except subprocess.CalledProcessError as error:
        print(f"no figures of the parent, so compared with the history alone: {said(error)}")
        return None


def accepted(rustc: str) -> dict[str, float] | None:
    """The last figures of the history, if this compiler made them."""
    if not HISTORY.exists():
        print(f"{HISTORY} does not exist; --accept writes it")
        return None
    lines = [line.split("\t") for line in HISTORY.read_text().splitlines()]
    head, last = lines[0], lines[-1]
    if last[1] != rustc:
        print(f"the last accepted figures are of rustc {last[1]}, and this is {rustc}: not compared")
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


def compare(figures: dict[str, float], parent: dict[str, float] | None, before: dict[str, float] | None) -> int:
    """Prints all figures; 1 if one is too high."""
    status = 0
    for case, figure in figures.items():
        remarks = []
        for name, others, most in (("parent", parent, MOST_OVER_PARENT), ("accepted", before, MOST_OVER_ACCEPTED)):
            if others and case in others:
                change = figure / others[case] - 1
                remarks.append(f"{change:+.2%} to the {name}'s {others[case]:.1f}")
                if change > most:
                    remarks[-1] += f", which is more than {most:.0%}"
                    status = 1
        print(f"{case}: {figure:.1f} instructions a request; {'; '.join(remarks) or 'nothing to compare with'}")
    if status:
        print("a case costs more; if what it does is worth that, say so in the commit, and append the figures with --accept")
    return status


if __name__ == "__main__":
    sys.exit(main())
