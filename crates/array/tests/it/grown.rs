//! Members that grow, while they serve and between servings: that is no damage, and costs no redundancy.

use stripewise_array::format::{Copy, MemberState, Superblock};
use stripewise_array::{Array, AssemblyOptions, Checked, PageMemory, Scheme};
use stripewise_testkit::{Disk, Recorder};

use crate::host::Host;

const LOG5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const JOURNAL6: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\npolicy = \"in-place\"\n";
const BITMAP5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"in-place\"\n\
    [journal]\npolicy = \"intent-bitmap\"\n";
const ALL: [&str; 3] = [LOG5, JOURNAL6, BITMAP5];

/// Pages of 1 KiB, of which a superblock takes four.
const PAGE: u32 = 1024;
const SPAN: usize = 4;
const PAGES: usize = 600;
const CHUNKS: u64 = 40;
/// Pages by which each member is larger than the one before it.
const MORE: usize = 3;

/// An array with content, whose members have `more` pages more for each member before them.
fn host(scheme: &str, more: usize) -> Host {
    let mut disk = Disk::new(5, PAGES as u32, PAGE);
    (0..5).for_each(|member| grow(&mut disk, member, member * more));
    let mut host = Host::create(scheme, disk);
    (0..CHUNKS).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host
}

fn is_intact(host: &mut Host) {
    (0..CHUNKS).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}"));
}

fn grow(disk: &mut Disk, member: usize, by: usize) {
    let pages = &mut disk.members[member].pages;
    pages.resize(pages.len() + by, vec![0; PAGE as usize].into());
}

fn back_at(disk: &Disk, member: usize, end: usize) -> Option<Superblock> {
    let bytes = disk.members[member].pages[end - SPAN..end].concat();
    Superblock::parse(&bytes).ok().filter(|_| Copy::of(&bytes) == Some(Copy::Back))
}

fn check(scheme: &str, disk: &Disk) -> Checked {
    let text = Scheme::from_toml("check", scheme).unwrap();
    let mut disk = disk.clone();
    let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    let members = stripewise_array::Members::opaque(5, PAGE, PAGES as u32);
    let (array, opened) = Array::open(&text, members, PageMemory::new(PAGE), &mut disk, opening).unwrap();
    assert!(opened.positions.iter().all(Option::is_some), "{scheme}: {opened:?}");
    array.check_all(&mut disk, &opened, &mut |trouble| println!("{trouble}"))
}

/// The members that grow: one, more than parity tolerates, all.
const GROWN: [&[usize]; 3] = [&[2], &[0, 1, 3], &[0, 1, 2, 3, 4]];

#[test]
fn a_member_that_grew_between_two_servings_is_whole_and_its_back_copy_moves_to_the_new_end() {
    for scheme in ALL {
        // By less than a superblock too, so that the new copy lies on a part of the old one.
        for (grown, by) in GROWN.into_iter().flat_map(|grown| [(grown, 7), (grown, 1)]) {
            let mut disk = host(scheme, MORE).stop();
            grown.iter().for_each(|&member| grow(&mut disk, member, by + member));
            let checked = check(scheme, &disk);
            assert_eq!((checked.troubles, checked.absent), (0, 0), "{scheme}: {grown:?}");
            let mut reader = Host::open_grown(scheme, disk.clone(), PAGES as u32, true);
            assert_eq!(reader.scrub().metadata_damaged, 0, "{scheme}: {grown:?}, read-only");
            let mut host = Host::open_grown(scheme, disk, PAGES as u32, false);
            assert_eq!(host.opened.damaged, [], "{scheme}: {grown:?}");
            is_intact(&mut host);
            assert_eq!(host.scrub().metadata_damaged, 0, "{scheme}: {grown:?}");
            let disk = host.stop();
            for member in 0..5 {
                let before = PAGES + member * MORE;
                let end = before + if grown.contains(&member) { by + member } else { 0 };
                let back = back_at(&disk, member, end).expect("it is at the end");
                assert_eq!(back.own_bytes, end as u64 * u64::from(PAGE), "{scheme}");
                let is_moved = end > before;
                assert!(
                    !is_moved || back_at(&disk, member, before).is_none(),
                    "the old copy proves nothing any more"
                );
            }
            assert_eq!(check(scheme, &disk).troubles, 0, "{scheme}: {grown:?}");
        }
    }
}

#[test]
fn a_member_that_grows_while_it_serves_is_whole_for_scrub_and_stop_and_for_the_next_assembly() {
    for scheme in ALL {
        for grown in GROWN {
            let mut host = host(scheme, MORE);
            grown.iter().for_each(|&member| grow(host.disk(), member, 9));
            assert_eq!(host.scrub().metadata_damaged, 0, "{scheme}: {grown:?}");
            host.verify_superblocks();
            assert_eq!(host.array.metadata_scrubbed().0.damaged, 0, "{scheme}: {grown:?}");
            let disk = host.stop();
            assert_eq!(check(scheme, &disk).troubles, 0, "{scheme}: {grown:?}");
            is_intact(&mut Host::open_grown(scheme, disk, PAGES as u32, false));
        }
    }
}

/// Its front copy alone says where its end was; the other members say it too.
#[test]
fn a_member_that_grew_and_has_a_damaged_front_copy_is_found_by_the_size_of_the_others() {
    for scheme in ALL {
        let mut disk = host(scheme, 0).stop();
        grow(&mut disk, 3, 16);
        disk.members[3].pages[1].fill(0x5a);
        let mut host = Host::open_grown(scheme, disk, PAGES as u32, false);
        assert!(host.opened.positions.iter().all(Option::is_some), "{scheme}");
        is_intact(&mut host);
    }
}

/// Power is lost at every write of the assembly that moves the back copies.
#[test]
fn back_copies_move_to_the_new_ends_whenever_power_is_lost() {
    for scheme in ALL {
        for grown in [GROWN[0], GROWN[2]] {
            let mut disk = host(scheme, MORE).stop();
            grown.iter().for_each(|&member| grow(&mut disk, member, 8));
            let text = Scheme::from_toml("test", scheme).unwrap();
            let members = stripewise_array::Members::opaque(5, PAGE, PAGES as u32);
            let mut recorder = Recorder::new(disk.clone());
            Array::open(&text, members, PageMemory::new(PAGE), &mut recorder, AssemblyOptions::default())
                .unwrap();
            // Every third: prime to the members and to the pages of a superblock.
            for cut in recorder.cuts(&disk).into_iter().step_by(3) {
                let mut host = Host::open_grown(scheme, cut, PAGES as u32, false);
                assert!(host.opened.positions.iter().all(Option::is_some), "{scheme}: {grown:?}");
                assert_eq!(host.opened.losses, [] as [String; 0], "{scheme}: {grown:?}");
                is_intact(&mut host);
            }
        }
    }
}

/// A failed member keeps what it has: nothing of it is erased or written.
#[test]
fn a_failed_member_that_grew_keeps_its_superblocks() {
    for scheme in ALL {
        let mut host = host(scheme, MORE);
        host.fail(1);
        host.flush();
        let mut disk = host.stop();
        disk.members[1].is_gone = false;
        grow(&mut disk, 1, 8);
        let before = disk.members[1].clone();
        let mut host = Host::open_grown(scheme, disk, PAGES as u32, false);
        assert_eq!(host.opened.positions[1], None);
        assert_eq!(host.disk().members[1], before, "{scheme}");
    }
}

#[test]
fn new_and_returning_members_record_their_size() {
    for scheme in ALL {
        let mut host = host(scheme, MORE);
        host.fail(1);
        host.flush();
        host.finish();
        host.disk().members[1].is_gone = false;
        grow(host.disk(), 1, 8);
        let how = host.returned(1);
        host.rejoin(1, how);
        host.finish_rebuild();
        host.finish();
        let end = PAGES + MORE + 8;
        let back = back_at(host.disk(), 1, end).expect("it is at the end");
        assert_eq!(
            (back.own_bytes, back.members[1].state),
            (end as u64 * u64::from(PAGE), MemberState::Active),
            "{scheme}"
        );
        is_intact(&mut host.lose_power());
    }
}
