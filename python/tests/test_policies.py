"""Policies in Python on the other axes: one that does what a built-in one does gives the same run, and what policies are
told hangs together."""

import pytest
import stripewise

MIXED = "uniform:write=0.5,size=8KiB,span=64MiB,requests=800"
WRITES = "zipf:write=1,size=4KiB,span=64MiB,requests=30000"
OVERWRITES = "uniform:write=1,size=4KiB,span=1GiB,requests=60000"
LOG = {"pacing": "closed:16"}


def outcome(run):
    names = ("response_mean_ns", "response_max_ns", "flash_program_pages", "flash_read_pages", "simulated_ns")
    return [run.totals[name] for name in names]


def same(policy, scheme, workload, **study):
    own, built_in = stripewise.compare([policy, scheme], workload, **study)
    return outcome(own) == outcome(built_in)


class Seen:
    """Keeps what views showed, outside of the instance, of which each run has a copy."""

    views: list = []

    def see(self, view):
        shown = {name: getattr(view, name) for name in dir(view) if not name.startswith("_")}
        Seen.views.append(shown)
        return shown


@pytest.fixture(autouse=True)
def nothing_seen():
    Seen.views = []


# Reads


class Around(Seen, stripewise.ReadPolicy):
    """GC-avoiding, over RAID-5: the worst wanted member is avoided if the others wait less."""

    def avoid(self, read):
        self.see(read)
        worst = max(read.wanted, key=lambda m: read.gc_wait_ns[m])
        rest = [m for m in (*read.wanted, *read.others) if m != worst]
        return worst if max(read.gc_wait_ns[m] for m in rest) < read.gc_wait_ns[worst] else None


class Direct(stripewise.ReadPolicy):
    def avoid(self, read):
        return None


class Every(stripewise.ReadPolicy):
    def avoid(self, read):
        return read.wanted[: read.parity]


def test_a_read_policy_that_avoids_collections_is_the_built_in_one(study):
    assert same(Around(), "baseline,read.policy=gc-avoiding", MIXED, pacing="closed:32", **study)
    assert any(any(view["gc_wait_ns"]) for view in Seen.views)
    for view in Seen.views:
        assert sorted(view["wanted"] + view["others"]) == list(range(6)) and view["parity"] == 1
        assert all(len(view[name]) == 6 for name in ("queued_reads", "queued_writes", "start_ns", "read_ns", "write_ns"))
        assert min(view["read_ns"]) > 0 and min(view["write_ns"]) > 0


def test_a_read_policy_that_avoids_nothing_reads_directly(study):
    assert same(Direct(), "baseline", MIXED, **study)


def test_a_read_policy_redirects_what_it_avoids(study):
    run = stripewise.run(Every(), MIXED, **study)
    assert run.totals["redirected_chunks"] > 100


# Queues


class Ranked(Seen, stripewise.DispatchPolicy):
    def __init__(self, ranks):
        self.ranks = ranks
        self.name = str(ranks)

    def rank(self, operation):
        self.see(operation)
        return self.ranks[operation.kind]


def test_equal_ranks_are_the_order_of_arrival(study):
    assert same(Ranked({"read": 7, "write": 7}), "baseline,dispatch.order=arrival", MIXED, pacing="closed:32", **study)
    assert {view["kind"] for view in Seen.views} == {"read", "write"}
    assert {view["purpose"] for view in Seen.views} == {"host read", "host write", "pre-read", "parity"}
    assert all(view["queued_reads"] + view["queued_writes"] > 0 for view in Seen.views)
    assert {view["member"] for view in Seen.views} == set(range(6))


def test_reads_that_rank_before_writes_wait_less(study):
    first, last = (Ranked({"read": read, "write": 1}) for read in (0, 2))
    first, last = stripewise.compare([first, last], MIXED, pacing="closed:64", **study)
    assert first.totals["read_mean_ns"] < last.totals["read_mean_ns"]


# Caches


class Destaging(Seen, stripewise.DestagePolicy):
    scheme = "baseline,cache.policy=wow,cache.size=1MiB"

    def __init__(self, by, sign):
        self.by, self.sign = by, sign
        self.name = f"{by} {sign}"

    def destage(self, cache):
        shown = self.see(cache)
        values = shown[self.by]
        return cache.groups[max(range(len(values)), key=lambda at: self.sign * values[at])]


def test_a_cache_destages_what_the_policy_chooses(study):
    most, least = stripewise.compare([Destaging("pages", 1), Destaging("pages", -1)], WRITES, **study)
    chunks = [run.totals["chunks_per_destage"] for run in (most, least)]
    assert chunks[0] > chunks[1], "larger groups leave together"
    newest, oldest = stripewise.compare([Destaging("last_ns", 1), Destaging("last_ns", -1)], WRITES, **study)
    assert newest.totals["destages"] != oldest.totals["destages"]


def test_what_a_destage_policy_is_told_hangs_together(study):
    stripewise.run(Destaging("last_ns", -1), WRITES, **study)
    assert len(Seen.views) > 100
    for view in Seen.views:
        lists = [view[name] for name in ("groups", "pages", "writes", "first_ns", "last_ns")]
        assert len({len(one) for one in lists}) == 1 and view["groups"] == sorted(set(view["groups"]))
        assert all(1 <= pages <= 5 for pages in view["pages"])
        assert sum(view["pages"]) <= view["occupied"]
        assert all(first <= last <= view["now_ns"] for first, last in zip(view["first_ns"], view["last_ns"]))
        assert all(writes >= 1 for writes in view["writes"])
    assert any(max(view["writes"]) > 1 for view in Seen.views), "a Zipf workload hits groups again"


# Array GC


class Segments(Seen, stripewise.ArrayGcPolicy):
    def __init__(self, sign):
        self.sign = sign
        self.name = f"segments {sign}"

    def segment(self, segments):
        valid = self.see(segments)["valid"]
        if self.sign == 0:
            return None
        return segments.segments[min(range(len(valid)), key=lambda at: self.sign * valid[at])]


def test_array_gc_collects_what_the_policy_chooses(study):
    study = {**study, **LOG}
    assert same(Segments(0), "was", OVERWRITES, **study)
    assert len(Seen.views) > 10
    for view in Seen.views:
        lengths = {len(view[name]) for name in ("segments", "valid", "ages")}
        assert len(lengths) == 1 and view["segments"] == sorted(set(view["segments"]))
        assert all(valid <= view["chunks"] for valid in view["valid"])
        assert len(set(view["ages"])) > 1
    fewest, most = stripewise.compare([Segments(1), Segments(-1)], OVERWRITES, **study)
    assert fewest.totals["array_gc_moved_chunks"] < most.totals["array_gc_moved_chunks"]


# Device GC


class Greedy(Seen, stripewise.DeviceGcPolicy):
    def block(self, blocks):
        self.see(blocks)
        return blocks.blocks[min(range(len(blocks.blocks)), key=lambda at: blocks.valid[at])]


class CostBenefit(stripewise.DeviceGcPolicy):
    def block(self, blocks):
        def worth(at):
            valid = blocks.valid[at]
            return float("inf") if valid == 0 else max(blocks.ages[at], 1) * (blocks.pages - valid) / (2 * valid)

        return blocks.blocks[max(range(len(blocks.blocks)), key=worth)]


def test_device_gc_policies_are_the_built_in_ones(study):
    assert same(Greedy(), "baseline", MIXED, **study)
    assert len(Seen.views) > 100 and {view["plane"] for view in Seen.views} > {0}
    for view in Seen.views:
        assert len({len(view[name]) for name in ("blocks", "valid", "ages", "erases")}) == 1
        assert all(valid <= view["pages"] for valid in view["valid"]) and min(view["valid"]) < view["pages"]
    assert any(max(view["erases"]) > 0 for view in Seen.views)
    aged = {**study, "settings": {**study["settings"], "device.gc.victim": "cost-benefit"}}
    [built_in] = stripewise.compare(["baseline"], MIXED, **aged)
    assert outcome(stripewise.run(CostBenefit(), MIXED, **study)) == outcome(built_in)


# Hotness


class Counting(Seen, stripewise.HotnessPolicy):
    """A counter a chunk."""

    def begin(self):
        self.writes = {}

    def tier(self, write):
        shown = self.see(write)
        self.writes[write.page] = self.writes.get(write.page, 0) + 1
        return min(sum(self.writes[write.page] >= limit for limit in (2, 4, 8)), shown["tiers"] - 1)


def test_a_hotness_policy_that_counts_is_the_built_in_one(study):
    study = {**study, **LOG}
    assert same(Counting(), "was,hotness.policy=direct", WRITES, **study)
    page = 8192  # bytes of a page of the device
    for view in Seen.views:
        first = view["page"] * page
        assert view["bytes"] == 4096 and first < view["offset"] + view["bytes"] and view["offset"] < first + page
    assert {view["tiers"] for view in Seen.views} == {2}


# All


@pytest.mark.parametrize(
    ("kind", "method", "answer", "message"),
    [
        (stripewise.ReadPolicy, "avoid", 99, "avoid must return members of the stripe, at most 1"),
        (stripewise.ReadPolicy, "avoid", [0, 1, 2], "avoid must return members of the stripe, at most 1"),
        (stripewise.DispatchPolicy, "rank", -1, "rank must return a whole number"),
        (stripewise.DestagePolicy, "destage", -3, "destage must return one of cache.groups"),
        (stripewise.ArrayGcPolicy, "segment", "one", "segment must return one of segments.segments"),
        (stripewise.DeviceGcPolicy, "block", 1 << 40, "block must return one of blocks.blocks"),
        (stripewise.HotnessPolicy, "tier", 2, "tier must return a whole number from 0 to 1"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(study, kind, method, answer, message):
    if kind is stripewise.DestagePolicy:
        settings = {**study["settings"], "cache.size": "256KiB"}
        study = {**study, "settings": settings}
    if kind in (stripewise.ArrayGcPolicy, stripewise.HotnessPolicy):
        study = {**study, **LOG}
    workload = {stripewise.ReadPolicy: MIXED, stripewise.ArrayGcPolicy: OVERWRITES}.get(kind, WRITES)
    wrong = type("Wrong", (kind,), {method: lambda self, view: answer})
    with pytest.raises(stripewise.PolicyError, match=message):
        stripewise.run(wrong(), workload, **study)
    with pytest.raises(stripewise.PolicyError, match=f"Silent has no method `{method}`"):
        silent = type("Silent", (kind,), {})
        stripewise.run(silent(), workload, **study)


def test_a_class_may_decide_on_several_axes_with_common_state(study):
    class Both(stripewise.UpdatePolicy, stripewise.DispatchPolicy):
        def begin(self):
            self.updates = 0

        def choose(self, update):
            self.updates += 1
            return "rcw"

        def rank(self, operation):
            Both.last = self.updates
            return 0

    assert same(Both(), "always-rcw,dispatch.order=arrival", MIXED, **study)
    assert Both.last > 100


def test_each_run_has_a_copy_of_the_instance(study):
    class Counts(stripewise.UpdatePolicy):
        calls = 0

        def choose(self, update):
            self.calls += 1
            return "rmw" if self.calls % 2 else "rcw"

    policy = Counts()
    parallel = stripewise.compare([policy], MIXED, seeds=4, threads=4, **study)
    serial = stripewise.compare([policy], MIXED, seeds=4, threads=1, force=True, **study)
    assert [outcome(run) for run in parallel] == [outcome(run) for run in serial]
    assert policy.calls == 0


def test_what_decides_nothing_is_refused():
    with pytest.raises(TypeError, match="derive it from one of UpdatePolicy"):
        stripewise.Scheme.of(stripewise.Policy())


def test_a_file_cannot_name_the_users_own_policy():
    with pytest.raises(stripewise.StripewiseError, match="custom"):
        stripewise.Scheme("baseline", {"read.policy": "custom"})
