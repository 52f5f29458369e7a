"""Runs are made, found, compared, swept, and the same as the command's."""

import inspect
import json
import os
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import stripewise
from conftest import SMALL

WORKLOAD = "uniform:write=1,size=8KiB,span=64MiB,requests=400"


def test_schemes_are_compared_and_found_the_second_time(study):
    made = stripewise.compare(["baseline", "always-rcw", "baseline,update.tie=rcw"], WORKLOAD, **study)
    assert made.schemes == ["baseline", "always-rcw", "baseline,update.tie=rcw"]
    assert all(run.computed and run.cpu_ns > 0 for run in made)
    assert made["always-rcw"].totals["requests"] == 400
    assert made["always-rcw"].totals["pre_read_pages"] > made["baseline"].totals["pre_read_pages"]
    again = stripewise.compare(made.schemes, WORKLOAD, **study)
    assert not any(run.computed for run in again)
    assert [run.results_digest for run in again] == [run.results_digest for run in made]
    assert "pre-reads" in str(made) and "always-rcw" in made._repr_html_()
    assert made[:2].schemes == made.schemes[:2]
    assert set(made.settings) >= {"workload", "device", "members", "pacing", "state", "fold"}
    with pytest.raises(KeyError, match="unknown scheme `bpu`"):
        made["bpu"]


def test_a_label_is_what_results_call_a_scheme(study):
    mine = stripewise.Scheme("baseline", {"update.tie": "rcw"}, label="mine")
    made = stripewise.compare([mine, "other one=always-rcw,geometry.chunk=16KiB", "raid0"], WORKLOAD, **study)
    assert made.schemes == ["mine", "other one", "raid0"]
    assert " other one " in str(made) and "geometry" not in str(made)
    assert (mine.name, mine.label, repr(mine)) == ("baseline", "mine", "<stripewise.Scheme mine=baseline,update.tie=rcw>")
    assert pickle.loads(pickle.dumps(mine)).label == "mine"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        again = stripewise.compare([mine], WORKLOAD, executor=pool, **study)
    assert (again.schemes, again[0].computed) == (["mine"], False)


@pytest.mark.parametrize(
    "label, reason",
    [
        ("", "the label is empty"),
        (" a", "begins or ends with a space"),
        ("bpu", "`bpu` is the name of another scheme"),
        ("x" * 41, "more than 40 characters"),
        ("a,b", "the label has a `,`"),
        ("a=b", "the label has a `=`"),
    ],
)
def test_labels_that_mislead_are_refused_in_the_words_of_the_command(label, reason):
    with pytest.raises(stripewise.SettingError, match=reason):
        stripewise.Scheme("raid0", label=label)
    if "," not in label and "=" not in label:
        with pytest.raises(stripewise.SettingError, match=reason):
            stripewise.Scheme.of(f"{label}=raid0")


def test_two_schemes_of_one_label_are_refused(study):
    with pytest.raises(stripewise.SettingError, match="two schemes are called `a`"):
        stripewise.compare(["a=raid0", "a=baseline"], WORKLOAD, **study)


def test_rows_beyond_the_budget_are_refused_before_they_are_made(study):
    workload = stripewise.workload("uniform:write=1,size=8KiB,span=64MiB", requests=400)
    with pytest.raises(stripewise.SettingError, match="rows of 400 requests .* more than the budget of 1KiB") as caught:
        stripewise.run("baseline", workload, request_rows=True, table_budget="1KiB", **study)
    assert "table_budget='16KiB'" in str(caught.value) and "--" not in str(caught.value)
    assert not study["out"].exists() or not any(study["out"].iterdir())
    run = stripewise.run("baseline", workload, request_rows=True, table_budget="16KiB", **study)
    assert len(run.table("requests").to_polars()) == 400
    for wrong in ("1 quux", "", 5):
        with pytest.raises(stripewise.SettingError, match="table_budget"):
            stripewise.run("baseline", workload, table_budget=wrong, **study)
    assert inspect.signature(stripewise.compare).parameters["table_budget"].default == "1GiB"


def test_a_report_is_one_html_file(study, tmp_path):
    runs = stripewise.compare(["baseline", "raid0"], WORKLOAD, **study)
    path = runs.to_html(tmp_path / "report.html")
    text = path.read_text()
    assert text.startswith("<!") and "baseline" in text and "raid0" in text and "<svg" in text
    with pytest.raises(stripewise.StoreError) as caught:
        runs.to_html(tmp_path / "none" / "report.html")
    assert caught.value.file.endswith("report.html")


def test_settings_change_what_they_name(study, tmp_path):
    scheme = stripewise.Scheme("baseline", {"geometry.chunk": "16KiB"})
    assert scheme.to_dict()["geometry"]["chunk"] == "16KiB" and scheme.settings == ["geometry.chunk=16KiB"]
    device = stripewise.Device("ssdsim-5+1", {"gc.victim": "fifo"})
    run = stripewise.run(scheme, WORKLOAD, device=device, **study)
    assert run.scheme == "baseline,geometry.chunk=16KiB"
    assert 'victim = "fifo"' in run.configuration and 'chunk = "16KiB"' in run.configuration
    text = scheme.to_toml().replace('name = "baseline"', 'name = "mine"')
    mine = stripewise.Scheme("mine", text=text)
    assert stripewise.run(mine, WORKLOAD, **study).scheme == "mine"


def test_a_run_is_opened_again_by_its_path(study):
    run = stripewise.run("baseline", WORKLOAD, **study)
    opened = stripewise.open_run(run.path)
    assert (opened.scheme, opened.totals) == ("baseline", run.totals)
    assert (opened.results_digest, opened.computed, opened.seed) == (run.results_digest, False, 1)
    copy = pickle.loads(pickle.dumps(run))
    assert (copy.path, copy.cpu_ns, copy.totals) == (run.path, run.cpu_ns, run.totals)


def test_two_points_of_a_sweep_with_different_schemes_get_the_same_requests(study):
    # RAID-0 has more room than RAID-6, and both get what each would get alone.
    wide = "uniform:size=8KiB,span=1TiB,requests=500"
    points = [{"scheme": "raid0"}, {"scheme": "raid6"}]
    swept = stripewise.sweep(points, workload=wide, **study)
    assert len({run.totals["array_bytes"] for run in swept}) == 2
    for total in ("folded_requests", "shifted_requests", "read_requests", "write_requests"):
        assert len({run.totals[total] for run in swept}) == 1, total
    together = stripewise.compare(["raid0", "raid6"], wide, **study)
    assert [run.results_digest for run in together] == [run.results_digest for run in swept]


def test_a_sweep_makes_a_run_for_each_point_in_threads_and_in_processes(study):
    points = [{"scheme": scheme, "seed": seed} for scheme in ("baseline", "raid0") for seed in (1, 2)]
    shown = []
    swept = stripewise.sweep(points, workload=WORKLOAD, **{**study, "progress": shown.append})
    assert [(run.scheme.split(",")[0], run.seed) for run in swept] == [tuple(p.values()) for p in points]
    assert shown[-1] == [("runs", 4, 1.0, 0)]
    elsewhere = {**study, "out": study["out"].with_name("elsewhere")}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        processes = stripewise.sweep(points, workload=WORKLOAD, executor=pool, **elsewhere)
        assert [run.results_digest for run in processes] == [run.results_digest for run in swept]
        assert all(run.computed for run in processes)
        compared = stripewise.compare(["baseline", "raid0"], WORKLOAD, executor=pool, **elsewhere)
    # One by one they are folded onto the smallest array of the study all the same.
    with ThreadPoolExecutor(2) as pool:
        threads = stripewise.compare(["baseline", "raid0"], WORKLOAD, executor=pool, **study)
    direct = stripewise.compare(["baseline", "raid0"], WORKLOAD, **study)
    digests = [run.results_digest for run in direct]
    assert [run.results_digest for run in compared] == digests == [run.results_digest for run in threads]
    with pytest.raises(TypeError, match="did you mean `seed`"):
        stripewise.sweep([{"sede": 1}], workload=WORKLOAD, **study)


def test_a_sweep_makes_every_seed_of_every_point(study):
    points = [{"pacing": "closed:2"}, {"pacing": "closed:4", "seeds": 2, "seed": 7}]
    runs = stripewise.sweep(points, workload=WORKLOAD, seeds=3, **study)
    assert [(run.pacing, run.seed) for run in runs] == [
        ("closed:2", 1),
        ("closed:2", 2),
        ("closed:2", 3),
        ("closed:4", 7),
        ("closed:4", 8),
    ]
    compared = stripewise.compare(["baseline"], WORKLOAD, pacing="closed:2", seeds=3, **study)
    assert [run.run_digest for run in compared] == [run.run_digest for run in runs[:3]]


def test_a_sweep_over_pacings_is_printed_as_a_row_each_and_not_as_seeds(study):
    points = [{"scheme": s, "pacing": p} for p in ("closed:1", "closed:16") for s in ("baseline", "always-rcw")]
    runs = stripewise.sweep(points, workload=WORKLOAD, seeds=2, **study)
    text = str(runs)
    means = text.split("Typical ratio")[0]
    for label in ("baseline (closed:1)", "always-rcw (closed:1)", "baseline (closed:16)", "always-rcw (closed:16)"):
        assert label in means and label in runs._repr_html_(), text
    assert "Typical ratio to the first scheme of the same setup" in " ".join(text.split())
    assert "mean of 2 seeds" in " ".join(text.split())


def test_what_is_compared_by_default_is_what_the_command_compares():
    schemes = inspect.signature(stripewise.compare).parameters["schemes"].default
    assert schemes[0] == "linux-md" and schemes[-1] == "stripewise" and len(schemes) == 8
    assert set(schemes) <= {scheme["name"] for scheme in stripewise.schemes()}


def test_a_notebook_shows_what_acknowledges_and_what_is_drained(study):
    runs = stripewise.compare(["baseline", "stripewise"], WORKLOAD, **study)
    assert [run.acknowledges for run in runs] == ["members", "memory (persistent)"]
    shown = runs._repr_html_()
    assert "<th>ack</th>" in shown and "memory (persistent)" in shown and "drained pages" in shown
    assert f"{runs[1].totals['drained_pages']:,}" in shown


def test_progress_is_told_while_runs_go_on(study):
    seen = []
    workload = stripewise.workload("uniform:write=1,size=8KiB,span=64MiB", requests=500_000)
    stripewise.compare(["baseline"], workload, threads=1, **{**study, "progress": seen.append})
    lines = [line for lines in seen for line in lines]
    assert lines, "half a million requests take longer than a twentieth of a second"
    assert all(scheme == "baseline" and 0 <= share <= 1 for scheme, _, share, _ in lines)
    assert [line[1] for line in lines] == sorted(line[1] for line in lines)


def command() -> Path:
    """The command, where a build left it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    path = Path(os.environ.get("STRIPEWISE_COMMAND", target / "debug" / "stripewise"))
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def test_the_command_finds_what_python_computed_and_the_other_way_round(study, trace):
    settings = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    line = [command(), "run", "--trace", trace, "--out", study["out"], "--json", *settings]

    def by_command(scheme):
        output = subprocess.run([*line, "--scheme", scheme], check=True, capture_output=True, text=True).stdout
        return json.loads(output)

    first = by_command("baseline")
    workload = stripewise.open_trace(trace)
    run = stripewise.run("baseline", workload, **study)
    if run.run_digest != first["run_digest"] and run.version != stripewise.open_run(first["path"]).version:
        pytest.skip("the command is of another build")
    assert (run.run_digest, run.computed) == (first["run_digest"], False)
    run = stripewise.run("raid0", workload, **study)
    assert run.computed
    again = by_command("raid0")
    assert (again["results_digest"], again["computed"]) == (run.results_digest, False)
