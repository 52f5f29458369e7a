//! Faults of members under a log, one by one: errors, corruption, and content of other arrays.

use stripewise_array::format::checkpoint::body_bytes;
use stripewise_array::format::{
    CheckpointHeader, Commit, Entry, EntryRole, Summary, SummaryHeader, Superblock, Uuid,
};
use stripewise_array::{AssemblyOptions, Controller, Outcome, Rejoining, RequestKind};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";

fn disk() -> Disk {
    Disk::new(4, 400, 1024)
}

fn host() -> Host {
    Host::create(RAID5, disk())
}

/// All summaries, each with the member and page of a copy.
fn summaries(host: &mut Host) -> Vec<(usize, usize, SummaryHeader, Vec<Entry>)> {
    let disk = host.disk();
    let pages = disk.members.iter().enumerate();
    let pages = pages.flat_map(|(number, member)| {
        member.pages.iter().enumerate().map(move |(page, content)| (number, page, content))
    });
    let found =
        pages.filter_map(|(number, page, content)| Some((number, page, Summary::parse(content).ok()?)));
    found.map(|(number, page, summary)| (number, page, summary.header, summary.entries().collect())).collect()
}

fn superblock(host: &mut Host) -> Superblock {
    let bytes = host.disk().members[0].pages[..4].concat();
    Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_member_may_fail_to_write_eight_stripes_and_fails_with_the_ninth() {
    let mut host = host();
    let mut chunk = 0;
    for nth in 1..=9 {
        host.disk().members[1].next_write = Some(Outcome::MediumError);
        while host.disk().members[1].next_write.is_some() {
            host.write(chunk, chunk as u8 | 1);
            chunk += 1;
        }
        assert_eq!(host.array.is_failed(MemberNo::new(1)), nth > 8, "after error {nth}");
    }
    host.flush();
    let mut host = host.lose_power();
    (0..chunk).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "chunk {chunk}"));
}

#[test]
fn a_chunk_that_is_lost_stays_so_and_where_it_is_when_what_was_beside_it_is_collected_and_in_the_next_epoch()
{
    let mut host = host();
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, 9));
    host.flush();
    let stripe: Vec<_> = host.array.stripes().swap_remove(0).columns;
    let kept: Vec<u64> = stripe.iter().filter_map(|column| column.3).collect();
    for (_, member, page, _) in &stripe[..2] {
        host.disk().members[(*member).index()].pages[*page as usize].fill(0x5a);
    }
    let places: Vec<_> = kept.iter().map(|&chunk| host.array.chunk_in_log(chunk)).collect();
    let lost: Vec<u64> = stripe[..2].iter().filter_map(|column| column.3).collect();
    // In no particular order, so that no segment is ever empty.
    let mut state = 1u64;
    for _ in 0..8 * chunks {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let chunk = (state >> 33) % chunks;
        if !kept.contains(&chunk) {
            host.write(chunk, 8);
        }
    }
    host.flush();
    for &chunk in &kept {
        let expected = if lost.contains(&chunk) { None } else { Some(9) };
        assert_eq!(host.read(chunk), expected, "chunk {chunk}");
    }
    host.flush();
    for (chunk, place) in kept.into_iter().zip(places) {
        let stays = host.array.chunk_in_log(chunk) == place;
        assert_eq!(stays, lost.contains(&chunk), "chunk {chunk}: its segment is collected");
    }
    let mut host = host.lose_power();
    lost.iter().for_each(|&chunk| assert_eq!(host.read(chunk), None, "chunk {chunk}"));
}

#[test]
fn a_chunk_whose_summary_is_lost_reads_as_the_version_before_be_it_a_trim_and_in_the_epoch_after() {
    let mut host = host();
    (0..6).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    host.trim(5, 1);
    host.flush();
    host.write(5, 2);
    host.flush();
    // From now on, a checkpoint records that the chunk was written.
    let mut host = host.lose_power();
    let its = |entries: &[Entry]| {
        let its = entries.iter().filter(|entry| entry.role == EntryRole::Data && entry.chunk == 5);
        its.map(|entry| entry.write_seq).max().unwrap_or(0)
    };
    let all = summaries(&mut host);
    let newest = all.iter().map(|(.., entries)| its(entries)).max().unwrap_or(0);
    for (member, page, ..) in all.iter().filter(|(.., entries)| its(entries) == newest) {
        host.disk().members[*member].pages[*page].fill(0x5a);
    }
    assert!(host.try_open(AssemblyOptions::default()).is_err(), "something is lost");
    let mut host = host
        .try_open(AssemblyOptions { force: true, ..AssemblyOptions::default() })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(host.read(5), Some(0));
    host.flush();
    let mut host = host.lose_power();
    assert_eq!(host.read(5), Some(0), "in the next epoch");
    assert_eq!(host.read(4), Some(1));
}

#[test]
fn a_checkpoint_whose_body_is_rotten_is_skipped_for_a_copy_of_it() {
    let mut host = host();
    (0..60).for_each(|chunk| host.write(chunk, 3));
    host.flush();
    let mut host = host.lose_power();
    let superblock = superblock(&mut host);
    let area = superblock.checkpoint;
    let bits = superblock.segments() as usize * 16;
    let end = body_bytes(superblock.segments(), superblock.capacity) as usize;
    let mut copies = Vec::new();
    for member in 0..4 {
        for first in [area.first, area.first + area.pages] {
            let header = CheckpointHeader::parse(&host.disk().members[member].pages[first as usize]);
            copies.extend(header.ok().map(|header| (header.number, member, first)));
        }
    }
    let newest = copies.iter().map(|copy| copy.0).max().unwrap_or_default();
    let (_, member, first) = copies.into_iter().find(|copy| copy.0 == newest).expect("there is one");
    for at in bits..end {
        host.disk().members[member].pages[first as usize + 1 + at / 1024][at % 1024] = 0;
    }
    let mut host = host.lose_power();
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(3), "chunk {chunk}"));
}

#[test]
fn what_no_flush_covered_is_dropped_with_a_copy_of_its_summary() {
    let mut host = host();
    (0..40).for_each(|chunk| host.write(chunk, 3));
    host.flush();
    (0..100).for_each(|chunk| host.write(chunk, 4));
    let all = summaries(&mut host);
    let batch = |(_, _, header, _): &&(usize, usize, SummaryHeader, Vec<Entry>)| header.batch;
    let (Some(oldest), Some(newest)) = (all.iter().min_by_key(batch), all.iter().max_by_key(batch)) else {
        panic!("no batch");
    };
    let (horizon, last) = (newest.2.horizon, newest.2.batch);
    assert!(horizon > 0 && horizon < last, "a flush covered {horizon}, and not {last}");
    assert_eq!(all.iter().filter(|its| its.2.batch == last).count(), 2, "it has two copies");
    let mut whole = host.copy();
    assert_eq!(whole.opened.dropped, 0);
    assert_eq!(whole.read(0), Some(4));
    // The page now has a summary, but of another batch.
    let other = host.disk().members[oldest.0].pages[oldest.1].clone();
    host.disk().members[newest.0].pages[newest.1] = other;
    let mut host = host.lose_power();
    assert_eq!(host.opened.dropped, 1);
    (0..40).for_each(|chunk| assert!(matches!(host.read(chunk), Some(3 | 4)), "chunk {chunk}"));
}

#[test]
fn a_member_that_cannot_be_written_when_assembly_writes_the_end_of_the_log_again_is_left_out() {
    let mut host = host();
    (0..40).for_each(|chunk| host.write(chunk, 3));
    host.flush();
    (0..100).for_each(|chunk| host.write(chunk, 4));
    host.disk().members[1].next_assembly_write = Some(Outcome::MediumError);
    let mut host = host.lose_power();
    assert!(host.opened.replayed > 0 && host.opened.positions[1].is_none(), "{:?}", host.opened);
    (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(4), "chunk {chunk}"));
    host.rejoin(1, host.returned(1));
    host.finish_rebuild();
    host.flush();
    whole_without_any_other(&host, 1, 40, |_| 4);
}

/// A host whose array of another identifier was assembled and written often.
fn stranger() -> Host {
    let mut host = Host::create_named(RAID5, disk(), Uuid([8; 16]));
    for round in 0..4 {
        (0..host.capacity()).for_each(|chunk| host.write(chunk, 200 + round));
        host.flush();
        host = host.lose_power();
    }
    (0..50).for_each(|chunk| host.write(chunk, 77));
    host.flush();
    host
}

#[test]
fn what_another_array_left_on_the_members_counts_for_nothing() {
    // Content of the stranger's first epoch could be mistaken for content of this array's first epoch.
    let mut stranger = Host::create_named(RAID5, disk(), Uuid([8; 16]));
    (0..stranger.capacity()).for_each(|chunk| stranger.write(chunk, 9));
    stranger.flush();
    let mut host = Host::create(RAID5, stranger.copy_of_disk());
    host.write(1, 5);
    host.flush();
    let mut host = host.lose_power();
    assert_eq!(host.read(1), Some(5));
    (2..host.capacity()).for_each(|chunk| assert_eq!(host.read(chunk), Some(0), "chunk {chunk}"));
}

#[test]
fn what_another_array_left_on_a_replacement_counts_for_nothing() {
    let mut host = host();
    (0..30).for_each(|chunk| host.write(chunk, 5));
    host.flush();
    host.fail(0);
    host.flush();
    host.disk().members[0] = stranger().disk().members[0].clone();
    host.rejoin(0, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 400 });
    host.finish_rebuild();
    host.flush();
    let mut host = host.lose_power();
    (0..30).for_each(|chunk| assert_eq!(host.read(chunk), Some(5), "chunk {chunk}"));
    (30..host.capacity()).for_each(|chunk| assert_eq!(host.read(chunk), Some(0), "chunk {chunk}"));
}

#[test]
fn members_without_which_the_others_could_have_continued_are_not_done_without() {
    let scheme = RAID5.replace("raid5", "raid6");
    let mut host = Host::create(&scheme, disk());
    host.write(0, 1);
    host.flush();
    host.disk().members[2].is_gone = true;
    let mut one = host.copy();
    assert_eq!(one.read(0), Some(1));
    host.disk().members[3].is_gone = true;
    let refused = Host::refusal(&scheme, host.copy_of_disk());
    assert!(refused.contains("could have continued without these"), "{refused}");
}

/// Each chunk below `end` has its value, whichever other member is missing.
fn whole_without_any_other(host: &Host, gone: usize, end: u64, value: impl Fn(u64) -> u8) {
    for other in (0..4).filter(|&other| other != gone) {
        let mut host = host.copy();
        host.disk().members[other].is_gone = true;
        let mut host = host.lose_power();
        for chunk in 0..end {
            assert_eq!(host.read(chunk), Some(value(chunk)), "chunk {chunk}, {gone} back and {other} gone");
        }
    }
}

#[test]
fn a_member_that_was_absent_gets_what_no_flush_covered_before() {
    let mut host = host();
    (0..30).for_each(|chunk| host.write(chunk, 4));
    host.flush();
    // The member keeps none of the following writes.
    let before = host.disk().members[1].clone();
    (0..90).for_each(|chunk| host.write(chunk, 6));
    host.disk().members[1].is_gone = true;
    let mut host = host.lose_power();
    assert!(host.opened.replayed > 0);
    let values: Vec<u8> = (0..90).map(|chunk| host.read(chunk).expect("it is there")).collect();
    assert!(values.contains(&6));
    host.disk().members[1] = before;
    host.rejoin(1, host.returned(1));
    host.finish_rebuild();
    host.flush();
    whole_without_any_other(&host, 1, 90, |chunk| values[chunk as usize]);
}

#[test]
fn a_member_larger_than_others_returns_with_both_copies_of_its_superblock() {
    let mut disk = disk();
    disk.members[1].pages.resize(450, vec![0; 1024].into());
    let mut host = Host::create(RAID5, disk);
    (0..30).for_each(|chunk| host.write(chunk, 5));
    host.flush();
    host.disk().members[1].is_gone = true;
    let mut host = host.lose_power();
    host.disk().members[1].is_gone = false;
    host.rejoin(1, host.returned(1));
    host.finish_rebuild();
    host.flush();
    let mut disk = host.copy_of_disk();
    disk.members[1].pages[..4].iter_mut().for_each(|page| page.fill(0x5a));
    disk.members[2].is_gone = true;
    let mut host = Host::open_as(RAID5, disk);
    (0..30).for_each(|chunk| assert_eq!(host.read(chunk), Some(5), "chunk {chunk}"));
}

#[test]
fn a_member_that_returns_lacks_batches_whose_numbers_were_given_again_since() {
    let mut host = host();
    (0..30).for_each(|chunk| host.write(chunk, 5));
    host.flush();
    (30..33).for_each(|chunk| host.write(chunk, 6));
    host.flush();
    host.fail(1);
    host.flush();
    // The last batch is lost with its summary and with all records of its durability: for the array, it never existed.
    let last = summaries(&mut host).into_iter().map(|(.., header, _)| header.batch).max().unwrap_or(0);
    assert_eq!(superblock(&mut host).members[1].failed_batch, last);
    let describes = |page: &[u8]| {
        Commit::parse(page).is_ok_and(|commit| commit.horizon == last)
            || Summary::parse(page).is_ok_and(|summary| summary.header.batch == last)
    };
    let mut disk = host.copy_of_disk();
    let pages = disk.members.iter_mut().flat_map(|member| &mut member.pages);
    pages.filter(|page| describes(page)).for_each(|page| page.fill(0x5a));
    let mut host = Host::open_as(RAID5, disk);
    host.disk().members[1].is_gone = false;
    host.rejoin(1, host.returned(1));
    // The member takes part in stripes, and fails again before a flush.
    let before = host.disk().members[1].clone();
    for chunk in 0..12 {
        host.begin(RequestKind::Write, chunk, host.chunks(1, 7));
    }
    while !host.disk().members[1].pages.iter().any(|page| page.iter().all(|&byte| byte == 7)) {
        host.complete_one();
    }
    assert!(host.array.rebuilding().is_some());
    host.fail(1);
    host.disk().members[1] = before;
    host.flush();
    let is_last = |(.., header, _): &(usize, usize, SummaryHeader, Vec<Entry>)| header.batch == last;
    assert!(summaries(&mut host).iter().any(is_last), "its number is given again");
    host.rejoin(1, host.returned(1));
    host.finish_rebuild();
    host.flush();
    whole_without_any_other(&host, 1, 30, |chunk| if chunk < 12 { 7 } else { 5 });
}

#[test]
fn a_copy_of_a_summary_that_scrub_cannot_write_costs_no_member_that_the_others_need() {
    for gone in [None, Some(3)] {
        let mut host = host();
        (0..90).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
        host.flush();
        if let Some(gone) = gone {
            host.fail(gone);
            host.flush();
        }
        let of_the_first = |(member, _, header, _): &(usize, usize, SummaryHeader, Vec<Entry>)| {
            header.batch == 1 && gone != Some(*member as u16)
        };
        let copies = summaries(&mut host).into_iter().filter(of_the_first);
        let places: Vec<(usize, usize)> = copies.map(|(member, page, ..)| (member, page)).collect();
        let &[(member, page), _] = &*places else { panic!("{places:?}") };
        host.disk().members[member].unreadable.insert(page as u32);
        host.disk().members[member].next_write = Some(Outcome::MediumError);
        let found = host.scrub();
        assert_eq!((found.bad, found.repaired, found.lost), (1, 0, 0), "{found:?}");
        assert_eq!(host.disk().members[member].next_write, None, "scrub tried to write it");
        assert!(!host.array.is_failed(MemberNo::new(member as u16)), "without {gone:?}");
        (0..90).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "chunk {chunk}"));
        host.flush();
        host.finish();
        // None of the content that the copies described is present any more.
        for (member, page) in places {
            host.disk().members[member].pages[page].fill(0x5a);
        }
        let mut host = host.lose_power();
        (0..90).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "chunk {chunk}"));
    }
}

#[test]
fn what_scrub_rewrote_is_good_where_it_was_when_the_array_is_assembled_again() {
    let mut host = host();
    (0..30).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let (member, page) = host.array.chunk_in_log(11).unwrap_or_default();
    host.disk().members[member.index()].pages[page as usize][5] ^= 1;
    assert_eq!(host.scrub().repaired, 1);
    host.flush();
    let mut host = host.lose_power();
    assert_eq!(host.array.chunk_in_log(11), Some((member, page)));
    assert_eq!(host.read(11), Some(12));
    assert_eq!(host.scrub().bad, 0);
}

#[test]
fn what_was_trimmed_does_not_wait_in_memory_forever() {
    let mut host = host();
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, 9));
    host.flush();
    host.finish();
    let before = host.array.metadata_counts().summaries;
    (0..chunks / 2).for_each(|chunk| host.trim(2 * chunk, 1));
    host.finish();
    assert!(host.array.metadata_counts().summaries > before, "no flush, and no write");
}

#[test]
fn a_log_without_flushes_has_a_checkpoint_some_time() {
    let mut host = host();
    (0..host.capacity() / 2).for_each(|chunk| host.write(chunk, 9));
    assert_eq!(host.array.log_counts().collected, 0);
    assert!(host.array.metadata_counts().checkpoints > 0);
}
