//! Members whose structures have right checksums and arbitrary content: assembling, checking, dumping and writing them
//! always ends with a result.

use proptest::prelude::*;
use proptest::sample::Index;
use stripewise_array::format::dump::Dump;
use stripewise_array::format::{
    CheckpointHeader, MemberState, SUPERBLOCK_BYTES, SegmentEntry, Superblock, checkpoint, crc32c,
};
use stripewise_array::{Array, AssemblyOptions, Members, PageMemory, RequestKind, Scheme};
use stripewise_testkit::Disk;

use crate::host::Host;

const LOG: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\n\
    policy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";

const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

const INTENT: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[journal]\n\
    policy = \"intent-bitmap\"\n";

const PAGE: u32 = 1024;

/// Arrays with a checkpoint, commit records and batches of chunks, tombstones among them; or with records of a journal. In
/// the second array, a member is being rebuilt.
fn written(scheme: &str) -> [Disk; 2] {
    let mut host = Host::create(scheme, Disk::new(4, 200, PAGE));
    (0..20).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.trim(3, 4);
    host.flush();
    let mut host = host.lose_power();
    (0..20).for_each(|chunk| host.write(chunk, 100));
    host.trim(9, 2);
    host.flush();
    let whole = host.copy_of_disk();
    host.fail(1);
    (0..20).for_each(|chunk| host.write(chunk, 101));
    host.flush();
    host.disk().members[1].is_gone = false;
    host.rejoin(1, host.returned(1));
    while !superblocks(host.disk()).all(|its| its.members[1].state == MemberState::Rebuilding) {
        host.complete_one();
    }
    [whole, host.copy_of_disk()]
}

/// All copies of superblocks.
fn superblocks(disk: &Disk) -> impl Iterator<Item = Superblock> {
    let pages = disk.members.iter().flat_map(|member| member.pages.windows(SUPERBLOCK_BYTES / PAGE as usize));
    pages.filter_map(|pages| Superblock::parse(&pages.concat()).ok())
}

/// The magic bytes of structures, and the place of each checksum. A superblock takes four pages.
const STRUCTURES: [(&[u8; 8], usize); 7] = [
    (b"STRIPEWS", SUPERBLOCK_BYTES - 4),
    (b"SWSUMMRY", 28),
    (b"SWCOMMIT", 28),
    (b"SWCHKPNT", 28),
    (b"SWREDO\0\0", 28),
    (b"SWCHKSUM", 28),
    (b"SWINTENT", 28),
];

/// All structures of a disk: member, page and kind.
fn structures(disk: &Disk) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    for (member, pages) in disk.members.iter().map(|member| &member.pages).enumerate() {
        for (page, content) in pages.iter().enumerate() {
            let kind = STRUCTURES.iter().position(|(magic, _)| content.starts_with(*magic));
            found.extend(kind.map(|kind| (member, page, kind)));
        }
    }
    found
}

/// Changes `bytes` at `at` in a structure, and corrects its checksum.
fn change(disk: &mut Disk, (member, page, kind): (usize, usize, usize), at: usize, bytes: &[u8]) {
    let span = if kind == 0 { SUPERBLOCK_BYTES / PAGE as usize } else { 1 };
    let pages = &mut disk.members[member].pages[page..page + span];
    let mut whole: Vec<u8> = pages.iter().flat_map(|page| page.iter().copied()).collect();
    let checksum_at = STRUCTURES[kind].1;
    // Small fields and the first entries are the relevant ones.
    let at = 8 + at % (if kind == 0 { 1000 } else { 304 });
    whole[at..at + bytes.len()].copy_from_slice(bytes);
    whole[checksum_at..checksum_at + 4].fill(0);
    let checksum = crc32c(&whole);
    whole[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    for (page, content) in pages.iter_mut().zip(whole.chunks(PAGE as usize)) {
        page.copy_from_slice(content);
    }
}

fn open_and_look(scheme: &str, disk: &mut Disk) {
    let members = Members {
        discard: false,
        ..Members::opaque(disk.members.len() as u32, PAGE, disk.members[0].pages.len() as u32)
    };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    let reading = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    for force in [false, true] {
        let opening = AssemblyOptions { force, ..reading };
        let memory = PageMemory::new(PAGE);
        if let Ok((array, opened)) = Array::open(&scheme, members, memory, disk, opening) {
            array.check_all(disk, &opened, &mut |trouble| assert!(!trouble.to_string().is_empty()));
        }
    }
    for segment in [None, Some(0)] {
        let _ = Dump { segment }.run(disk, &mut |finding| assert!(!finding.to_string().is_empty()));
    }
}

/// Assembles the array for writing, with and without force, and does what every host does.
fn open_and_write(scheme: &str, disk: &Disk) {
    for force in [false, true] {
        let opening = AssemblyOptions { force, ..AssemblyOptions::default() };
        let Ok(mut host) = Host::try_open_as(scheme, disk.clone(), opening) else { continue };
        host.resume();
        for (kind, chunk) in [(RequestKind::Write, 5), (RequestKind::Flush, 0), (RequestKind::Read, 5)] {
            let chunks = u64::from(kind != RequestKind::Flush);
            let _ = host.ask(kind, chunk, host.chunks(chunks, 7));
        }
        host.finish();
    }
}

/// The kind of structure, one structure of the kind or all of them, the offset, and the bytes.
type Change = (Index, Option<Index>, usize, Vec<u8>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..3),
        (0..4u8).prop_map(|small| vec![small]),
        Just(vec![0xff; 4]),
        Just(vec![0xff; 8]),
        Just(vec![0; 4]),
        Just(((1u64 << 62) - 1).to_le_bytes().to_vec()),
    ];
    // Most fields begin at a multiple of their size.
    let at = prop_oneof![(0..250usize).prop_map(|nth| nth * 4), 0..1000usize];
    prop::collection::vec((any::<Index>(), any::<Option<Index>>(), at, bytes), 1..6)
}

fn end_with_an_answer(scheme: &str, original: &Disk, changes: &[Change]) {
    let mut disk = original.clone();
    let all = structures(original);
    let kinds: Vec<usize> =
        (0..STRUCTURES.len()).filter(|kind| all.iter().any(|its| its.2 == *kind)).collect();
    for (kind, which, at, bytes) in changes {
        let kind = *kind.get(&kinds);
        let its: Vec<_> = all.iter().copied().filter(|&(.., other)| other == kind).collect();
        let meant = which.as_ref().map_or(its.as_slice(), |which| std::slice::from_ref(which.get(&its)));
        meant.iter().for_each(|&structure| change(&mut disk, structure, *at, bytes));
    }
    open_and_look(scheme, &mut disk);
    open_and_write(scheme, &disk);
}

fn whatever_is_changed_there_is_an_answer(scheme: &str) {
    let originals = written(scheme);
    proptest!(ProptestConfig::with_cases(1000), |(which in 0..originals.len(), changes in changes())| {
        end_with_an_answer(scheme, &originals[which], &changes);
    });
}

#[test]
fn whatever_the_structures_of_a_log_say_there_is_an_answer() {
    whatever_is_changed_there_is_an_answer(LOG);
}

#[test]
fn whatever_the_structures_of_an_array_in_place_say_there_is_an_answer() {
    whatever_is_changed_there_is_an_answer(IN_PLACE);
}

#[test]
fn whatever_the_journal_says_of_deferred_parity_there_is_an_answer() {
    whatever_is_changed_there_is_an_answer(&format!("{IN_PLACE}[parity]\nwindow = 12\n"));
}

#[test]
fn whatever_an_intent_bitmap_says_there_is_an_answer() {
    whatever_is_changed_there_is_an_answer(INTENT);
}

/// Changes a number of 8 bytes in all structures of a kind, and returns the reason why assembly for writing is refused.
/// Read-only assembly succeeds.
fn refusal_with(scheme: &str, magic: &[u8; 8], at: usize, number: u64) -> String {
    let [mut disk, _] = written(scheme);
    let kind = STRUCTURES.iter().position(|(its, _)| *its == magic).expect("it is listed");
    for structure in structures(&disk).into_iter().filter(|structure| structure.2 == kind) {
        change(&mut disk, structure, at - 8, &number.to_le_bytes());
    }
    let reading = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    Host::try_open_as(scheme, disk.clone(), reading).unwrap_or_else(|error| panic!("{error}"));
    Host::refusal(scheme, disk)
}

#[test]
fn a_number_that_leaves_no_room_for_the_next_ones_is_only_read() {
    let fields: [(&str, &[u8; 8], usize, &str); 5] = [
        (LOG, b"STRIPEWS", 72, "update"),
        (LOG, b"SWCHKPNT", 32, "checkpoint"),
        (LOG, b"SWCOMMIT", 32, "commit record"),
        (IN_PLACE, b"SWCHKSUM", 32, "version of the table of checksums"),
        (INTENT, b"SWINTENT", 32, "version of the intent bitmap"),
    ];
    for (scheme, magic, at, what) in fields {
        for number in [1 << 61, (1 << 62) - 1] {
            let refusal = refusal_with(scheme, magic, at, number);
            assert!(refusal.starts_with(&format!("the last {what} has the number {number}, ")), "{refusal}");
            assert!(refusal.ends_with("open the array read-only and copy it to another"), "{refusal}");
        }
        assert_eq!(refusal_with(scheme, magic, at, (1 << 61) - 1), "", "{what}");
    }
}

#[test]
fn generations_that_leave_no_room_for_the_next_ones_are_only_read() {
    for (generation, is_refused) in [(u32::MAX, true), (1 << 31, true), ((1 << 31) - 1, false)] {
        let [mut disk, _] = written(LOG);
        for (member, page, _) in structures(&disk).into_iter().filter(|its| its.2 == 3) {
            let pages = &mut disk.members[member].pages;
            let header = CheckpointHeader::parse(&pages[page]).expect("it is one");
            let body = &mut pages[page + 1..];
            let mut bytes = body.concat();
            bytes.truncate(header.body_bytes as usize);
            // No data was ever written to the last segment.
            let entry = SegmentEntry { generation, ..SegmentEntry::default() };
            checkpoint::put_segment(&mut bytes, header.segments - 1, entry);
            for (page, content) in body.iter_mut().zip(bytes.chunks(PAGE as usize)) {
                page[..content.len()].copy_from_slice(content);
            }
            CheckpointHeader { body_checksum: crc32c(&bytes), ..header }.encode(&mut pages[page]);
        }
        let refusal = Host::refusal(LOG, disk);
        let said = format!("the last generation of a segment has the number {generation}, ");
        assert_eq!(refusal.starts_with(&said), is_refused, "{refusal}");
    }
}

#[test]
fn a_copy_of_a_summary_that_records_fewer_slots_than_another_is_read_once() {
    let [_, rebuilt] = written(LOG);
    for structure in structures(&rebuilt).into_iter().filter(|its| its.2 == 1) {
        for end in 0..40 {
            let mut disk = rebuilt.clone();
            change(&mut disk, structure, 52 - 8, &[end]);
            open_and_write(LOG, &disk);
        }
    }
}
