//! Scrub of metadata: damage in superblocks, checkpoints, commit records, the redo journal, the table of checksums and the
//! bitmap is found, repaired and counted while the array serves.

use stripewise_array::AssemblyOptions;
use stripewise_array::ScrubCounts;
use stripewise_array::format::{CheckpointHeader, ChecksumPage, Commit, IntentPage, RedoRecord, Superblock};
use stripewise_testkit::Disk;

use crate::host::Host;

const LOG5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const LOG6: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const JOURNAL5: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"in-place\"\n";
const JOURNAL6: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\npolicy = \"in-place\"\n";
const BITMAP5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"in-place\"\n\
    [journal]\npolicy = \"intent-bitmap\"\n";

const ALL: [&str; 5] = [LOG5, LOG6, JOURNAL5, JOURNAL6, BITMAP5];

/// Pages of 1 KiB, of which a superblock takes four.
fn host(scheme: &str) -> Host {
    let mut host = Host::create(scheme, Disk::new(5, 600, 1024));
    (0..40).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host
}

fn is_intact(host: &mut Host) {
    (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}"));
}

/// Damages the pages of `member` for which `is_it` returns true. Returns their number.
fn damage(host: &mut Host, member: usize, is_it: impl Fn(usize, &[u8]) -> bool) -> u64 {
    let disk = host.disk();
    let pages = disk.members[member].pages.iter_mut().enumerate();
    let its = pages.filter(|(number, page)| is_it(*number, page));
    its.map(|(_, page)| page.fill(0x5a)).count() as u64
}

/// Zeroes both superblocks of `member`.
fn wipe(host: &mut Host, member: usize) {
    let disk = host.disk();
    let pages = &mut disk.members[member].pages;
    let last = pages.len() - 4;
    pages
        .iter_mut()
        .enumerate()
        .filter(|(nth, _)| *nth < 4 || *nth >= last)
        .for_each(|(_, page)| page.fill(0));
}

fn superblocks(host: &mut Host, member: usize) -> [Option<Superblock>; 2] {
    let disk = host.disk();
    let pages = &disk.members[member].pages;
    [0, pages.len() - 4].map(|first| Superblock::parse(&pages[first..first + 4].concat()).ok())
}

fn found(counts: ScrubCounts) -> (u64, u64) {
    (counts.metadata_damaged, counts.metadata_repaired)
}

/// The counts of a scrub, after superblocks record that it verified members.
fn scrubbed(host: &mut Host) -> ScrubCounts {
    let counts = host.scrub();
    host.finish();
    counts
}

#[test]
fn a_scrub_of_whole_metadata_finds_nothing_and_writes_none() {
    for scheme in ALL {
        let mut host = host(scheme);
        host.finish();
        host.take_log();
        let counts = host.scrub();
        assert_eq!((found(counts), counts.bad, counts.lost), ((0, 0), 0, 0), "{scheme}");
        if scheme == LOG5 || scheme == LOG6 {
            assert_eq!(host.take_log(), [], "{scheme}");
        }
    }
}

#[test]
fn superblocks_of_members_in_turn_are_zeroed_and_repaired_and_the_array_starts_with_all_of_them() {
    for scheme in ALL {
        let mut host = host(scheme);
        for member in 0..5 {
            wipe(&mut host, member);
            assert_eq!(superblocks(&mut host, member), [None, None]);
            assert_eq!(found(scrubbed(&mut host)), (2, 2), "{scheme}: member {member}");
            let whole = superblocks(&mut host, member);
            assert!(whole.iter().flatten().all(|block| usize::from(block.number) == member), "{scheme}");
            assert_eq!(whole.iter().flatten().count(), 2, "{scheme}: member {member}");
        }
        assert_eq!(found(scrubbed(&mut host)), (0, 0), "{scheme}");
        let mut host = host.lose_power();
        assert!(host.opened.positions.iter().all(Option::is_some), "{scheme}");
        is_intact(&mut host);
    }
}

#[test]
fn superblocks_of_all_members_at_once_are_repaired() {
    for scheme in ALL {
        let mut host = host(scheme);
        (0..5).for_each(|member| wipe(&mut host, member));
        assert_eq!(found(host.scrub()), (10, 10), "{scheme}");
        is_intact(&mut host.lose_power());
    }
}

#[test]
fn a_superblock_that_cannot_be_read_is_in_the_place_of_the_other_or_is_of_another_member_is_damaged() {
    for scheme in [LOG5, JOURNAL5, BITMAP5] {
        let mut host = host(scheme);
        host.disk().members[1].unreadable.insert(2);
        assert_eq!(found(scrubbed(&mut host)), (1, 1), "{scheme}: unreadable");
        let last = host.disk().members[2].pages.len() - 4;
        let back = host.disk().members[2].pages[last..].to_vec();
        host.disk().members[2].pages[..4].clone_from_slice(&back);
        assert_eq!(found(scrubbed(&mut host)), (1, 1), "{scheme}: the back copy in front");
        let other = host.disk().members[3].pages[..4].to_vec();
        host.disk().members[0].pages[..4].clone_from_slice(&other);
        assert_eq!(found(scrubbed(&mut host)), (1, 1), "{scheme}: that of another member");
        host.change_superblock(4, stripewise_array::format::Copy::Front, &|block| block.update -= 1);
        assert_eq!(found(scrubbed(&mut host)), (1, 1), "{scheme}: an older version");
    }
}

#[test]
fn a_damaged_checkpoint_or_commit_record_of_the_log_is_written_again() {
    for (scheme, copies) in [(LOG5, 2), (LOG6, 3)] {
        let mut host = host(scheme).lose_power();
        for member in 0..5 {
            damage(&mut host, member, |_, page| CheckpointHeader::parse(page).is_ok());
        }
        assert_eq!(found(host.scrub()), (copies, copies), "{scheme}: headers");
        for member in 0..5 {
            damage(&mut host, member, |_, page| Commit::parse(page).is_ok());
        }
        assert_eq!(found(host.scrub()), (copies, copies), "{scheme}: commit records");
        let superblock = superblocks(&mut host, 0)[0].clone().unwrap();
        let area = superblock.checkpoint;
        for member in 0..5 {
            let is_body = |nth: usize, _: &[u8]| {
                let slots = [area.first, area.first + area.pages];
                slots.iter().any(|first| (*first as usize + 1..(first + area.pages) as usize).contains(&nth))
            };
            damage(&mut host, member, is_body);
        }
        assert_eq!(found(host.scrub()), (copies, copies), "{scheme}: bodies");
        assert_eq!(found(host.scrub()), (0, 0), "{scheme}");
        let mut host = host.lose_power();
        assert_eq!(host.opened.losses, [] as [String; 0], "{scheme}");
        is_intact(&mut host);
    }
}

#[test]
fn damaged_pages_of_the_table_of_checksums_are_written_again() {
    for (scheme, copies) in [(JOURNAL5, 2), (JOURNAL6, 3)] {
        let mut host = host(scheme).lose_power();
        let its: u64 =
            (0..5).map(|member| damage(&mut host, member, |_, page| ChecksumPage::parse(page).is_ok())).sum();
        let counts = found(host.scrub());
        assert!(
            its > 0 && counts.0.is_multiple_of(copies) && counts.0 > 0 && counts.0 == counts.1,
            "{scheme}: {counts:?} of {its}"
        );
        assert_eq!(found(host.scrub()), (0, 0), "{scheme}");
        let mut host = host.lose_power();
        assert_eq!(host.opened.losses, [] as [String; 0], "{scheme}");
        is_intact(&mut host);
    }
}

#[test]
fn damaged_records_of_the_redo_journal_are_done_away_with() {
    for scheme in [JOURNAL5, JOURNAL6] {
        let mut host = host(scheme);
        let its: u64 =
            (0..5).map(|member| damage(&mut host, member, |_, page| RedoRecord::parse(page).is_ok())).sum();
        let counts = found(host.scrub());
        assert!(its > 0 && counts.0 > 0 && counts.0 == counts.1, "{scheme}: {counts:?} of {its}");
        assert_eq!(found(host.scrub()), (0, 0), "{scheme}");
        let mut host = host.lose_power();
        assert_eq!(host.opened.losses, [] as [String; 0], "{scheme}");
        is_intact(&mut host);
    }
}

#[test]
fn a_damaged_bitmap_is_written_again() {
    let mut host = host(BITMAP5);
    for member in 0..5 {
        damage(&mut host, member, |_, page| IntentPage::parse(page).is_ok());
    }
    assert_eq!(found(host.scrub()), (5, 5));
    assert_eq!(found(host.scrub()), (0, 0));
    is_intact(&mut host.lose_power());
}

#[test]
fn a_read_only_array_counts_damaged_superblocks_and_repairs_none() {
    for scheme in ALL {
        let mut host = host(scheme);
        host.finish();
        // All begun updates are done: there is nothing to replay.
        let host = host.lose_power();
        let mut host =
            host.try_open(AssemblyOptions { read_only: true, ..AssemblyOptions::default() }).unwrap();
        assert_eq!(found(host.scrub()).0, 0, "{scheme}");
        wipe(&mut host, 1);
        assert_eq!(found(host.scrub()), (2, 0), "{scheme}");
        assert_eq!(superblocks(&mut host, 1), [None, None], "{scheme}");
    }
}

#[test]
fn superblocks_are_repaired_while_a_member_is_lost_and_while_it_is_filled() {
    for scheme in ALL {
        let mut host = host(scheme);
        host.fail(3);
        host.flush();
        host.finish();
        wipe(&mut host, 1);
        assert_eq!(found(host.scrub()), (2, 2), "{scheme}: degraded");
        host.disk().members[3].is_gone = false;
        host.rejoin(3, host.returned(3));
        wipe(&mut host, 1);
        host.scrub();
        assert_eq!(superblocks(&mut host, 1).iter().flatten().count(), 2, "{scheme}: filled");
        host.finish_rebuild();
        host.finish();
        assert_eq!(found(host.scrub()), (0, 0), "{scheme}: whole");
        is_intact(&mut host.lose_power());
    }
}

#[test]
fn before_an_array_is_closed_damaged_superblocks_are_repaired() {
    for scheme in ALL {
        let mut host = host(scheme);
        wipe(&mut host, 2);
        host.verify_superblocks();
        let (found, continues) = host.array.metadata_scrubbed();
        assert_eq!((found.damaged, found.repaired, continues), (2, 2, false), "{scheme}");
        assert_eq!(superblocks(&mut host, 2).iter().flatten().count(), 2, "{scheme}");
    }
}

/// Otherwise an assembly without another member is refused: as far as it knows, the page held the newest record.
#[test]
fn pages_of_the_journal_that_hold_nothing_are_made_readable() {
    for scheme in [JOURNAL5, JOURNAL6] {
        let mut host = host(scheme);
        host.finish();
        let (member, page) = (3, superblock_journal(&mut host));
        let vacant = page.end - 2;
        host.disk().members[member].unreadable.insert(vacant);
        let (damaged, repaired) = found(scrubbed(&mut host));
        assert!(damaged > 0 && damaged == repaired, "{scheme}: {damaged}, {repaired}");
        assert!(host.disk().members[member].unreadable.is_empty(), "{scheme}");
        assert_eq!(found(scrubbed(&mut host)), (0, 0), "{scheme}");
        is_intact(&mut host);
    }
}

/// The pages of the redo journal.
fn superblock_journal(host: &mut Host) -> std::ops::Range<u32> {
    let [front, _] = superblocks(host, 0);
    let area = front.expect("it is whole").journal;
    area.first..area.first + area.pages
}
