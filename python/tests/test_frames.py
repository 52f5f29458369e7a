"""Data frames as traces."""

import os

import duckdb
import pandas
import polars
import pyarrow
import pytest

import stripewise


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRIPEWISE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


ROWS = {"time_us": [5, 95, 255], "op": ["R", "W", "W"], "offset": [0, 8192, 4096], "size": [4096, 512, 8192]}
TABLE = [(0, 0, 4096, "read"), (90_000, 8192, 512, "write"), (250_000, 4096, 8192, "write")]
MAKERS = {
    "polars": polars.DataFrame,
    "lazy": polars.LazyFrame,
    "pandas": pandas.DataFrame,
    "pyarrow": pyarrow.table,
    "duckdb": lambda rows: duckdb.from_arrow(pyarrow.table(rows)),
    "stream": lambda rows: Stream(pyarrow.table(rows)),
}


class Stream:
    """A frame of no library that is known."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def rows(trace):
    table = trace.requests().to_polars()
    return list(table.select("time_ns", "offset_bytes", "size_bytes", "kind").iter_rows())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_frames_of_every_library_are_traces(make):
    assert rows(stripewise.open_trace(make(ROWS))) == TABLE


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_schema_of_traces_is_read_back(make):
    own = stripewise.workload("uniform:size=8KiB,span=1MiB", requests=50).requests().to_polars()
    again = stripewise.open_trace(make(own.to_dict(as_series=False)))
    assert rows(again) == list(own.select("time_ns", "offset_bytes", "size_bytes", "kind").iter_rows())


@pytest.mark.parametrize("make", [polars.DataFrame, pandas.DataFrame, pyarrow.table])
def test_dates_and_flags_have_their_meaning(make):
    when = pandas.to_datetime(["2026-03-01T10:00:00.000001", "2026-03-01T10:00:00.250001"])
    given = {"Timestamp": list(when.to_pydatetime()), "is_write": [True, False], "lba": [8, 16], "nbytes": [4096, 512]}
    assert rows(stripewise.open_trace(make(given))) == [(0, 4096, 4096, "write"), (250_000_000, 8192, 512, "read")]


def test_other_names_are_given_as_the_format():
    frame = polars.DataFrame(ROWS).rename({"offset": "where", "op": "what"})
    with pytest.raises(stripewise.TraceError):
        stripewise.open_trace(frame)
    trace = stripewise.open_trace(frame, format="columns:time=time_us:us,op=what,offset=where,size=size")
    assert rows(trace) == TABLE


def test_equal_frames_are_one_file_and_one_run(cache, tmp_path):
    given = {"out": tmp_path / "runs", "device": "paper003", "members": "ssd:5", "progress": False}
    first = stripewise.compare(["baseline"], polars.DataFrame(ROWS), **given)
    second = stripewise.compare(["baseline"], polars.LazyFrame(ROWS), **given)
    assert first[0].run_digest == second[0].run_digest
    assert [name.rpartition(".")[2] for name in os.listdir(cache / "frames")] == ["csv"]
    assert os.stat(cache / "frames").st_mode & 0o77 == 0


def test_what_is_no_frame_and_a_frame_without_requests_are_refused():
    with pytest.raises(stripewise.StripewiseError):
        stripewise.open_trace(polars.DataFrame({name: [] for name in ROWS}))
    with pytest.raises(stripewise.SettingError, match="give a name or a file"):
        stripewise.open_trace([1, 2, 3])
