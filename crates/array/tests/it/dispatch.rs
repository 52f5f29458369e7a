//! Dispatch disciplines, over members that carry out one operation at a time.

use stripewise_array::RequestKind::{Flush, Read, Trim, Write};
use stripewise_array::{Controller, OperationKind, Scheme};
use stripewise_base::prng::Prng;
use stripewise_core::ids::MemberNo;

use crate::support::{Rig, Seen};

/// First page and number of pages of the requests of paper 002, Fig. 5, over nine chips. The text states that R1 is on
/// chips 1 and 2 and contends with R0 on chip 1, that R2 does not contend with R0, and (section III-E) that chips 4 to 7
/// are idle. The rest is our choice, so that the slots match the figure.
const FIGURE_5: [(u64, u64); 7] = [(1, 1), (1, 2), (2, 2), (0, 2), (8, 3), (0, 2), (2, 2)];

/// Slots that the requests of figure 5 take under a discipline, after a request that keeps all nine chips busy for one
/// slot.
fn figure_5(dispatch: &str) -> u64 {
    let mut rig =
        Rig::new(&format!("name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\n{dispatch}"), 9, 16);
    rig.submit(Read, 9, 9).expect("a request");
    for (page, pages) in FIGURE_5 {
        rig.submit(Read, page, pages).expect("a request");
    }
    rig.run();
    assert_eq!(rig.acknowledged().len(), 8);
    rig.now() - 1
}

#[test]
fn the_requests_of_figure_5_take_the_slots_of_figure_5() {
    assert_eq!(figure_5("policy = 'sync-fifo'"), 7);
    assert_eq!(figure_5("policy = 'piq'\nsync = true"), 5);
    assert_eq!(figure_5("policy = 'async-fifo'\norder = 'arrival'"), 5);
    assert_eq!(figure_5("policy = 'piq'"), 5);
}

#[test]
fn under_sync_fifo_that_is_not_strict_a_request_waits_for_those_with_which_it_shares_a_member() {
    let scheme =
        "name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = 'sync-fifo'\nstrict = false";
    let mut rig = Rig::new(scheme, 4, 16);
    // Members 0; 1; 0 and 1; 2: the last request waits after the third, which waits for the first two.
    for (page, pages) in [(0, 1), (1, 1), (0, 2), (2, 1)] {
        rig.submit(Read, page, pages).expect("a request");
    }
    rig.run();
    assert_eq!(rig.acknowledged(), [(0, 1), (1, 1), (2, 2), (3, 2)]);
}

#[test]
fn with_a_bounded_queue_the_first_request_without_room_holds_up_those_behind_it() {
    let run = |policy: &str| {
        let scheme =
            format!("name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = '{policy}'\nqueue = 1");
        let mut rig = Rig::new(&scheme, 2, 16);
        for page in [0, 2, 4, 1] {
            rig.submit(Read, page, 1).expect("a request");
        }
        rig.run();
        rig.acknowledged()
    };
    // Three requests of member 0, then one of member 1. FIFO delays the last until the earlier ones have room. Under PIQ,
    // the second is a round of its own, and the last shares a batch with the third.
    assert_eq!(run("async-fifo"), [(0, 1), (1, 2), (2, 3), (3, 3)]);
    assert_eq!(run("piq"), [(0, 1), (1, 2), (3, 2), (2, 3)]);
}

#[test]
fn a_flush_is_issued_when_those_before_it_are_and_not_behind_those_that_come_later() {
    for policy in ["async-fifo", "sync-fifo", "piq"] {
        let scheme =
            format!("name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = '{policy}'\nqueue = 1");
        let mut rig = Rig::new(&scheme, 2, 16);
        let kinds = [(Write, 0), (Write, 0), (Write, 2), (Flush, 0), (Write, 4), (Read, 6), (Read, 8)];
        for (kind, page) in kinds {
            rig.submit(kind, page, 1).expect("a request");
        }
        // Hosts never stop: later requests must not delay the flush beyond its turn.
        for _ in 0..20 {
            rig.submit(Read, 0, 1).expect("a request");
            assert!(rig.step());
        }
        let begun: Vec<_> = rig.started().map(|operation| operation.kind).collect();
        let flush = begun.iter().position(|&kind| kind == OperationKind::Flush).expect("it was issued");
        let writes = begun[..flush].iter().filter(|&&kind| kind == OperationKind::Write).count();
        assert_eq!(writes, 3, "{policy}: {begun:?}");
        rig.run();
        assert_eq!(rig.acknowledged().len(), 27, "{policy}");
    }
}

/// A scheme with any setting of dispatch, few plans among them, over RAID-0 or RAID-5.
fn any_scheme(prng: &mut Prng, level: &str) -> (String, Option<u32>) {
    let mut pick = |list: &[&str]| list[prng.below(list.len() as u64) as usize].to_string();
    let policy = pick(&[
        "async-fifo",
        "sync-fifo",
        "sync-fifo\nstrict = false",
        "piq",
        "piq\nsync = true",
        "piq\novertake = 1",
    ]);
    let policy =
        policy.split_once('\n').map_or(format!("'{policy}'"), |(name, rest)| format!("'{name}'\n{rest}"));
    let order = pick(&["arrival", "read-first", "rounds"]);
    let queue = pick(&["", "1", "2", "5"]);
    let plans = pick(&["2", "3", "8", "64"]);
    let limit = queue.parse().ok();
    let queue = limit.map_or(String::new(), |limit: u32| format!("queue = {limit}\n"));
    let scheme = format!(
        "name = 'test'\n[geometry]\nlevel = '{level}'\n[dispatch]\npolicy = {policy}\norder = '{order}'\n{queue}\
         [queues]\nplans = {plans}\nrequests = 24\n"
    );
    (scheme, limit)
}

#[test]
fn every_page_is_read_and_written_once_and_new_plans_never_exceed_the_queue() {
    let mut bounded = 0;
    for seed in 0..300 {
        let mut prng = Prng::new(seed);
        let (scheme, limit) = any_scheme(&mut prng, "raid0");
        let mut rig = Rig::new(&scheme, 5, 16);
        let (mut sent, mut pages) = (0, [0u64; 2]);
        while sent < 150 {
            let kind = [Read, Read, Write, Write, Flush, Trim][prng.below(6) as usize];
            let (page, count) = (prng.below(70), 1 + prng.below(9));
            if rig.submit(kind, page, count).is_some() {
                sent += 1;
                pages[0] += if kind == Read { count } else { 0 };
                pages[1] += if kind == Write { count } else { 0 };
            }
            if prng.chance(1, 3) {
                rig.step();
            }
            let most = (0..5).map(|member| rig.array.loads().total(MemberNo::new(member))).max().unwrap_or(0);
            if let Some(limit) = limit {
                // A flush goes to every member, whatever waits there; with few plans there are few flushes.
                let flushes = rig.array.scheme().queues.plans;
                assert!(most <= limit + flushes, "seed {seed}: {most} of {limit}");
                bounded += u32::from(most >= limit);
            }
        }
        rig.run();
        assert!(rig.array.is_quiet(), "seed {seed}\n{scheme}");
        assert_eq!(rig.acknowledged().len(), 150, "seed {seed}\n{scheme}");
        assert!(rig.world.failed.is_empty());
        let count = |kind| rig.started().filter(|operation| operation.kind == kind).count() as u64;
        // Writes of the same row that wait for the row are merged.
        assert_eq!(count(OperationKind::Read), pages[0], "seed {seed}\n{scheme}");
        assert!(count(OperationKind::Write) <= pages[1], "seed {seed}\n{scheme}");
    }
    assert!(bounded > 1000, "queues were full: {bounded} times");
}

#[test]
fn reads_never_exceed_the_queue_of_a_member() {
    for seed in 0..100 {
        let mut prng = Prng::new(seed);
        let (scheme, limit) = any_scheme(&mut prng, "raid5");
        let mut rig = Rig::new(&scheme, 5, 16);
        for _ in 0..200 {
            rig.submit(Read, prng.below(60), 1 + prng.below(4));
            if prng.chance(1, 2) {
                rig.step();
            }
            let most = rig.array.loads().reads.iter().copied().max().unwrap_or(0);
            assert!(most <= limit.unwrap_or(u32::MAX), "seed {seed}: {most} of {limit:?}\n{scheme}");
        }
        rig.run();
        assert!(rig.array.is_quiet(), "seed {seed}\n{scheme}");
    }
}

#[test]
fn an_update_waits_for_room_at_its_parity_and_continues_with_its_writes() {
    // Parity of both rows is on member 2.
    let geometry = "[geometry]\nlevel = 'raid5'\nrotation = 'none'\n[update]\npolicy = 'always-rmw'\n";
    let mut rig = Rig::new(&format!("name = 'test'\n{geometry}[dispatch]\nqueue = 1"), 3, 16);
    rig.submit(Write, 0, 1).expect("a request");
    rig.submit(Write, 3, 1).expect("a request");
    rig.run();
    // Member 1 stays idle. When the pre-reads of the first write have finished, its writes are queued at once, which fills
    // the queues, and the second write continues to wait.
    let started = rig.world.seen.iter().filter_map(|&(at, seen)| match seen {
        Seen::Started(one) => Some((at, one.member.number(), one.kind)),
        Seen::Acknowledged(_) => None,
    });
    use OperationKind::{Read as Reads, Write as Writes};
    let expected = [(0, 0, Reads), (0, 2, Reads), (1, 0, Writes), (1, 2, Writes)];
    let then = [(2, 1, Reads), (2, 2, Reads), (3, 1, Writes), (3, 2, Writes)];
    assert_eq!(started.collect::<Vec<_>>(), [expected, then].concat());
    assert_eq!(rig.acknowledged(), [(0, 2), (1, 4)]);
}

#[test]
fn under_sync_disciplines_no_two_requests_under_way_share_a_member() {
    for policy in ["'sync-fifo'\nstrict = false", "'piq'\nsync = true"] {
        for seed in 0..50 {
            let mut prng = Prng::new(seed);
            let scheme = format!("name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = {policy}");
            let mut rig = Rig::new(&scheme, 6, 16);
            for _ in 0..100 {
                rig.submit(Read, prng.below(90), 1 + prng.below(4)).expect("a request");
                assert!(
                    (0..6).all(|member| rig.array.loads().total(MemberNo::new(member)) <= 1),
                    "seed {seed}"
                );
                if prng.chance(1, 3) {
                    rig.step();
                }
            }
            rig.run();
            assert_eq!(rig.acknowledged().len(), 100);
        }
    }
}

#[test]
fn a_write_of_a_round_goes_before_reads_that_came_later_and_behind_those_that_came_before() {
    let scheme = "name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = 'piq'\nqueue = 1";
    let mut rig = Rig::new(scheme, 1, 16);
    // Request 0 starts at once, and 1 is the following round; 2 and 3 wait for it, and 4 arrives when they are in a round.
    for (kind, page) in [(Read, 0), (Read, 1), (Write, 2), (Read, 3)] {
        rig.submit(kind, page, 1).expect("a request");
    }
    rig.step();
    rig.step();
    rig.submit(Read, 4, 1).expect("a request");
    rig.run();
    let order: Vec<_> = rig.acknowledged().iter().map(|&(tag, _)| tag).collect();
    assert_eq!(order, [0, 1, 3, 2, 4]);
    assert!(rig.world.seen.iter().any(|(_, seen)| matches!(seen, Seen::Acknowledged(4))));
}

#[test]
fn what_has_no_meaning_is_refused_with_the_reason() {
    let refused = |text: &str| {
        let members = Rig::new("name = 'test'", 5, 16).array;
        let scheme = Scheme::from_toml("test", &format!("name = 'test'\n{text}")).expect("a scheme");
        let members = stripewise_array::Members {
            count: members.members(),
            page_bytes: 4096,
            pages: 1024,
            volatile_cache: false,
            discard: false,
            old_versions: 0,
            streams: 1,
            gc_control: false,
            gc_state: true,
        };
        scheme.resolve(&members, false).expect_err("it is refused").to_string()
    };
    assert!(refused("[dispatch]\nqueue = 0").contains("must be at least 1"));
    assert!(refused("[dispatch]\nlookahead = 0").contains("must be at least 1"));
    assert!(refused("[dispatch]\nsync = true").contains("policy = \"piq\" alone"));
    assert!(refused("[dispatch]\novertake = 3").contains("policy = \"piq\" alone"));
    assert!(refused("[dispatch]\npolicy = 'piq'\nstrict = false").contains("policy = \"sync-fifo\" alone"));
    let gathers = "[placement]\nfirst_writes = 'gather'\n";
    assert!(refused(&format!("{gathers}[dispatch]\npolicy = 'piq'")).contains("the members of a write"));
    assert!(refused(&format!("{gathers}[dispatch]\nqueue = 4")).contains("\"gather\""));
    assert!(refused("[placement]\npolicy = 'elastic'\n[dispatch]\nqueue = 4").contains("\"elastic\""));
}

#[test]
fn the_earliest_pending_of_a_member_is_the_first_request_that_waits_and_wants_it() {
    for policy in ["async-fifo", "piq"] {
        let scheme =
            format!("name = 'test'\n[geometry]\nlevel = 'raid0'\n[dispatch]\npolicy = '{policy}'\nqueue = 1");
        let mut rig = Rig::new(&scheme, 3, 16);
        let pending = |rig: &Rig| {
            (0..3).map(|member| rig.array.earliest_pending(MemberNo::new(member))).collect::<Vec<_>>()
        };
        // One request of member 0 starts. From slot 1 on, one request of members 0 and 1 (a piece for each row) and one of
        // member 1 wait.
        rig.submit(Read, 0, 1).expect("a request");
        assert_eq!(pending(&rig), [None, None, None]);
        rig.submit(Read, 3, 1).expect("a request");
        rig.step();
        assert_eq!(pending(&rig), [None, None, None], "{policy}: it was issued when there was room");
        rig.submit(Read, 6, 2).expect("a request");
        rig.submit(Read, 10, 1).expect("a request");
        assert_eq!(pending(&rig), [Some(1), Some(1), None]);
        rig.step();
        rig.run();
        assert_eq!(pending(&rig), [None, None, None]);
    }
}
