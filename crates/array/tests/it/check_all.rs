//! The findings of a check of a log, and the output of a dump.

use stripewise_array::format::dump::{Dump, Finding};
use stripewise_array::format::{
    CheckpointHeader, Commit, EntryRole, REDO_MAGIC, RedoRecord, Structure, Summary, crc32c, summary,
};
use stripewise_array::{
    Array, AssemblyOptions, Checked, Controller, DamagedCopy, Members, Outcome, PageMemory, Scheme, Trouble,
};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\n\
    policy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";

const PAGE: u32 = 1024;

/// An array with chunks 0 to 39 written, each with its number plus 1, the first ten of them twice.
fn written(scheme: &str, members: usize) -> Host {
    let mut host = Host::create(scheme, Disk::new(members, 400, PAGE));
    (0..10).for_each(|chunk| host.write(chunk, 200));
    (0..40).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host
}

/// Assembles the array read-only, and checks it.
fn check(scheme: &str, disk: &Disk) -> (Checked, Vec<Trouble>) {
    let mut read = disk.clone();
    let members = Members {
        discard: false,
        ..Members::opaque(disk.members.len() as u32, PAGE, disk.members[0].pages.len() as u32)
    };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    let (array, opened) =
        Array::open(&scheme, members, PageMemory::new(PAGE), &mut read, opening).expect("it opens");
    let mut troubles = Vec::new();
    let checked = array.check_all(&mut read, &opened, &mut |trouble| troubles.push(trouble.clone()));
    let pages = |disk: &Disk| disk.members.iter().map(|member| member.pages.clone()).collect::<Vec<_>>();
    assert!(pages(disk) == pages(&read), "nothing was written");
    assert_eq!(checked.troubles, troubles.len() as u64);
    (checked, troubles)
}

/// The members and pages of the stripe that holds `chunk`, with the chunks of data.
fn stripe_of(host: &Host, chunk: u64) -> Vec<(u16, u32, Option<u64>)> {
    let place = host.array.chunk_in_log(chunk).expect("it was written");
    let stripes = host.array.stripes();
    let its = stripes.iter().find(|stripe| stripe.columns.iter().any(|column| (column.1, column.2) == place));
    its.expect("it is in a stripe")
        .columns
        .iter()
        .map(|&(_, member, page, chunk)| (member.number(), page, chunk))
        .collect()
}

fn rot(host: &mut Host, member: u16, page: u32) {
    host.disk().members[usize::from(member)].pages[page as usize][7] ^= 1;
}

#[test]
fn an_array_that_is_whole_has_no_trouble() {
    let mut host = written(RAID5, 5);
    let (checked, troubles) = check(RAID5, host.disk());
    assert_eq!(troubles, []);
    assert_eq!((checked.chunks, checked.lost, checked.absent), (40, 0, 0));
    assert!(checked.stripes >= 10 && checked.pages > checked.stripes, "{checked:?}");
}

#[test]
fn a_page_with_wrong_content_is_named_and_decodes() {
    let mut host = written(RAID5, 5);
    let (member, page) = host.array.chunk_in_log(17).expect("it was written");
    rot(&mut host, member.number(), page);
    let (checked, troubles) = check(RAID5, host.disk());
    let trouble = Trouble::Page { member, page, chunk: Some(17), outcome: Outcome::Done, decodes: true };
    assert_eq!(
        trouble.to_string(),
        format!(
            "member {member}, page {page}: chunk 17 has another checksum than when it was written; \
             the rest of its stripe gives it back"
        )
    );
    assert_eq!(troubles, [trouble]);
    assert_eq!((checked.chunks, checked.lost), (40, 0));
}

/// Two damaged pages of a stripe with one parity: chunks that hosts still read are lost; chunks that were written again
/// are not.
#[test]
fn of_more_damage_than_parity_tolerates_the_chunks_are_named() {
    let mut host = written(RAID5, 5);
    let stripe = stripe_of(&host, 33);
    let (data, parity): (Vec<_>, Vec<_>) = stripe.into_iter().partition(|column| column.2.is_some());
    rot(&mut host, data[0].0, data[0].1);
    rot(&mut host, parity[0].0, parity[0].1);
    let (checked, troubles) = check(RAID5, host.disk());
    let lost: Vec<_> = troubles.iter().filter(|trouble| matches!(trouble, Trouble::Lost { .. })).collect();
    assert_eq!(lost, [&Trouble::Lost { chunk: data[0].2.expect("it is data") }]);
    assert_eq!(troubles.len(), 3);
    assert_eq!((checked.chunks, checked.lost), (39, 1));
}

#[test]
fn without_a_member_all_decodes_and_one_more_bad_page_is_a_loss() {
    let mut host = written(RAID5, 5);
    let (member, page) = host.array.chunk_in_log(20).expect("it was written");
    host.disk().members[(member.index() + 1) % 5].is_gone = true;
    let (checked, troubles) = check(RAID5, host.disk());
    assert_eq!(troubles, []);
    assert_eq!(checked.chunks, 40);
    assert!(checked.absent > 0);
    rot(&mut host, member.number(), page);
    let (_, troubles) = check(RAID5, host.disk());
    assert!(troubles.contains(&Trouble::Lost { chunk: 20 }), "{troubles:?}");
}

#[test]
fn two_bad_pages_decode_with_two_parities() {
    let raid6 = RAID5.replace("raid5", "raid6");
    let mut host = written(&raid6, 6);
    let stripe = stripe_of(&host, 25);
    for &(member, page, _) in &stripe[..2] {
        rot(&mut host, member, page);
    }
    let (checked, troubles) = check(&raid6, host.disk());
    assert!(
        troubles.iter().all(|trouble| matches!(trouble, Trouble::Page { decodes: true, .. })),
        "{troubles:?}"
    );
    assert_eq!((troubles.len(), checked.chunks, checked.lost), (2, 40, 0));
}

/// A parity page has wrong content with a matching checksum in all copies of its summary: only encoding finds it.
#[test]
fn parity_that_is_not_that_of_its_data_is_found() {
    let mut host = written(RAID5, 5);
    let stripe = stripe_of(&host, 12);
    let &(member, page, _) = stripe.iter().find(|column| column.2.is_none()).expect("it has parity");
    let before = crc32c(&host.disk().members[usize::from(member)].pages[page as usize]);
    rot(&mut host, member, page);
    let after = crc32c(&host.disk().members[usize::from(member)].pages[page as usize]);
    let mut changed = 0;
    for content in host.disk().members.iter_mut().flat_map(|member| &mut member.pages) {
        let Ok(read) = Summary::parse(content) else { continue };
        let (header, mut entries) = (read.header, read.entries().collect::<Vec<_>>());
        let tombstones: Vec<_> = read.tombstones().collect();
        for entry in entries.iter_mut().filter(|entry| entry.role == EntryRole::P && entry.checksum == before)
        {
            entry.checksum = after;
            changed += 1;
        }
        summary::encode(&header, entries.into_iter(), &tombstones, content);
    }
    assert_eq!(changed, 2, "P + 1 copies");
    let (checked, troubles) = check(RAID5, host.disk());
    assert!(matches!(troubles[..], [Trouble::Parity { .. }]), "{troubles:?}");
    assert_eq!(checked.lost, 0);
}

/// A dump reads everything that the log wrote: the chunks of all batches, with no copy of a summary missing.
#[test]
fn a_dump_finds_every_batch_of_a_log() {
    let mut host = written(RAID5, 5);
    let (mut chunks, mut written, mut others) = (0, 0, Vec::new());
    let problems = Dump::default().run(&mut *host.disk(), &mut |finding| match finding {
        Finding::Segment(segment) => chunks += segment.chunks,
        Finding::Checkpoint { chunks_written, .. } => written = written.max(*chunks_written),
        other => others.push(other.to_string()),
    });
    assert_eq!(problems, Ok(0), "{others:?}");
    assert!((40..=50).contains(&chunks), "{chunks} chunks");
    assert_eq!(written, 0, "the checkpoint is that of the opening");
}

const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

const BITMAP: &str = "name = \"marked\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n";

/// The member and page of a chunk of an array in place.
fn place_of(host: &Host, chunk: u64) -> (u16, u32) {
    let (member, _, page) = host.array.homes(chunk * u64::from(PAGE)).expect("it has a place");
    (member.number(), page)
}

#[test]
fn an_array_in_place_that_is_whole_has_no_trouble_and_all_its_chunks() {
    let mut host = written(IN_PLACE, 5);
    let (checked, troubles) = check(IN_PLACE, host.disk());
    assert_eq!(troubles, []);
    assert_eq!((checked.chunks, checked.lost, checked.absent), (host.capacity(), 0, 0));
    assert_eq!(checked.pages, host.array.geometry().rows() * 5);
}

#[test]
fn of_an_array_in_place_bad_pages_are_named_and_those_that_do_not_decode_are_lost() {
    let mut host = written(IN_PLACE, 5);
    let (member, page) = place_of(&host, 13);
    rot(&mut host, member, page);
    let (_, troubles) = check(IN_PLACE, host.disk());
    let trouble = Trouble::Page {
        member: MemberNo::new(member),
        page,
        chunk: Some(13),
        outcome: Outcome::Done,
        decodes: true,
    };
    assert_eq!(troubles, [trouble]);
    // Another chunk of the same row.
    let other = (0..40).filter(|&chunk| chunk != 13).find(|&chunk| place_of(&host, chunk).1 == page);
    let other = other.expect("a row has more than one chunk");
    let (member, page) = place_of(&host, other);
    rot(&mut host, member, page);
    let (checked, troubles) = check(IN_PLACE, host.disk());
    let mut lost: Vec<u64> = Vec::new();
    for trouble in &troubles {
        match trouble {
            Trouble::Lost { chunk } => lost.push(*chunk),
            other => assert!(matches!(other, Trouble::Page { decodes: false, .. }), "{other}"),
        }
    }
    lost.sort_unstable();
    let mut expected = [13, other];
    expected.sort_unstable();
    assert_eq!((lost, checked.lost), (expected.to_vec(), 2));
}

/// The troubles caused by corruption of `page` on `member`, and those that remain after the array was assembled for
/// writing.
fn rotten(scheme: &str, host: &Host, member: u16, page: u32) -> (Vec<Trouble>, Vec<Trouble>) {
    let mut disk = host.copy_of_disk();
    disk.members[usize::from(member)].pages[page as usize][9] ^= 1;
    let (checked, troubles) = check(scheme, &disk);
    assert_eq!(checked.lost, 0);
    let mended = Host::open_as(scheme, disk).copy_of_disk();
    (troubles, check(scheme, &mended).1)
}

/// The pages of all members that begin with `magic`.
fn copies_of(host: &Host, magic: &[u8; 8]) -> Vec<(u16, u32)> {
    let disk = host.copy_of_disk();
    let each = (0..).zip(&disk.members);
    let pages =
        each.flat_map(|(member, its)| (0..).zip(&its.pages).map(move |(page, its)| (member, page, its)));
    pages.filter(|(.., its)| its.starts_with(magic)).map(|(member, page, _)| (member, page)).collect()
}

#[test]
fn a_damaged_copy_of_a_superblock_is_reported_and_opening_the_array_mends_it() {
    for scheme in [RAID5, IN_PLACE, BITMAP] {
        let host = written(scheme, 5).lose_power();
        let copies = copies_of(&host, b"STRIPEWS");
        assert_eq!(copies.len(), 10);
        for (member, page) in copies {
            let (troubles, left) = rotten(scheme, &host, member, page);
            let copy = DamagedCopy { member: MemberNo::new(member), page, structure: Structure::Superblock };
            assert_eq!(troubles, [Trouble::Copy(copy)]);
            assert_eq!(left, []);
        }
    }
}

/// Epoch and number of the commit record or checkpoint in a page.
fn record_in(host: &Host, (member, page): (u16, u32)) -> (u32, u64) {
    let disk = host.copy_of_disk();
    let bytes = &disk.members[usize::from(member)].pages[page as usize];
    let header = CheckpointHeader::parse(bytes).map(|header| (header.epoch, header.number));
    header.unwrap_or_else(|_| {
        Commit::parse(bytes).map(|record| (record.epoch, record.number)).expect("it is whole")
    })
}

/// Older records and checkpoints are never read again: a scrub neither verifies nor repairs them, and they are no trouble.
#[test]
fn damaged_copies_of_the_newest_checkpoint_and_commit_record_are_reported_and_no_others() {
    let mut host = written(RAID5, 5).lose_power();
    (0..10).for_each(|chunk| host.write(chunk, 7));
    host.flush();
    let mut reported = Vec::new();
    for (magic, structure) in [(b"SWCHKPNT", Structure::Checkpoint), (b"SWCOMMIT", Structure::Commit)] {
        let copies = copies_of(&host, magic);
        let newest = copies.iter().map(|&at| record_in(&host, at)).max();
        for at in copies {
            let copy = Trouble::Copy(DamagedCopy { member: MemberNo::new(at.0), page: at.1, structure });
            let is_newest = Some(record_in(&host, at)) == newest;
            reported.push(is_newest);
            let expected = if is_newest { vec![copy] } else { vec![] };
            let (troubles, left) = rotten(RAID5, &host, at.0, at.1);
            assert_eq!((troubles, left), (expected.clone(), vec![]), "{structure:?}");
            if structure == Structure::Checkpoint {
                // The first page of its body.
                assert_eq!(rotten(RAID5, &host, at.0, at.1 + 1).0, expected);
            }
        }
    }
    assert!(reported.iter().filter(|is_newest| **is_newest).count() == 4, "P + 1 copies of each");
    assert!(reported.contains(&false));
}

#[test]
fn a_damaged_copy_of_a_summary_is_reported_and_scrub_mends_it() {
    let mut host = written(RAID5, 5);
    let copies = copies_of(&host, b"SWSUMMRY");
    assert!(copies.len() >= 4 && copies.len().is_multiple_of(2), "P + 1 copies");
    for &(member, page) in &copies {
        let copy = DamagedCopy { member: MemberNo::new(member), page, structure: Structure::Summary };
        assert_eq!(rotten(RAID5, &host, member, page).0, [Trouble::Copy(copy)]);
    }
    // One copy of the summary of each batch; the copies are on consecutive members.
    copies.iter().filter(|(member, _)| *member == 0).for_each(|&(member, page)| rot(&mut host, member, page));
    let found = host.scrub();
    assert!(found.bad > 0 && found.bad == found.repaired, "{found:?}");
    assert_eq!(check(RAID5, host.disk()).1, []);
}

#[test]
fn a_damaged_copy_of_the_table_or_of_the_bitmap_is_reported_and_opening_the_array_mends_it() {
    // P + 1 copies of each page of the table; one copy of the bitmap on each member.
    for (scheme, magic, structure, copies) in
        [(IN_PLACE, b"SWCHKSUM", Structure::Checksums, 2), (BITMAP, b"SWINTENT", Structure::Intent, 5)]
    {
        let host = written(scheme, 5).lose_power();
        let mut reported = 0;
        for (member, page) in copies_of(&host, magic) {
            let (troubles, left) = rotten(scheme, &host, member, page);
            // The version before the newest of each page is not needed.
            let copy = Trouble::Copy(DamagedCopy { member: MemberNo::new(member), page, structure });
            assert!(troubles.is_empty() || troubles == [copy], "{troubles:?}");
            reported += troubles.len();
            assert_eq!(left, []);
        }
        assert!(reported >= copies && reported.is_multiple_of(copies), "{reported}");
    }
}

/// The end of the record of the redo journal that begins at `page` of `member`, and its number.
fn record_at(host: &Host, (member, page): (u16, u32)) -> (u64, u32) {
    let bytes = &host.copy_of_disk().members[usize::from(member)].pages[page as usize];
    let record = RedoRecord::parse(bytes).expect("a header takes a page");
    (record.number, page + 1 + record.images())
}

#[test]
fn damaged_copies_of_journal_records_are_reported_but_of_the_last_which_may_have_been_under_way() {
    let mut host = written(IN_PLACE, 5).lose_power();
    (0..10).for_each(|chunk| host.write(chunk * 3, 7));
    let epoch = host.opened.epoch;
    let is_live = |&(member, page): &(u16, u32)| {
        let record =
            RedoRecord::parse(&host.copy_of_disk().members[usize::from(member)].pages[page as usize]);
        record.is_ok_and(|record| record.epoch == epoch)
    };
    let copies: Vec<(u16, u32)> = copies_of(&host, &REDO_MAGIC).into_iter().filter(is_live).collect();
    assert_eq!(copies.len(), 20, "P + 1 copies of each");
    for at in copies {
        let (number, end) = record_at(&host, at);
        let copy = DamagedCopy { member: MemberNo::new(at.0), page: at.1, structure: Structure::Journal };
        let expected = if number < 10 { vec![Trouble::Copy(copy)] } else { vec![] };
        for page in at.1..end {
            let (troubles, left) = rotten(IN_PLACE, &host, at.0, page);
            assert_eq!(troubles, expected, "record {number}, page {page}");
            assert_eq!(left, []);
        }
    }
}
