"""Plots say what the tables say."""

import pytest
import stripewise

pytest.importorskip("altair")
from stripewise import plots  # noqa: E402

WORKLOAD = "uniform:write=0.7,size=8KiB,span=64MiB,requests=2000"


@pytest.fixture
def runs(study):
    return stripewise.compare(["baseline", "adaptive"], WORKLOAD, **study)


def values(chart):
    return chart.to_dict()["data"]["values"]


def test_the_tail_ends_at_the_slowest_request(runs):
    points = values(plots.latency_tail(runs))
    for run in runs:
        own = [point for point in points if point["scheme"] == run.scheme]
        assert min(point["share"] for point in own) >= 0.99 and own[-1]["share"] == 1.0
        assert own[-1]["response (ms)"] == pytest.approx(run.totals["response_max_ns"] / 1e6, rel=0.002)
    reads = values(plots.latency_tail(runs, kind="read", start=0.5))
    assert min(point["share"] for point in reads) < 0.6
    with pytest.raises(stripewise.SettingError, match="expected one of read, write, all"):
        plots.latency_tail(runs, kind="trim")


def test_bars_are_the_totals(runs):
    for bar in values(plots.mean_response(runs)):
        name = {"reads": "read_mean_ns", "writes": "write_mean_ns", "all": "response_mean_ns"}[bar["requests"]]
        assert bar["mean (ms)"] == runs[bar["scheme"]].totals[name] / 1e6
    shares = {(bar["scheme"], bar["updates"]): bar["share"] for bar in values(plots.routines(runs))}
    assert shares["baseline", "adjusted"] == 0
    assert shares["adaptive", "adjusted"] > 0
    assert sum(shares["adaptive", routine] for routine in ("RMW", "RCW", "full stripe")) == pytest.approx(1)


def test_seeds_of_a_scheme_become_one_bar_with_its_interval_and_one_curve(study):
    runs = stripewise.compare(["baseline", "adaptive"], WORKLOAD, seeds=3, **study)
    assert [(run.scheme, run.seed) for run in runs] == [(s, n) for s in ("baseline", "adaptive") for n in (1, 2, 3)]
    chart = plots.mean_response(runs).to_dict()
    bars = chart["data"]["values"]
    assert len(bars) == 6, "a bar a scheme and kind"
    for bar in bars:
        name = {"reads": "read_mean_ns", "writes": "write_mean_ns", "all": "response_mean_ns"}[bar["requests"]]
        means = [run.totals[name] / 1e6 for run in runs if run.scheme == bar["scheme"]]
        assert bar["mean (ms)"] == pytest.approx(sum(means) / 3)
        assert bar["low (ms)"] < min(means) and bar["high (ms)"] > max(means), "three values are few"
    points = [point for point in values(plots.latency_tail(runs)) if point["scheme"] == "baseline"]
    assert [point["share"] for point in points] == sorted(point["share"] for point in points)
    slowest = max(run.totals["response_max_ns"] for run in runs if run.scheme == "baseline")
    assert points[-1]["response (ms)"] == pytest.approx(slowest / 1e6, rel=0.002)


def test_what_cannot_be_put_together_is_refused(study):
    seeds = stripewise.compare(["baseline"], WORKLOAD, seeds=2, **study)
    with pytest.raises(stripewise.SettingError, match=r"2 runs of baseline \(seeds 1, 2\)"):
        plots.routines(seeds)
    other = stripewise.run("baseline", WORKLOAD, pacing="closed:2", **study)
    with pytest.raises(stripewise.SettingError, match="differ in more than their seed"):
        plots.mean_response([seeds[0], other])
    with pytest.raises(stripewise.SettingError, match="two runs of baseline with seed 1"):
        plots.latency_tail([seeds[0], seeds[0]])


def test_every_member_has_a_bar(runs):
    bars = values(plots.member_load(runs))
    assert len(bars) == 12 and all(bar["value"] > 0 for bar in bars)
    erases = values(plots.member_load(runs, column="erase_blocks", title="erases"))
    assert sum(bar["value"] for bar in erases if bar["scheme"] == "baseline") == runs[0].totals["erase_blocks"]


def test_the_former_name_of_the_plot_of_members_warns(runs):
    with pytest.warns(FutureWarning, match="is now `member_load`"):
        assert values(plots.element_load(runs)) == values(plots.member_load(runs))


def test_charts_can_be_saved(runs, tmp_path):
    pytest.importorskip("vl_convert")
    both = plots.mean_response(runs) | plots.routines(runs) | plots.latency_tail(runs) | plots.member_load(runs)
    both.save(tmp_path / "figures.svg")
    assert "adaptive" in (tmp_path / "figures.svg").read_text()
