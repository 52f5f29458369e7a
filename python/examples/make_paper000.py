"""Writes and executes `paper000.ipynb`: the main job as a notebook. Run it where stripewise is installed, with the
extras `plots` and `polars`, and with nbclient and ipykernel: `python python/examples/make_paper000.py [FILE.ipynb [REQUESTS]]`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

REQUESTS = "100_000"

CELLS = [
    (
        "text",
        "# Baseline, BPU and Adaptive on hm_0\n\n"
        "Paper 000 compares three ways to choose between read-modify-write and read-construct-write. Here they are run "
        "over a workload generated to the statistics that the paper's Tables III and IV print for hm_0. It is not the "
        "trace itself: Microsoft's trace is not a part of this project. The number of requests is bounded, so that the "
        "notebook takes seconds.",
    ),
    (
        "code",
        "import altair\nimport polars as pl\nimport stripewise\nfrom stripewise import plots\n\n"
        'altair.renderers.enable("svg")  # pictures that are shown anywhere, without a network\n'
        'workload = stripewise.workload("paper000/hm_0", requests=100_000)\n'
        "statistics = workload.statistics()\n"
        '{name: statistics[name] for name in ("requests", "reads", "writes", "write_ratio")}',
    ),
    ("text", "The first requests, as a frame. Arrow tables are taken over without copying."),
    ("code", "workload.requests().to_polars().head(5)"),
    (
        "text",
        "## The comparison\n\n"
        "Runs that are in the store already are not computed again; Ctrl-C would leave no half run.",
    ),
    (
        "code",
        "comparison = stripewise.compare(\n"
        '    ["paper000-baseline", "paper000-bpu", "paper000-adaptive"], workload, progress=False\n'
        ")\ncomparison",
    ),
    ("code", "comparison.settings"),
    (
        "code",
        'totals = comparison.totals.to_polars()\nbase = totals["response_mean_ns"][0]\n'
        "totals.select(\n"
        '    "scheme",\n'
        '    (pl.col("response_mean_ns") / 1e6).round(2).alias("mean_ms"),\n'
        '    (pl.col("response_mean_ns") / base - 1).round(3).alias("beside_baseline"),\n'
        '    (pl.col("response_p999_ns") / 1e6).round(1).alias("p99.9_ms"),\n'
        '    (pl.col("updates_adjusted") / pl.col("updates")).round(3).alias("adjusted"),\n'
        '    pl.col("blocked_cv").round(3),\n'
        '    pl.col("programs_per_member_page").round(3),\n'
        '    "erase_blocks",\n)',
    ),
    ("text", "## Figures"),
    ("code", "plots.mean_response(comparison)"),
    ("text", "The slowest hundredth of the requests:"),
    ("code", "plots.latency_tail(comparison)"),
    ("text", "Which routines were taken, and how often Baseline would have taken the other:"),
    ("code", "plots.routines(comparison)"),
    ("text", "How evenly the load lies on the channels:"),
    ("code", "plots.member_load(comparison)"),
    (
        "text",
        "## A policy of your own\n\n"
        "It takes the routine whose most loaded channel is less loaded, and is run like a built-in one.",
    ),
    (
        "code",
        "class Lightest(stripewise.UpdatePolicy):\n"
        '    scheme = "paper000-baseline"\n\n'
        "    def choose(self, update):\n"
        "        def load(members):\n"
        "            return max((update.queued_reads[m] + update.queued_writes[m] for m in members), default=0)\n\n"
        '        return "rmw" if load(update.rmw_reads) <= load(update.rcw_reads) else "rcw"\n\n\n'
        "own = stripewise.run(Lightest(), workload, progress=False)\n"
        "stripewise.Comparison([*comparison, own])",
    ),
]


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("paper000.ipynb"))
    requests = sys.argv[2] if len(sys.argv) > 2 else REQUESTS
    assert sum(REQUESTS in text for _, text in CELLS) == 1
    contents = [(kind, text.replace(REQUESTS, requests)) for kind, text in CELLS]
    cells = [new_markdown_cell(text) if kind == "text" else new_code_cell(text) for kind, text in contents]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, path)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
