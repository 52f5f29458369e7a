"""Every kind of error has its class, says where, and what to do."""

import warnings

import pytest
import stripewise


def test_an_unknown_name_gets_the_nearest(study):
    with pytest.raises(stripewise.SchemeError, match="did you mean `baseline`"):
        stripewise.Scheme("basline")
    with pytest.raises(stripewise.DeviceError, match=r"did you mean `ssdsim-5\+1`"):
        stripewise.run("baseline", device="ssdsim-5-1", **study)
    with pytest.raises(stripewise.TraceError, match="did you mean `paper000/hm_0`"):
        stripewise.workload("paper000/hm_00")
    with pytest.raises(stripewise.TraceError, match="did you mean `uniform`"):
        stripewise.workload("unifrom:span=1GiB")


def test_files_are_refused_with_file_and_line(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n\n[geometry]\nlevle = "raid5"\n')
    with pytest.raises(stripewise.SchemeError, match="did you mean `level`") as caught:
        stripewise.Scheme(path)
    assert (caught.value.file, caught.value.line) == (str(path), 4)
    path.write_text('name = "d"\n[geometry]\nchannels = 0\n')
    with pytest.raises(stripewise.DeviceError) as caught:
        stripewise.Device(path)
    assert caught.value.file == str(path)
    with pytest.raises(stripewise.SchemeError, match="cannot read the scheme") as caught:
        stripewise.Scheme(tmp_path / "none.toml")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "none.toml"), None)


def test_a_bad_line_of_a_trace_is_told_and_can_be_passed_over(study, trace):
    lines = trace.read_text().splitlines(keepends=True)
    lines[250] = lines[250].replace("Write", "Wrote").replace("Read", "Reed")
    trace.write_text("".join(lines))
    with pytest.raises(stripewise.TraceError, match="trace.csv:251:") as caught:
        stripewise.run("baseline", stripewise.open_trace(trace), **study)
    assert (caught.value.file, caught.value.line) == (str(trace), 251)
    assert list(study["out"].glob("*")) == [], "a run that failed leaves nothing"
    run = stripewise.run("baseline", stripewise.open_trace(trace, skip_bad=1), **study)
    assert (run.totals["requests"], run.totals["skipped_lines"]) == (299, 1)
    with pytest.raises(stripewise.TraceError) as caught:
        stripewise.open_trace(trace.with_name("none.csv"))
    assert caught.value.file.endswith("none.csv")


def test_of_several_failed_runs_none_is_lost(study, trace):
    trace.write_text(trace.read_text() + "128166372000900000,host,0,Wrote,4096,4096,100\n")
    with pytest.raises(stripewise.TraceError) as caught:
        stripewise.compare(["baseline", "raid0"], stripewise.open_trace(trace), **study)
    notes = " ".join(caught.value.__notes__)
    assert "scheme baseline" in notes and "scheme raid0" in notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pacing": "opne:3"}, "expected `open`"),
        ({"members": "cahnnel"}, "expected `ssd:N`"),
        ({"precondition": "full"}, "no such state"),
        ({"sample_every": "10"}, "sample_every"),
        ({"gc_slice": "10"}, "gc_slice"),
        ({"settings": {"gc.victm": "fifo"}}, "did you mean `victim`"),
        ({"settings": {"update.tie": "rwc"}}, "did you mean `rcw`"),
        ({"settings": {"tie": "rcw"}}, "unknown key `tie`"),
        ({"scheme": "baseline,tie"}, "expected KEY=VALUE"),
    ],
)
def test_a_value_without_meaning_is_a_setting_error(study, change, said):
    with pytest.raises(stripewise.SettingError, match=said):
        stripewise.run(**{"workload": "uniform:requests=5", **study, **change})


def test_a_scheme_without_meaning_on_the_array_is_refused(study):
    with pytest.raises(stripewise.SchemeError, match=r"section \[geometry\]"):
        stripewise.run("baseline", "uniform:requests=5", members="ssd:2", **study)
    with pytest.raises(stripewise.SettingError, match="two schemes are called `baseline`"):
        stripewise.compare(["baseline", "baseline"], "uniform:requests=5", **study)
    with pytest.raises(stripewise.SettingError, match="needs a policy of your own"):
        scheme = stripewise.Scheme("baseline", {"update.policy": "custom"})
        stripewise.run(scheme, "uniform:requests=5", **study)


def test_results_that_cannot_be_written_are_a_store_error(study):
    study["out"].write_text("a file")
    with pytest.raises(stripewise.StoreError) as caught:
        stripewise.run("baseline", "uniform:requests=5", **study)
    assert caught.value.file.startswith(str(study["out"]))
    with pytest.raises(stripewise.SettingError, match="named by its digest"):
        stripewise.open_run(study["out"])


def test_all_classes_are_stripewise_errors():
    for name in ("Setting", "Trace", "Scheme", "Device", "Store", "Run", "Policy"):
        assert issubclass(getattr(stripewise, f"{name}Error"), stripewise.StripewiseError)


@pytest.mark.parametrize(
    ("schemes", "change", "said"),
    [
        ("baseline", {}, "give a list, \\['baseline'\\]"),
        ([], {}, "schemes is empty"),
        (["baseline"], {"seed": -1}, "seed is -1; give a whole number from 0"),
        (["baseline"], {"seeds": 0}, "seeds is 0; give a whole number from 1"),
        (["baseline"], {"span": "much"}, "span"),
        (["baseline"], {"span": "1TiB"}, "scheme baseline holds"),
    ],
)
def test_what_no_comparison_can_be_is_refused_with_the_remedy(study, schemes, change, said):
    with pytest.raises(stripewise.StripewiseError, match=said):
        stripewise.compare(schemes, "uniform:requests=5", **{**study, **change})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda study: stripewise.run("baseline", "uniform:requests=5", seeds=3, **study), "run makes one run"),
        (lambda study: stripewise.sweep([], **study), "points is empty"),
        (lambda study: stripewise.sweep({"scheme": "baseline"}, **study), "points is .*give a list"),
        (lambda study: stripewise.sweep([{"seeds": 0}], **study), "seeds is 0; give a whole number from 1"),
    ],
)
def test_seeds_and_points_that_would_be_lost_are_refused(study, call, said):
    with pytest.raises(stripewise.SettingError, match=said):
        call(study)


def test_a_setting_that_changes_nothing_is_warned_of_and_others_are_not(study):
    idle = {**study, "settings": {**study["settings"], "gc.victim": "greedy"}}
    with pytest.warns(stripewise.StripewiseWarning, match=r"gc.victim=greedy has no effect in device ssdsim-5\+1") as told:
        stripewise.run("baseline", "uniform:write=1,size=8KiB,span=64MiB,requests=50", **idle)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stripewise.run("baseline", "uniform:write=1,size=8KiB,span=64MiB,requests=50", **study)
