"""Arguments of the wrong kind: every public function refuses them with an error of the package that says what to give."""

import inspect
import subprocess

import pytest
import stripewise
from stripewise import plots
from test_runs import command

WRONG = [None, True, 4, -1, 2.5, float("nan"), "", "no such thing", "1k", b"bytes", [], ["x"], {}, {"a": 1}, object(), 10**30]

ALLOWED = (stripewise.StripewiseError, FutureWarning)


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """What methods are called on."""
    folder = tmp_path_factory.mktemp("things")
    small = {"settings": {"device.geometry.blocks": 64, "device.geometry.chips": 1}, "progress": False}
    comparison = stripewise.compare(["baseline", "bpu"], "uniform:requests=20,span=16MiB", seeds=2, out=folder / "runs", **small)
    (folder / "study.toml").write_text(
        '[base]\nworkload = "uniform:requests=20,span=16MiB"\n"geometry.blocks" = 64\n'
        '[compare]\nscheme = ["baseline", "bpu"]\n[axes]\npacing = ["closed:1", "closed:4"]\n[replicate]\nseeds = 3\n'
    )
    study = stripewise.study(folder / "study.toml", store=folder / "store")
    study.run(progress=False)
    return {"comparison": comparison, "run": comparison[0], "study": study, "folder": folder}


def calls(things):
    """Functions, with arguments that are right."""
    folder, comparison, run, study = (things[name] for name in ("folder", "comparison", "run", "study"))
    workload = stripewise.workload("uniform:requests=5,span=16MiB")
    small = {"device.geometry.blocks": 64, "device.geometry.chips": 1}
    common = {
        "workload": workload,
        "device": "ssdsim-5+1",
        "members": "channel",
        "precondition": "fresh",
        "pacing": "closed:2",
        "span": "1MiB",
        "warmup": 0,
        "seed": 1,
        "seeds": 1,
        "settings": small,
        "request_rows": False,
        "gc_rows": False,
        "gc_slice": "100us",
        "sample_every": "0ns",
        "table_budget": "1GiB",
        "out": folder / "wrong",
        "force": False,
        "threads": 1,
        "progress": False,
        "executor": None,
    }
    yield stripewise.compare, {"schemes": ["baseline"], **common}
    yield stripewise.run, {"scheme": "baseline", **common}
    yield stripewise.sweep, {"points": [{"scheme": "baseline"}], **{key: common[key] for key in common if key != "threads"}}
    yield stripewise.workload, {"what": "uniform:requests=5", "requests": 5, "fold": "modulo"}
    yield stripewise.open_trace, {"path": folder / "none.csv", "format": "msr", "skip_bad": 0, "requests": 5, "fold": "modulo"}
    yield stripewise.Scheme, {"name": "baseline", "settings": {}, "text": None, "policy": None, "label": None}
    yield stripewise.Device, {"name": "ssdsim-5+1", "settings": {}, "text": None}
    yield stripewise.profile, {"name": "paper000/hm_0"}
    yield stripewise.open_run, {"path": run.path, "scheme": "baseline"}
    rates = {"failures_per_year": 0.25, "repairs_per_year": 1e4, "alpha": 1.0}
    yield stripewise.mttdl_years, {"members": 8, "parity": 1, "groups": 1, "repair": "single", **rates}
    yield stripewise.study, {"path": folder / "study.toml", "store": folder / "store"}
    yield stripewise.Comparison, {"runs": list(comparison), "settings": {}}
    yield comparison.aggregate, {"totals": ["response_mean_ns"]}
    yield comparison.to_html, {"path": folder / "report.html"}
    yield run.table, {"name": "members"}
    for method in (workload.requests, workload.statistics, workload.profile_toml, workload.describe):
        yield method, {"seed": 1}
    yield study.run, {"client": None, "jobs": 1, "limit": 1, "batch_s": 30.0, "progress": False}
    yield study.intervals, {"figure": "p99_ns"}
    yield study.show, {"figure": "p99_ns"}
    yield study.plot, {"figure": "p99_ns", "x": "pacing"}
    yield plots.latency_tail, {"runs": comparison, "kind": "all", "start": 0.99}
    yield plots.mean_response, {"runs": comparison}
    yield plots.routines, {"runs": [run]}
    yield plots.member_load, {"runs": [run], "column": "blocked_sum", "title": None}


def test_wrong_kinds_are_errors_of_the_package(things, monkeypatch):
    monkeypatch.chdir(things["folder"])
    bare, refused = [], 0
    for function, right in calls(things):
        for name in right:
            for wrong in WRONG:
                try:
                    function(**{**right, name: wrong})
                except ALLOWED as error:
                    refused += 1
                    assert len(str(error)) > 10
                except Exception as error:
                    bare.append(f"{function.__qualname__}({name}={wrong!r}): {type(error).__name__}: {error}")
    assert not bare, "\n".join(bare)
    assert refused > 500


def test_every_function_of_the_package_is_called_with_wrong_kinds(things):
    called = {function.__name__ for function, _ in calls(things)}
    silent = {"devices", "formats", "generators", "profiles", "schemes"}  # without arguments
    public = {name for name in stripewise.__all__ if inspect.isroutine(getattr(stripewise, name))}
    assert public - silent <= called, public - silent - called
    for method in ("run", "intervals", "show", "plot"):
        assert method in called


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda _: stripewise.run(settings=["gc.victim=fifo"]), "give a mapping"),
        (lambda _: stripewise.run(settings={"gc.victim": ["fifo"]}), "the setting gc.victim is"),
        (lambda _: stripewise.run(span=4), "as in '4GiB'"),
        (lambda _: stripewise.workload("paper000/hm_0", requests="1k"), "without quotes or units"),
        (lambda _: stripewise.run(workload=5), "open_trace"),
        (lambda _: stripewise.run(threads=0), "threads is 0"),
        (lambda _: stripewise.compare([5]), "scheme is 5"),
        (lambda _: stripewise.compare([stripewise.UpdatePolicy]), "is a class"),
        (lambda things: things["comparison"].aggregate(["response_mean"]), "did you mean `response_mean_ns`"),
        (lambda things: things["run"].totals["p99"], "did you mean `response_p99_ns`"),
        (lambda things: things["run"].table("membres"), "did you mean `members`"),
        (lambda things: things["comparison"]["bup"], "did you mean `bpu`"),
        (lambda things: things["study"].intervals("p999x"), "did you mean `response_p999_ns`|unknown figure"),
        (lambda things: things["study"].plot(x="pacign"), "did you mean `pacing`"),
    ],
)
def test_the_remedy_is_told(things, call, said):
    with pytest.raises(stripewise.SettingError, match=said):
        call(things)


def test_a_file_of_a_trace_is_no_workload_by_name(trace, monkeypatch):
    monkeypatch.chdir(trace.parent)
    with pytest.raises(stripewise.TraceError, match=r"open_trace\('trace.csv'\)"):
        stripewise.compare(["baseline"], "trace.csv")


def test_an_unknown_argument_gets_the_nearest(things):
    with pytest.raises(TypeError, match="did you mean `pacing`"):
        stripewise.run("baseline", pacign="closed:1")


def test_an_unknown_name_is_a_key_error_too(things):
    with pytest.raises(KeyError):
        things["run"].totals["response_mean"]
    assert things["run"].totals.get("response_mean") is None
    with pytest.raises(KeyError):
        things["comparison"]["none"]


def test_a_notebook_shows_comparisons_tables_workloads_and_studies(things):
    shown = things["comparison"]._repr_html_()
    assert "Typical ratio to baseline" in shown and shown.count("<table>") == 2
    assert things["comparison"][:1]._repr_html_().count("<table>") == 1
    table = things["run"].table("members")._repr_html_()
    assert all(f">{name}</th>" in table for name in things["run"].table("members").columns)
    requests = stripewise.workload("uniform:requests=30,span=16MiB").requests()._repr_html_()
    assert requests.count("<tr>") == 1 + 10 + 1 and "…" in requests, "ten rows, and a sign that there are more"
    workload = stripewise.workload("uniform:requests=5,size=4KiB", requests=3)
    assert "uniform:requests=5,size=4KiB" in workload._repr_html_() and ">3<" in workload._repr_html_()


def test_the_intervals_of_a_study_are_those_of_its_runs(things):
    study = things["study"]
    found = study.intervals("response_mean_ns")
    assert [(row["axes"]["pacing"], row["scheme"], row["seeds"]) for row in found.rows] == [
        (pacing, scheme, 3) for pacing in ("closed:1", "closed:4") for scheme in ("baseline", "bpu")
    ]
    frame = study.frame().collect()
    of_first = frame.filter((frame["axis.pacing"] == "closed:1") & (frame["scheme"] == "baseline"))["response_mean_ns"]
    assert found.rows[0]["mean"] == pytest.approx(of_first.mean())
    assert found.rows[0]["mean_low"] < found.rows[0]["mean"] < found.rows[0]["mean_high"]
    assert str(study.show("response_mean_ns")).startswith("response_mean\nPACING")
    assert "<table>" in study.show()._repr_html_()
    drawn = study.plot("response_mean_ns").to_dict()
    assert len(drawn["layer"]) == 2 and len(drawn["layer"][0].get("data", drawn.get("data"))["values"]) == 4
    for figure in ("response_mean_ns", "programs_per_host_page", "map_bytes"):
        line = [command(), "study", "show", things["folder"] / "study.toml", "--store", things["folder"] / "store"]
        printed = subprocess.run([*line, "--figure", figure], check=True, capture_output=True, text=True).stdout
        assert str(study.show(figure)).splitlines() == printed.splitlines()
    assert found.to_polars()["axis.pacing"].to_list() == ["closed:1", "closed:1", "closed:4", "closed:4"]
