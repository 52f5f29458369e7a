//! Elements whose structures have right checksums and say anything: opening, checking and dumping them ends with an answer.

#[allow(dead_code, reason = "other tests use the rest")]
mod disk;

use disk::{Disk, Host};
use proptest::prelude::*;
use stripewise_array::format::dump::Dump;
use stripewise_array::format::{SUPERBLOCK_BYTES, crc32c};
use stripewise_array::{Array, Elements, Opening, PageMemory, Scheme};

const LOG: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\n\
    policy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";

const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

const PAGE: u32 = 1024;

/// An array with a checkpoint, commit records and batches of chunks, tombstones among them; or with records of a journal.
fn written(scheme: &str) -> Disk {
    let mut host = Host::create(scheme, Disk::new(4, 200, PAGE));
    (0..20).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.trim(3, 4);
    host.flush();
    let mut host = host.lose_power();
    (0..20).for_each(|chunk| host.write(chunk, 100));
    host.trim(9, 2);
    host.flush();
    host.disk().clone()
}

/// The beginnings of structures, and where each has its checksum. A superblock takes four pages.
const STRUCTURES: [(&[u8; 8], usize); 7] = [
    (b"STRIPEWS", SUPERBLOCK_BYTES - 4),
    (b"SWSUMMRY", 28),
    (b"SWCOMMIT", 28),
    (b"SWCHKPNT", 28),
    (b"SWREDO\0\0", 28),
    (b"SWCHKSUM", 28),
    (b"SWINTENT", 28),
];

/// All structures of a disk: element, page, and which.
fn structures(disk: &Disk) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    for (element, pages) in disk.elements.iter().map(|element| &element.pages).enumerate() {
        for (page, content) in pages.iter().enumerate() {
            let kind = STRUCTURES.iter().position(|(magic, _)| content.starts_with(*magic));
            found.extend(kind.map(|kind| (element, page, kind)));
        }
    }
    found
}

/// Changes `bytes` from `at` on in a structure, and its checksum with it.
fn change(disk: &mut Disk, (element, page, kind): (usize, usize, usize), at: usize, bytes: &[u8]) {
    let span = if kind == 0 { SUPERBLOCK_BYTES / PAGE as usize } else { 1 };
    let pages = &mut disk.elements[element].pages[page..page + span];
    let mut whole: Vec<u8> = pages.iter().flat_map(|page| page.iter().copied()).collect();
    let checksum_at = STRUCTURES[kind].1;
    // Small fields and the first entries are what matters.
    let at = 8 + at % (if kind == 0 { 1000 } else { 300 });
    whole[at..at + bytes.len()].copy_from_slice(bytes);
    whole[checksum_at..checksum_at + 4].fill(0);
    let checksum = crc32c(&whole);
    whole[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    for (page, content) in pages.iter_mut().zip(whole.chunks(PAGE as usize)) {
        page.copy_from_slice(content);
    }
}

fn open_and_look(scheme: &str, disk: &mut Disk) {
    let elements = Elements {
        discard: false,
        ..Elements::opaque(disk.elements.len() as u32, PAGE, disk.elements[0].pages.len() as u32)
    };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    for force in [false, true] {
        let opening = Opening { read_only: true, force };
        let memory = PageMemory::new(PAGE);
        if let Ok((array, opened)) = Array::open(&scheme, elements, memory, disk, opening) {
            array.check_all(disk, &opened, &mut |trouble| assert!(!trouble.to_string().is_empty()));
        }
    }
    for segment in [None, Some(0)] {
        let _ = Dump { segment }.run(disk, &mut |finding| assert!(!finding.to_string().is_empty()));
    }
}

type Change = (prop::sample::Index, usize, Vec<u8>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..3),
        Just(vec![0xff; 4]),
        Just(vec![0xff; 8]),
        Just(vec![0; 4]),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), 0usize..1000, bytes), 1..6)
}

fn end_with_an_answer(scheme: &str, original: &Disk, changes: &[Change]) {
    let mut disk = original.clone();
    let all = structures(original);
    for (which, at, bytes) in changes {
        change(&mut disk, *which.get(&all), *at, bytes);
    }
    open_and_look(scheme, &mut disk);
}

#[test]
fn whatever_the_structures_of_a_log_say_there_is_an_answer() {
    let original = written(LOG);
    proptest!(ProptestConfig::with_cases(2000), |(changes in changes())| {
        end_with_an_answer(LOG, &original, &changes);
    });
}

#[test]
fn whatever_the_structures_of_an_array_in_place_say_there_is_an_answer() {
    let original = written(IN_PLACE);
    proptest!(ProptestConfig::with_cases(2000), |(changes in changes())| {
        end_with_an_answer(IN_PLACE, &original, &changes);
    });
}

#[test]
fn whatever_the_journal_says_of_late_parity_there_is_an_answer() {
    let scheme = format!("{IN_PLACE}[parity]\nwindow = 12\n");
    let original = written(&scheme);
    proptest!(ProptestConfig::with_cases(2000), |(changes in changes())| {
        end_with_an_answer(&scheme, &original, &changes);
    });
}
