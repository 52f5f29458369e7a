"""What the tests share: a small array, and a place for results."""

import pytest

SMALL = {"device.geometry.blocks": 64, "device.geometry.chips": 1}


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
