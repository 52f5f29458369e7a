"""Every file of `python/examples` runs: the scripts as a user runs them, the notebook in a kernel.

The blocks of the pages are run by `test_pages.py` (Python) and by `crates/cli/tests/it/pages.rs` (commands, TOML).
"""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python" / "examples"
REQUESTS = "2_000"
"""Requests of the notebook, instead of a hundred thousand."""

FILES = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def run(script, folder, *arguments):
    ended = subprocess.run([sys.executable, EXAMPLES / script, *arguments], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def sources(notebook):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def drawn(folder):
    """The figure of redirected reads, drawn again, has every table and every policy."""
    run("plot_redirected_reads.py", folder, folder / "drawn.svg")
    texts = {"".join(text.itertext()) for text in ElementTree.parse(folder / "drawn.svg").iter() if text.tag.endswith("text")}
    page = (ROOT / "docs" / "evidence" / "redirected-reads.md").read_text()
    titles = re.findall(r"\*\*(.+)\*\*: mean and p99\.9 of reads, us", page)
    assert titles and {*titles, "direct", "gc-avoiding", "hedged"} <= texts


def written(folder):
    """The notebook is what its script writes, and runs with fewer requests."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    run("make_paper000.py", folder, folder / "again.ipynb", REQUESTS)
    again = json.loads((folder / "again.ipynb").read_text())
    kept = json.loads((EXAMPLES / "paper000.ipynb").read_text())
    shortened = [(kind, text.replace("100_000", REQUESTS)) for kind, text in sources(kept)]
    assert sources(again) == shortened, "write it again: python python/examples/make_paper000.py"
    shown = [cell["outputs"] for cell in again["cells"] if cell["cell_type"] == "code"]
    assert all(outputs for outputs in shown)
    assert not [output for outputs in shown for output in outputs if output["output_type"] in ("error", "stream")]


# What each file needs to run.
RUNNERS = {"make_paper000.py": written, "paper000.ipynb": written, "plot_redirected_reads.py": drawn}


def test_every_example_is_run():
    assert sorted(RUNNERS) == FILES, "an example runs in the tests: add how to RUNNERS"


@pytest.mark.parametrize("runner", list(dict.fromkeys(RUNNERS.values())), ids=lambda runner: runner.__name__)
def test_an_example_runs(runner, tmp_path):
    runner(tmp_path)


def test_examples_import_only_what_their_extra_brings():
    """`pip install '.[plots]'` and what a script names suffice: nothing else of the tests' environment is imported."""
    project = (ROOT / "pyproject.toml").read_text()
    extra = {re.split(r"[>=<]", name)[0] for name in re.findall(r'"([^"]+)"', re.search(r"^plots = (.*)$", project, re.M)[1])}
    assert {"altair", "vl-convert-python"} <= extra
    script = (EXAMPLES / "plot_redirected_reads.py").read_text()
    imported = set(re.findall(r"^(?:import|from) (\w+)", script, re.M)) - sys.stdlib_module_names
    assert imported <= {name.replace("-", "_") for name in extra}, imported


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_every_notebook_of_the_tree_is_an_example():
    listed = subprocess.run(["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    assert {Path(name).parent for name in listed.stdout.split()} == {EXAMPLES.relative_to(ROOT)}
