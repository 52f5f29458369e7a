//! Checks the members of an array whose structures have valid checksums and arbitrary content: assembly, check, dump
//! and writes terminate with a result or an error.

use std::sync::OnceLock;

use stripewise_array::format::dump::Dump;
use stripewise_array::format::{SUPERBLOCK_BYTES, crc32c};
use stripewise_array::{Array, AssemblyOptions, Members, PageMemory, RequestKind, Scheme};
use stripewise_testkit::Disk;

use crate::host::Host;

const SCHEMES: [&str; 3] = [
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n",
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n",
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[journal]\npolicy = \"intent-bitmap\"\n",
];

const PAGE: usize = 1024;

/// The magic numbers of structures, the length of each, and the offset of its checksum.
const STRUCTURES: [(&[u8; 8], usize, usize); 7] = [
    (b"STRIPEWS", SUPERBLOCK_BYTES, SUPERBLOCK_BYTES - 4),
    (b"SWSUMMRY", PAGE, 28),
    (b"SWCOMMIT", PAGE, 28),
    (b"SWCHKPNT", PAGE, 28),
    (b"SWREDO\0\0", PAGE, 28),
    (b"SWCHKSUM", PAGE, 28),
    (b"SWINTENT", PAGE, 28),
];

/// A structure on a disk: member, page, and index in `STRUCTURES`.
type Structure = (usize, usize, usize);

/// The first byte selects the scheme and the kind of assembly, the second a missing member. The other bytes are
/// changes: structure, first byte, number of bytes, and the new bytes.
///
/// # Panics
/// If a property is violated.
pub fn check(bytes: &[u8]) {
    let Some((&[way, missing], mut rest)) = bytes.split_first_chunk() else { return };
    let which = usize::from(way) % SCHEMES.len();
    let (disk, structures) = &images()[which];
    let mut disk = disk.clone();
    while let Some((&[low, high, at_low, at_high, length], after)) = rest.split_first_chunk() {
        let bytes = &after[..usize::from(length % 9).min(after.len())];
        rest = &after[bytes.len()..];
        let structure = structures[usize::from(u16::from_le_bytes([low, high])) % structures.len()];
        change(&mut disk, structure, usize::from(u16::from_le_bytes([at_low, at_high])), bytes);
    }
    if let Some(member) = disk.members.get_mut(usize::from(missing)) {
        member.is_gone = true;
    }
    look(SCHEMES[which], &mut disk.clone());
    if way & 0x80 == 0 {
        write(SCHEMES[which], &disk, way & 0x40 != 0);
    }
}

/// An array of each scheme, written by the controller, and the places of its structures.
fn images() -> &'static [(Disk, Vec<Structure>); 3] {
    static IMAGES: OnceLock<[(Disk, Vec<Structure>); 3]> = OnceLock::new();
    IMAGES.get_or_init(|| {
        SCHEMES.map(|scheme| {
            let mut host = Host::create(scheme, Disk::new(4, 200, PAGE as u32));
            (0..20).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
            host.trim(3, 4);
            host.flush();
            let mut host = host.lose_power();
            (0..20).for_each(|chunk| host.write(chunk, 100));
            host.trim(9, 2);
            host.flush();
            let disk = host.copy_of_disk();
            let structures = structures(&disk);
            (disk, structures)
        })
    })
}

fn structures(disk: &Disk) -> Vec<Structure> {
    let mut found = Vec::new();
    for (member, pages) in disk.members.iter().map(|member| &member.pages).enumerate() {
        for (page, content) in pages.iter().enumerate() {
            let kind = STRUCTURES.iter().position(|(magic, ..)| content.starts_with(*magic));
            found.extend(kind.map(|kind| (member, page, kind)));
        }
    }
    found
}

/// Changes a structure from byte `at`, and updates its checksum.
fn change(disk: &mut Disk, (member, page, kind): Structure, at: usize, with: &[u8]) {
    let (_, length, checksum_at) = STRUCTURES[kind];
    let pages = &mut disk.members[member].pages[page..page + length / PAGE];
    let mut whole: Vec<u8> = pages.iter().flat_map(|page| page.iter().copied()).collect();
    let at = 8 + at % (length - 8);
    let end = (at + with.len()).min(length);
    whole[at..end].copy_from_slice(&with[..end - at]);
    whole[checksum_at..checksum_at + 4].fill(0);
    let checksum = crc32c(&whole);
    whole[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    for (page, content) in pages.iter_mut().zip(whole.chunks(PAGE)) {
        page.copy_from_slice(content);
    }
}

fn look(scheme: &str, disk: &mut Disk) {
    let members = Members {
        discard: false,
        ..Members::opaque(disk.members.len() as u32, PAGE as u32, disk.members[0].pages.len() as u32)
    };
    let scheme = Scheme::from_toml("the check", scheme).expect("it is a scheme");
    for force in [false, true] {
        let opening = AssemblyOptions { read_only: true, force, ..AssemblyOptions::default() };
        match Array::open(&scheme, members, PageMemory::new(PAGE as u32), disk, opening) {
            Ok((array, opened)) => {
                array.check_all(disk, &opened, &mut |trouble| assert!(!trouble.to_string().is_empty()));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for segment in [None, Some(0)] {
        let _ = Dump { segment }.run(disk, &mut |finding| assert!(!finding.to_string().is_empty()));
    }
}

/// Assembles the array for writing, and sends the usual requests.
fn write(scheme: &str, disk: &Disk, force: bool) {
    let opening = AssemblyOptions { force, ..AssemblyOptions::default() };
    let Ok(mut host) = Host::try_open_as(scheme, disk.clone(), opening) else { return };
    host.resume();
    for (kind, chunk) in [(RequestKind::Write, 5), (RequestKind::Flush, 0), (RequestKind::Read, 5)] {
        let chunks = u64::from(kind != RequestKind::Flush);
        let _ = host.ask(kind, chunk, host.chunks(chunks, 7));
    }
    host.finish();
}
