"""Draws the tables "Where it turns" of docs/evidence/redirected-reads.md as docs/evidence/redirected-reads.svg.

The tables are what `cargo run --release -p stripewise-sim --example redirected_reads -- turn` prints.
Needs matplotlib: `pip install '.[plots]'`, then `python examples/plot_redirected_reads.py`.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "stripewise"  # The same tables yield the same file.
matplotlib.rcParams["svg.fonttype"] = "none"
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parent.parent / "docs" / "evidence"
TITLE = re.compile(r"\*\*(.+)\*\*: mean and p99\.9 of reads, us")


def tables(text):
    """Each table's title, the policies, and rows of (busy dies in %, mean of each policy in us)."""
    lines = iter(text.splitlines())
    for line in lines:
        if not (title := TITLE.fullmatch(line)):
            continue
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table(lines)]
        rows = [(float(busy), [float(cell.split("/")[0]) for cell in means]) for busy, *means in cells[2:]]
        yield title[1], cells[0][1:], rows


def table(lines):
    """The lines of the next table."""
    row = next(lines)
    while not row.startswith("|"):
        row = next(lines)
    while row.startswith("|"):
        yield row
        row = next(lines, "")


def main():
    found = list(tables((DOCS / "redirected-reads.md").read_text()))
    figure, panels = plt.subplots(1, len(found), figsize=(4 * len(found), 3.6), sharey=True)
    for panel, (title, policies, rows) in zip(panels, found, strict=True):
        busy = [row[0] for row in rows]
        for index, policy in enumerate(policies):
            # Where nothing collects, the second lies on the first.
            styles = {"direct": {"color": "black", "linewidth": 2}, "gc-avoiding": {"linestyle": "--"}}
            style = styles.get(policy, {})
            panel.plot(busy, [means[index] for _, means in rows], marker=".", label=policy, **style)
        panel.set(title=title, xlabel="dies busy with direct reads, %", yscale="log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("mean of reads, us")
    panels[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(DOCS / "redirected-reads.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
