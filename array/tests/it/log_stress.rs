//! Logs under stress: nearly full and damaged, and beyond parity. Work ends, and every request is answered.

use stripewise_array::{Outcome, RequestKind};

use crate::disk::{Disk, Host};

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
            assert!(found.bad > 200, "{level}: {found:?}");
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
    host.disk().members[member as usize].pages[page as usize][5] ^= 1;
    host.disk().members[member as usize].next_write = Some(Outcome::MediumError);
    assert!(scrub_ends(&mut host));
    assert_eq!(host.disk().members[member as usize].next_write, None, "scrub tried to rewrite it");
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
