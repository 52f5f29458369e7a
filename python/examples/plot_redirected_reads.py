"""Draws the tables "Where it turns" of docs/evidence/redirected-reads.md, as docs/evidence/redirected-reads.svg or the
file that is named.

The tables are what `cargo run --release -p stripewise-sim --example redirected_reads -- turn` prints.
Needs Altair: `pip install '.[plots]'`, then `python python/examples/plot_redirected_reads.py [FILE.svg]`.
"""

import re
import sys
from pathlib import Path

import altair as alt

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence"
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


def panel(title, policies, rows):
    """The means of one table by load, a line a policy."""
    points = [
        {"busy": busy, "policy": policy, "mean": mean}
        for busy, means in rows
        for policy, mean in zip(policies, means, strict=True)
    ]
    # Where nothing collects, the second lies on the first.
    dashes = [[6, 4] if policy == "gc-avoiding" else [1, 0] for policy in policies]
    return (
        alt.Chart(alt.Data(values=points), title=title)
        .mark_line(point=True)
        .encode(
            x=alt.X("busy:Q", title="dies busy with direct reads, %"),
            y=alt.Y("mean:Q", title="mean of reads, us").scale(type="log"),
            color=alt.Color("policy:N", sort=policies, title=None),
            strokeDash=alt.StrokeDash("policy:N", legend=None).scale(domain=policies, range=dashes),
        )
        .properties(width=250, height=220)
    )


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "redirected-reads.svg"
    found = [panel(*table) for table in tables((DOCS / "redirected-reads.md").read_text())]
    alt.hconcat(*found).resolve_scale(y="shared").save(path, format="svg")


if __name__ == "__main__":
    main()
