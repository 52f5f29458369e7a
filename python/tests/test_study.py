"""Studies from a file: the same runs and results with each engine, and after each kind of kill."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import stripewise
from stripewise import driving

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
from stripewise import cluster  # noqa: E402

# Rounds of the tests that kill at random moments: `make test-kills`.
ROUNDS = int(os.environ.get("STRIPEWISE_KILLS", "1"))
kills = pytest.mark.skipif("STRIPEWISE_KILLS" not in os.environ, reason="kills processes for minutes: make test-kills")

TEXT = """
[base]
workload = "uniform:write=0.7,size=8KiB,span=64MiB"
requests = 300
"geometry.blocks" = 64
"geometry.chips" = 1

[compare]
scheme = ["baseline", "bpu"]

[axes]
pacing = ["open:1", "open:4", "closed:8"]

[replicate]
seeds = 8
"""
RUNS = 48
# So that there are many batches.
BATCH = 0.05


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The digests that one thread gives."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "study.toml").write_text(TEXT)
    study = stripewise.study(folder / "study.toml")
    assert study.run(jobs=1, progress=False)["made"] == RUNS
    return study.digests()


@pytest.fixture
def local():
    with dask.config.set(cluster.SETTINGS):
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as made:
            yield made


def pids(client):
    return list(client.run(os.getpid).values())


def test_a_study_says_what_it_is(file):
    study = stripewise.study(file)
    assert study.name == "study" and study.schemes == ["baseline", "bpu"]
    assert study.axes == {"pacing": ["open:1", "open:4", "closed:8"]}
    checked = study.check()
    assert (checked["points"], checked["runs"]) == (3, {"least": RUNS, "most": RUNS})
    assert checked["plan"] == study.digest and checked["skipped"] == []
    assert not os.path.exists(study.store), "nothing was run"


def test_mistakes_have_a_line_and_a_remedy(file):
    file.write_text(TEXT.replace("requests", "request"))
    with pytest.raises(stripewise.SettingError, match=r"study.toml:4.*requests"):
        stripewise.study(file)


def test_threads_processes_and_clusters_give_the_same_results(file, tmp_path, expected, local):
    made = {}

    def run(name, **how):
        study = stripewise.study(file, store=tmp_path / name)
        counts = study.run(progress=False, batch_s=BATCH, **how)
        assert (counts["made"], counts["failed"], counts["points_done"]) == (RUNS, 0, 3)
        made[name] = study.digests()

    run("threads", jobs=2)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        run("processes", client=pool)
    with distributed.Client(local) as client:
        run("cluster", client=client)
    for name, digests in made.items():
        assert digests == expected, name


def test_a_second_run_finds_everything(file, tmp_path, local):
    study = stripewise.study(file)
    assert study.run(jobs=2, progress=False, limit=20)["made"] == 20
    status = study.status()
    assert status["runs"] + status["runs_left"] == RUNS and status["runs"] >= 20
    with distributed.Client(local) as client:
        counts = study.run(client, progress=False)
    assert (counts["made"], counts["found"]) == (RUNS - 20, 20)
    assert study.run(progress=False)["made"] == 0
    assert study.status()["runs_left"] == 0 and study.errors() == []


def test_the_frame_has_a_row_for_each_run(file):
    polars = pytest.importorskip("polars")
    study = stripewise.study(file)
    study.run(progress=False)
    frame = study.frame()
    assert isinstance(frame, polars.LazyFrame)
    means = frame.group_by("axis.pacing", "scheme").agg(polars.len(), polars.col("response_p99_ns").mean()).collect()
    assert means.height == 6 and set(means["len"]) == {8}


def test_a_report_is_one_file_with_the_figures_that_are_asked_for(file, tmp_path):
    study = stripewise.study(file)
    with pytest.raises(stripewise.SettingError, match="there are no such runs"):
        study.report()
    study.run(progress=False)
    html = study.report().read_text()
    assert html.count("over pacing</h2>") == 3 and "</html>" in html
    some = study.report(tmp_path / "some.html", figures=["p99_ns"], over=["pacing"], only={"pacing": "open:4"})
    assert some == tmp_path / "some.html" and "over pacing" not in some.read_text(), "one value is no axis"
    with pytest.raises(stripewise.SettingError, match="unknown axis `pacng`; did you mean `pacing`"):
        study.report(over=["pacng"])
    with pytest.raises(stripewise.SettingError, match=r"\['pacing'\]"):
        study.report(over="pacing")


def test_progress_is_reported(file):
    seen = []
    stripewise.study(file).run(progress=seen.append, batch_s=BATCH)
    assert seen and {"made", "left_ns", "points_left"} <= set(seen[0])


def test_a_worker_of_another_build_is_refused_by_name(file, local):
    plan = stripewise.study(file)._plan
    _, _, batch = plan.coordinator(workers=1, batch_s=1.0, limit=None).next()
    other = json.loads(batch)
    other["build"] = "0.0.1+other"
    with pytest.raises(stripewise.SettingError, match=r"worker .* is stripewise .* needs 0.0.1\+other"):
        driving.work(json.dumps(other).encode())
    with distributed.Client(local) as client, pytest.raises(stripewise.SettingError, match="needs 0.0.1"):
        client.submit(driving.work, json.dumps(other).encode(), pure=False).result()


@kills
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_worker_loses_nothing(file, tmp_path, expected, local, seed):
    prng = random.Random(seed)
    study = stripewise.study(file, store=tmp_path / "killed")
    with distributed.Client(local) as client:
        victims = prng.sample(pids(client), prng.choice([1, 2]))
        moments = sorted(prng.uniform(0, 1.5) for _ in victims)

        def kill():
            began = time.monotonic()
            for moment, pid in zip(moments, victims, strict=True):
                time.sleep(max(0.0, moment - (time.monotonic() - began)))
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        counts = study.run(client, progress=False, batch_s=BATCH)
        killer.join()
        client.wait_for_workers(2, timeout=60)
    assert counts["failed"] == 0, seed
    assert study.digests() == expected, seed


def poisoned(batch):
    """Kills its worker at one run."""
    if any(run[1:] == [1, 5] for run in json.loads(batch)["runs"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return driving.work(batch)


@kills
def test_a_run_that_kills_its_worker_is_isolated(file, expected, local):
    file.write_text(TEXT + "[fail]\nretries = 0\n")
    study = stripewise.study(file)
    with distributed.Client(local) as client:
        counts = study._drive(driving.Computing(client, poisoned), None, 0.3, False)
        client.wait_for_workers(2, timeout=60)
    # The scheme with the number 1 fails with seed 5 at each of three points; a failed point needs no more runs.
    failed = study.errors()
    assert len(failed) == counts["failed"] == 3
    assert all("bpu" in one["run"] and "seed 5" in one["run"] and "died" in one["message"] for one in failed)
    made = study.digests()
    assert len(made) == RUNS - 3 and made.items() <= expected.items()


def spawn(*line):
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False"}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler" if line[0] == "scheduler" else "distributed.cli.dask_worker"]
        + list(line[1:]),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@kills
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_scheduler_ends_the_command_and_the_next_one_resumes(file, tmp_path, expected, seed):
    study = stripewise.study(file)
    least = random.Random(seed).randrange(1, 12)
    for attempt in range(2):
        place = tmp_path / f"scheduler-{attempt}.json"
        scheduler = spawn("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        workers = [
            spawn("worker", "--scheduler-file", str(place), "--nthreads", "1", "--no-nanny", "--no-dashboard",
                  "--death-timeout", "10")
            for _ in range(2)
        ]
        try:
            with distributed.Client(scheduler_file=str(place), timeout="60s") as client:
                client.wait_for_workers(2, timeout=60)
                if attempt == 0:

                    def kill(counts):
                        if counts["made"] >= least:
                            scheduler.kill()

                    with pytest.raises(stripewise.RunError, match="scheduler of the workers is gone"):
                        slow = TEXT.replace("requests = 300", "requests = 20000")
                        file.write_text(slow)
                        stripewise.study(file, store=tmp_path / "slow").run(client, progress=kill, batch_s=BATCH)
                else:
                    again = stripewise.study(file, store=tmp_path / "slow")
                    found = len(again.digests())
                    assert found >= least, seed
                    counts = again.run(client, progress=False, batch_s=BATCH)
                    assert counts["found"] >= found and counts["made"] + counts["found"] == RUNS
        finally:
            for process in [*workers, scheduler]:
                process.kill()
                process.wait()
    file.write_text(TEXT)
    assert study.run(progress=False)["made"] == RUNS and study.digests() == expected


@kills
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_coordinator_loses_nothing(file, expected, seed):
    """`python -m stripewise.cluster` is killed with its scheduler, at random moments, until it ends by itself."""
    prng = random.Random(seed)
    line = [sys.executable, "-m", "stripewise.cluster", "run", str(file), "--on", "local", "--quiet"]
    file.write_text(TEXT + "[on.local]\nworkers = 2\n")
    packs = file.parent / "study.results" / "runs"
    kills, before = 0, 0
    while True:
        process = subprocess.Popen([*line, "--batch-seconds", str(BATCH)], stdout=subprocess.PIPE, text=True)
        # After this many commits more.
        after = before + prng.randrange(1, 4) if kills < 3 else RUNS * 2
        while process.poll() is None and len(list(packs.glob("*"))) < after:
            time.sleep(0.002)
        if process.poll() is not None:
            out, _ = process.communicate()
            break
        process.kill()
        process.communicate()
        before = len(list(packs.glob("*")))
        kills += 1
    assert kills > 0 and process.returncode == 0 and "3 complete" in out, out
    assert stripewise.study(file).digests() == expected, seed


def test_the_command_ends_with_the_codes_of_the_other_one(file, capsys):
    def run(*line):
        code = cluster.main(["run", str(file), "--quiet", *line])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    assert run("--on", "moon") == (2, f"error: {file}: it has no place [on.moon]; it has: none\n")
    assert run("--build", "0.0.1")[0] == 2
    file.write_text(TEXT + '[fail]\nretries = 0\nrun_limit = "1ns"\n')
    code, text = run()
    assert code == 3 and "FAILED" in text
    file.write_text(TEXT)
    code, text = run("--jobs", "2")
    assert code == 0 and f"{RUNS} made" in text, text
    file.write_text(TEXT + "[on.local]\nworker = 2\n")
    assert run("--on", "local") == (2, "error: [on.local]: unknown key `worker`; known: workers\n")


@pytest.mark.parametrize(
    ("text", "seconds"), [("4h", 14400), ("00:30:00", 1800), ("1-12:00:00", 129600), ("90", 90), ("10min", 600)]
)
def test_wall_times_are_read(text, seconds):
    assert cluster.seconds_of(text, "slurm") == seconds
