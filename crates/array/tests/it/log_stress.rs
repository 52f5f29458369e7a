//! Logs under stress: nearly full and damaged, and beyond parity. Work ends, and every request is answered.

use stripewise_array::{Controller, Outcome, RequestKind};
use stripewise_testkit::Disk;

use crate::host::Host;

const PAGE: usize = 1024;

/// A log of six members that is as full as it can be, overwritten page by page, with the value of each chunk.
fn full(level: &str, members: usize) -> (Host, Vec<u8>) {
    let code = if level == "x-code" { "[code]\nkind = \"x-code\"\n" } else { "" };
    let level = if level == "x-code" { "raid6" } else { level };
    let rows = if code.is_empty() { 8 } else { 24 };
    let scheme = format!(
        "name = \"stress\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n{code}[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = {rows}\nacknowledge = \"buffered\"\n"
    );
    let page = if code.is_empty() { PAGE } else { 4 * PAGE };
    let mut host = Host::create(&scheme, Disk::new(members, 400, page as u32));
    let chunks = host.capacity();
    let mut expected = vec![0; chunks as usize];
    for nth in 0..3 * chunks {
        let chunk = if nth < chunks { nth } else { ((nth * 2_654_435_761) >> 7) % chunks };
        let value = (nth % 251) as u8 + 1;
        host.write(chunk, value);
        expected[chunk as usize] = value;
    }
    host.flush();
    (host, expected)
}

/// Damages the data of `member`, but for its superblocks.
fn damage(host: &mut Host, member: usize) {
    let pages = &mut host.disk().members[member].pages;
    let end = pages.len() - 8;
    pages[8..end].iter_mut().for_each(|page| page.fill(0xa5));
}

/// Whether a scrub that begins now ends.
fn scrub_ends(host: &mut Host) -> bool {
    host.begin_scrub();
    host.finish_within(200_000);
    !host.array.scrub_counts().1
}

fn all_read(host: &mut Host, expected: &[u8], when: &str) {
    for (chunk, &value) in (0..).zip(expected) {
        assert_eq!(host.read(chunk), Some(value), "chunk {chunk} {when}");
    }
}

#[test]
fn a_scrub_of_a_full_log_repairs_all_that_parity_can_replace_and_ends() {
    for (level, members) in [("raid5", 4), ("raid6", 6), ("x-code", 5)] {
        for damaged in 1..=if level == "raid5" { 1 } else { 2 } {
            let (mut host, mut expected) = full(level, members);
            (0..damaged).for_each(|member| damage(&mut host, member + 1));
            assert!(scrub_ends(&mut host), "{level}: the scrub never ends");
            let found = host.array.scrub_counts().0;
            assert!(found.bad > 90, "{level}: {found:?}");
            assert_eq!((found.repaired, found.lost), (found.bad, 0), "{level}: {found:?}");
            host.write(3, 77);
            expected[3] = 77;
            host.flush();
            assert!(scrub_ends(&mut host), "{level}: the second scrub never ends");
            assert_eq!(host.array.scrub_counts().0.bad, 0, "{level}");
            // What was repaired stands in for other members.
            let mut host = host.lose_power();
            (0..damaged).for_each(|nth| host.fail((members - 1 - nth) as u16));
            all_read(&mut host, &expected, &format!("of {level} without {damaged} members"));
        }
    }
}

#[test]
fn a_scrub_of_a_full_log_ends_where_too_much_of_it_is_bad() {
    let (mut host, expected) = full("raid5", 4);
    (0..2).for_each(|member| damage(&mut host, member + 1));
    assert!(scrub_ends(&mut host), "the scrub never ends");
    let found = host.array.scrub_counts().0;
    assert!(found.lost > 200, "{found:?}");
    for (chunk, &value) in (0..).zip(&expected) {
        let read = host.read(chunk);
        assert!(read.is_none() || read == Some(value), "chunk {chunk}: {read:?}");
    }
    assert!(host.ask(RequestKind::Flush, 0, Box::default()).is_some());
}

#[test]
fn a_page_that_cannot_be_rewritten_costs_no_member_and_its_stripe_moves() {
    let (mut host, expected) = full("raid5", 4);
    (0..20).for_each(|chunk| host.trim(chunk * 3, 1));
    host.flush();
    let chunk = expected.len() as u64 - 2;
    let (member, page) = host.array.chunk_in_log(chunk).unwrap();
    host.disk().members[member.index()].pages[page as usize][5] ^= 1;
    host.disk().members[member.index()].next_write = Some(Outcome::MediumError);
    assert!(scrub_ends(&mut host));
    assert_eq!(host.disk().members[member.index()].next_write, None, "scrub tried to rewrite it");
    assert!(!host.array.is_failed(member));
    host.flush();
    host.finish();
    assert_ne!(host.array.chunk_in_log(chunk), Some((member, page)), "it moves");
    assert_eq!(host.read(chunk), Some(expected[chunk as usize]));
}

#[test]
#[cfg(debug_assertions)]
fn a_repair_that_takes_space_never_ends_in_a_full_log_and_one_that_is_not_written_is_found() {
    let (mut host, _) = full("raid6", 6);
    host.array.plant(Some(stripewise_array::Bug::RepairTakesSpace));
    damage(&mut host, 1);
    assert!(!scrub_ends(&mut host), "a planted bug is not found");
    let (mut host, _) = full("raid6", 6);
    host.array.plant(Some(stripewise_array::Bug::RepairNotWritten));
    damage(&mut host, 1);
    assert!(scrub_ends(&mut host));
    assert!(scrub_ends(&mut host));
    assert!(host.array.scrub_counts().0.bad > 0, "a planted bug is not found");
}

/// A log of some data that acknowledges writes so, with one chunk more than a flush covered.
fn some(level: &str, members: usize, acknowledge: &str) -> Host {
    let scheme = format!(
        "name = \"stress\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"{acknowledge}\"\nwait = \"1ms\"\n"
    );
    let mut host = Host::create(&scheme, Disk::new(members, 400, PAGE as u32));
    (0..60).for_each(|chunk| host.write(chunk, 5));
    host.flush();
    host.write(7, 6);
    host
}

/// The answer of a request, if it has one at all: whether it succeeded.
fn answer(host: &mut Host, tag: u64) -> Option<bool> {
    host.answer_within(tag, 20_000)
}

#[test]
fn beyond_parity_every_request_is_answered_and_no_write_or_flush_succeeds() {
    for (level, members, losses) in [("raid5", 4, 2), ("raid6", 6, 3), ("raid6", 6, 6)] {
        for acknowledge in ["buffered", "trigger-waits"] {
            let case = format!("{level}, {losses} members lost, {acknowledge}");
            let mut host = some(level, members, acknowledge);
            // More than memory has room for, of which some wait, and a flush behind them.
            let chunks = host.capacity();
            let mut tags: Vec<u64> = (0..50)
                .map(|nth| host.begin(RequestKind::Write, nth * 4 % (chunks - 4), host.chunks(4, 9)))
                .collect();
            tags.push(host.begin(RequestKind::Flush, 0, Box::default()));
            (0..losses).for_each(|member| host.fail(member));
            for (nth, &tag) in tags.iter().enumerate() {
                let answer = answer(&mut host, tag);
                assert!(answer.is_some(), "{case}: request {nth} is never answered");
                assert!(nth < 50 || answer == Some(false), "{case}: the flush succeeds");
            }
            for nth in 0..4 * chunks {
                let tag = host.begin(RequestKind::Write, nth % chunks, host.chunks(1, 8));
                assert_eq!(answer(&mut host, tag), Some(false), "{case}: write {nth}");
            }
            for kind in [RequestKind::Trim, RequestKind::Flush] {
                let tag = host.begin(
                    kind,
                    3,
                    if kind == RequestKind::Trim { host.chunks(1, 0) } else { Box::default() },
                );
                assert_eq!(answer(&mut host, tag), Some(false), "{case}: {kind:?}");
            }
            for chunk in 0..60 {
                let tag = host.begin(RequestKind::Read, chunk, host.chunks(1, 0));
                assert!(
                    answer(&mut host, tag).is_some(),
                    "{case}: the read of chunk {chunk} is never answered"
                );
            }
            assert!(scrub_ends(&mut host), "{case}: a scrub never ends");
            host.array.audit_log().unwrap();
        }
    }
}

#[test]
fn what_memory_holds_when_too_many_members_are_lost_is_durable_when_they_are_back() {
    let mut host = some("raid5", 4, "buffered");
    (0..2).for_each(|member| host.fail(member));
    assert!(host.ask(RequestKind::Flush, 0, Box::default()).is_none());
    assert!(host.ask(RequestKind::Write, 1, host.chunks(1, 9)).is_none());
    assert_eq!(host.read(7), Some(6), "memory has it");
    for member in [1, 0] {
        host.disk().members[member].is_gone = false;
        host.rejoin(member as u16, host.returned(member as u16));
    }
    // The rebuild of the first is halted until the second is back.
    host.finish_rebuild();
    host.write(8, 7);
    host.flush();
    let mut host = host.lose_power();
    for chunk in (0..60).filter(|&chunk| chunk != 1) {
        let value = [(7, 6), (8, 7)].iter().find(|&&(its, _)| its == chunk).map_or(5, |&(_, value)| value);
        assert_eq!(host.read(chunk), Some(value), "chunk {chunk}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_log_that_takes_writes_beyond_parity_is_found() {
    let mut host = some("raid6", 6, "buffered");
    host.array.plant(Some(stripewise_array::Bug::BeyondParityTaken));
    (0..3).for_each(|member| host.fail(member));
    let chunks = host.capacity();
    let is_refused = |nth: u64| {
        let tag = host.begin(RequestKind::Write, nth % chunks, host.chunks(1, 8));
        answer(&mut host, tag) == Some(false)
    };
    assert!(!(0..4 * chunks).all(is_refused), "a planted bug is not found");
}
