"""Ctrl-C raises KeyboardInterrupt promptly and leaves no half run."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import stripewise
from conftest import SMALL

ENDLESS = "uniform:requests=1G,arrival=none"


def interrupted(work):
    """The seconds from Ctrl-C to the KeyboardInterrupt of `work`."""
    sent = []

    def interrupt():
        time.sleep(0.4)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    ended = time.monotonic()
    thread.join()
    return ended - sent[0]


@pytest.mark.parametrize("rows", [False, True])
def test_runs_end_promptly_and_leave_nothing(study, rows):
    def work():
        stripewise.compare(["baseline", "raid0"], ENDLESS, threads=2, request_rows=rows, **study)

    assert interrupted(work) < 5
    assert list(study["out"].iterdir()) == []


def test_a_sweep_ends_promptly(study):
    def work():
        stripewise.sweep([{"seed": n} for n in range(6)], workload=ENDLESS, **study)

    assert interrupted(work) < 5
    assert list(study["out"].iterdir()) == []


def test_statistics_end_promptly():
    assert interrupted(lambda: stripewise.workload(ENDLESS).statistics()) < 5


def test_what_progress_raises_ends_the_runs(study):
    def tired(lines):
        raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        stripewise.compare(["baseline"], ENDLESS, **{**study, "progress": tired})
    assert list(study["out"].iterdir()) == []


def test_a_program_that_is_interrupted_ends_with_a_traceback(tmp_path):
    program = f"import stripewise; print('on', flush=True); stripewise.run(workload={ENDLESS!r}, settings={SMALL!r})"
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "on\n"
    results = tmp_path / "stripewise-results"
    began = time.monotonic()
    while not list(results.glob(".partial-*")):
        assert time.monotonic() - began < 60, "the run begins"
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
    assert list(results.iterdir()) == []
