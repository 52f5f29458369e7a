"""A study file and what lies beside it may be a stranger's: opening, checking and looking at results runs none of it."""

import os
import subprocess
import sys

import pytest
import stripewise
from stripewise import policy_file

TEXT = """
[base]
workload = "uniform:write=0.7,size=8KiB,span=64MiB"
requests = 300
"geometry.blocks" = 64
"geometry.chips" = 1

[compare]
scheme = ["baseline", "policies.py:Mine"]

[replicate]
seeds = 2
"""

POLICIES = """
import pathlib
import stripewise as sw
from stripewise import UpdatePolicy as Base

pathlib.Path("ran").touch()


class Common(Base):
    name = "mine"

    def choose(self, update):
        return "rmw"


class Mine(Common):
    pass
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies.py").write_text(POLICIES)
    (tmp_path / "study.toml").write_text(TEXT)
    return stripewise.study("study.toml")


def test_looking_at_a_study_runs_nothing_of_its_policies(study, tmp_path):
    assert study.schemes == ["baseline", "policies.py:Mine"] and len(study.digest) > 30
    assert study.check()["runs"] == {"least": 4, "most": 4} and study.check()["skipped"] == []
    assert study.status()["runs"] == 0 and study.errors() == [] and study.digests() == {}
    assert not (tmp_path / "ran").exists()
    # To make runs is to trust the file.
    assert study.run(progress=False)["made"] == 4
    (tmp_path / "ran").unlink()
    again = subprocess.run(
        [sys.executable, "-P", "-c", "import stripewise; print(stripewise.study('study.toml').status()['runs'])"],
        capture_output=True, text=True,
    )
    assert again.stdout == "4\n", again.stderr
    assert not (tmp_path / "ran").exists()
    assert study.run(progress=False)["made"] == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (POLICIES.replace("class Mine", "class Yours"), "no policy `Mine`; it has: Common, Yours"),
        (POLICIES.replace('"mine"', '"mi" + "ne"'), "policies.py:10: Common.name must be written as a text"),
        (POLICIES.replace("(Base)", ""), "no policy `Mine`; it has: none"),
        (POLICIES + "(" * 10000, "policies.py: "),
        (POLICIES + "\0", "policies.py: "),
    ],
)
def test_a_file_without_such_a_policy_is_refused_without_being_run(study, tmp_path, changed, message):
    (tmp_path / "policies.py").write_text(changed)
    with pytest.raises(stripewise.SettingError, match=message.replace("(", r"\(")):
        stripewise.study("study.toml")
    assert not (tmp_path / "ran").exists()


def test_a_policy_that_is_another_one_when_it_runs_is_refused(study, tmp_path):
    for changed in (POLICIES + "\nMine.name = 'other'\n", POLICIES + "\nMine.scheme = 'bpu'\n"):
        (tmp_path / "policies.py").write_text(changed)
        with pytest.raises(stripewise.SettingError, match="by code, which a study file does not allow"):
            stripewise.study("study.toml").run(progress=False)


def test_the_outline_is_that_of_the_class():
    text = """
import stripewise
class Both(stripewise.UpdatePolicy, stripewise.ArrayGcPolicy):
    scheme: str = "esap,elastic.segment_rows=32"
class Log(stripewise.HotnessPolicy): ...
"""
    assert policy_file.outline("a.py", text, "Both") == (
        "esap,elastic.segment_rows=32", ["update", "array-gc"], "Both"
    )
    assert policy_file.outline("a.py", text, "Log") == ("was", ["hotness"], "Log")




@pytest.mark.parametrize("obstacle", ["FIFO", "device", "huge"])
def test_what_is_no_file_in_a_store_is_an_error_and_the_interpreter_goes_on(study, tmp_path, obstacle):
    study.run(progress=False)
    pack = tmp_path / "study.results" / "runs" / f"{'ab' * 16}.parquet"
    if obstacle == "FIFO":
        os.mkfifo(pack)
    elif obstacle == "device":
        pack.symlink_to("/dev/zero")
    else:
        with open(pack, "wb") as file:
            file.truncate(1 << 42)
    for look in (study.status, study.errors, study.digests, lambda: study.run(progress=False)):
        with pytest.raises(stripewise.StripewiseError, match="abab.*remove it"):
            look()
    pack.unlink()
    assert study.status()["runs"] == 4


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Runs in a folder that others may write to."""
    monkeypatch.chdir(tmp_path)
    workload = stripewise.workload("uniform:size=8KiB,write=0.5,span=16MiB", requests=200)
    return stripewise.compare(
        ["baseline"], workload=workload, settings={"geometry.blocks": 64}, out="shared", progress=False
    )


def test_a_report_is_not_written_through_a_planted_link(results, tmp_path):
    precious, planted = tmp_path / "precious", tmp_path / "shared" / "report.html"
    precious.write_text("precious")
    planted.symlink_to(precious)
    results.to_html(planted)
    assert precious.read_text() == "precious"
    assert not planted.is_symlink() and "<html" in planted.read_text()


@pytest.mark.parametrize("name", ["run.toml", "totals.parquet"])
def test_what_is_no_file_in_a_folder_of_results_is_an_error(results, tmp_path, name):
    (run,) = (path for path in (tmp_path / "shared").iterdir() if len(path.name) == 64)
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(stripewise.StripewiseError, match="not a regular file"):
        print(stripewise.open_run(run).totals)
