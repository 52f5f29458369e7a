"""Update policies written in Python."""

import pytest
import stripewise

WORKLOAD = "uniform:write=1,size=8KiB,span=64MiB,requests=600"


class Always(stripewise.UpdatePolicy):
    def __init__(self, routine):
        self.routine = routine
        self.name = f"always {routine}"

    def choose(self, update):
        return self.routine


class Fewest(stripewise.UpdatePolicy):
    """Baseline, in Python."""

    def choose(self, update):
        return "rcw" if len(update.rcw_reads) < len(update.rmw_reads) else "rmw"


class Recorder(stripewise.UpdatePolicy):
    def begin(self):
        Recorder.seen = []

    def choose(self, update):
        Recorder.seen.append(
            {
                name: getattr(update, name)
                for name in dir(update)
                if not name.startswith("_")
            }
        )
        return None


class Raising(stripewise.UpdatePolicy):
    def begin(self):
        self.left = 10

    def choose(self, update):
        self.left -= 1
        if self.left == 0:
            raise ZeroDivisionError("ten were enough")
        return "rmw"


class FewestOfRaid6(Fewest):
    scheme = "raid6"


class RecorderOfRaid6(Recorder):
    scheme = "raid6"


def outcome(run):
    names = ("response_mean_ns", "response_max_ns", "pre_read_pages", "flash_program_pages", "simulated_ns")
    return [run.totals[name] for name in names]


def test_a_policy_in_python_does_what_the_built_in_one_does(study):
    for policy, built_in in [
        (Always("rmw"), "always-rmw"),
        (Always("rcw"), "always-rcw"),
        (Fewest(), "baseline"),
    ]:
        own, other = stripewise.compare([policy, built_in], WORKLOAD, **study)
        assert outcome(own) == outcome(other), built_in
    rmw, rcw = stripewise.compare([Always("rmw"), Always("rcw")], WORKLOAD, **study)
    assert outcome(rmw) != outcome(rcw)
    assert (rmw.scheme, rmw.computed) == ("always rmw", False)


def test_what_a_policy_is_told_hangs_together(study):
    stripewise.run(Recorder(), WORKLOAD, pacing="closed:32", **study)
    assert len(Recorder.seen) > 100
    for update in Recorder.seen:
        everybody = set(range(6))
        assert set(update["updated"]) | set(update["parity"]) == set(update["rmw_reads"])
        assert set(update["updated"]) | set(update["parity"]) | set(update["rcw_reads"]) == everybody
        for name in ("queued_reads", "queued_writes", "collecting", "gc_average_ns", "gc_remaining_ns", "read_ns"):
            assert len(update[name]) == 6, name
        assert update["baseline"] in ("rmw", "rcw")
    times = [update["now_ns"] for update in Recorder.seen]
    assert times == sorted(times) and times[-1] > times[0]
    assert any(any(update["queued_writes"]) for update in Recorder.seen)
    assert any(any(update["collecting"]) for update in Recorder.seen)
    assert any(update["write_ns"] > 0 for update in Recorder.seen)


@pytest.mark.parametrize("size", ["8KiB", "16KiB", "20KiB"])
def test_over_raid6_a_policy_in_python_does_what_the_built_in_one_does(study, size):
    workload = f"uniform:write=1,size={size},span=64MiB,requests=600"
    own, other = stripewise.compare([FewestOfRaid6(), "raid6"], workload, **study)
    assert outcome(own) == outcome(other)


def test_over_raid6_a_policy_is_told_of_both_parity_members(study):
    stripewise.run(RecorderOfRaid6(), WORKLOAD, pacing="closed:32", **study)
    assert len(Recorder.seen) > 100
    places = set()
    for update in Recorder.seen:
        p, q = update["parity"]
        assert q == (p + 1) % 6, "left-symmetric: Q is on the member after P"
        places.add(p)
        reads = set(update["updated"]) | {p, q}
        assert reads == set(update["rmw_reads"]) and len(update["rmw_reads"]) == len(update["updated"]) + 2
        assert reads | set(update["rcw_reads"]) == set(range(6))
        assert update["baseline"] == ("rcw" if len(update["rcw_reads"]) < len(update["rmw_reads"]) else "rmw")
    assert places == set(range(6)), "parity rotates over all members"


def test_an_exception_ends_the_run_with_its_seed_and_traceback(study):
    with pytest.raises(stripewise.PolicyError, match="seed 7.*ZeroDivisionError: ten were enough") as caught:
        stripewise.run(Raising(), WORKLOAD, seed=7, **study)
    error = caught.value
    assert (error.scheme, error.seed) == ("Raising", 7)
    assert isinstance(error.__cause__, ZeroDivisionError)
    frames = []
    traceback = error.__cause__.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert frames == ["choose"]
    assert list(study["out"].glob("*")) == [], "the run leaves nothing"


@pytest.mark.parametrize("nonsense", ["RMW", 3, True, ["rmw"]])
def test_what_is_no_routine_is_refused(study, nonsense):
    with pytest.raises(stripewise.PolicyError, match='choose must return "rmw", "rcw" or None'):
        stripewise.run(Always(nonsense), WORKLOAD, **study)


def test_a_policy_without_choose_says_so(study):
    class Nothing(stripewise.UpdatePolicy):
        pass

    with pytest.raises(stripewise.PolicyError, match="Nothing has no method `choose`"):
        stripewise.run(Nothing(), WORKLOAD, **study)


def test_a_policy_is_known_by_its_source_and_its_attributes(study):
    first = stripewise.run(Always("rmw"), WORKLOAD, **study)
    other = Always("rcw")
    other.name = "always rmw"
    assert stripewise.run(other, WORKLOAD, **study).run_digest != first.run_digest
    hidden = {"UpdatePolicy": stripewise.UpdatePolicy}
    exec("class Hidden(UpdatePolicy):\n    def choose(self, update):\n        return 'rmw'\n", hidden)
    runs = [stripewise.run(hidden["Hidden"](), WORKLOAD, **study) for _ in range(2)]
    assert runs[0].run_digest != runs[1].run_digest, "without its source it is never taken for an earlier one"
    assert "def choose" in first.configuration
