//! Invariants of the log, as the content of the members shows them. Invariants that need a power loss at every time are
//! scenarios of the checking simulation.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_array::format::{
    CheckpointHeader, Entry, EntryRole, MemberState, Summary, SummaryHeader, Superblock, Uuid, crc32c,
};
use stripewise_array::{AssemblyOptions, Rejoining};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n[hotness]\npolicy = \"glru\"\n\
    tiers = 2\n";

fn raid6() -> String {
    RAID5.replace("raid5", "raid6")
}

/// A host that has written everything twice and half of it five times, with flushes.
fn worn(scheme: &str, members: usize) -> Host {
    let mut host = Host::create(scheme, Disk::new(members, 400, 1024));
    let chunks = host.capacity();
    for round in 0..5 {
        for chunk in (0..chunks).filter(|chunk| round < 2 || chunk % 2 == 0) {
            host.write(chunk, (round * 40 + chunk % 40) as u8 + 1);
            if chunk % 61 == 0 {
                host.flush();
            }
        }
    }
    host.flush();
    host
}

/// All pages of summaries on the members, including old generations.
fn summaries(host: &mut Host) -> Vec<(usize, SummaryHeader, Vec<Entry>)> {
    let disk = host.disk();
    let pages = disk.members.iter().enumerate();
    let pages = pages.flat_map(|(number, member)| member.pages.iter().map(move |page| (number, page)));
    let found = pages.filter_map(|(number, page)| Some((number, Summary::parse(page).ok()?)));
    found.map(|(number, summary)| (number, summary.header, summary.entries().collect())).collect()
}

fn superblock(host: &mut Host) -> Superblock {
    let bytes = host.disk().members[0].pages[..4].concat();
    Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn invariant_a_a_flush_closes_the_stripe_short_and_with_parity_on_members_of_its_own() {
    let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
    host.write(5, 1);
    host.flush();
    host.write(6, 1);
    host.write(7, 1);
    host.flush();
    host.fail(0);
    (8..11).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    let stripes = host.array.stripes();
    let widths: Vec<usize> = stripes.iter().map(|stripe| stripe.columns.len()).collect();
    assert_eq!(widths, [2, 3, 3, 2], "one and P, two and P; without a member two and P, and one and P");
    for stripe in &stripes {
        let members: BTreeSet<u16> = stripe.columns.iter().map(|member| member.1.number()).collect();
        assert_eq!(members.len(), stripe.columns.len(), "each on a member of its own");
        assert!(stripe.columns.iter().any(|member| member.3.is_none()), "with parity");
    }
    assert!(
        stripes[2..].iter().flat_map(|stripe| &stripe.columns).all(|member| member.1 != MemberNo::new(0))
    );
}

#[test]
fn invariant_a_and_g_no_slot_is_written_again_before_a_checkpoint_that_does_not_name_its_segment() {
    let mut host = worn(RAID5, 4);
    let superblock = superblock(&mut host);
    let area = superblock.checkpoint;
    let headers = [area.first, area.first + area.pages];
    let data = superblock.data.first..superblock.data.first + superblock.data.pages;
    let (mut written, mut again, mut headers_flushed) = (BTreeMap::new(), 0, 0u32);
    let mut is_header_written = false;
    for (member, page) in host.take_log() {
        if headers.contains(&page) {
            is_header_written = true;
        } else if page == u32::MAX {
            headers_flushed += u32::from(std::mem::take(&mut is_header_written));
        } else if data.contains(&page)
            && let Some(before) = written.insert((member, page), headers_flushed)
        {
            again += 1;
            assert!(before < headers_flushed, "page {page} of member {member} is written again too early");
        }
    }
    assert!(again > 100, "{again} pages were written again");
}

#[test]
fn invariant_b_summaries_have_a_copy_more_than_parity_tolerates_losses_and_record_all_of_each_chunk() {
    for (scheme, members, copies) in [(RAID5.to_string(), 4, 2), (raid6(), 5, 3)] {
        let mut host = worn(&scheme, members);
        let array = superblock(&mut host).array;
        let mut on: BTreeMap<(u32, u64), BTreeSet<usize>> = BTreeMap::new();
        for (member, header, _) in summaries(&mut host) {
            assert_eq!(header.array, array);
            on.entry((header.epoch, header.batch)).or_default().insert(member);
        }
        // Single copies of old ones may already be overwritten.
        let newest = on.keys().next_back().copied().unwrap_or_default();
        assert_eq!(on[&newest].len(), copies, "copies on members of their own");
        for stripe in host.array.stripes() {
            for (_, member, page, chunk) in stripe.columns {
                let Some(chunk) =
                    chunk.filter(|&chunk| host.array.chunk_in_log(chunk) == Some((member, page)))
                else {
                    continue;
                };
                let content = crc32c(&host.disk().members[member.index()].pages[page as usize]);
                let is_recorded = summaries(&mut host).iter().any(|(on, _, entries)| {
                    *on != member.index()
                        && entries.iter().any(|entry| {
                            entry.role == EntryRole::Data && (entry.chunk, entry.checksum) == (chunk, content)
                        })
                });
                assert!(is_recorded, "only its own member records chunk {chunk}");
                if chunk > 20 {
                    break;
                }
            }
        }
    }
}

#[test]
fn invariant_e_a_chunk_that_is_moved_keeps_its_write_seq() {
    let mut host = worn(RAID5, 4);
    assert!(host.array.log_counts().moved > 50);
    let mut born: BTreeMap<(u64, u64), BTreeSet<u32>> = BTreeMap::new();
    let mut places: BTreeMap<(u64, u64), BTreeSet<u64>> = BTreeMap::new();
    for (_, header, entries) in summaries(&mut host) {
        for entry in entries.iter().filter(|entry| entry.role == EntryRole::Data) {
            born.entry((entry.chunk, entry.write_seq)).or_default().insert(entry.checksum);
            places.entry((entry.chunk, entry.write_seq)).or_default().insert(header.batch);
        }
    }
    assert!(born.values().all(|contents| contents.len() == 1), "one birth, one content");
    assert!(places.values().any(|batches| batches.len() > 1), "some are in several batches");
}

#[test]
fn invariant_h_a_checkpoint_that_was_begun_and_not_finished_is_skipped() {
    let mut host = worn(RAID5, 4);
    let area = superblock(&mut host).checkpoint;
    let newest = |host: &mut Host| {
        let disk = host.disk();
        let slots = [area.first, area.first + area.pages];
        let headers = disk.members.iter().flat_map(|member| slots.map(|first| &member.pages[first as usize]));
        headers.filter_map(|page| CheckpointHeader::parse(page).ok()).map(|header| header.number).max()
    };
    let number = newest(&mut host).unwrap_or_default();
    // The next checkpoint goes to the other slot: torn anywhere, it changes nothing.
    let other = area.first + (number + 1) as u32 % 2 * area.pages;
    for torn in other..other + area.pages {
        let mut host = host.copy_of_disk();
        for member in &mut host.members {
            member.pages[torn as usize].fill(0x5a);
        }
        let mut host = Host::open_as(RAID5, host);
        assert_eq!(host.read(2), Some((4 * 40 + 2) as u8 + 1));
    }
}

/// Destroys all copies of the newest checkpoint.
fn destroy_newest_checkpoint(host: &mut Host) {
    let area = superblock(host).checkpoint;
    let slots = [area.first as usize, (area.first + area.pages) as usize];
    let number = |page: &[u8]| CheckpointHeader::parse(page).ok().map(|header| (header.epoch, header.number));
    let members = &mut host.disk().members;
    let headers = members.iter().flat_map(|member| slots.map(|first| number(&member.pages[first])));
    let newest = headers.max().flatten();
    for member in members {
        for first in slots {
            let page = &mut member.pages[first];
            if number(page) == newest {
                page.fill(0);
            }
        }
    }
}

/// For each checkpoint number, the count of members that have its header.
fn headers(host: &mut Host) -> BTreeMap<u64, usize> {
    let area = superblock(host).checkpoint;
    let slots = [area.first as usize, (area.first + area.pages) as usize];
    let disk = host.disk();
    let pages = disk.members.iter().flat_map(|member| slots.map(|first| &member.pages[first]));
    let mut counts = BTreeMap::new();
    pages
        .filter_map(|page| CheckpointHeader::parse(page).ok())
        .for_each(|header| *counts.entry(header.number).or_default() += 1);
    counts
}

/// Assembly overwrites the checkpoint before the newest. If power fails then, the newest one is the only one.
#[test]
fn invariant_h_a_checkpoint_that_lacks_a_copy_has_it_before_the_one_before_it_goes() {
    for (scheme, members, copies) in [(RAID5.to_string(), 4, 2), (raid6(), 5, 3)] {
        let mut host = worn(&scheme, members);
        let (&number, &count) = headers(&mut host).last_key_value().expect("there is one");
        assert_eq!(count, copies);
        let area = superblock(&mut host).checkpoint;
        let first = (area.first + (number % 2) as u32 * area.pages) as usize;
        let is_it = |page: &[u8]| CheckpointHeader::parse(page).is_ok_and(|header| header.number == number);
        let mut disk = host.copy_of_disk();
        let torn = disk.members.iter_mut().find(|member| is_it(&member.pages[first]));
        torn.expect("one has it").pages[first].fill(0);
        let mut host = Host::open_as(&scheme, disk);
        let found = headers(&mut host);
        assert_eq!(
            (found.get(&number), found.get(&(number + 1))),
            (Some(&copies), Some(&copies)),
            "{found:?}"
        );
    }
}

#[test]
fn invariant_h_without_its_newest_checkpoint_an_array_is_opened_by_force_alone() {
    let mut host = worn(RAID5, 4);
    let chunks = host.capacity();
    (0..chunks).step_by(2).for_each(|chunk| host.trim(chunk, 1));
    host.flush();
    for when in ["behind a checkpoint while it served", "behind the one that opening it wrote"] {
        destroy_newest_checkpoint(&mut host);
        let refused = host.try_open(AssemblyOptions::default()).err().map(|error| error.to_string());
        let refused = refused.unwrap_or_else(|| panic!("{when} it is refused"));
        assert!(refused.contains("names checkpoint"), "{when}: {refused}");
        let forced = host.try_open(AssemblyOptions { force: true, ..AssemblyOptions::default() });
        let forced = forced.unwrap_or_else(|error| panic!("{when}: {error}"));
        assert!(forced.opened.losses.iter().any(|loss| loss.contains("names checkpoint")), "{when}");
        host = forced.lose_power();
        assert!(host.opened.losses.is_empty(), "{when}: it is told once");
    }
}

#[test]
fn invariant_l_a_rebuild_continues_where_it_was_after_a_loss_of_power() {
    let mut host = Host::create(RAID5, Disk::new(4, 1600, 1024));
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    host.fail(1);
    host.disk().members[1].is_gone = false;
    host.disk().members[1].pages.iter_mut().for_each(|page| page.fill(0xa5));
    host.rejoin(1, Rejoining::Replacement { uuid: Uuid([0x99; 16]), pages: 1600 });
    // Continue until superblocks record a large part of the rebuild. The checkpoint that the return asks for records a small one.
    let cursor = |host: &mut Host| superblock(host).members[1].cursor;
    while cursor(&mut host) < 64 {
        host.complete_one();
    }
    let mut host = host.lose_power();
    let (member, done, all) = host.array.rebuilding().expect("it goes on");
    assert!(member == MemberNo::new(1) && done >= 64 && done < all, "from where it was: {done} of {all}");
    assert_eq!(superblock(&mut host).members[1].state, MemberState::Rebuilding);
    host.finish_rebuild();
    host.flush();
    host.disk().members[3].is_gone = true;
    let mut host = host.lose_power();
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1), "chunk {chunk}"));
}

#[test]
fn invariant_n_members_are_known_by_their_identifiers_in_whatever_order_they_are_offered() {
    let mut host = worn(RAID5, 4);
    let expected: Vec<Option<u8>> = (0..20).map(|chunk| host.read(chunk)).collect();
    let mut disk = host.copy_of_disk();
    disk.members.rotate_left(1);
    disk.members.swap(0, 2);
    let opened = Host::opened_as(RAID5, disk, AssemblyOptions::default());
    assert_eq!(opened.positions, [Some(3), Some(2), Some(1), Some(0)]);
    assert_eq!(expected, (0..20).map(|chunk| host.read(chunk)).collect::<Vec<_>>());
    // A member that is present twice.
    let mut disk = host.copy_of_disk();
    disk.members[3] = disk.members[2].clone();
    let refused = Host::refusal(RAID5, disk);
    assert!(refused.contains("are both member 2"), "{refused}");
}

#[test]
fn invariant_i_and_l_power_may_go_after_any_operation_of_a_rebuild() {
    let build = || {
        let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
        let chunks = host.capacity();
        (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
        host.flush();
        host.fail(1);
        (0..40).for_each(|chunk| host.write(chunk * 2, 200));
        host.flush();
        host.disk().members[1].is_gone = false;
        host
    };
    let expected = |chunk: u64| if chunk < 80 && chunk.is_multiple_of(2) { 200 } else { chunk as u8 | 1 };
    let another = Rejoining::Replacement { uuid: Uuid([0x66; 16]), pages: 400 };
    for (is_another, stride) in [(false, 1), (true, 41)] {
        let how = |host: &Host| if is_another { another } else { host.returned(1) };
        let mut host = build();
        if is_another {
            host.disk().members[1].pages.iter_mut().for_each(|page| page.fill(0));
        }
        let it = how(&host);
        host.rejoin(1, it);
        let (mut cuts, mut continued) = (0, 0);
        for step in 0.. {
            let is_over = host.array.rebuilding().is_none();
            if step % stride == 0 || is_over {
                // Power fails here. Afterwards the member is in the array and is rebuilt further, or returns once more.
                let mut after = host.copy();
                cuts += 1;
                match after.opened.positions[1] {
                    Some(_) => continued += 1,
                    None => {
                        let it = how(&after);
                        after.rejoin(1, it);
                    }
                }
                after.finish_rebuild();
                after.write(3, 77);
                after.flush();
                after.disk().members[3].is_gone = true;
                let mut after = after.lose_power();
                for chunk in (0..after.capacity()).filter(|&chunk| chunk != 3) {
                    assert_eq!(
                        after.read(chunk),
                        Some(expected(chunk)),
                        "chunk {chunk}, after {step}, {it:?}"
                    );
                }
                assert_eq!(after.read(3), Some(77));
            }
            if is_over {
                break;
            }
            host.complete_one();
        }
        assert!(cuts > 15 && continued > 10, "{cuts} cuts, after {continued} of which the rebuild went on");
    }
}

/// A batch that was written without a flush lacks a page: the batch is dropped, and its segment is opened under a new
/// generation.
#[test]
fn invariant_d_a_segment_in_which_something_was_dropped_is_opened_under_a_generation_of_its_own() {
    let mut host = Host::create(RAID5, Disk::new(4, 400, 1024));
    host.write(0, 1);
    host.flush();
    let first = host.opened.epoch;
    let checkpoints = host.array.metadata_counts().checkpoints;
    (0..60).for_each(|chunk| host.write(chunk, 2));
    assert_eq!(host.array.metadata_counts().checkpoints, checkpoints, "none names the segment");
    let newest = |host: &mut Host| {
        let all = summaries(host);
        all.iter().map(|(_, header, _)| (header.segment, header.generation)).max().unwrap_or_default()
    };
    let (segment, dropped) = newest(&mut host);
    let stripes = host.array.stripes();
    let superblock = superblock(&mut host);
    for (_, member, page, _) in stripes.iter().flat_map(|stripe| &stripe.columns) {
        if (page - superblock.data.first) / superblock.segment_rows == segment {
            host.disk().members[(*member).index()].pages[*page as usize].fill(0x5a);
        }
    }
    let mut host = host.lose_power();
    assert!(host.opened.dropped > 0, "something was begun there");
    let chunks = host.capacity();
    let again = (0..10 * chunks).find_map(|round| {
        host.write(round % chunks, 3);
        let all = summaries(&mut host);
        let its = |header: &SummaryHeader| header.segment == segment && header.epoch > first;
        all.iter().find(|(_, header, _)| its(header)).map(|(_, header, _)| header.generation)
    });
    let again = again.expect("it is opened some time");
    assert!(again > dropped, "generation {again} of segment {segment} was begun in an epoch before");
}
