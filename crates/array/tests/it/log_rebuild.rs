//! Rebuilds of a log with other failures in between.

use stripewise_array::format::Uuid;
use stripewise_array::{AssemblyOptions, Rejoining};
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const CHUNKS: u64 = 90;

/// Members whose first `CHUNKS` chunks durably hold `chunk + 1`.
fn filled() -> Host {
    let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
    (0..CHUNKS).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host
}

/// Member 1 fails and is replaced by another device, numbered by `turn`.
fn replace_1(host: &mut Host, turn: u8) {
    host.fail(1);
    host.disk().members[1] = Disk::new(1, 400, 1024).members.remove(0);
    host.rejoin(1, Rejoining::Replacement { uuid: Uuid([0x70 + turn; 16]), pages: 400 });
}

/// Each chunk has its value, whichever member is absent.
fn check_without_any(host: &Host) {
    for gone in 0..4 {
        let mut disk = host.copy_of_disk();
        disk.members[gone].is_gone = true;
        let opened = Host::try_open_as(RAID5, disk, AssemblyOptions::default());
        let mut host = opened.unwrap_or_else(|error| panic!("without {gone}: {error}"));
        for chunk in 0..CHUNKS {
            assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk} without {gone}");
        }
    }
}

#[test]
fn what_an_earlier_rebuild_began_is_none_of_the_next() {
    for operations in 0..30 {
        let mut host = filled();
        replace_1(&mut host, 0);
        host.finish_within(operations);
        replace_1(&mut host, 1);
        host.finish_rebuild();
        host.flush();
        check_without_any(&host);
    }
}

#[test]
fn what_a_rebuild_could_not_make_is_made_when_the_member_that_it_lacked_is_back() {
    for operations in 0..30 {
        let mut host = filled();
        replace_1(&mut host, 0);
        host.finish_within(operations);
        let other = host.disk().members[2].clone();
        host.fail(2);
        host.finish();
        host.flush();
        host.disk().members[2] = other;
        host.rejoin(2, host.returned(2));
        host.finish();
        host.flush();
        assert_eq!((host.array.rebuilding(), host.array.rebuild_lost()), (None, 0));
        check_without_any(&host);
    }
}
