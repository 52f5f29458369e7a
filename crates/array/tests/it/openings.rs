//! Interrupted assemblies: power fails after any of their writes, and the next assembly may have other members.

use stripewise_array::{Array, AssemblyOptions, At, Members, PageMemory, RequestKind, Scheme};
use stripewise_testkit::{Disk, Recorder};

use crate::host::Host;

const PAGE_BYTES: u32 = 1024;
const CHUNKS: u64 = 20;

fn schemes() -> [String; 2] {
    let late = |level, code| {
        format!(
            "name = 'late'\nmetadata = 'on'\n[geometry]\nlevel = '{level}'\n[parity]\nwindow = 12\n[code]\nkind = '{code}'\n"
        )
    };
    [late("raid5", "xor"), late("raid6", "rdp")]
}

/// The disk after a power loss following each call of an assembly of `disk` without member `gone`; the member has
/// returned.
fn cuts(scheme: &str, disk: &Disk, gone: usize) -> Vec<Disk> {
    let scheme = Scheme::from_toml("test", scheme).unwrap();
    let pages = disk.members[0].pages.len() as u32;
    let members = Members::opaque(disk.members.len() as u32, PAGE_BYTES, pages);
    let mut recorder = Recorder::new(disk.clone());
    recorder.disk.members[gone].is_gone = true;
    Array::open(&scheme, members, PageMemory::new(PAGE_BYTES), &mut recorder, AssemblyOptions::default())
        .unwrap();
    let mut cut = disk.clone();
    let after = |call: Vec<(At, Box<[u8]>)>| {
        for (at, page) in call {
            cut.members[usize::from(at.member)].pages[at.page as usize] = page;
        }
        cut.clone()
    };
    recorder.calls.into_iter().map(after).collect()
}

/// A chunk that may have a second value because its write was in flight.
const UNDER_WAY: (u64, u8) = (19, 219);

fn check(host: &mut Host, context: &str) {
    for chunk in 0..CHUNKS {
        let read = host.read(chunk);
        let is_right =
            read == Some(chunk as u8 + 100) || read.is_some_and(|value| (chunk, value) == UNDER_WAY);
        assert!(is_right, "{context}: chunk {chunk} is {read:?}");
    }
}

/// An array with deferred parity that lost power while a record was written. For each member, returns the member's number
/// and the disk on which only that member has the record. `more` earlier writes change which members have copies.
fn with_a_record_on_one(scheme: &str, more: u64) -> Vec<(usize, Disk)> {
    let mut host = Host::create(scheme, Disk::new(5, 260, PAGE_BYTES));
    for round in [0, 100] {
        (0..CHUNKS).for_each(|chunk| host.write(chunk, chunk as u8 + round));
    }
    (0..more).for_each(|chunk| host.write(chunk, chunk as u8 + 100));
    host.flush();
    assert!(host.array.deferred_rows() > 1);
    let before = host.copy_of_disk();
    host.take_log();
    host.begin(RequestKind::Write, UNDER_WAY.0, host.chunks(1, UNDER_WAY.1));
    while host.take_log().is_empty() {
        host.complete_one();
    }
    let begun = host.copy_of_disk();
    let of = |keeper: usize| {
        let mut disk = before.clone();
        disk.members[keeper] = begun.members[keeper].clone();
        (keeper, disk)
    };
    (0..5).filter(|&at| begun.members[at] != before.members[at]).map(of).collect()
}

#[test]
fn a_member_that_an_opening_lacked_brings_back_no_record_whose_number_was_given_again() {
    for scheme in schemes() {
        let all: Vec<_> = (0..5).flat_map(|more| with_a_record_on_one(&scheme, more)).collect();
        assert!(all.iter().any(|(keeper, _)| *keeper == 0), "the first that is read has one too");
        for (keeper, disk) in all {
            for (nth, cut) in cuts(&scheme, &disk, keeper).into_iter().enumerate() {
                let context = format!("{scheme}, with {keeper} again after {nth} writes");
                let mut host = Host::open_as(&scheme, cut);
                check(&mut host, &context);
                for gone in (0..5).filter(|&gone| gone != keeper) {
                    let mut disk = host.copy_of_disk();
                    disk.members[gone].is_gone = true;
                    // Members that know that the array continued without the keeper are too few without another one.
                    if let Ok(mut host) = Host::try_open_as(&scheme, disk, AssemblyOptions::default()) {
                        check(&mut host, &format!("{context}, without {gone} then"));
                    }
                }
            }
        }
    }
}
