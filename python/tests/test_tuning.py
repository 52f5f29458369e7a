"""Searches: a function of their file, whatever was killed meanwhile."""

import os

import pytest
import stripewise
from stripewise import _toml, tuning

pytest.importorskip("optuna")

TEXT = """
[base]
workload = "uniform:write=0.7,size=8KiB,span=64MiB"
requests = 300
"geometry.blocks" = 64
"geometry.chips" = 1

[compare]
scheme = ["baseline"]

[axes]
pacing = ["open:1", "closed:8"]

[replicate]
seeds = 2

[tune]
goal = "min response_mean_ns"
seed = 7
trials = 12
batch = 4

[tune.space]
"dispatch.order" = ["arrival", "read-first", "rounds"]
"dispatch.lookahead" = { from = 1, to = 64, log = true }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "search.toml"
    path.write_text(TEXT)
    return path


def tune(file, store, **how):
    return stripewise.study(file, store=store).tune(jobs=2, progress=False, **how)


def test_a_search_finds_the_best_of_its_trials(file, tmp_path):
    found = tune(file, tmp_path / "one")
    assert [trial.number for trial in found.trials] == list(range(12))
    best = min(found.trials, key=lambda trial: (trial.values, trial.number))
    assert found.best == [best]
    assert found.scheme() == "baseline," + ",".join(f"{key}={value}" for key, value in best.settings.items())
    # The mean over seeds and points is that of plain runs.
    setup = {"device.geometry.blocks": 64, "device.geometry.chips": 1}
    runs = [
        stripewise.compare(
            [found.scheme()], "uniform:write=0.7,size=8KiB,span=64MiB,requests=300", settings=setup, pacing=pacing,
            seeds=2, out=tmp_path / "plain", progress=False,
        )
        for pacing in ("open:1", "closed:8")
    ]
    means = [sum(run.totals["response_mean_ns"] for run in comparison) / 2 for comparison in runs]
    assert best.values == pytest.approx([sum(means) / 2], rel=1e-12)


def test_a_search_that_was_killed_at_any_batch_asks_for_the_same_points(file, tmp_path):
    whole = tune(file, tmp_path / "whole").trials

    class Killed(Exception):
        pass

    for batch in range(3):
        store, seen = tmp_path / f"killed-{batch}", []
        real = tuning._evaluate

        def evaluate(*given, seen=seen, batch=batch, real=real):
            values = real(*given)
            seen.append(values)
            if len(seen) == batch + 1:
                raise Killed  # after the runs are made, before their results are told
            return values

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tuning, "_evaluate", evaluate)
            with pytest.raises(Killed):
                tune(file, store)
        before = len(stripewise.study(file, store=store).digests())
        assert before > 0
        assert tune(file, store).trials == whole, batch
    logs = sorted(os.listdir(tmp_path / "whole" / "tune"))
    assert len(logs) == 3
    for name in logs:
        texts = {(tmp_path / store / "tune" / name).read_text() for store in ("whole", "killed-0", "killed-2")}
        assert len(texts) == 1


def test_a_search_that_does_not_repeat_itself_says_so(file, tmp_path):
    tune(file, tmp_path / "one")
    log = next((tmp_path / "one" / "tune").iterdir())
    log.write_text(log.read_text().replace("arrival", "rounds"))
    with pytest.raises(stripewise.RunError, match="an earlier search of this file tried other points"):
        tune(file, tmp_path / "one")


def test_several_goals_give_a_pareto_front(file, tmp_path):
    file.write_text(TEXT.replace('goal = "min response_mean_ns"', 'goal = ["min read_mean_ns", "max write_mean_ns"]'))
    found = tune(file, tmp_path / "two")
    values = {trial.number: trial.values for trial in found.trials}
    front = {trial.number for trial in found.best}
    for number, (read, write) in values.items():
        beaten = any(a <= read and b >= write and (a, b) != (read, write) for a, b in values.values())
        if number in front:
            assert not beaten
        else:
            assert beaten or any(values[other] == [read, write] for other in front)
    text = str(found)
    assert "that no other one beats" in text
    units = {line.split(",")[0].split()[-1] for line in text.splitlines() if " read_mean " in line}
    assert len(units) == 1 and units <= {"ns", "us", "ms", "s"}, text
    assert text.count(" write_mean ") == len(front) and "_ns" not in text


def test_halving_gives_the_longest_runs_to_the_best_third(file, tmp_path):
    halving = '\n[tune.halving]\nrequests = [100, 300]\nkeep = 3\n'
    file.write_text(TEXT.replace("batch = 4", "batch = 6") + halving)
    found = tune(file, tmp_path / "half")
    assert len(found.trials) == 12
    for first in (0, 6):
        batch = found.trials[first : first + 6]
        kept = [trial for trial in batch if trial.state == "done"]
        dropped = [trial for trial in batch if trial.state == "dropped"]
        assert (len(kept), len(dropped)) == (2, 4)
        assert {trial.requests for trial in kept} == {300} and {trial.requests for trial in dropped} == {100}


def test_points_that_fit_no_scheme_are_refused_and_the_search_goes_on(file, tmp_path):
    file.write_text(TEXT.replace('"dispatch.lookahead" = { from = 1, to = 64, log = true }', '"geometry.chunk" = ["8KiB", "3KiB"]'))
    found = tune(file, tmp_path / "fit")
    states = {trial.settings["geometry.chunk"]: trial.state for trial in found.trials}
    assert states == {"8KiB": "done", "3KiB": "refused"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('goal = "min response_mean_ns"', 'goal = "response_mean_ns"', "write it as in"),
        ("seed = 7", "seeds = 7", "unknown key `seeds`"),
        ("batch = 4", 'sampler = "best"', "give one of tpe"),
        ('["arrival", "read-first", "rounds"]', '["arrival"]', "give a list of two or more"),
        ('scheme = ["baseline"]', 'scheme = ["baseline", "bpu"]', "a search is of one scheme"),
    ],
)
def test_mistakes_have_a_remedy(file, tmp_path, old, new, message):
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(stripewise.SettingError, match=message):
        tune(file, tmp_path / "wrong")


def test_a_derived_study_file_is_read_back_as_it_was():
    document = {
        "base": {"workload": {"trace": 'a "b".csv', "blake3": "00"}, "gc": {"victim": "fifo"}, "requests": 5, "x.y": 0.5},
        "axes": {"pacing": ["open:1"], "parity.window": {"from": 1, "to": 8, "factor": 2}},
        "except": [{"pacing": "open:1"}, {"scheme": "bpu"}],
        "replicate": {"until": {"figure": "p99_ns", "relative": 0.1}, "least": 5},
    }
    import tomllib

    again = tomllib.loads(_toml.text(document))
    assert again["base"] == {**_toml.flat(document["base"])}
    assert again["base"]["gc.victim"] == "fifo" and again["base"]["workload"] == document["base"]["workload"]
    assert again["axes"] == document["axes"] and again["except"] == document["except"]
    assert again["replicate"] == document["replicate"]
