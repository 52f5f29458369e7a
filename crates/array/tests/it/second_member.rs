//! A second, sound member fails and returns while another is being rebuilt: the rebuild halts, nothing that may return is
//! called lost, and in the end all members are whole.

use stripewise_array::format::{Superblock, Uuid};
use stripewise_array::{AssemblyOptions, Controller, Halt, RejoinError, Rejoining, RequestKind};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const PAGES: u32 = 260;
const MEMBERS: usize = 5;
/// Chunks of the hosts: as many as the log keeps free space for.
const CHUNKS: u64 = 300;

fn log(level: &str) -> String {
    format!(
        "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n"
    )
}

fn in_place(level: &str) -> String {
    format!("name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n")
}

fn bitmap() -> String {
    "name = \"marked\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n".into()
}

fn value(chunk: u64) -> u8 {
    chunk as u8 | 1
}

/// A host with a written array, of which empty devices replace `replaced`.
fn rebuilding(scheme: &str, replaced: &[u16], operations: u32) -> Host {
    let mut host = Host::create(scheme, Disk::new(MEMBERS, PAGES, 1024));
    (0..CHUNKS).for_each(|chunk| host.write(chunk, value(chunk)));
    host.flush();
    host.finish();
    for &member in replaced {
        host.fail(member);
        host.finish();
        host.disk().members[usize::from(member)] = Disk::new(1, PAGES, 1024).members.remove(0);
        let uuid = Uuid([0x70 + member as u8; 16]);
        host.rejoin(member, Rejoining::Replacement { uuid, pages: PAGES });
    }
    host.finish_within(operations);
    host
}

fn is_in_doubt(host: &Host, member: u16) -> bool {
    host.array.members_in_doubt() >> member & 1 != 0
}

/// `member` returns with what it has.
fn take_back(host: &mut Host, member: u16) {
    host.disk().members[usize::from(member)].is_gone = false;
    host.rejoin(member, host.returned(member));
}

/// Works until nothing is left to do.
fn settle(host: &mut Host) {
    for _ in 0..3 {
        host.finish();
        host.flush();
    }
}

fn superblock(host: &mut Host, member: usize) -> Superblock {
    let bytes = host.disk().members[member].pages[..4].concat();
    Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// All members are whole, and each chunk has its value whichever `without` of them are absent.
fn check_whole(host: &mut Host, scheme: &str, values: &[u8], without: usize, what: &str) {
    assert_eq!((host.array.rebuilding(), host.array.rebuild_lost()), (None, 0), "{what}");
    for member in 0..MEMBERS as u16 {
        assert!(
            !host.array.is_failed(MemberNo::new(member)) && !host.array.is_incomplete(MemberNo::new(member)),
            "{what}: {member}"
        );
        assert!(!is_in_doubt(host, member), "{what}: member {member} is in doubt");
        assert!(superblock(host, 0).members[usize::from(member)].is_whole, "{what}: {member}");
    }
    for gone in 0..MEMBERS {
        let mut copy = host.copy_of_disk();
        (0..without).for_each(|nth| copy.members[(gone + 2 * nth) % MEMBERS].is_gone = true);
        let opened = Host::try_open_as(scheme, copy, AssemblyOptions::default());
        let mut host = opened.unwrap_or_else(|error| panic!("{what}, without {gone}: {error}"));
        for (chunk, &value) in (0..).zip(values) {
            assert_eq!(host.read(chunk), Some(value), "{what}: chunk {chunk} without {gone}");
        }
    }
}

/// Writes some chunks while members are missing; what cannot be written keeps its content.
fn write_some(host: &mut Host, values: &mut [u8], new: u8) {
    for chunk in (0..CHUNKS).step_by(7) {
        if host.ask(RequestKind::Write, chunk, host.chunks(1, new)).is_some() {
            values[chunk as usize] = new;
        }
    }
    let _flushed = host.ask(RequestKind::Flush, 0, Box::default());
}

#[test]
fn a_rebuild_halts_without_a_second_member_and_continues_when_it_is_back() {
    for scheme in [log("raid5"), in_place("raid5"), bitmap()] {
        let mut halts = 0;
        for operations in (0..400).step_by(37) {
            for writes in [false, true] {
                let what = format!("{scheme}\nafter {operations}, writes: {writes}");
                let mut values: Vec<u8> = (0..CHUNKS).map(value).collect();
                let mut host = rebuilding(&scheme, &[1], operations);
                if host.array.is_failed(MemberNo::new(1)) || host.array.rebuilding().is_none() {
                    continue;
                }
                host.fail(2);
                host.finish();
                if host.array.rebuilding().is_some() {
                    halts += 1;
                    assert_eq!(host.array.rebuild_halted(), Some(Halt::Beyond(0)), "{what}");
                }
                assert_eq!(host.array.rebuild_lost(), 0, "{what}");
                if writes {
                    write_some(&mut host, &mut values, 200);
                }
                take_back(&mut host, 2);
                settle(&mut host);
                check_whole(&mut host, &scheme, &values, 1, &what);
            }
        }
        assert!(halts > 4, "{halts} halts of {scheme}");
    }
}

#[test]
fn a_halted_rebuild_is_halted_after_a_restart_too() {
    for scheme in [log("raid5"), in_place("raid5")] {
        for (operations, is_back) in (0..400).step_by(53).flat_map(|nth| [(nth, false), (nth, true)]) {
            let what = format!("{scheme}\nafter {operations}, back: {is_back}");
            let mut values: Vec<u8> = (0..CHUNKS).map(value).collect();
            let mut host = rebuilding(&scheme, &[1], operations);
            if host.array.is_failed(MemberNo::new(1)) || host.array.rebuilding().is_none() {
                continue;
            }
            host.fail(2);
            host.finish();
            write_some(&mut host, &mut values, 200);
            host.disk().members[2].is_gone = !is_back;
            let mut host = host.lose_power();
            host.resume();
            host.finish();
            assert_eq!(host.array.rebuild_lost(), 0, "{what}");
            if host.array.is_failed(MemberNo::new(2)) {
                take_back(&mut host, 2);
            }
            settle(&mut host);
            check_whole(&mut host, &scheme, &values, 1, &what);
        }
    }
}

/// Whether another device may take the place of `member` now.
fn takes_another(host: &Host, member: u16) -> Result<(), RejoinError> {
    host.array
        .check_rejoin(MemberNo::new(member), Rejoining::Replacement { uuid: Uuid([0x7f; 16]), pages: PAGES })
}

#[test]
fn no_other_device_takes_the_place_of_a_member_that_a_halted_rebuild_needs() {
    for (level, first) in [("raid5", &[1][..]), ("raid6", &[1, 4])] {
        for scheme in [log(level), in_place(level)] {
            let values: Vec<u8> = (0..CHUNKS).map(value).collect();
            let mut host = rebuilding(&scheme, &[], 0);
            first.iter().for_each(|&member| host.fail(member));
            host.finish();
            for &member in first {
                host.disk().members[usize::from(member)] = Disk::new(1, PAGES, 1024).members.remove(0);
                let uuid = Uuid([0x70 + member as u8; 16]);
                host.rejoin(member, Rejoining::Replacement { uuid, pages: PAGES });
            }
            while host.array.rebuilding().is_none_or(|(_, done, _)| done < 3)
                || host.array.is_failed(MemberNo::new(1))
            {
                host.complete_one();
            }
            host.fail(2);
            host.finish();
            assert_eq!(host.array.rebuild_halted(), Some(Halt::Beyond(0)), "{scheme}");
            assert_eq!(takes_another(&host, 2), Err(RejoinError::Beyond(0)), "{scheme}");
            assert_eq!(host.array.check_rejoin(MemberNo::new(2), host.returned(2)), Ok(()), "{scheme}");
            take_back(&mut host, 2);
            assert_eq!(host.array.rebuild_halted(), None, "{scheme}: it comes back");
            settle(&mut host);
            check_whole(&mut host, &scheme, &values, first.len(), &scheme);
            host.fail(2);
            assert_eq!(takes_another(&host, 2), Ok(()), "{scheme}: nothing else is missing");
        }
    }
}

#[test]
fn no_other_device_takes_the_place_of_one_of_more_members_than_parity_tolerates() {
    for scheme in [log("raid5"), in_place("raid5")] {
        let mut host = rebuilding(&scheme, &[], 0);
        host.fail(1);
        host.finish();
        assert_eq!(takes_another(&host, 1), Ok(()), "{scheme}");
        host.fail(2);
        host.finish();
        assert_eq!(takes_another(&host, 1), Err(RejoinError::Beyond(0)), "{scheme}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_log_that_takes_another_device_in_the_place_of_a_needed_one_loses_data() {
    let mut host = rebuilding(&log("raid5"), &[1], 30);
    host.fail(2);
    host.finish();
    host.array.plant(Some(stripewise_array::Bug::NeededReplaced));
    assert_eq!(takes_another(&host, 2), Ok(()));
    host.disk().members[2] = Disk::new(1, PAGES, 1024).members.remove(0);
    host.rejoin(2, Rejoining::Replacement { uuid: Uuid([0x7f; 16]), pages: PAGES });
    settle(&mut host);
    assert!(host.array.rebuild_lost() > 0);
}

#[test]
fn raid6_rebuilds_two_members_and_takes_a_third_back() {
    for scheme in [log("raid6"), in_place("raid6")] {
        for operations in (0..600).step_by(97) {
            let what = format!("{scheme}\nafter {operations}");
            let mut values: Vec<u8> = (0..CHUNKS).map(value).collect();
            let mut host = rebuilding(&scheme, &[1, 4], operations);
            host.fail(2);
            host.finish();
            assert_eq!(host.array.rebuild_lost(), 0, "{what}");
            write_some(&mut host, &mut values, 200);
            take_back(&mut host, 2);
            settle(&mut host);
            check_whole(&mut host, &scheme, &values, 2, &what);
        }
    }
}

/// A host with a member whose rebuild left something out: pages of another one cannot be read.
fn left_out(scheme: &str, plant: impl FnOnce(&mut Host)) -> (Host, u16, usize) {
    let mut host = Host::create(scheme, Disk::new(MEMBERS, PAGES, 1024));
    plant(&mut host);
    (0..CHUNKS).for_each(|chunk| host.write(chunk, value(chunk)));
    host.flush();
    let (gone, page) = host.array.chunk_in_log(20).unwrap_or_else(|| {
        let (row, column) = host.array.locate(20).expect("it has a place");
        let place = host.array.geometry().place(row);
        (host.array.geometry().member(place, column), place.page)
    });
    host.fail(gone.number());
    host.finish();
    let other = (gone.index() + 1) % MEMBERS;
    host.disk().members[other].unreadable.extend(page - 1..=page + 1);
    host.disk().members[gone.index()] = Disk::new(1, PAGES, 1024).members.remove(0);
    host.rejoin(gone.number(), Rejoining::Replacement { uuid: Uuid([0x70; 16]), pages: PAGES });
    settle(&mut host);
    assert!(!host.array.is_incomplete(gone));
    (host, gone.number(), other)
}

#[test]
fn what_a_rebuild_left_out_is_in_doubt_until_a_scrub_finds_no_loss() {
    for scheme in [log("raid5"), in_place("raid5")] {
        let values: Vec<u8> = (0..CHUNKS).map(value).collect();
        let (mut host, gone, other) = left_out(&scheme, |_| ());
        assert!(is_in_doubt(&host, gone), "{scheme}");
        assert!(host.scrub().lost > 0, "{scheme}");
        let mut host = host.lose_power();
        settle(&mut host);
        assert!(is_in_doubt(&host, gone), "{scheme}: after a restart");
        host.disk().members[other].unreadable.clear();
        assert_eq!(host.scrub().lost, 0, "{scheme}");
        settle(&mut host);
        check_whole(&mut host, &scheme, &values, 1, "scrubbed");
        let host = host.lose_power();
        assert!(!is_in_doubt(&host, gone), "{scheme}: after another restart");
    }
}

#[test]
#[cfg(debug_assertions)]
fn rebuilds_that_do_not_halt_and_members_whose_gaps_are_forgotten_are_found() {
    use stripewise_array::Bug;
    for scheme in [log("raid5"), in_place("raid5")] {
        let (host, gone, _) = left_out(&scheme, |host| host.array.plant(Some(Bug::LeftOutForgotten)));
        assert!(!is_in_doubt(&host, gone), "{scheme}");
        let lost = |bug: Option<Bug>| {
            let mut host = rebuilding(&scheme, &[1], 0);
            while host.array.rebuilding().is_none_or(|(_, done, _)| done < 5) {
                host.complete_one();
            }
            host.array.plant(bug);
            host.fail(2);
            host.finish();
            host.array.rebuild_lost()
        };
        assert_eq!(lost(None), 0, "{scheme}");
        assert!(lost(Some(Bug::RebuildNotHalted)) > 0, "{scheme}");
    }
}

/// Whether the array of `disk` assembles without any one of its members, and each chunk has its value.
fn bears_one_loss(scheme: &str, disk: &Disk, values: &[u8]) -> bool {
    (0..MEMBERS).all(|gone| {
        let mut copy = disk.clone();
        copy.members[gone].is_gone = true;
        Host::try_open_as(scheme, copy, AssemblyOptions::default())
            .is_ok_and(|mut host| (0..).zip(values).all(|(chunk, &value)| host.read(chunk) == Some(value)))
    })
}

/// Whether parity is right that a member could not take, after it returned, and another one was out at an assembly.
fn has_right_parity(bug: Option<stripewise_array::Bug>) -> bool {
    let scheme = in_place("raid5");
    let mut values: Vec<u8> = (0..CHUNKS).map(value).collect();
    let mut host = rebuilding(&scheme, &[], 0);
    host.array.plant(bug);
    host.fail(1);
    write_some(&mut host, &mut values, 200);
    take_back(&mut host, 1);
    while host.array.is_failed(MemberNo::new(1)) {
        host.complete_one();
    }
    host.fail(2);
    host.finish();
    let mut host = host.lose_power();
    host.resume();
    host.finish();
    take_back(&mut host, 2);
    settle(&mut host);
    bears_one_loss(&scheme, &host.copy_of_disk(), &values)
}

#[test]
#[cfg(debug_assertions)]
fn stale_parity_that_is_trusted_is_found() {
    use stripewise_array::Bug;
    assert!(has_right_parity(None));
    assert!(!has_right_parity(Some(Bug::StaleParityTrusted)));
}

/// Whether everything is right when a member is back that left during a rebuild, and hosts wrote meanwhile.
fn is_right_with_a_bitmap(bug: Option<stripewise_array::Bug>) -> bool {
    let scheme = bitmap();
    (0..400).step_by(37).all(|operations| {
        let mut values: Vec<u8> = (0..CHUNKS).map(value).collect();
        let mut host = rebuilding(&scheme, &[1], operations);
        if host.array.is_failed(MemberNo::new(1)) || host.array.rebuilding().is_none() {
            return true;
        }
        host.array.plant(bug);
        host.fail(2);
        host.finish();
        write_some(&mut host, &mut values, 200);
        take_back(&mut host, 2);
        settle(&mut host);
        bears_one_loss(&scheme, &host.copy_of_disk(), &values)
    })
}

#[test]
#[cfg(debug_assertions)]
fn rows_in_marked_regions_that_are_written_beyond_parity_are_found() {
    assert!(is_right_with_a_bitmap(None));
    assert!(!is_right_with_a_bitmap(Some(stripewise_array::Bug::MarkedRowWritten)));
}
