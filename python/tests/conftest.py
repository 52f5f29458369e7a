"""What the tests share: a small array, and a place for results."""

import atexit
import faulthandler
import os
import signal
import sys

import pytest

SMALL = {"device.geometry.blocks": 64, "device.geometry.chips": 1}


# The longest that any test may take, in seconds.
PATIENCE = 300

# The status with which the process is to end.
STATUS = pytest.StashKey[int]()


def pytest_configure():
    # A shell starts what it puts into the background with Ctrl-C ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish(session, exitstatus):
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """Ends the process without taking the interpreter down.

    Threads of asyncssh and distributed still have event loops with tasks then, and under them the interpreter has crashed after
    all tests had passed.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(config.stash.get(STATUS, 1))


@pytest.fixture(autouse=True)
def patience():
    """Ends all with every thread's traceback when a test hangs, as one does whose Ctrl-C is not heard."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def study(tmp_path):
    """Arguments of a study that takes some milliseconds."""
    return {"out": tmp_path / "results", "settings": SMALL, "progress": False}


@pytest.fixture
def trace(tmp_path):
    """A small trace in MSR format."""
    path = tmp_path / "trace.csv"
    lines = []
    for n in range(300):
        kind = "Read" if n % 3 == 0 else "Write"
        time, offset, size = 128166372000000000 + n * 2000, n * 7919 % 4096 * 4096, 4096 * (1 + n % 5)
        lines.append(f"{time},host,{n % 2},{kind},{offset},{size},100\n")
    path.write_text("".join(lines))
    return path
