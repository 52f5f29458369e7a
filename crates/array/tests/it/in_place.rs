//! An array in place with metadata: acknowledged content is present after the array is assembled again, whatever was in
//! flight.

use std::collections::BTreeSet;

use stripewise_array::format::{Copy, Features, IntentPage, RedoRecord, Uuid};
use stripewise_array::{AssemblyOptions, Controller, Outcome, RequestKind};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
const RAID6: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[code]\nkind = \"rdp\"\n";

fn host(scheme: &str) -> Host {
    Host::create(scheme, Disk::new(5, 260, 1024))
}

#[test]
fn what_was_acknowledged_is_there_after_a_loss_of_power() {
    for scheme in [RAID5, RAID6] {
        let mut host = host(scheme);
        for chunk in 0..40 {
            host.write(chunk, chunk as u8 + 1);
        }
        let mut host = host.lose_power();
        assert!(host.opened.replayed > 0 && host.opened.losses.is_empty());
        (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}"));
        assert_eq!(host.read(40), Some(0));
    }
}

#[test]
fn the_journal_never_fills_permanently_and_what_it_freed_is_in_place() {
    let mut host = host(RAID5);
    let chunks = host.capacity();
    let mut expected = vec![0; chunks as usize];
    for round in 0..3000u64 {
        let chunk = round * 7919 % chunks;
        let value = (round % 250 + 1) as u8;
        host.write(chunk, value);
        expected[chunk as usize] = value;
        if round % 500 == 0 {
            host = host.lose_power();
        }
    }
    let mut host = host.lose_power();
    for chunk in 0..chunks {
        assert_eq!(host.read(chunk), Some(expected[chunk as usize]), "chunk {chunk}");
    }
}

#[test]
fn any_member_may_be_gone_when_the_array_is_opened_and_is_stale_when_it_is_back() {
    for gone in 0..5 {
        let mut host = host(RAID5);
        (0..60).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
        host.disk().members[gone].is_gone = true;
        let mut host = host.lose_power();
        (0..60).for_each(|chunk| {
            assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk} without {gone}")
        });
        (0..60).for_each(|chunk| host.write(chunk, 200));
        host.disk().members[gone].is_gone = false;
        let mut host = host.lose_power();
        assert!(host.opened.positions[gone].is_none(), "it is stale");
        (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(200)));
    }
}

#[test]
fn a_member_that_failed_while_the_array_served_is_stale_when_it_is_back() {
    for gone in 0..5 {
        let mut host = host(RAID5);
        (0..60).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        host.disk().members[gone].is_gone = true;
        (0..60).for_each(|chunk| host.write(chunk, 2));
        host.disk().members[gone].is_gone = false;
        let mut host = host.lose_power();
        assert!(host.opened.positions[gone].is_none(), "a record says that it is missing");
        (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(2)));
    }
}

/// More members fail than parity tolerates while updates are in flight, and return: acknowledged content is present.
#[test]
fn members_that_failed_together_may_return_together() {
    let bitmap = "name = \"marked\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n";
    for (scheme, gone) in [(RAID5, &[1, 3][..]), (bitmap, &[1, 3]), (RAID6, &[0, 2, 4])] {
        for steps in 0..60 {
            let mut host = host(scheme);
            (0..60).for_each(|chunk| host.write(chunk, 1));
            host.flush();
            let begin =
                |host: &mut Host, chunk| (chunk, host.begin(RequestKind::Write, chunk, host.chunks(1, 2)));
            let mut begun: Vec<_> = (0..10).map(|nth| begin(&mut host, nth * 7)).collect();
            host.finish_within(steps);
            gone.iter().for_each(|&member| host.fail(member));
            begun.extend((0..10).map(|nth| begin(&mut host, nth * 7 + 3)));
            host.finish();
            let is_done = |host: &mut Host, tag| host.ended(tag).is_some_and(|end| end.is_some());
            begun.retain(|&(_, tag)| is_done(&mut host, tag));
            assert!(host.ask(RequestKind::Flush, 0, Box::default()).is_none());
            gone.iter().for_each(|&member| host.disk().members[usize::from(member)].is_gone = false);
            let mut host = host.lose_power();
            for chunk in 0..70 {
                let was_begun = chunk % 7 == 0 || chunk % 7 == 3;
                let is_done = begun.iter().any(|&(its, _)| its == chunk);
                let before = Some(u8::from(chunk < 60));
                let found = host.read(chunk);
                let is_right = found == before && !is_done || found == Some(2) && was_begun;
                assert!(
                    is_right,
                    "{scheme}: chunk {chunk} is {found:?} after {steps} steps, done: {is_done}"
                );
            }
        }
    }
}

/// A member fails while a record is written, and returns; then another member is lost. The record is found in all cases.
#[test]
fn a_record_of_which_a_copy_could_not_be_written_gets_another_one() {
    let mut lost_copies = 0;
    for (scheme, gone) in [(RAID5, 1), (RAID6, 2)] {
        for (failing, written) in (0..5).flat_map(|failing| (0..5).map(move |written| (failing, written))) {
            let mut host = host(scheme);
            (0..written).for_each(|chunk| host.write(chunk, 1));
            host.flush();
            host.take_log();
            host.disk().members[failing as usize].next_write = Some(Outcome::MediumError);
            host.write(written, 2);
            host.flush();
            let first = host.array.geometry().first_page;
            let on_record = host.take_log().iter().any(|&(member, page)| member == failing && page < first);
            lost_copies += u32::from(on_record && host.array.is_failed(MemberNo::new(failing)));
            for other in (0..5).filter(|&other| other != usize::from(failing)) {
                let mut disk = host.copy_of_disk();
                let lost = (0..gone).map(|nth| (other + nth) % 5).filter(|&its| its != usize::from(failing));
                lost.for_each(|member| disk.members[member].is_gone = true);
                let mut host = Host::open_as(scheme, disk);
                let found = host.read(written);
                assert_eq!(found, Some(2), "{scheme}: {written} written, {failing} failed, {other} gone");
            }
        }
    }
    assert!(lost_copies > 10, "{lost_copies}");
}

#[test]
fn a_member_that_was_put_back_to_what_it_had_long_ago_is_stale() {
    let mut host = host(RAID5);
    (0..60).for_each(|chunk| host.write(chunk, 1));
    let old = host.disk().members[1].pages.clone();
    let mut host = host.lose_power();
    (0..60).for_each(|chunk| host.write(chunk, 2));
    host.disk().members[1].pages = old;
    let mut host = host.lose_power();
    assert!(host.opened.positions[1].is_none(), "the others have a later epoch");
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
}

#[test]
fn rot_is_found_and_healed() {
    let mut host = host(RAID5);
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8));
    let first = host.array.geometry().first_page as usize;
    for page in first..first + 20 {
        host.disk().members[2].pages[page][7] ^= 4;
    }
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8), "chunk {chunk}"));
}

#[test]
fn a_row_that_was_trimmed_reads_as_zeros_from_then_on() {
    let mut host = host(RAID5);
    (0..40).for_each(|chunk| host.write(chunk, 9));
    host.trim(4, 8);
    host.write(5, 7);
    let mut host = host.lose_power();
    for chunk in 0..40 {
        let expected = match chunk {
            5 => 7,
            4..12 => 0,
            _ => 9,
        };
        assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
    }
}

#[test]
fn a_page_that_looks_like_a_record_of_the_journal_is_not_taken_for_one() {
    let mut host = host(RAID5);
    let page_bytes = host.chunks(1, 0).len();
    let forged = |nth: u64, epoch: u32| {
        // A record is a header, a page of data and a page of parity: this one claims to begin where its own image will
        // lie.
        let first = 3 * nth as u32 + 1;
        let record = RedoRecord {
            array: Uuid([7; 16]),
            epoch,
            number: 1000 + nth,
            tail: 1,
            missing: 1,
            first,
            entries: Vec::new(),
        };
        let mut page = vec![0; page_bytes];
        record.encode(&mut page);
        page.into_boxed_slice()
    };
    let epoch = host.opened.epoch;
    for row in 0..20 {
        assert!(host.ask(RequestKind::Write, 4 * row, forged(row, epoch)).is_some());
    }
    let mut host = host.lose_power();
    assert_eq!(host.opened.replayed, 20);
    for row in 0..20 {
        let buffer = host.chunks(1, 0);
        assert_eq!(host.ask(RequestKind::Read, 4 * row, buffer), Some(forged(row, epoch)), "row {row}");
    }
}

/// RAID-5 and RAID-6 with a parity window of `window` chunks.
fn late(window: u32) -> [String; 2] {
    [RAID5, RAID6].map(|scheme| format!("{scheme}[parity]\nwindow = {window}\n"))
}

/// Writes each of the chunks `0..20`, so that the parity of the last rows is deferred, and flushes.
fn with_late_parity(scheme: &str) -> Host {
    let mut host = host(scheme);
    for round in [0, 100] {
        (0..20).for_each(|chunk| host.write(chunk, chunk as u8 + 1 + round));
    }
    host.flush();
    assert!(host.array.deferred_rows() > 1, "a flush waits for no parity");
    host
}

#[test]
fn deferred_parity_survives_power_loss_and_as_many_member_losses_as_parity_tolerates() {
    for (scheme, gone) in late(12).iter().zip([1, 2]) {
        let host = with_late_parity(scheme);
        for first in 0..5 {
            let mut disk = host.copy_of_disk();
            for member in (0..gone).map(|nth| (first + nth) % 5) {
                disk.members[member].is_gone = true;
            }
            let mut host = Host::open_as(scheme, disk);
            assert!(host.opened.replayed > 0 && host.opened.losses.is_empty());
            (0..20).for_each(|chunk| {
                assert_eq!(host.read(chunk), Some(chunk as u8 + 101), "chunk {chunk} without {first}")
            });
        }
    }
}

#[test]
fn parity_that_was_late_is_that_of_its_data_when_the_array_is_opened() {
    for scheme in late(12) {
        let host = with_late_parity(&scheme).lose_power();
        let mut disk = host.copy_of_disk();
        let checked = host.array.check_all(&mut disk, &host.opened, &mut |trouble| panic!("{trouble}"));
        assert_eq!(checked.troubles, 0);
    }
}

#[test]
fn a_record_that_was_dropped_hides_none_that_got_its_number_in_an_opening_that_was_cut_short() {
    for scheme in late(12) {
        let mut host = with_late_parity(&scheme);
        let records = |disk: &Disk| -> Vec<(u32, RedoRecord)> {
            let pages = disk.members.iter().flat_map(|member| (0..).zip(&member.pages));
            pages.filter_map(|(page, content)| Some((page, RedoRecord::parse(content).ok()?))).collect()
        };
        let ends = |disk: &Disk| {
            let all = records(disk);
            let newest = all.iter().max_by_key(|(_, record)| record.number).unwrap();
            let tail = all.iter().find(|(_, record)| record.number == newest.1.tail).unwrap();
            (tail.clone(), newest.1.clone())
        };
        // The ring's newest record lies after its oldest, and so will the next one.
        for chunk in (0..20).cycle() {
            let ((_, tail), newest) = ends(&host.copy_of_disk());
            if host.array.deferred_rows() > 1 && 0 < tail.first && tail.first < newest.first {
                break;
            }
            host.write(chunk, chunk as u8 + 101);
        }
        let before = host.copy_of_disk();
        let ((page, tail), newest) = ends(&before);
        // Before all others lies the header of a record that was in progress, without its images.
        let dropped = RedoRecord { number: newest.number + 1, first: tail.first - 1, ..newest };
        let mut disk = before.clone();
        dropped.encode(&mut disk.members[0].pages[page as usize - 1]);
        let begun = Host::open_as(&scheme, disk);
        assert_eq!(begun.opened.dropped, 1);
        // Power fails just before the superblocks are written.
        let mut disk = begun.copy_of_disk();
        for (member, old) in disk.members.iter_mut().zip(&before.members) {
            let back = old.pages.len() - 4;
            member.pages[..4].clone_from_slice(&old.pages[..4]);
            member.pages[back..].clone_from_slice(&old.pages[back..]);
        }
        let found = records(&disk);
        let that = found.iter().filter(|(_, record)| record.number == newest.number + 1);
        let places: BTreeSet<u32> = that.map(|(page, _)| *page).collect();
        assert_eq!(places.len(), 2, "its number was given again");
        assert_eq!(places.first(), Some(&(page - 1)), "the dropped one is read first");
        for gone in 0..5 {
            let mut disk = disk.clone();
            disk.members[gone].is_gone = true;
            let mut host = Host::open_as(&scheme, disk);
            (0..20).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 101), "chunk {chunk}"));
        }
    }
}

#[test]
fn an_array_whose_parity_is_late_is_not_opened_for_reading_alone() {
    for scheme in late(12) {
        let host = with_late_parity(&scheme);
        let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
        let refusal = host.try_open(opening).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refusal.contains("open it for writing first"), "{refusal}");
        assert!(host.lose_power().try_open(opening).is_ok());
    }
}

#[test]
fn deferred_parity_never_fills_the_journal_permanently() {
    for window in [1, 6, 40, 1000] {
        for scheme in late(window) {
            let mut host = Host::create(&scheme, Disk::new(5, 260, 1024));
            let chunks = host.capacity();
            let mut expected = vec![0; chunks as usize];
            for round in 0..2000u64 {
                // Some rows are written repeatedly.
                let chunk = if round % 3 == 0 { round / 3 % 24 } else { round * 7919 % chunks };
                let value = (round % 250 + 1) as u8;
                host.write(chunk, value);
                expected[chunk as usize] = value;
                if round % 700 == 650 {
                    host.trim(4, 8);
                    (4..12).for_each(|chunk| expected[chunk] = 0);
                }
                if round % 500 == 0 {
                    host = host.lose_power();
                }
            }
            let mut host = host.lose_power();
            for chunk in 0..chunks {
                assert_eq!(host.read(chunk), Some(expected[chunk as usize]), "{scheme} chunk {chunk}");
            }
        }
    }
}

#[test]
fn a_member_that_fails_or_returns_or_a_scrub_finds_no_parity_late() {
    for scheme in late(12) {
        let mut host = with_late_parity(&scheme);
        let counts = host.scrub();
        assert_eq!((counts.bad, host.array.deferred_rows()), (0, 0));
        (0..20).for_each(|chunk| host.write(chunk, 7));
        assert!(host.array.deferred_rows() > 1);
        host.fail(3);
        (0..20).for_each(|chunk| assert_eq!(host.read(chunk), Some(7)));
        (0..20).for_each(|chunk| host.write(chunk, 8));
        host.disk().members[3].is_gone = false;
        host.rejoin(3, host.returned(3));
        host.finish_rebuild();
        host.flush();
        let mut host = host.lose_power();
        assert!(host.opened.positions.iter().all(Option::is_some));
        assert_eq!(host.scrub().bad, 0);
        host.disk().members[1].is_gone = true;
        (0..20).for_each(|chunk| assert_eq!(host.read(chunk), Some(8)));
    }
}

#[test]
fn a_program_that_knows_no_deferred_parity_does_not_open_an_array_that_may_have_it() {
    let [late, _] = late(12);
    for (scheme, expected) in [(late.as_str(), Features::LATE_PARITY), (RAID5, 0)] {
        // The scheme at assembly, not the one at creation, determines what records may have.
        for created in [RAID5, &late] {
            let mut host = Host::open_as(scheme, host(created).copy_of_disk());
            host.change_superblock(0, Copy::Back, &|block| {
                assert_eq!(block.features.incompatible, expected);
            });
        }
    }
}

const BITMAP: &str = "name = \"marked\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n";

#[test]
fn only_marked_regions_are_recomputed_after_a_loss_of_power() {
    let mut host = host(BITMAP);
    let chunks = host.capacity();
    for chunk in 0..chunks {
        host.write(chunk, chunk as u8);
        if chunk % 16 == 0 {
            host.flush();
        }
    }
    host.flush();
    // Two more writes with flushes between them: the mark of the second write clears the bits of all earlier ones.
    for chunk in [0, chunks - 1] {
        host.write(chunk, 77);
        host.flush();
    }
    let mut host = host.lose_power();
    for chunk in 0..chunks {
        let expected = if chunk == 0 || chunk == chunks - 1 { 77 } else { chunk as u8 };
        assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
    }
    let read = host.pre_reads();
    assert!(read > 0 && read < chunks / 2, "{read} of {chunks} chunks were read to make parity anew");
}

#[test]
fn the_parity_of_a_marked_row_is_recomputed() {
    let mut host = host(BITMAP);
    (0..4).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    // By the left-symmetric rotation, the last member has the parity of row 0. The page looks as if its write had been
    // interrupted.
    let page = host.array.geometry().first_page as usize;
    host.disk().members[4].pages[page].fill(0xa5);
    for gone in 0..4 {
        let mut host = host.copy().lose_power();
        assert_eq!(host.read(0), Some(1));
        host.disk().members[gone].is_gone = true;
        (0..4).for_each(|chunk| {
            assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk} without {gone}")
        });
    }
}

#[test]
fn any_other_member_knows_by_the_bitmap_which_one_failed() {
    for failed in 0..5 {
        let mut host = host(BITMAP);
        (0..60).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        host.fail(failed);
        (0..60).for_each(|chunk| host.write(chunk, 2));
        host.flush();
        for gone in (0..5).filter(|&gone| gone != usize::from(failed)) {
            let mut disk = host.copy_of_disk();
            disk.members[usize::from(failed)].is_gone = false;
            disk.members[gone].is_gone = true;
            let refusal = Host::refusal(BITMAP, disk);
            assert!(refusal.contains("the array continued without them"), "{failed}, {gone} gone: {refusal}");
        }
    }
}

/// As older programs wrote it: on P + 1 members only.
#[test]
fn a_bitmap_that_some_members_lack_is_that_of_the_others() {
    let mut host = host(BITMAP);
    (0..60).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    host.fail(4);
    (0..60).for_each(|chunk| host.write(chunk, 2));
    host.flush();
    let mut disk = host.copy_of_disk();
    disk.members[4].is_gone = false;
    let bitmaps = |disk: &Disk| -> Vec<(usize, usize)> {
        let all = disk.members.iter().enumerate().flat_map(|(member, its)| {
            let pages = (0..its.pages.len()).filter(|&page| IntentPage::parse(&its.pages[page]).is_ok());
            pages.map(move |page| (member, page))
        });
        all.collect()
    };
    let places = bitmaps(&disk);
    assert_eq!(places.len(), 10, "two versions on each");
    for (member, page) in places.into_iter().filter(|&(member, _)| member > 1) {
        disk.members[member].pages[page].fill(0);
    }
    let mut host = Host::open_as(BITMAP, disk);
    assert!(host.opened.positions[4].is_none() && host.opened.damaged.is_empty());
    let places = bitmaps(&host.copy_of_disk());
    assert!((0..4).all(|member| places.iter().any(|its| its.0 == member)), "now all have it: {places:?}");
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
}

#[test]
fn with_a_bitmap_too_a_member_that_failed_is_stale_when_it_is_back() {
    for gone in 0..5 {
        let mut host = host(BITMAP);
        (0..60).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        host.disk().members[gone].is_gone = true;
        (0..60).for_each(|chunk| host.write(chunk, 2));
        host.flush();
        host.disk().members[gone].is_gone = false;
        let mut host = host.lose_power();
        assert!(host.opened.positions[gone].is_none(), "the bitmap says that it is missing");
        (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
    }
}
