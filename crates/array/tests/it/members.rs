//! Arrays in place: members that return or are replaced while the array serves, and scrub.

use stripewise_array::format::{ChecksumPage, MemberState, REDO_MAGIC, Superblock, Uuid, crc32c};
use stripewise_array::{AssemblyOptions, Controller, Halt, RejoinError, Rejoining, RequestKind};
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
const RAID6: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[code]\nkind = \"rdp\"\n";
const BITMAP: &str = "name = \"marked\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n";
const CHUNKS: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\nchunk = \"4KiB\"\n";

const ANOTHER: Uuid = Uuid([0x77; 16]);

fn replacement(pages: u32) -> Rejoining {
    Rejoining::Replacement { uuid: ANOTHER, pages }
}

/// A host that has written every chunk.
fn full(scheme: &str, pages: u32) -> Host {
    let mut host = Host::create(scheme, Disk::new(5, pages, 1024));
    (0..host.capacity()).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    host
}

fn wipe(host: &mut Host, member: usize) {
    host.disk().members[member].pages.iter_mut().for_each(|page| page.fill(0xa5));
}

/// Member 1 fails, and an empty device replaces it.
fn replace_1(host: &mut Host, pages: u32) {
    host.fail(1);
    host.disk().members[1].is_gone = false;
    wipe(host, 1);
    host.rejoin(1, replacement(pages));
}

fn superblock(host: &mut Host) -> Superblock {
    let bytes = host.disk().members[0].pages[..4].concat();
    Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Every chunk has its value, whichever other member is missing.
fn is_whole_without_any_other(host: &Host, member: u16, expected: impl Fn(u64) -> u8) {
    for other in (0..5).filter(|&other| other != member) {
        let mut host = host.copy();
        host.disk().members[other as usize].is_gone = true;
        let mut host = host.lose_power();
        assert!(host.opened.positions[member as usize].is_some(), "it is in the array");
        for chunk in 0..host.capacity() {
            let found = host.read(chunk);
            assert_eq!(found, Some(expected(chunk)), "chunk {chunk}, {member} back and {other} gone");
        }
    }
}

#[test]
fn invariant_j_and_l_a_member_in_place_that_returns_or_is_replaced_is_whole_in_the_end() {
    for scheme in [RAID5, RAID6, BITMAP, CHUNKS] {
        for (gone, is_another) in [(0u16, false), (3, false), (1, true), (4, true)] {
            let mut host = full(scheme, 260);
            host.disk().members[gone as usize].is_gone = true;
            let mut host = host.lose_power();
            (0..40).for_each(|chunk| host.write(chunk * 3, 200));
            host.flush();
            host.disk().members[gone as usize].is_gone = false;
            let mut how = host.returned(gone);
            if is_another {
                wipe(&mut host, gone.into());
                how = replacement(260);
            }
            host.rejoin(gone, how);
            // After and before the cursor.
            (20..40).for_each(|chunk| host.write(chunk * 3, 100));
            (0..host.capacity()).for_each(|chunk| assert!(host.read(chunk).is_some()));
            host.finish_rebuild();
            assert_eq!(superblock(&mut host).members[gone as usize].state, MemberState::Active);
            is_whole_without_any_other(&host, gone, |chunk| match chunk {
                _ if chunk.is_multiple_of(3) && (60..120).contains(&chunk) => 100,
                _ if chunk.is_multiple_of(3) && chunk < 120 => 200,
                _ => chunk as u8 | 1,
            });
        }
    }
}

#[test]
fn a_member_larger_than_others_returns_with_both_copies_of_its_superblock() {
    for scheme in [RAID5, BITMAP] {
        let mut disk = Disk::new(5, 260, 1024);
        disk.members[1].pages.resize(300, vec![0; 1024].into());
        let mut host = Host::create(scheme, disk);
        (0..30).for_each(|chunk| host.write(chunk, 5));
        host.disk().members[1].is_gone = true;
        let mut host = host.lose_power();
        host.disk().members[1].is_gone = false;
        host.rejoin(1, host.returned(1));
        host.finish_rebuild();
        let mut disk = host.copy_of_disk();
        disk.members[1].pages[..4].iter_mut().for_each(|page| page.fill(0x5a));
        disk.members[2].is_gone = true;
        let mut host = Host::open_as(scheme, disk);
        (0..30).for_each(|chunk| assert_eq!(host.read(chunk), Some(5), "chunk {chunk}"));
    }
}

#[test]
fn invariant_l_power_may_go_after_any_operation_of_a_rebuild_in_place() {
    for (scheme, is_another) in [(RAID5, false), (RAID5, true), (BITMAP, false), (BITMAP, true)] {
        let mut host = full(scheme, 220);
        host.fail(1);
        (0..40).for_each(|chunk| host.write(chunk * 2, 200));
        host.flush();
        host.disk().members[1].is_gone = false;
        if is_another {
            wipe(&mut host, 1);
        }
        let how = |nth: u8| match is_another {
            true => Rejoining::Replacement { uuid: Uuid([nth; 16]), pages: 220 },
            false => Rejoining::Returned { pages: 220, stamp: None },
        };
        host.rejoin(1, how(0x60));
        let (mut cuts, mut continued) = (0, 0);
        for step in 0.. {
            let is_over = host.array.rebuilding().is_none();
            if step % 29 == 0 || is_over {
                let mut after = host.copy();
                cuts += 1;
                match after.opened.positions[1] {
                    Some(_) => continued += 1,
                    None => after.rejoin(1, how(0x61)),
                }
                after.finish_rebuild();
                after.write(3, 77);
                after.flush();
                after.disk().members[3].is_gone = true;
                let mut after = after.lose_power();
                for chunk in 0..after.capacity() {
                    let expected = match chunk {
                        3 => 77,
                        _ if chunk < 80 && chunk.is_multiple_of(2) => 200,
                        _ => chunk as u8 | 1,
                    };
                    assert_eq!(after.read(chunk), Some(expected), "chunk {chunk}, after {step}, {scheme}");
                }
            }
            if is_over {
                break;
            }
            host.complete_one();
        }
        assert!(cuts > 5 && continued > 2, "{cuts} cuts, after {continued} of which the rebuild went on");
    }
}

#[test]
fn invariant_l_a_rebuild_in_place_continues_where_it_was_after_a_loss_of_power() {
    for scheme in [RAID5, BITMAP] {
        let mut host = full(scheme, 3000);
        replace_1(&mut host, 3000);
        while superblock(&mut host).members[1].cursor == 0 {
            host.complete_one();
        }
        // All copies are present when the second flush of the update is complete.
        (0..40).for_each(|_| host.complete_one());
        let mut host = host.lose_power();
        let (member, done, all) = host.array.rebuilding().expect("it goes on");
        assert!(
            member == MemberNo::new(1) && done >= 1024 && done < all,
            "from where it was: {done} of {all}"
        );
        host.finish_rebuild();
        is_whole_without_any_other(&host, 1, |chunk| chunk as u8 | 1);
    }
}

/// All failed members have returned, except for member 1, which another device was about to replace.
fn is_opened_without_1(mut host: Host, when: &str) {
    (0..5).for_each(|member| host.disk().members[member].is_gone = member == 1);
    let opened = host.try_open(AssemblyOptions::default());
    let mut host = opened.unwrap_or_else(|error| panic!("{when}: {error}"));
    for chunk in 0..host.capacity() {
        assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "{when}: chunk {chunk}");
    }
}

#[test]
fn members_that_fail_together_while_another_is_rebuilt_may_return_together() {
    for scheme in [RAID5, BITMAP] {
        let mut host = full(scheme, 3000);
        replace_1(&mut host, 3000);
        while host.array.rebuilding().is_none_or(|(_, done, _)| done < 100) {
            host.complete_one();
        }
        [2, 4].iter().for_each(|&member| host.fail(member));
        host.finish();
        let twin = host.try_rejoin(2, host.returned(2));
        assert_eq!(twin, Err(RejoinError::Beyond(0)), "the rebuild has ended");
        is_opened_without_1(host, scheme);
    }
}

#[test]
fn members_that_fail_together_while_superblocks_record_another_may_return_together() {
    for (scheme, failing) in [(RAID5, &[2][..]), (RAID5, &[2, 4]), (BITMAP, &[2, 4]), (RAID6, &[0, 2, 4])] {
        for steps in (0..400).step_by(13) {
            let mut host = full(scheme, 260);
            replace_1(&mut host, 260);
            (0..steps).for_each(|_| host.complete_one());
            // Once the member is in the array, a single other one may fail.
            if failing.len() == 1 && !host.array.is_failed(MemberNo::new(1)) {
                break;
            }
            failing.iter().for_each(|&member| host.fail(member));
            host.finish();
            is_opened_without_1(host, &format!("{scheme}: {failing:?} after {steps}"));
        }
    }
}

#[test]
fn a_replacement_waits_when_more_failed_than_parity_tolerates_and_what_is_back_comes_in() {
    for (scheme, failing) in [(RAID5, &[1, 2][..]), (BITMAP, &[1, 2]), (RAID6, &[0, 1, 2])] {
        let mut host = full(scheme, 260);
        failing.iter().for_each(|&member| host.fail(member));
        assert_eq!(host.try_rejoin(1, replacement(260)), Err(RejoinError::Beyond(0)));
        host.disk().members[1].is_gone = false;
        host.rejoin(1, host.returned(1));
        while host.array.is_failed(MemberNo::new(1)) {
            host.complete_one();
        }
        host.finish();
        // Nothing was written without it, so it has everything.
        assert_eq!((host.array.rebuilding(), host.array.rebuild_halted()), (None, None), "{scheme}");
        assert!(host.try_rejoin(2, replacement(260)).is_ok(), "{scheme}: it is not needed any more");
    }
}

/// Nothing was written since the member failed: only the array's own writes after the failure record it.
#[test]
fn a_member_that_returns_keeps_its_metadata_until_others_record_its_failure() {
    for gone in 0..5u16 {
        let mut host = full(RAID5, 260);
        host.fail(gone);
        host.disk().members[gone as usize].is_gone = false;
        host.rejoin(gone, host.returned(gone));
        let mut openings = 0;
        for step in 0.. {
            if superblock(&mut host).members[gone as usize].state == MemberState::Rebuilding {
                break;
            }
            if step % 5 == 0 {
                for other in (0..5).filter(|&other| other != gone) {
                    let mut after = host.copy_of_disk();
                    after.members[other as usize].is_gone = true;
                    let mut after = match Host::try_open_as(RAID5, after, AssemblyOptions::default()) {
                        Ok(after) => after,
                        Err(error) => {
                            assert!(
                                error.to_string().contains("the array continued without them"),
                                "{error}"
                            );
                            break;
                        }
                    };
                    openings += 1;
                    for chunk in 0..after.capacity() {
                        let found = after.read(chunk);
                        assert_eq!(
                            found,
                            Some(chunk as u8 | 1),
                            "chunk {chunk}, {gone} back and {other} gone"
                        );
                    }
                }
            }
            host.complete_one();
        }
        assert!(openings > 0);
    }
}

/// With the bitmap, only the rebuild's own memory distinguishes rows that could not be rebuilt from rebuilt rows.
#[test]
fn a_rebuild_goes_past_rows_that_do_not_decode_and_they_stay_errors_until_they_are_rewritten() {
    // Flushes in between clear bits: the parity of the row is not recomputed at assembly.
    let mut host = Host::create(BITMAP, Disk::new(5, 3000, 1024));
    for chunk in 0..host.capacity() {
        host.write(chunk, chunk as u8 | 1);
        if chunk % 16 == 0 {
            host.flush();
        }
    }
    let row = 1500;
    let geometry = host.array.geometry();
    let page = geometry.place(RowNo::new(row)).page;
    let member = |column| geometry.member(geometry.place(RowNo::new(row)), column);
    let lost: Vec<u64> = (0..4)
        .filter(|&column| [1, 2].contains(&member(column).number()))
        .map(|column| row * 4 + u64::from(column))
        .collect();
    assert_eq!(lost.len(), 2, "both have data of the row");
    host.fail(1);
    host.disk().members[1].is_gone = false;
    wipe(&mut host, 1);
    host.disk().members[2].unreadable.insert(page);
    host.rejoin(1, replacement(3000));
    for _ in 0..2 {
        host.finish_rebuild();
        assert_eq!(host.array.rebuild_lost(), 1);
        for chunk in 0..host.capacity() {
            let expected = (!lost.contains(&chunk)).then_some(chunk as u8 | 1);
            assert_eq!(host.read(chunk), expected, "chunk {chunk}");
        }
        let record = superblock(&mut host).members[1];
        assert_eq!(record.state, MemberState::Rebuilding, "it is not whole");
        assert!(
            (1024..=row).contains(&record.cursor),
            "rows before it need not be made again: {}",
            record.cursor
        );
        host = host.lose_power();
        let (member, done, _) = host.array.rebuilding().expect("it is tried again");
        assert!(member == MemberNo::new(1) && u64::from(done) <= row);
    }
    host.finish_rebuild();
    // A row that is written as a whole needs none of the lost content.
    assert!(host.ask(RequestKind::Write, row * 4, host.chunks(4, 99)).is_some());
    assert_eq!(host.scrub().lost, 0);
    host.finish_rebuild();
    assert_eq!(host.array.rebuild_lost(), 0);
    assert_eq!(superblock(&mut host).members[1].state, MemberState::Active);
    is_whole_without_any_other(&host, 1, |chunk| if chunk / 4 == row { 99 } else { chunk as u8 | 1 });
}

#[test]
fn a_rebuild_that_could_not_make_too_many_rows_says_so() {
    let mut host = full(BITMAP, 3000);
    host.fail(1);
    host.disk().members[1].is_gone = false;
    wipe(&mut host, 1);
    host.disk().members[2].unreadable.extend(0..3000);
    host.rejoin(1, replacement(3000));
    host.finish();
    let (member, done, all) = host.array.rebuilding().expect("it is not whole");
    assert!(member == MemberNo::new(1) && done < all, "{done} of {all}");
    let lost = host.array.rebuild_lost();
    assert!(lost > 1000, "{lost}");
    assert_eq!(host.array.rebuild_halted(), Some(Halt::Unmade(lost)));
}

#[test]
fn what_a_member_came_back_with_is_not_read_before_it_is_made() {
    for scheme in [RAID5, BITMAP] {
        let mut host = full(scheme, 3000);
        let chunks = host.capacity();
        host.fail(2);
        (0..chunks).for_each(|chunk| host.write(chunk, 9));
        host.flush();
        host.disk().members[2].is_gone = false;
        host.rejoin(2, host.returned(2));
        for chunk in (0..chunks).rev().step_by(3) {
            assert_eq!(host.read(chunk), Some(9), "chunk {chunk}");
        }
    }
}

#[test]
fn a_member_that_fails_while_it_is_made_is_out_and_may_come_once_more() {
    for scheme in [RAID5, BITMAP] {
        // At the beginning, while superblocks are updated, and in the middle.
        for steps in [0, 3, 30, 200, 500] {
            let mut host = full(scheme, 260);
            replace_1(&mut host, 260);
            for _ in 0..steps {
                if host.array.rebuilding().is_some() {
                    host.complete_one();
                }
            }
            host.disk().members[1].is_gone = true;
            (0..50).for_each(|chunk| host.write(chunk, 50));
            host.flush();
            assert!(
                host.array.is_failed(MemberNo::new(1)) && host.array.rebuilding().is_none(),
                "after {steps}"
            );
            host.disk().members[1].is_gone = false;
            wipe(&mut host, 1);
            let how = Rejoining::Replacement { uuid: Uuid([0x78; 16]), pages: 260 };
            host.rejoin(1, how);
            host.finish_rebuild();
            assert!(!host.array.is_failed(MemberNo::new(1)));
            is_whole_without_any_other(&host, 1, |chunk| if chunk < 50 { 50 } else { chunk as u8 | 1 });
        }
    }
}

/// The member fails while superblocks record that it is complete, and returns before all of their writes have finished.
#[test]
fn a_member_that_fails_in_the_end_and_comes_once_more_at_once_is_whole() {
    let mut failures = 0;
    for (steps, ended) in (0..100).step_by(7).flat_map(|steps| (0..8).map(move |ended| (steps, ended))) {
        let mut host = full(RAID5, 260);
        host.fail(1);
        host.disk().members[1].is_gone = false;
        host.rejoin(1, host.returned(1));
        while host.array.rebuilding().is_some_and(|(_, done, all)| done < all) {
            host.complete_one();
        }
        (0..steps).for_each(|_| host.finish_within(1));
        if host.array.rebuilding().is_none() {
            break;
        }
        failures += 1;
        host.fail(1);
        host.finish_within(ended);
        host.disk().members[1].is_gone = false;
        host.rejoin(1, host.returned(1));
        host.finish_rebuild();
        assert!(!host.array.is_failed(MemberNo::new(1)), "after {steps} and {ended} steps");
    }
    assert!(failures > 8);
}

#[test]
fn what_cannot_come_into_an_array_in_place_is_refused_with_the_reason() {
    let mut host = full(RAID5, 260);
    assert_eq!(host.try_rejoin(2, host.returned(2)), Err(RejoinError::Active(MemberNo::new(2))));
    host.fail(2);
    let smaller = Rejoining::Replacement { uuid: ANOTHER, pages: 259 };
    assert_eq!(host.try_rejoin(2, smaller), Err(RejoinError::TooSmall { pages: 259, needed: 260 }));
    let cut_off = Rejoining::Returned { pages: 259, stamp: None };
    assert_eq!(host.try_rejoin(2, cut_off), Err(RejoinError::TooSmall { pages: 259, needed: 260 }));
    let twin = Rejoining::Replacement { uuid: Uuid([1; 16]), pages: 300 };
    assert_eq!(host.try_rejoin(2, twin), Err(RejoinError::Twin { uuid: Uuid([1; 16]), number: 0 }));
    host.disk().members[2].is_gone = false;
    host.rejoin(2, host.returned(2));
    host.fail(3);
    // It joins after the other.
    host.disk().members[3].is_gone = false;
    host.rejoin(3, host.returned(3));
    assert_eq!(host.try_rejoin(3, host.returned(3)), Err(RejoinError::Busy(MemberNo::new(3))));
    host.fail(3);
    let mut host =
        host.try_open(AssemblyOptions { read_only: true, ..AssemblyOptions::default() }).expect("it opens");
    assert_eq!(host.try_rejoin(3, host.returned(3)), Err(RejoinError::ReadOnly));
}

#[test]
fn a_journal_that_is_full_while_a_member_is_made_never_stands_still() {
    let mut host = full(RAID5, 260);
    host.fail(0);
    host.disk().members[0].is_gone = false;
    wipe(&mut host, 0);
    host.rejoin(0, replacement(260));
    let chunks = host.capacity();
    for round in 0..600 {
        host.write(round * 7 % chunks, 3);
    }
    host.finish_rebuild();
    (0..chunks).for_each(|chunk| assert!(host.read(chunk).is_some()));
    // No old record is on the member: it was cleared before it joined.
    let records = host.disk().members[0].pages.iter().filter(|page| page.starts_with(&REDO_MAGIC)).count();
    assert!(records > 0);
}

/// The page of the first row, and the members of its data and parity.
fn first_row(host: &Host) -> (usize, Vec<usize>) {
    let geometry = host.array.geometry();
    let place = geometry.place(RowNo::new(0));
    let members = (0..geometry.columns).map(|member| geometry.member(place, member).index()).collect();
    (place.page as usize, members)
}

#[test]
fn invariant_l_scrub_in_place_finds_what_is_rotten_and_writes_it_back() {
    for scheme in [RAID5, RAID6] {
        let mut host = full(scheme, 260);
        let chunks = host.capacity();
        let clean = host.scrub();
        let pages = host.array.geometry().rows() * 5;
        assert_eq!((clean.pages, clean.bad, clean.repaired, clean.lost), (pages, 0, 0, 0), "{clean:?}");
        let (page, members) = first_row(&host);
        // A chunk, the parity of another row, and a chunk of a third row.
        for (row, column) in [(0, 0), (3, 4), (7, 2)] {
            let member = members[column % 5];
            host.disk().members[member].pages[page + row][100] ^= 0x10;
        }
        let before = host.disk().clone();
        let mut reader = host
            .try_open(AssemblyOptions { read_only: true, ..AssemblyOptions::default() })
            .expect("it opens");
        let found = reader.scrub();
        assert_eq!((found.bad, found.repaired, found.lost), (3, 0, 0), "{found:?}");
        assert!(*reader.disk() == before, "nothing was written");
        let found = host.scrub();
        assert_eq!((found.bad, found.repaired, found.lost), (3, 3, 0), "{found:?}");
        let again = host.scrub();
        assert_eq!((again.bad, again.lost), (0, 0), "{again:?}");
        (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1)));
    }
}

#[test]
fn scrub_in_place_counts_chunks_of_rows_of_which_too_much_is_bad_and_leaves_them() {
    let mut host = full(RAID5, 260);
    let (page, members) = first_row(&host);
    for &member in &members[..2] {
        host.disk().members[member].pages[page][100] ^= 0x10;
    }
    let found = host.scrub();
    assert_eq!((found.repaired, found.lost), (0, 2), "{found:?}");
    assert_eq!((host.read(0), host.read(1)), (None, None));
    assert_eq!(host.read(2), Some(3));
}

#[test]
fn scrub_with_a_bitmap_makes_parity_that_of_its_data() {
    let mut host = full(BITMAP, 260);
    let (page, members) = first_row(&host);
    host.disk().members[members[4]].pages[page].fill(0xa5);
    let found = host.scrub();
    assert_eq!((found.bad, found.repaired, found.lost), (1, 1, 0), "{found:?}");
    host.flush();
    host.disk().members[members[1]].is_gone = true;
    let mut host = host.lose_power();
    (0..4).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "chunk {chunk}"));
}

/// Changes the checksum of `row` on `member` in all copies of its page of the table.
fn change_checksum(host: &mut Host, member: usize, row: u32, checksum: u32) {
    let rows = (1024 - 48) / (4 * 5);
    for page in host.disk().members.iter_mut().flat_map(|its| &mut its.pages) {
        let Ok(head) = ChecksumPage::parse(page) else { continue };
        if head.number == row / rows {
            let mut values: Vec<u32> = ChecksumPage::checksums(page).take(rows as usize * 5).collect();
            values[(row % rows) as usize * 5 + member] = checksum;
            head.encode(&values, page);
        }
    }
}

/// Parity is wrong but matches its checksum in the table: a bug, or a change by hand.
#[test]
fn scrub_in_place_compares_parity_though_its_checksum_is_right() {
    let mut host = full(RAID5, 260);
    let (page, members) = first_row(&host);
    let first = host.array.geometry().first_page;
    host.disk().members[members[4]].pages[page][5] ^= 1;
    let checksum = crc32c(&host.disk().members[members[4]].pages[page]);
    host = host.lose_power();
    change_checksum(&mut host, members[4], page as u32 - first, checksum);
    let mut host = host.lose_power();
    let found = host.scrub();
    assert_eq!((found.bad, found.repaired, found.lost), (1, 1, 0), "{found:?}");
    let again = host.scrub();
    assert_eq!(again.bad, 0, "{again:?}");
    host.disk().members[members[0]].is_gone = true;
    let mut host = host.lose_power();
    assert_eq!(host.read(0), Some(1));
}
