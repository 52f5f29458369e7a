//! Summaries on the members describe slots of the log that memory has no record of. Garbage collection uses them, and so
//! do reads that decoded wrong content.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_array::format::{EntryRole, Summary};
use stripewise_array::{Array, Members, PageMemory, Scheme, StripeView};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";

/// The pages of all copies of summaries: member and page.
fn copies(disk: &Disk) -> Vec<(usize, usize)> {
    let members = disk.members.iter().enumerate();
    let pages = members.flat_map(|(member, its)| {
        its.pages.iter().enumerate().map(move |(page, bytes)| (member, page, bytes))
    });
    pages
        .filter(|(.., bytes)| Summary::parse(bytes).is_ok())
        .map(|(member, page, _)| (member, page))
        .collect()
}

/// Overwrites even chunks until many odd ones were moved. Returns the resulting value of each chunk, if all chunks had 1
/// before.
fn wear(host: &mut Host) -> Vec<u8> {
    let chunks = host.capacity();
    let mut values = vec![1; chunks as usize];
    for round in 0..2000u64 {
        let chunk = round * 7919 % chunks / 2 * 2;
        values[chunk as usize] = (round % 250 + 2) as u8;
        host.write(chunk, values[chunk as usize]);
        if round % 97 == 0 {
            host.flush();
        }
    }
    host.flush();
    assert!(host.array.log_counts().moved > chunks);
    values
}

#[test]
fn a_chunk_that_is_moved_keeps_its_write_seq() {
    let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
    (0..host.capacity()).for_each(|chunk| host.write(chunk, 1));
    wear(&mut host);
    let mut write_seqs: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let disk = host.copy_of_disk();
    for (member, page) in copies(&disk) {
        let summary = Summary::parse(&disk.members[member].pages[page]).unwrap();
        for entry in summary.entries().filter(|entry| entry.role == EntryRole::Data && entry.chunk % 2 == 1) {
            write_seqs.entry(entry.chunk).or_default().insert(entry.write_seq);
        }
    }
    assert!(write_seqs.len() as u64 > host.capacity() / 4);
    assert!(write_seqs.values().all(|its| its.len() == 1), "odd chunks were written once");
}

#[test]
fn collection_moves_what_counts_when_no_summary_can_be_read() {
    let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
    (0..host.capacity()).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    for (member, page) in copies(&host.copy_of_disk()) {
        host.disk().members[member].pages[page].fill(0xa5);
    }
    let values = wear(&mut host);
    for (chunk, value) in (0..).zip(values) {
        assert_eq!(host.read(chunk), Some(value), "chunk {chunk}");
    }
}

/// A stripe with all columns that has a chunk on member 0, and the chunk.
fn stripe_on_the_first_member(host: &Host, columns: usize) -> (StripeView, u64) {
    let stripes = host.array.stripes().into_iter().filter(|stripe| stripe.columns.len() == columns);
    let of_first = |stripe: &StripeView| {
        stripe.columns.iter().find_map(|column| column.3.filter(|_| column.1 == MemberNo::new(0)))
    };
    stripes
        .filter_map(|stripe| Some((of_first(&stripe)?, stripe)))
        .map(|(chunk, stripe)| (stripe, chunk))
        .next()
        .unwrap()
}

/// Loses member 0 and damages another column of a stripe that has a chunk on it; reads that chunk.
fn read_with_damage(level: &str, members: usize, is_flushed: bool, nth: usize) -> (Option<u8>, u8) {
    let mut host = Host::create(&RAID5.replace("raid5", level), Disk::new(members, 400, 1024));
    (0..host.capacity() / 2).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    if is_flushed {
        host.flush();
    }
    let (stripe, chunk) = stripe_on_the_first_member(&host, members);
    let others: Vec<(u16, u32)> = stripe
        .columns
        .iter()
        .filter(|column| column.1 != MemberNo::new(0))
        .map(|column| (column.1.number(), column.2))
        .collect();
    let (member, page) = others[nth];
    host.fail(0);
    host.disk().members[member as usize].pages[page as usize][9] ^= 4;
    (host.read(chunk), chunk as u8 | 1)
}

#[test]
fn what_decodes_wrong_is_decoded_again_without_what_the_summary_finds_bad() {
    for is_flushed in [true, false] {
        for nth in 0..4 {
            let (read, expected) = read_with_damage("raid6", 5, is_flushed, nth);
            assert_eq!(read, Some(expected), "flushed {is_flushed}, member {nth}");
        }
    }
}

#[test]
fn what_decodes_wrong_and_cannot_be_decoded_otherwise_is_an_error() {
    for nth in 0..3 {
        assert_eq!(read_with_damage("raid5", 4, true, nth).0, None, "member {nth}");
    }
}

#[test]
fn memory_has_eight_bytes_and_a_bit_a_chunk_and_half_a_byte_a_slot() {
    let scheme = Scheme::from_toml("kept", &RAID5.replace("segment_rows = 8", "segment_rows = 64")).unwrap();
    let members = Members::opaque(5, 4096, 1 << 18);
    let array = Array::new(&scheme, members, PageMemory::new(4096)).unwrap();
    let (chunks, slots) = (array.capacity() / 4096, 5u64 << 18);
    // Segments with their lists, generations and batches; and places in memory, as without metadata.
    let rest = slots / (5 * 64) * (24 + 4 + 16) + 8 * 257 + (2 * 256 + 65 * 4) * 64;
    assert!(array.map_bytes() <= 8 * chunks + chunks / 8 + slots / 2 + rest, "{} bytes", array.map_bytes());
}
