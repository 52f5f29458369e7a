//! Creation and assembly read and write pages in rounds, whose memory does not depend on the size of members.

use stripewise_array::format::Uuid;
use stripewise_array::{
    Array, AssemblyOptions, Identity, Members, PageMemory, RecoveryReport, Scheme, create,
};
use stripewise_testkit::{Disk, Recorder};

use crate::host::Host;

const PAGE_BYTES: u32 = 512;
const MEMBERS: usize = 3;
/// The size of members with more segments, and more pages of metadata, than fit into a round.
const PAGES: u32 = 9_600;
/// The number of pages in a round.
const ROUND: usize = 1024;

const LOG: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

fn members() -> Members {
    Members::opaque(MEMBERS as u32, PAGE_BYTES, PAGES)
}

/// The largest number of pages in a round while the array of `disk` is assembled, and the findings.
fn open(scheme: &Scheme, disk: Disk) -> (usize, RecoveryReport) {
    let mut media = Recorder::new(disk);
    let memory = PageMemory::new(PAGE_BYTES);
    let opened = Array::open(scheme, members(), memory, &mut media, AssemblyOptions::default());
    let (_, opened) = opened.unwrap_or_else(|error| panic!("{error}"));
    (media.pages_max, opened)
}

#[test]
fn an_array_of_any_size_is_created_and_opened_in_rounds() {
    let identity = Identity {
        array: Uuid([7; 16]),
        members: (1..=MEMBERS as u8).map(|member| Uuid([member; 16])).collect(),
        name: "test".into(),
    };
    for text in [LOG, IN_PLACE] {
        let scheme = Scheme::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"));
        let mut media = Recorder::new(Disk::new(MEMBERS, PAGES, PAGE_BYTES));
        create(&scheme, members(), &identity, &mut media).unwrap_or_else(|error| panic!("{error}"));
        assert!(media.pages_max <= ROUND, "{} pages in a round of creation", media.pages_max);
        let (most, _) = open(&scheme, media.disk);
        assert!(most <= ROUND, "{most} pages in a round of opening");
    }
}

#[test]
fn a_log_of_many_segments_is_walked_in_rounds_and_all_of_it_is_found() {
    let mut host = Host::create(LOG, Disk::new(MEMBERS, PAGES, PAGE_BYTES));
    let chunks = host.capacity();
    let value = |chunk: u64| (chunk % 251 + 1) as u8;
    (0..chunks).for_each(|chunk| host.write(chunk, value(chunk)));
    host.flush();
    let scheme = Scheme::from_toml("test", LOG).unwrap_or_else(|error| panic!("{error}"));
    let (most, opened) = open(&scheme, host.copy_of_disk());
    assert!(most <= ROUND, "{most} pages in a round");
    assert!(opened.pages_read > 2 * ROUND as u64, "{} pages are walked", opened.pages_read);
    let mut host = host.lose_power();
    for chunk in 0..chunks {
        assert_eq!(host.read(chunk), Some(value(chunk)), "chunk {chunk}");
    }
}
