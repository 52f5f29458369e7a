"""Stripewise's queueing agrees with a second implementation that shares no code with it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "crates" / "validate" / "queueing"))
import compare_caches
from compare import LOADS, POLICIES, both
from loads import Slice, write_trace


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("load", LOADS)
def test_means_of_both_agree(load, policy, tmp_path):
    pair = both(LOADS[load], policy, 4_000, tmp_path)
    assert abs(pair.difference) < 0.05, pair
    # Baseline chooses by the chunks that an update covers, Adaptive also by the queues.
    few = {"abs": 2} if policy == "baseline" else {"rel": 0.05, "abs": 20}
    assert pair.ours[1] == pytest.approx(pair.theirs[1], **few), pair


@pytest.mark.parametrize("policy", POLICIES)
def test_means_of_both_agree_on_a_trace(policy, tmp_path):
    # Two pages in the middle of a piece, and one far away: pieces are packed, and requests are ten times as fast.
    requests = [(at * 10_000_000, at % 4 != 0, 1_000_004 if at % 2 else 5, 1 + at % 3) for at in range(2_000)]
    write_trace(tmp_path / "far.csv", requests, 8192)
    trace = Slice(tmp_path / "far.csv", 10)
    assert trace.span == 16
    assert trace.requests(2, 1) == [(0, False, 5, 1), (1_000_000, True, 12, 2)]
    assert abs(both(trace, policy, 2_000, tmp_path).difference) < 0.05


def test_a_bus_that_is_twice_as_slow_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("raid5_channels.TRANSFER", 2 * 8192 * 5)
    assert abs(both(LOADS["heavy"], "baseline", 4_000, tmp_path).difference) > 0.05


@pytest.mark.filterwarnings("ignore:setting cache.size")
@pytest.mark.parametrize("policy", compare_caches.POLICIES)
@pytest.mark.parametrize("load", compare_caches.LOADS)
def test_means_behind_write_caches_agree(load, policy, tmp_path):
    pair = compare_caches.both(load, policy, 1_500, tmp_path)
    assert abs(pair.difference) < 0.01, pair


def test_a_cache_that_frees_room_page_by_page_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("compare_caches.VARIANT", ",cache.frees=page")
    assert abs(compare_caches.both("HPC, 1.5 ms", "siw", 1_500, tmp_path).difference) > 0.05
