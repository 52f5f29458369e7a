"""What a notebook shows of tables, workloads and studies."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from ._stripewise import Table, Workload


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]], meanings: Sequence[str] = ()) -> str:
    """A table in HTML; `meanings` of the columns are shown under the pointer."""
    titles = [f" title='{html.escape(text, quote=True)}'" if text else "" for text in meanings] or [""] * len(heads)
    head = "".join(f"<th{title}>{html.escape(name)}</th>" for name, title in zip(heads, titles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(shown: Table) -> str:
    """The first rows of a table."""
    rows, has_more = shown.head()
    names = shown.columns
    described = shown.describe()
    if has_more:
        rows = [*rows, ["…"] * len(names)]
    return grid(names, rows, [described[name] for name in names]) + f"<p>{html.escape(shown.name)}</p>"


def workload(shown: Workload) -> str:
    """What a workload is. A trace is not read for it."""
    how, what, requests, fold = shown._about()
    rows = [
        ["trace" if how == "trace" else "generated", what],
        ["requests", "all" if requests is None else f"{requests:,}"],
        ["folding", fold],
    ]
    return grid(["workload", ""], rows)


class Intervals:
    """The results of a study with their intervals: a row for each point and scheme. `print` shows the table of
    `stripewise study show`, with the unit in the heads and a star at each significant effect; a notebook shows the same as
    HTML. `rows` has the values as they are in the tables, times in nanoseconds.

    Attributes:
        figure: the name of the total.
        kind: how it is compared: `ratio`, `share`, `difference` or `none`.
        rows: a dictionary for each point and scheme: `axes`, `scheme`, `seeds`, `end` (why no more seeds are needed), `mean`
            with `mean_low` and `mean_high` (95 %), and beside the scheme that the others are compared with `ratio`,
            `ratio_low` and `ratio_high` (geometric), or `difference`, `difference_low` and `difference_high`, with
            `significant`.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.figure: str = found["figure"]
        self.kind: str = found["kind"]
        self._title: str = found["title"]
        self._unit: str = found["unit"]
        self.rows: list[dict[str, Any]] = []
        self._shown: list[list[str]] = []
        for row in found["rows"]:
            axes = dict(row["axes"])
            values = {name: row[name] for name in ("scheme", "seeds", "end", "mean")}
            values["mean_low"], values["mean_high"] = _ends(row["mean"], row["margin"])
            values |= {name: row[name] for name in ("ratio", "ratio_low", "ratio_high", "difference")}
            values["difference_low"], values["difference_high"] = _ends(row["difference"], row["difference_margin"])
            values["significant"] = row["significant"]
            self.rows.append({"axes": axes, **values})
            self._shown.append([row["scheme"], str(row["seeds"]), row["end"] or "-", *row["shown"]])

    def varying(self) -> list[str]:
        """The axes with more than one value."""
        names = self.rows[0]["axes"] if self.rows else {}
        return [name for name in names if len({row["axes"][name] for row in self.rows}) > 1]

    def to_polars(self) -> Any:
        """As a `polars.DataFrame`, with a column `axis.KEY` for each axis."""
        import polars

        rows = []
        for row in self.rows:
            axes = {f"axis.{name}": value for name, value in row["axes"].items()}
            rows.append({**axes, "figure": self.figure, **{name: value for name, value in row.items() if name != "axes"}})
        return polars.DataFrame(rows, infer_schema_length=None)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        names = self.varying()
        unit = f" {self._unit}" if self._unit else ""
        heads = [*names, "scheme", "seeds", "end", f"mean{unit}", f"±{unit}", "typical %"]
        axes = [[row["axes"][name] for name in names] for row in self.rows]
        return heads, [[*of, *shown] for of, shown in zip(axes, self._shown, strict=True)]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        heads, rows = self._cells()
        heads = [head.replace("_", " ").upper() for head in heads]
        widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
        # The number of seeds stands to the right, as numbers do.
        number = heads.index("SEEDS")
        lines = []
        for row in [heads, *rows]:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            cells[number] = row[number].rjust(widths[number])
            lines.append("  ".join(cells).rstrip())
        return "\n".join([self._title, *lines])

    def __repr__(self) -> str:
        return f"<stripewise.Intervals of {self.figure}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._title)}</p>" + grid(*self._cells())


def _ends(middle: float | None, margin: float | None) -> tuple[float | None, float | None]:
    return (None, None) if middle is None or margin is None else (middle - margin, middle + margin)
