"""Plots of runs, drawn from their tables alone. They need the extra `plots`: `pip install "stripewise[plots]"`.

Every function takes a `Comparison`, or any sequence of runs, and returns an Altair chart, which can be changed,
combined, shown in a notebook, or saved as HTML, SVG or PNG: `chart.save("tail.svg")`. Charts of bars that are put side by
side share the places of their bars unless told otherwise: `(a | b).resolve_scale(xOffset="independent")`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import kinds
from ._stripewise import Run, Table, unknown
from .comparison import Comparison
from .errors import SettingError
from .notebook import Intervals

if TYPE_CHECKING:
    import altair

READS, WRITES, ALL, OPERATIONS = range(4)
_KINDS = {"read": READS, "write": WRITES, "all": ALL}
_MOST_POINTS = 400
"""Points of a curve; a screen shows no more."""


def latency_tail(runs: Iterable[Run], *, kind: str = "all", start: float = 0.99) -> altair.Chart:
    """The cumulative distribution of response times from `start` on (paper 000 draws it from 99 % to 100 %).

    Args:
        runs: what to draw: a curve a scheme, over the requests of all its seeds.
        kind: `read`, `write` or `all`.
        start: the share of requests to begin at, 0 to 1.

    Raises:
        SettingError: runs of one scheme differ in more than their seed.
    """
    alt = _altair()
    if kinds.text("kind", kind, "read") not in _KINDS:
        raise SettingError(f"kind {kind!r}: expected one of {', '.join(_KINDS)}")
    if not 0 <= kinds.number("start", start) < 1:
        raise SettingError(f"start {start}: expected a share from 0 to less than 1")
    points: list[dict[str, Any]] = []
    for scheme, group in _schemes(runs).items():
        curve = _distribution(group, _KINDS[kind])
        served = max((row["count"] for row in curve), default=0)
        tail = [row for row in curve if row["count"] >= start * served]
        points.extend(
            {"scheme": scheme, "response (ms)": row["latency_ns"] / 1e6, "share": row["count"] / served}
            for row in _thinned(tail)
        )
    return (
        alt.Chart(alt.Data(values=points))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("response (ms):Q", title=f"response time, {_named(kind)} (ms)"),
            y=alt.Y("share:Q", title="share of requests", axis=alt.Axis(format=".2%"))
            .scale(domain=[start, 1.0], clamp=True),
            color=alt.Color("scheme:N", sort=None, title="scheme"),
            strokeDash=alt.StrokeDash("scheme:N", sort=None, title="scheme"),
        )
        .properties(width=420, height=260)
    )


def mean_response(runs: Iterable[Run]) -> altair.Chart:
    """Mean response times of reads, of writes, and of both: a bar a scheme. Where it has several seeds, the mean over them
    with its 95 % interval (Student).

    Raises:
        SettingError: runs of one scheme differ in more than their seed.
    """
    alt = _altair()
    kinds = [("reads", "read_mean_ns"), ("writes", "write_mean_ns"), ("all", "response_mean_ns")]
    bars = []
    for scheme, group in _schemes(runs).items():
        means = {row["total"]: row for row in _frame(Comparison(group).aggregate([name for _, name in kinds]))}
        for kind, name in kinds:
            row = means[name]
            bar = {"scheme": scheme, "requests": kind, "mean (ms)": row["mean"] / 1e6, "seeds": row["seeds"]}
            ends = [row["mean"] if row[end] is None else row[end] for end in ("mean_low", "mean_high")]
            bars.append({**bar, "low (ms)": ends[0] / 1e6, "high (ms)": ends[1] / 1e6})
    places = {
        "x": alt.X("requests:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
        "xOffset": alt.XOffset("scheme:N", sort=None),
    }
    chart = alt.Chart(alt.Data(values=bars)).properties(width=420, height=220)
    drawn = chart.mark_bar().encode(
        y=alt.Y("mean (ms):Q", title="mean response time (ms)"),
        color=alt.Color("scheme:N", sort=None, title="scheme"),
        **places,
    )
    if all(bar["seeds"] == 1 for bar in bars):
        return drawn
    return drawn + chart.mark_rule().encode(y=alt.Y("low (ms):Q"), y2=alt.Y2("high (ms):Q"), **places)


def routines(runs: Iterable[Run]) -> altair.Chart:
    """Shares of the parity updates by routine, and of those that Baseline would have made otherwise (paper 000,
    Figure 6: adjusted)."""
    alt = _altair()
    bars: list[dict[str, Any]] = []
    for run, totals in _totals(runs):
        updates = totals.get("updates", 0)
        for what, name in [
            ("RMW", "updates_rmw"),
            ("RCW", "updates_rcw"),
            ("full stripe", "updates_full_stripe"),
            ("adjusted", "updates_adjusted"),
        ]:
            share = totals[name] / updates if updates else 0.0
            bars.append({"scheme": run.scheme, "updates": what, "share": share})
    return (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            x=alt.X("updates:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("scheme:N", sort=None),
            y=alt.Y("share:Q", title="share of parity updates", axis=alt.Axis(format="%")),
            color=alt.Color("scheme:N", sort=None, title="scheme"),
        )
        .properties(width=420, height=220)
    )


def member_load(runs: Iterable[Run], *, column: str = "blocked_sum", title: str | None = None) -> altair.Chart:
    """A column of the table `members`, by member: how evenly the load lies.

    Args:
        runs: what to draw, a bar each for every member.
        column: which; by default the operations that arriving requests found queued, of which the mean is drawn.
        title: the axis' title; by default the column's name.
    """
    alt = _altair()
    kinds.text("column", column, "blocked_sum")
    bars: list[dict[str, Any]] = []
    for run, totals in _totals(runs):
        if column not in (known := run.table("members").columns):
            raise SettingError(unknown("column", column, known))
        requests = max(totals["requests"], 1) if column == "blocked_sum" else 1
        bars.extend(
            {"scheme": run.scheme, "member": row["member"], "value": row[column] / requests}
            for row in _rows(run, "members")
        )
    axis = title or ("queued operations on arrival, mean" if column == "blocked_sum" else column)
    return (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            x=alt.X("member:O", title="member", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("scheme:N", sort=None),
            y=alt.Y("value:Q", title=axis),
            color=alt.Color("scheme:N", sort=None, title="scheme"),
        )
        .properties(width=420, height=220)
    )


def element_load(runs: Iterable[Run], *, column: str = "blocked_sum", title: str | None = None) -> altair.Chart:
    """The former name of `member_load`, for one release."""
    warnings.warn("`element_load` is now `member_load`", FutureWarning, stacklevel=2)
    return member_load(runs, column=column, title=title)


def study_means(found: Intervals, *, x: str | None = None) -> Any:
    """The means of a study's figure over an axis, a line a scheme, with their 95 % intervals (`Study.plot`).

    Args:
        found: what `Study.intervals` gives.
        x: the axis to draw over; by default the first with several values.

    Raises:
        SettingError: no such axis; more than two axes with several values.
    """
    alt = _altair()
    axes = found.varying()
    if x is not None and x not in found.rows[0]["axes"]:
        raise SettingError(unknown("axis", x, list(found.rows[0]["axes"])))
    over = x or (axes[0] if axes else None)
    panels = [name for name in axes if name != over]
    if len(panels) > 1:
        raise SettingError(f"{', '.join(axes)} have several values; a plot has room for two of them: keep some points of a frame()")
    is_time = found.figure.endswith("_ns")
    title, scale = (f"{found.figure.removesuffix('_ns')} (ms)", 1e6) if is_time else (found.figure, 1.0)
    points = []
    for row in found.rows:
        ends = [row["mean"] if row[end] is None else row[end] for end in ("mean_low", "mean_high")]
        point = {"scheme": row["scheme"], "mean": row["mean"] / scale, "low": ends[0] / scale, "high": ends[1] / scale}
        at = row["axes"][over] if over else row["scheme"]
        points.append({**point, "at": at, "panel": row["axes"][panels[0]] if panels else ""})
    drawn = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("at:N", sort=None, title=over or "scheme", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("scheme:N", sort=None, title="scheme"),
    )
    lines = drawn.mark_line(point=True).encode(y=alt.Y("mean:Q", title=title).scale(zero=False))
    whiskers = drawn.mark_rule().encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q"))
    chart = alt.layer(lines, whiskers)
    if panels:
        return chart.facet(column=alt.Column("panel:N", sort=None, title=panels[0]))
    return chart.properties(width=420, height=260)


def _altair() -> Any:
    try:
        import altair
    except ImportError as missing:
        raise ImportError('plots need Altair: pip install "stripewise[plots]"') from missing
    return altair


def _rows(run: Run, table: str) -> list[dict[str, Any]]:
    """The rows of a run's table."""
    return _frame(run.table(table))


def _frame(found: Table) -> list[dict[str, Any]]:
    """The rows of a table, through whichever frame is installed."""
    try:
        rows: list[dict[str, Any]] = found.to_polars().to_dicts()
    except ImportError:
        rows = found.to_pyarrow().to_pylist()
    return rows


def _totals(runs: Iterable[Run]) -> list[tuple[Run, dict[str, Any]]]:
    """The totals of runs of which each is another scheme's: counts of several seeds are not to be stacked."""
    pairs = []
    for scheme, group in _schemes(runs).items():
        if len(group) > 1:
            seeds = ", ".join(str(run.seed) for run in group)
            raise SettingError(f"there are {len(group)} runs of {scheme} (seeds {seeds}); give one of them")
        pairs.append((group[0], group[0].totals))
    return pairs


def _schemes(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each scheme, which may differ in their seed alone."""
    groups: dict[str, list[Run]] = {}
    for run in Comparison(runs if isinstance(runs, Sequence) else kinds.several("runs", runs, "[stripewise.run(...), ...]")):
        group = groups.setdefault(run.scheme, [])
        first = group[0] if group else run
        if (run.configuration, run.replay, run.workload) != (first.configuration, first.replay, first.workload):
            raise SettingError(
                f"runs of {run.scheme} differ in more than their seed; plot those of one workload, pacing and setting at a time"
            )
        if any(run.seed == other.seed for other in group):
            raise SettingError(f"there are two runs of {run.scheme} with seed {run.seed}; leave one out")
        group.append(run)
    return groups


def _distribution(runs: Sequence[Run], kind: int) -> list[dict[str, Any]]:
    """How many requests of all the runs took at most so long: rows of `latency_ns` and `count`."""
    steps: dict[int, int] = {}
    for run in runs:
        before = 0
        for row in _rows(run, "latencies"):
            if row["kind"] == kind:
                steps[row["latency_ns"]] = steps.get(row["latency_ns"], 0) + row["count"] - before
                before = row["count"]
    curve, count = [], 0
    for latency, step in sorted(steps.items()):
        count += step
        curve.append({"latency_ns": latency, "count": count})
    return curve


def _thinned(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most `_MOST_POINTS` of the rows, the first and the last among them."""
    if len(rows) <= _MOST_POINTS:
        return list(rows)
    step = (len(rows) - 1) / (_MOST_POINTS - 1)
    return [rows[round(at * step)] for at in range(_MOST_POINTS)]


def _named(kind: str) -> str:
    return {"all": "reads and writes", "read": "reads", "write": "writes"}[kind]
