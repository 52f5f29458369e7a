//! The encoding buffer, over three members that carry out one operation at a time; parity is on the last one.

use stripewise_array::RequestKind::{Flush, Read, Write};
use stripewise_array::{Controller, OperationKind};
use stripewise_base::prng::Prng;
use stripewise_core::ids::RowNo;

use crate::support::{Rig, Seen};

const SCHEME: &str = "name = 'test'\n[geometry]\nlevel = 'raid5'\nrotation = 'none'\n[update]\npolicy = 'always-rmw'\n\
                      [placement]\nfirst_writes = 'encode'\nbuffer_latency = '0ns'\n";

fn rig(more: &str) -> Rig {
    Rig::new(&format!("{SCHEME}{more}"), 3, 16)
}

/// The operations that were started: slot, member, and `r`, `w` or `f`.
fn started(rig: &Rig) -> Vec<(u64, u16, char)> {
    let letter = |kind| match kind {
        OperationKind::Read => 'r',
        OperationKind::Write => 'w',
        OperationKind::Flush => 'f',
        OperationKind::Trim => 't',
    };
    let one = |&(at, seen): &(u64, Seen)| match seen {
        Seen::Started(one) => Some((at, one.member.number(), letter(one.kind))),
        Seen::Acknowledged(_) => None,
    };
    rig.world.seen.iter().filter_map(one).collect()
}

#[test]
fn a_row_is_written_whole_when_its_last_chunk_comes_and_updated_from_then_on() {
    let mut rig = rig("encode_wait = '1ms'");
    rig.submit(Write, 0, 1).expect("a request");
    rig.submit(Read, 0, 2).expect("a request");
    assert_eq!(rig.acknowledged(), [(0, 0), (1, 0)], "from memory");
    assert!(!rig.array.is_encoded(RowNo::new(0)) && rig.array.locate(0).is_none());
    rig.array.dispatch(&mut rig.world);
    assert_eq!(started(&rig), []);
    rig.submit(Write, 1, 1).expect("a request");
    // While the row is written, its reads wait; then the row is read directly, and updated by RMW.
    rig.submit(Read, 0, 1).expect("a request");
    rig.step();
    rig.step();
    assert!(rig.array.is_encoded(RowNo::new(0)));
    rig.submit(Write, 0, 1).expect("a request");
    rig.step();
    rig.step();
    let first = [(0, 0, 'w'), (0, 1, 'w'), (0, 2, 'w'), (1, 0, 'r')];
    assert_eq!(started(&rig), [&first[..], &[(2, 0, 'r'), (2, 2, 'r'), (3, 0, 'w'), (3, 2, 'w')]].concat());
    assert_eq!(rig.acknowledged(), [(0, 0), (1, 0), (2, 0), (3, 2), (4, 4)]);
}

#[test]
fn after_the_wait_the_present_members_are_encoded_and_a_late_member_comes_by_rmw() {
    let mut rig = rig("encode_wait = '5ns'");
    rig.submit(Write, 1, 1).expect("a request");
    rig.step();
    assert_eq!((rig.now(), rig.array.is_encoded(RowNo::new(0))), (5, false));
    rig.step();
    assert!(rig.array.is_encoded(RowNo::new(0)));
    rig.submit(Write, 0, 1).expect("a request");
    rig.run();
    let late = [(6, 0, 'r'), (6, 2, 'r'), (7, 0, 'w'), (7, 2, 'w')];
    assert_eq!(started(&rig), [&[(5, 1, 'w'), (5, 2, 'w')][..], &late].concat());
    assert_eq!(rig.acknowledged(), [(0, 0), (1, 8)]);
}

#[test]
fn a_wait_of_nothing_lasts_until_the_end_of_the_run() {
    let mut rig = rig("encode_wait = '0ns'");
    rig.submit(Write, 1, 1).expect("a request");
    rig.submit(Write, 4, 1).expect("a request");
    rig.run();
    assert_eq!(started(&rig), []);
    rig.array.drain(rig.now(), &mut rig.world);
    rig.run();
    assert!(
        rig.array.is_encoded(RowNo::new(0))
            && !rig.array.is_encoded(RowNo::new(1))
            && rig.array.is_encoded(RowNo::new(2))
    );
    assert_eq!(started(&rig), [(0, 0, 'w'), (0, 1, 'w'), (0, 2, 'w'), (1, 2, 'w')]);
}

#[test]
fn a_flush_drains_memory_that_is_volatile_and_no_other() {
    for (persistence, expected) in [("volatile", vec!['w', 'w', 'f', 'f', 'f']), ("persistent", vec!['f'; 3])]
    {
        let mut rig = rig(&format!("encode_wait = '0ns'\nbuffer_persistence = '{persistence}'"));
        rig.submit(Write, 0, 1).expect("a request");
        rig.submit(Flush, 0, 0).expect("a request");
        rig.run();
        assert_eq!(started(&rig).iter().map(|one| one.2).collect::<Vec<_>>(), expected, "{persistence}");
        assert_eq!(rig.acknowledged().len(), 2);
    }
}

#[test]
fn when_more_rows_wait_than_there_is_memory_for_the_oldest_is_encoded() {
    let mut rig = rig("encode_wait = '0ns'\n[queues]\nplans = 2");
    for page in [4, 0, 6] {
        rig.submit(Write, page, 1).expect("a request");
    }
    rig.run();
    let encoded: Vec<_> = (0..4).filter(|&row| rig.array.is_encoded(RowNo::new(row))).collect();
    assert_eq!(encoded, [2]);
    assert_eq!(rig.acknowledged().len(), 3);
}

#[test]
fn data_written_before_the_run_is_encoded_whichever_row_it_ends_in() {
    let mut rig = rig("");
    rig.array.assume_written(3);
    assert_eq!([0, 1, 2].map(|row| rig.array.is_encoded(RowNo::new(row))), [true, true, false]);
    rig.submit(Write, 3, 1).expect("a request");
    rig.run();
    assert_eq!(started(&rig), [(0, 1, 'r'), (0, 2, 'r'), (1, 1, 'w'), (1, 2, 'w')]);
}

#[test]
fn every_request_ends_and_every_written_row_is_encoded_under_any_discipline() {
    for seed in 0..300 {
        let mut prng = Prng::new(seed);
        let mut pick = |list: &[&str]| list[prng.below(list.len() as u64) as usize].to_string();
        let dispatch = pick(&[
            "policy = 'async-fifo'",
            "policy = 'sync-fifo'",
            "policy = 'piq'\nqueue = 2",
            "queue = 1",
        ]);
        let wait = pick(&["0ns", "1ns", "20ns"]);
        let persistence = pick(&["volatile", "persistent"]);
        let latency = pick(&["0ns", "3ns"]);
        let plans = pick(&["1", "2", "16"]);
        let chunk = pick(&["4KiB", "8KiB"]);
        let scheme = format!(
            "name = 'test'\n[geometry]\nlevel = 'raid5'\nchunk = '{chunk}'\n[placement]\nfirst_writes = 'encode'\n\
             buffer_latency = '{latency}'\nbuffer_persistence = '{persistence}'\nencode_wait = '{wait}'\n\
             [dispatch]\n{dispatch}\n[queues]\nplans = {plans}\nrequests = 6\n"
        );
        let mut rig = Rig::new(&scheme, 4, 16);
        let mut written = std::collections::BTreeSet::new();
        let mut sent = 0;
        while sent < 120 {
            let kind = [Read, Write, Write, Flush][prng.below(4) as usize];
            let (page, count) = (prng.below(42), 1 + prng.below(6));
            if rig.submit(kind, page, count).is_some() {
                sent += 1;
                written.extend((page..page + count).filter(|_| kind == Write));
            }
            if prng.chance(1, 2) {
                rig.step();
            }
        }
        rig.run();
        assert_eq!(rig.acknowledged().len(), 120, "seed {seed}\n{scheme}");
        rig.array.drain(rig.now(), &mut rig.world);
        rig.run();
        assert!(rig.array.is_quiet(), "seed {seed}\n{scheme}");
        for page in written {
            let row = rig.array.locate(page).map(|(row, _)| row);
            assert!(row.is_some_and(|row| rig.array.is_encoded(row)), "seed {seed}: page {page}\n{scheme}");
        }
        assert!(rig.world.failed.is_empty());
    }
}
