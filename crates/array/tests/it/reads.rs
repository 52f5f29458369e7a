//! Read policies, over members that carry out one operation at a time.

use stripewise_array::OperationKind;
use stripewise_array::RequestKind::{Flush, Read, Write};
use stripewise_array::read::ReadCounts;

use crate::support::Rig;

/// Parity stays on the last members, so page p of RAID-5 over four members is on member p mod 3, in row p / 3.
fn rig(level: &str, members: u32, read: &str) -> Rig {
    let geometry = format!("[geometry]\nlevel = '{level}'\nrotation = 'none'");
    Rig::new(&format!("name = 'test'\n{geometry}\n[read]\n{read}"), members, 32)
}

fn read(rig: &mut Rig, page: u64) -> u64 {
    rig.submit(Read, page, 1).expect("a request")
}

/// Members and pages that were read, in order.
fn reads(rig: &Rig) -> Vec<(u16, u32)> {
    let reads = rig.started().filter(|operation| operation.kind == OperationKind::Read);
    reads.map(|operation| (operation.member.number(), operation.page)).collect()
}

#[test]
fn brr_reads_around_a_member_when_the_others_are_done_before_a_direct_read_would_begin() {
    let mut rig = rig("raid5", 4, "policy = 'brr'");
    // Three reads of member 0: the second is redirected, and then the other members are no idler than member 0.
    for page in [0, 3, 6] {
        read(&mut rig, page);
    }
    rig.run();
    assert_eq!(rig.acknowledged(), [(0, 1), (1, 1), (2, 2)]);
    assert_eq!(reads(&rig), [(0, 0), (1, 1), (2, 1), (3, 1), (0, 2)]);
    assert_eq!(rig.array.read_counts(), ReadCounts { redirected: 1, ..ReadCounts::default() });
}

#[test]
fn brr_counts_what_it_has_just_redirected() {
    let mut rig = rig("raid5", 4, "policy = 'brr'");
    for page in [0, 3, 1] {
        read(&mut rig, page);
    }
    rig.run();
    assert_eq!(rig.array.read_counts().redirected, 1, "member 1 has to help the second read");
    assert_eq!(rig.acknowledged(), [(0, 1), (1, 1), (2, 2)]);
}

#[test]
fn brr_as_printed_takes_a_member_that_collects_and_has_no_operations_for_idle() {
    let mut rig = rig("raid5", 4, "policy = 'brr'");
    rig.world.gc_waits.insert(0, 500);
    read(&mut rig, 0);
    rig.run();
    assert_eq!(reads(&rig), [(0, 0)]);
}

#[test]
fn brr_that_counts_collections_reads_around_one_and_asks_no_helper_that_collects() {
    for (waits, expected) in [
        (vec![(0, 500)], vec![(1, 0), (2, 0), (3, 0)]),
        (vec![(0, 500), (2, 500)], vec![(0, 0)]),
        (vec![(2, 500)], vec![(0, 0)]),
    ] {
        let mut rig = rig("raid5", 4, "policy = 'brr'\nwait = 'queue-and-collection'");
        rig.world.gc_waits.extend(waits.iter().copied());
        read(&mut rig, 0);
        rig.run();
        assert_eq!(reads(&rig), expected, "{waits:?}");
    }
}

#[test]
fn a_collecting_member_is_read_around_and_one_that_does_not_collect_is_not() {
    let mut rig = rig("raid5", 4, "policy = 'gc-avoiding'");
    rig.world.gc_waits.insert(0, 500);
    read(&mut rig, 0);
    read(&mut rig, 1);
    rig.run();
    assert_eq!(reads(&rig), [(1, 0), (2, 0), (3, 0), (1, 0)]);
}

#[test]
fn when_all_others_collect_for_longer_the_read_waits_where_it_is() {
    let mut rig = rig("raid5", 4, "policy = 'gc-avoiding'");
    rig.world.gc_waits.extend([(0, 500), (2, 501)]);
    read(&mut rig, 0);
    rig.run();
    assert_eq!(reads(&rig), [(0, 0)]);
}

#[test]
fn raid6_reads_around_two_collecting_members() {
    let mut rig = rig("raid6", 5, "policy = 'gc-avoiding'");
    rig.world.gc_waits.extend([(0, 500), (3, 100)]);
    read(&mut rig, 0);
    rig.run();
    assert_eq!(reads(&rig), [(1, 0), (2, 0), (4, 0)], "Q stands in for P");
}

#[test]
fn a_read_of_a_row_that_is_updated_does_not_go_around() {
    let mut rig = rig("raid5", 4, "policy = 'gc-avoiding'");
    rig.world.gc_waits.insert(1, 500);
    rig.submit(Write, 0, 1).expect("a request");
    read(&mut rig, 1);
    rig.run();
    assert_eq!(rig.array.read_counts(), ReadCounts { not_held: 1, ..ReadCounts::default() });
    assert_eq!(rig.acknowledged().len(), 2);
}

#[test]
fn a_row_that_is_not_encoded_is_not_decoded() {
    let mut rig = Rig::new(
        "name = 'test'\n[geometry]\nrotation = 'none'\n[placement]\nfirst_writes = 'encode'\n[read]\npolicy = 'gc-avoiding'",
        4,
        32,
    );
    rig.world.gc_waits.insert(0, 500);
    // The second row is written; the first waits for its other chunks.
    rig.submit(Write, 0, 1).expect("a request");
    rig.submit(Write, 3, 3).expect("a request");
    rig.step();
    for page in [0, 3] {
        read(&mut rig, page);
        rig.run();
    }
    assert_eq!(reads(&rig), [(1, 1), (2, 1), (3, 1)], "the first is read from memory");
    assert_eq!(rig.array.read_counts(), ReadCounts { redirected: 1, ..ReadCounts::default() });
}

#[test]
fn an_update_waits_for_a_redirected_read_of_its_row() {
    let mut rig = rig("raid5", 4, "policy = 'gc-avoiding'");
    rig.world.gc_waits.insert(0, 500);
    read(&mut rig, 0);
    rig.submit(Write, 1, 1).expect("a request");
    rig.run();
    let first_three: Vec<_> = rig.started().take(3).map(|operation| operation.kind).collect();
    assert_eq!(first_three, [OperationKind::Read; 3]);
    assert_eq!(rig.acknowledged(), [(0, 1), (1, 3)]);
}

/// A rig whose reads have taken one slot each so far, and the number of slots after which a read counts as slow.
fn used(mode: &str) -> (Rig, u64) {
    let mut rig = rig("raid5", 4, &format!("policy = 'hedged'\nhedge = '{mode}'"));
    for page in 0..3 {
        read(&mut rig, page);
        rig.run();
    }
    // Times below 8 ns are not distinguished: the median is 8, and twice that is slow.
    (rig, 16)
}

#[test]
fn a_read_that_takes_twice_the_median_time_asks_the_others() {
    let (mut rig, slow) = used("reactive");
    rig.world.takes.insert(0, 500);
    let start = rig.now();
    let tag = read(&mut rig, 3);
    rig.run();
    assert_eq!(rig.acknowledged().last(), Some(&(tag, start + slow + 1)));
    assert_eq!(rig.now(), start + 500, "the loser is awaited");
    let counts = ReadCounts { hedged: 1, hedges_won: 1, ..ReadCounts::default() };
    assert_eq!(rig.array.read_counts(), counts);
    assert!(rig.array.is_quiet());
}

#[test]
fn a_read_that_is_fast_enough_reads_no_other_member() {
    let (mut rig, slow) = used("reactive");
    rig.world.takes.insert(0, slow - 1);
    read(&mut rig, 3);
    rig.run();
    assert_eq!(rig.array.read_counts(), ReadCounts::default());
}

#[test]
fn when_the_direct_read_comes_first_after_all_its_content_counts() {
    let (mut rig, slow) = used("reactive");
    rig.world.takes.extend([(0, slow + 5), (2, 100)]);
    let start = rig.now();
    let tag = read(&mut rig, 3);
    rig.run();
    assert_eq!(rig.acknowledged().last(), Some(&(tag, start + slow + 5)));
    assert_eq!(rig.array.read_counts(), ReadCounts { hedged: 1, ..ReadCounts::default() });
    assert!(rig.array.is_quiet());
}

#[test]
fn a_direct_read_that_has_not_begun_when_the_others_are_done_never_does() {
    let (mut rig, slow) = used("reactive");
    rig.world.takes.insert(0, 500);
    let before = rig.started().count();
    let start = rig.now();
    read(&mut rig, 3);
    read(&mut rig, 6);
    rig.run();
    assert_eq!(rig.now(), start + 500, "member 0 reads one page, not two");
    assert_eq!(rig.started().count() - before, 1 + 2 * 3);
    let counts = ReadCounts { hedged: 2, hedges_won: 2, cut: 1, ..ReadCounts::default() };
    assert_eq!(rig.array.read_counts(), counts);
    let at: Vec<_> = rig.acknowledged().iter().rev().map(|&(_, at)| at).take(2).collect();
    assert_eq!(at, [start + slow + 2, start + slow + 1]);
}

#[test]
fn a_proactive_read_asks_everybody_at_once() {
    let (mut rig, _) = used("proactive");
    let before = reads(&rig).len();
    read(&mut rig, 3);
    rig.run();
    let mut requested = reads(&rig)[before..].to_vec();
    requested.sort_unstable();
    assert_eq!(requested, [(0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn an_adaptive_read_asks_everybody_at_once_where_the_last_reads_were_slow() {
    let (mut rig, _) = used("adaptive");
    rig.world.takes.insert(0, 500);
    read(&mut rig, 3);
    rig.run();
    let before = rig.now();
    let tag = read(&mut rig, 6);
    rig.run();
    assert_eq!(rig.acknowledged().last(), Some(&(tag, before + 1)));
}

#[test]
fn a_hedge_of_a_row_that_is_updated_reads_no_other_member() {
    let (mut rig, _) = used("reactive");
    rig.world.takes.extend([(0, 100), (3, 100)]);
    read(&mut rig, 3);
    // The write's pre-read of parity takes as long as the read of member 0.
    rig.submit(Write, 4, 1).expect("a request");
    rig.run();
    assert_eq!(rig.array.read_counts(), ReadCounts { not_held: 1, ..ReadCounts::default() });
    assert!(rig.array.is_quiet());
}

#[test]
fn chunks_of_the_log_are_read_around_a_collecting_member() {
    let scheme = "name = 'test'\n[placement]\npolicy = 'elastic'\nbuffer_persistence = 'volatile'\n[elastic]\nsegment_rows = 4\n\
        [read]\npolicy = 'gc-avoiding'";
    let mut rig = Rig::new(scheme, 4, 64);
    rig.submit(Write, 0, 3).expect("a request");
    rig.submit(Flush, 0, 0).expect("a request");
    rig.run();
    let (member, page) = rig.array.chunk_in_log(1).expect("it was flushed");
    rig.world.gc_waits.insert(member.number(), 500);
    read(&mut rig, 1);
    rig.run();
    let reads = reads(&rig);
    assert_eq!(reads.len(), 3);
    assert!(reads.iter().all(|&(read, of)| read != member.number() && of == page), "{reads:?}");
}
