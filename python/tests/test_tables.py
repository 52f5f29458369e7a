"""Tables leave as Arrow tables, whole and without copying."""

import json
import math
import statistics
import warnings

import pytest
import stripewise
from conftest import SMALL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pl = pytest.importorskip("polars")

WORKLOAD = "uniform:write=0.5,size=8KiB,span=64MiB,requests=500"


def test_every_table_of_a_run_is_a_frame(study):
    run = stripewise.run("baseline", WORKLOAD, request_rows=True, gc_rows=True, sample_every="10ms", **study)
    assert {"totals", "members", "gc_slices", "samples", "gcs", "requests"} <= set(run.tables)
    for name in run.tables:
        table = run.table(name)
        frame = pl.DataFrame(table)
        assert frame.columns == table.columns and table.name == name
        assert frame.equals(pl.read_parquet(run.path / f"{name}.parquet")), name
        assert frame.equals(table.to_polars()), "a table can be read twice"
    requests = run.table("requests").to_polars()
    assert len(requests) == run.totals["requests"] == 500
    assert requests["latency_ns"].max() == run.totals["response_max_ns"]
    assert run.table("requests").describe()["latency_ns"].startswith("Arrival to acknowledgement")
    with pytest.raises(stripewise.SettingError, match="no table `nothing`; it has totals"):
        run.table("nothing")


def test_former_names_are_accepted_with_a_warning(study):
    with pytest.warns(FutureWarning, match="`elements` is now `members`") as warned:
        run = stripewise.run("baseline", WORKLOAD, elements="chip", **study)
    assert warned[0].filename == __file__
    with pytest.warns(FutureWarning, match="`elements` is now `members`") as warned:
        swept = stripewise.sweep([{"scheme": "baseline", "workload": WORKLOAD}], elements="chip", **study)
    assert warned[0].filename == __file__ and swept[0].run_digest == run.run_digest
    for both in (
        lambda: stripewise.run("baseline", WORKLOAD, elements="chip", members="channel", **study),
        lambda: stripewise.compare(["baseline"], WORKLOAD, elements="ssd:3", members="chip", **study),
        lambda: stripewise.mttdl_years(elements=12, members=6),
    ):
        with pytest.raises(stripewise.SettingError, match="give one of them"), warnings.catch_warnings(action="ignore"):
            both()
    assert 'members = "chip:1"' in run.configuration
    with pytest.warns(FutureWarning, match="`elements` is now `members`"):
        assert run.table("elements").to_polars().equals(run.table("members").to_polars())
    with pytest.warns(FutureWarning, match="`elements` is now `members`"):
        assert stripewise.mttdl_years(elements=12) == stripewise.mttdl_years(members=12)


def test_a_table_that_was_left_out_is_not_there(study):
    run = stripewise.run("baseline", WORKLOAD, **study)
    assert "requests" not in run.tables
    with pytest.raises(stripewise.SettingError, match="no table `requests`"):
        run.table("requests")


def test_totals_of_a_comparison_are_a_row_each(study):
    runs = stripewise.compare(["baseline", "raid0"], WORKLOAD, **study)
    frame = runs.totals.to_polars()
    assert frame["scheme"].to_list() == ["baseline", "raid0"]
    for run in runs:
        row = frame.row(by_predicate=pl.col("scheme") == run.scheme, named=True)
        setup = {
            "scheme": run.scheme,
            "seed": 1,
            "workload": run.workload,
            "request_limit": None,
            "pacing": run.pacing,
            "device": "ssdsim-5+1",
            "members": "channel:1",
            "precondition": "steady:70%",
            "span_bytes": row["span_bytes"],
            "fold": "modulo",
            "warmup_requests": 0,
        }
        assert {**run.totals, **setup} == row
        assert row["span_bytes"] > 0 and run.workload.startswith("uniform:requests=500,write=0.5")


def test_totals_of_a_sweep_have_a_column_for_everything_that_varied(study):
    points = [
        {},
        {"pacing": "closed:4"},
        {"members": "chip"},
        {"precondition": "fresh"},
        {"span": "32MiB"},
        {"warmup": 10},
        {"workload": stripewise.workload(WORKLOAD, requests=300)},
        {"settings": {**study["settings"], "gc.victim": "fifo"}},
        {"device": "ssdsim-7+1"},
    ]
    runs = stripewise.sweep(points, **{"workload": WORKLOAD, "out": study["out"], "progress": False}, settings=SMALL)
    frame = runs.totals.to_polars()
    plain = frame.row(0, named=True)
    for at, column in enumerate(
        ["pacing", "members", "precondition", "span_bytes", "warmup_requests", "request_limit", "device.gc.victim", "device"],
        start=1,
    ):
        assert frame.row(at, named=True)[column] != plain[column], column
    assert frame["request_limit"].to_list() == [None] * 6 + [300] + [None] * 2
    rows = frame.select(frame.columns[: frame.columns.index("requests")])
    assert rows.unique().height == len(points), "no two runs look alike"


def test_totals_over_seeds_have_means_intervals_and_differences(study):
    runs = stripewise.compare(["baseline", "always-rcw"], WORKLOAD, seeds=4, **study)
    frame = runs.aggregate(["write_mean_ns", "pre_read_pages"]).to_polars()
    assert list(zip(frame["scheme"], frame["total"], frame["seeds"], strict=True)) == [
        (scheme, total, 4) for scheme in ("baseline", "always-rcw") for total in ("write_mean_ns", "pre_read_pages")
    ]
    for row, total in enumerate(("write_mean_ns", "pre_read_pages")):
        first, other = frame.row(row, named=True), frame.row(row + 2, named=True)
        assert first["difference"] is None and first["significant"] is None
        values = {s: [r.totals[total] for r in runs if r.scheme == s] for s in ("baseline", "always-rcw")}
        pairs = list(zip(values["baseline"], values["always-rcw"], strict=True))

        def interval(sample):
            # By hand: t(0.975, 3) = 3.182.
            mean, half = statistics.fmean(sample), 3.182 * statistics.stdev(sample) / 2
            return pytest.approx([mean, mean - half, mean + half], rel=1e-3)

        assert other["first"] == "baseline"
        assert [other["mean"], other["mean_low"], other["mean_high"]] == interval(values["always-rcw"])
        differences = [other["difference"], other["difference_low"], other["difference_high"]]
        assert differences == interval([b - a for a, b in pairs])
        logarithms = [math.log(b / a) for a, b in pairs]
        ratios = [other["ratio"], other["ratio_low"], other["ratio_high"]]
        assert other["kind"] == "ratio" and [math.log(ratio) for ratio in ratios] == interval(logarithms)
        # A ratio that is the same in all seeds says nothing of chance: RCW of this request size reads twice as much.
        is_constant = statistics.stdev(logarithms) < 1e-12
        assert is_constant == (total == "pre_read_pages")
        assert other["significant"] == (not is_constant and (ratios[1] > 1 or ratios[2] < 1))
    assert runs.aggregate().to_polars()["total"].n_unique() == len(runs[0].totals)
    assert runs[:1].aggregate(["requests"]).to_polars()["mean_low"].to_list() == [None]
    with pytest.raises(stripewise.SettingError, match="no total `write_mean`"):
        runs.aggregate(["write_mean"])
    with pytest.raises(stripewise.SettingError, match=r"give a list, \['requests'\]"):
        runs.aggregate("requests")
    with pytest.raises(stripewise.SettingError, match="no runs"):
        runs[:0].aggregate()


def test_pyarrow_and_pandas_take_tables_too(study):
    pa = pytest.importorskip("pyarrow")
    table = stripewise.run("baseline", WORKLOAD, **study).table("members")
    assert pa.table(table).num_rows == 6
    assert pa.schema(table).names == table.columns
    field = pa.schema(table).field("queue_max")
    assert field.metadata[b"description"].startswith(b"Largest number")
    pd = pytest.importorskip("pandas")
    if hasattr(pd.DataFrame, "from_arrow"):
        assert len(table.to_pandas()) == 6


def test_the_requests_of_a_trace_are_a_table(trace):
    workload = stripewise.open_trace(trace)
    frame = workload.requests().to_polars()
    assert frame.columns == ["time_ns", "offset_bytes", "size_bytes", "volume", "kind"]
    assert len(frame) == 300 and frame["kind"].value_counts().sort("kind")["count"].to_list() == [100, 200]
    statistics = workload.statistics()
    assert (statistics["requests"], statistics["reads"]) == (300, 100)
    assert len(stripewise.open_trace(trace, requests=7).requests().to_polars()) == 7
    assert "trace.csv" in workload.describe()
    profile = workload.profile_toml()
    again = trace.with_name("mine.toml")
    again.write_text(profile)
    assert stripewise.profile(str(again))["requests"] in (300, "300")
    assert stripewise.workload(str(again), requests=100).statistics()["requests"] == 100


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 10**9),
            st.integers(0, 2**40),
            st.integers(1, 2**20),
            st.integers(0, 9),
            st.sampled_from(["read", "write", "trim"]),
        ),
        min_size=1,
        max_size=50,
    )
)
def test_a_frame_written_as_parquet_is_the_same_trace(tmp_path, rows):
    names = ["time_ns", "offset_bytes", "size_bytes", "volume", "kind"]
    frame = pl.DataFrame(sorted(rows), schema=names, orient="row")
    path = tmp_path / "trace.parquet"
    frame.write_parquet(path)
    read = stripewise.open_trace(path).requests().to_polars()
    first = frame["time_ns"].min()
    expected = frame.with_columns(pl.col("time_ns") - first)
    assert read.rows() == expected.rows()


def test_lists_name_what_comes_with_the_program():
    assert "baseline" in [scheme["name"] for scheme in stripewise.schemes()]
    assert "ssdsim-5+1" in [device["name"] for device in stripewise.devices()]
    assert "paper000/hm_0" in [profile["name"] for profile in stripewise.profiles()]
    assert "msr" in [form["name"] for form in stripewise.formats()]
    for generator in stripewise.generators():
        if generator["name"] != "profile":
            assert stripewise.workload(generator["example"], requests=5).requests().to_polars().height == 5
    json.dumps([stripewise.schemes(), stripewise.devices(), stripewise.profiles(), stripewise.generators()])
    assert stripewise.profile("paper000/hm_0")["write_ratio"] > 0.5


def test_a_damaged_table_is_an_error_of_the_store_and_never_other_rows(study):
    run = stripewise.run("baseline", WORKLOAD, request_rows=True, **study)
    path = run.path / "latencies.parquet"
    whole = path.read_bytes()
    spoiled = bytearray(whole)
    for at in range(100, 104):
        spoiled[at] ^= 0x5A
    path.write_bytes(spoiled)
    with pytest.raises(stripewise.StoreError, match="latencies.parquet.*force=True"):
        run.table("latencies").to_polars()
    with pytest.raises(stripewise.StoreError, match="latencies.parquet"):
        stripewise.run("baseline", WORKLOAD, request_rows=True, **study)
    again = stripewise.run("baseline", WORKLOAD, request_rows=True, force=True, **study)
    assert path.read_bytes() == whole and again.results_digest == run.results_digest
    # Anywhere in the file: an answer or an error, and the interpreter lives.
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            frame = run.table("latencies").to_polars()
        except stripewise.StripewiseError:
            continue
        assert len(frame) > 0
