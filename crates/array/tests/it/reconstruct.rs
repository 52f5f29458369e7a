//! Recovery of members that lost both superblocks: their content proves which members they are, or the user names them.

use stripewise_array::format::{MemberState, Superblock};
use stripewise_array::{AssembleError, AssemblyOptions, NamedMembers, Reconstructed, Reconstruction};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const LOG5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const LOG6: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const JOURNAL5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
const JOURNAL6: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[code]\nkind = \"rdp\"\n";
const BITMAP5: &str = "name = \"kept\"\nmetadata = \"on\"\n\
    [geometry]\nlevel = \"raid5\"\n[journal]\npolicy = \"intent-bitmap\"\n";

const FORCE: AssemblyOptions = AssemblyOptions {
    read_only: false,
    force: true,
    named: NamedMembers::NONE,
    serving: 0,
    flushes_late: false,
    unchained: false,
    bug: None,
};

/// Distinct chunks, on an array that is stopped.
fn written(scheme: &str, chunks: u64) -> Disk {
    let mut host = Host::create(scheme, Disk::new(5, 600, 1024));
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host.begin_checkpoint();
    host.finish();
    // The content of the journal is done in place.
    host.lose_power().copy_of_disk()
}

fn wipe(disk: &mut Disk, member: usize) {
    let pages = &mut disk.members[member].pages;
    let last = pages.len() - 4;
    pages
        .iter_mut()
        .enumerate()
        .filter(|(nth, _)| *nth < 4 || *nth >= last)
        .for_each(|(_, page)| page.fill(0));
}

fn open(scheme: &str, disk: Disk, opening: AssemblyOptions) -> Result<Host, AssembleError> {
    Host::try_open_as(scheme, disk, opening)
}

fn refusal(scheme: &str, disk: Disk, opening: AssemblyOptions) -> String {
    open(scheme, disk, opening).err().map(|error| error.to_string()).unwrap_or_default()
}

fn named(members: &[(u16, u16)]) -> AssemblyOptions {
    let mut opening = FORCE;
    members.iter().for_each(|&(member, offered)| assert!(opening.named.name(MemberNo::new(member), offered)));
    opening
}

fn members(found: &[Reconstructed]) -> Vec<(u16, Option<u16>, bool)> {
    found.iter().map(|one| (one.offered, one.member.map(MemberNo::number), one.is_taken())).collect()
}

fn is_intact(host: &mut Host, chunks: u64) {
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}"));
}

fn has_superblocks(host: &mut Host, member: usize) -> bool {
    let disk = host.disk();
    let pages = &disk.members[member].pages;
    [0, pages.len() - 4].iter().all(|&first| Superblock::parse(&pages[first..first + 4].concat()).is_ok())
}

#[test]
fn members_whose_superblocks_are_gone_are_recognized_by_their_content_in_whatever_order() {
    for scheme in [LOG5, LOG6, JOURNAL5, JOURNAL6] {
        let mut disk = written(scheme, 120);
        for member in [1, 2, 4] {
            wipe(&mut disk, member);
        }
        disk.members.swap(2, 4);
        assert!(
            refusal(scheme, disk.clone(), AssemblyOptions::default()).contains("too few members"),
            "{scheme}"
        );
        let mut host = open(scheme, disk, FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        assert_eq!(
            members(&host.opened.reconstructed),
            [(1, Some(1), true), (2, Some(4), true), (4, Some(2), true)],
            "{scheme}: {:?}",
            host.opened.reconstructed
        );
        assert!([1, 2, 4].iter().all(|&member| has_superblocks(&mut host, member)), "{scheme}");
        let disk = host.copy_of_disk();
        let host = open(scheme, disk, AssemblyOptions::default())
            .unwrap_or_else(|error| panic!("{scheme}: {error}"));
        assert!(host.opened.positions.iter().all(Option::is_some), "{scheme}");
        assert_eq!(host.opened.reconstructed, []);
    }
}

#[test]
fn reads_after_a_reconstruction_return_the_written_data() {
    for scheme in [LOG5, JOURNAL5] {
        let mut disk = written(scheme, 120);
        wipe(&mut disk, 0);
        wipe(&mut disk, 3);
        let mut host = open(scheme, disk, FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        is_intact(&mut host, 120);
        let counts = host.scrub();
        assert_eq!((counts.bad, counts.lost, counts.metadata_damaged), (0, 0, 0), "{scheme}");
    }
}

#[test]
fn nothing_is_written_by_a_reconstruction_of_an_array_that_is_only_read() {
    for scheme in [LOG5, JOURNAL5] {
        let mut disk = written(scheme, 120);
        wipe(&mut disk, 0);
        wipe(&mut disk, 3);
        let mut host = open(scheme, disk.clone(), AssemblyOptions { read_only: true, ..FORCE }).unwrap();
        assert_eq!(members(&host.opened.reconstructed), [(0, Some(0), true), (3, Some(3), true)]);
        assert_eq!(host.copy_of_disk(), disk, "{scheme}");
        is_intact(&mut host, 120);
    }
}

#[test]
fn a_member_with_an_older_content_is_left_out_unless_the_array_cannot_start_without_it() {
    for scheme in [LOG5, JOURNAL5] {
        let old = written(scheme, 60);
        let mut host = open(scheme, old.clone(), AssemblyOptions::default()).unwrap();
        (40..100).for_each(|chunk| host.write(chunk, 200));
        host.flush();
        host.begin_checkpoint();
        host.finish();
        let mut disk = host.lose_power().copy_of_disk();
        disk.members[2] = old.members[2].clone();
        wipe(&mut disk, 2);
        let mut host = open(scheme, disk.clone(), FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        let found = &host.opened.reconstructed;
        assert!(
            matches!(found[0].how, Reconstruction::Stale(right, wrong) if right >= 8 && wrong > 0),
            "{scheme}: {found:?}"
        );
        assert_eq!(host.opened.positions[2], None, "{scheme}");
        (40..100).for_each(|chunk| assert_eq!(host.read(chunk), Some(200), "{scheme}: chunk {chunk}"));
        // With another member missing, this one is needed, and its content is trusted where its checksum is right.
        disk.members.remove(4);
        disk.members.push(Disk::new(1, 600, 1024).members.remove(0));
        let mut host = open(scheme, disk, FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        let found = &host.opened.reconstructed;
        assert!(matches!(found[0].how, Reconstruction::Needed(..)), "{scheme}: {found:?}");
        assert_eq!(found[1].how, Reconstruction::Unproven(0), "{scheme}");
        let read: Vec<_> = (40..100).map(|chunk| host.read(chunk)).collect();
        assert!(read.iter().all(|value| matches!(value, None | Some(200))), "{scheme}: {read:?}");
    }
}

/// `leave` removes member 1 and returns the degraded array with the old pages of member 1. The array takes more writes. Then all
/// other members lose their superblocks, and member 1 returns with the only superblocks left.
fn with_superblocks_on_an_outdated_member_alone(
    scheme: &str,
    leave: impl Fn(Disk) -> (Host, Vec<Box<[u8]>>),
) -> Disk {
    let (mut host, pages) = leave(written(scheme, 120));
    for round in 0..2 {
        (0..120).for_each(|chunk| host.write(chunk, chunk as u8 + 100 + round));
        host.flush();
    }
    host.begin_checkpoint();
    host.finish();
    let mut disk = host.lose_power().copy_of_disk();
    disk.members[1].is_gone = false;
    disk.members[1].pages = pages;
    [0, 2, 3, 4].iter().for_each(|&member| wipe(&mut disk, member));
    disk
}

#[test]
fn superblocks_of_a_stale_member_do_not_decide() {
    let absent = |disk: Disk, scheme: &str| {
        let pages = disk.members[1].pages.clone();
        let mut without = disk;
        without.members[1] = Disk::new(1, 600, 1024).members.remove(0);
        (
            open(scheme, without, AssemblyOptions::default())
                .unwrap_or_else(|error| panic!("{scheme}: {error}")),
            pages,
        )
    };
    let fails = |disk: Disk, scheme: &str| {
        let mut host = open(scheme, disk, AssemblyOptions::default())
            .unwrap_or_else(|error| panic!("{scheme}: {error}"));
        let pages = host.disk().members[1].pages.clone();
        host.fail(1);
        host.finish();
        (host, pages)
    };
    for scheme in [LOG5, LOG6, JOURNAL5, JOURNAL6] {
        for is_absent in [true, false] {
            let disk = with_superblocks_on_an_outdated_member_alone(scheme, |disk| {
                if is_absent { absent(disk, scheme) } else { fails(disk, scheme) }
            });
            let mut host = open(scheme, disk, FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
            let found = members(&host.opened.reconstructed);
            let expected = [0, 2, 3, 4].map(|member| (member, Some(member), true));
            assert_eq!(found, expected, "{scheme}, absent {is_absent}: {:?}", host.opened.reconstructed);
            assert_eq!(host.opened.positions[1], None, "{scheme}: what it says of itself is outdated");
            assert_eq!(host.opened.losses, [""; 0], "{scheme}");
            let is_right = |host: &mut Host| {
                (0..120).for_each(|chunk| {
                    assert_eq!(host.read(chunk), Some(chunk as u8 + 101), "{scheme}: {chunk}")
                });
            };
            is_right(&mut host);
            host.write(0, 101);
            host.flush();
            let disk = host.lose_power().copy_of_disk();
            let mut host = open(scheme, disk, AssemblyOptions::default())
                .unwrap_or_else(|error| panic!("{scheme}: {error}"));
            is_right(&mut host);
        }
    }
}

#[test]
fn a_device_of_zeros_or_of_another_array_is_no_member() {
    for scheme in [LOG5, JOURNAL5] {
        let mut disk = written(scheme, 120);
        disk.members[1] = Disk::new(1, 600, 1024).members.remove(0);
        let mut host = open(scheme, disk, FORCE).unwrap_or_else(|error| panic!("{scheme}: {error}"));
        assert_eq!(host.opened.reconstructed[0].how, Reconstruction::Unproven(0), "{scheme}");
        is_intact(&mut host, 120);
    }
}

#[test]
fn two_devices_with_the_content_of_one_member_are_refused() {
    for scheme in [LOG5, JOURNAL5] {
        let mut disk = written(scheme, 120);
        disk.members[1] = disk.members[2].clone();
        wipe(&mut disk, 1);
        wipe(&mut disk, 2);
        let refused = refusal(scheme, disk, FORCE);
        assert!(refused.contains("offered members 1 and 2 both have the content of member 2"), "{refused}");
    }
}

#[test]
fn with_a_bitmap_the_user_names_members_and_no_more_of_them_are_trusted_than_it_takes() {
    let mut disk = written(BITMAP5, 120);
    wipe(&mut disk, 1);
    let host = open(BITMAP5, disk.clone(), named(&[(1, 1)])).unwrap();
    assert_eq!(host.opened.reconstructed[0].how, Reconstruction::NotNeeded);
    assert_eq!(host.opened.positions[1], None, "it is made again from the others");
    wipe(&mut disk, 3);
    let refused = refusal(BITMAP5, disk.clone(), FORCE);
    assert!(
        refused.contains("too few members") && refused.contains("if you know that it is one, name it"),
        "{refused}"
    );
    let mut host =
        open(BITMAP5, disk.clone(), named(&[(1, 1), (3, 3)])).unwrap_or_else(|error| panic!("{error}"));
    let taken: Vec<bool> = host.opened.reconstructed.iter().map(Reconstructed::is_taken).collect();
    assert_eq!(taken, [true, false]);
    is_intact(&mut host, 120);
    let states: Vec<MemberState> = {
        let disk = host.disk();
        let block =
            Superblock::parse(&disk.members[1].pages[..4].concat()).unwrap_or_else(|error| panic!("{error}"));
        block.members.iter().map(|member| member.state).collect()
    };
    assert_eq!(states[1], MemberState::Active);
    assert_eq!(states[3], MemberState::Failed);
    let refused = refusal(BITMAP5, disk, named(&[(0, 1)]));
    assert!(refused.contains("is named member 0"), "{refused}");
}

#[test]
fn a_name_that_the_content_contradicts_is_refused() {
    for scheme in [LOG5, JOURNAL5] {
        let mut disk = written(scheme, 120);
        wipe(&mut disk, 1);
        wipe(&mut disk, 2);
        let refused = refusal(scheme, disk, named(&[(2, 1)]));
        assert!(refused.contains("offered member 1 is named member 2, and"), "{scheme}: {refused}");
    }
}
