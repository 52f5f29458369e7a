//! Classification of damage as lost, reduced redundancy or neither: check, scrub and rebuild compared with reads.

use std::collections::BTreeSet;

use stripewise_array::format::{Summary, Uuid};
use stripewise_array::{Array, AssemblyOptions, Checked, Members, PageMemory, Rejoining, Scheme, Trouble};
use stripewise_testkit::Disk;

use crate::host::Host;

const PAGE: u32 = 1024;
const LOG: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const RAID6: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n";
const BITMAP: &str = "name = \"marked\"\nmetadata = \"on\"\n\
    [geometry]\nlevel = \"raid6\"\n[journal]\npolicy = \"intent-bitmap\"\n";

type Stripe = Vec<(u16, u32, Option<u64>)>;

/// Assembles the array read-only with `opening`, and checks it.
fn check_so(scheme: &str, disk: &Disk, opening: AssemblyOptions) -> (Checked, Vec<Trouble>) {
    let mut read = disk.clone();
    let pages = disk.members[0].pages.len() as u32;
    let members = Members { discard: false, ..Members::opaque(disk.members.len() as u32, PAGE, pages) };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    let opening = AssemblyOptions { read_only: true, ..opening };
    let (array, opened) =
        Array::open(&scheme, members, PageMemory::new(PAGE), &mut read, opening).expect("it opens");
    let mut troubles = Vec::new();
    let checked = array.check_all(&mut read, &opened, &mut |trouble| troubles.push(trouble.clone()));
    (checked, troubles)
}

fn check(scheme: &str, disk: &Disk) -> (Checked, Vec<Trouble>) {
    check_so(scheme, disk, AssemblyOptions::default())
}

/// A host that has written `chunks` chunks, each with its number plus 1.
fn written(scheme: &str, members: usize, chunks: u64) -> Host {
    let mut host = Host::create(scheme, Disk::new(members, 400, PAGE));
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    host
}

/// The members and pages of the stripe that holds `chunk`, with the live chunks.
fn stripe_of(host: &Host, chunk: u64) -> Stripe {
    let place = host.array.chunk_in_log(chunk).expect("it was written");
    let stripes = host.array.stripes();
    let its = stripes.iter().find(|stripe| stripe.columns.iter().any(|column| (column.1, column.2) == place));
    let columns = &its.expect("it is in a stripe").columns;
    columns.iter().map(|&(_, member, page, chunk)| (member.number(), page, chunk)).collect()
}

/// Changes a bit, a different one on each member, so that the changes do not cancel out in parity.
fn rot(host: &mut Host, (member, page): (u16, u32)) {
    host.disk().members[usize::from(member)].pages[page as usize][7] ^= 1 << member;
}

/// A used device replaces `member`, and all resulting work completes.
fn replace(host: &mut Host, member: u16) {
    host.fail(member);
    host.finish();
    {
        let disk = host.disk();
        let its = &mut disk.members[usize::from(member)];
        its.is_gone = false;
        its.pages.iter_mut().for_each(|page| page.fill(0xa5));
    }
    host.rejoin(member, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 400 });
    host.finish_rebuild();
    host.finish();
    host.flush();
    host.finish();
}

/// The members and pages of the row in place that holds `chunk`, data before parity.
fn row_of(host: &Host, chunk: u64) -> Vec<(u16, u32)> {
    let (row, _) = host.array.locate(chunk).expect("it has a place");
    let geometry = host.array.geometry();
    let place = geometry.place(row);
    (0..geometry.columns).map(|column| (geometry.member(place, column).number(), place.page)).collect()
}

/// While columns are absent, the checksums of their parity are unknown; decoding data does not need them.
#[test]
fn of_raid6_in_place_without_two_members_nothing_is_lost_as_reads_say() {
    let mut host = Host::create(RAID6, Disk::new(6, 260, PAGE));
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, 1));
    host.fail(1);
    host.fail(3);
    (0..chunks).step_by(3).for_each(|chunk| host.write(chunk, chunk as u8));
    host.flush();
    let mut host = host.lose_power();
    let (checked, troubles) = check(RAID6, &host.copy_of_disk());
    assert_eq!((troubles, checked.lost, checked.chunks), (vec![], 0, chunks));
    for chunk in 0..chunks {
        let expected = if chunk.is_multiple_of(3) { chunk as u8 } else { 1 };
        assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
    }
}

#[test]
fn damaged_pages_that_no_longer_count_are_no_trouble_and_no_rebuild_counts_them() {
    let mut host = written(LOG, 5, 40);
    let stripe = stripe_of(&host, 17);
    for &(.., chunk) in &stripe {
        chunk.into_iter().for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    }
    host.flush();
    host.finish();
    rot(&mut host, (stripe[0].0, stripe[0].1));
    let (checked, troubles) = check(LOG, &host.copy_of_disk());
    assert_eq!((troubles, checked.dead), (vec![], 1), "everything that counts is in other stripes");
    replace(&mut host, stripe[1].0);
    assert_eq!(host.array.rebuild_lost(), 0);
    let (checked, troubles) = check(LOG, &host.copy_of_disk());
    assert_eq!((troubles, checked.lost, checked.chunks), (vec![], 0, 40));
    (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1)));
}

#[test]
fn a_scrub_saves_what_can_be_read_of_a_stripe_that_lost_data_and_counts_the_rest() {
    let mut host = written(LOG, 5, 40);
    let stripe = stripe_of(&host, 17);
    let data: Vec<_> = stripe.into_iter().filter(|column| column.2.is_some()).collect();
    assert_eq!(data.len(), 4, "a full stripe");
    data[..2].iter().for_each(|&(member, page, _)| rot(&mut host, (member, page)));
    let lost: BTreeSet<u64> = data[..2].iter().filter_map(|column| column.2).collect();
    let counts = host.scrub();
    assert_eq!((counts.lost, counts.repaired), (2, 0));
    host.flush();
    host.finish();
    let (checked, _) = check(LOG, &host.copy_of_disk());
    assert_eq!((checked.lost, checked.reduced), (2, 0));
    // The saved content tolerates another loss.
    host.fail(data[2].0);
    for chunk in 0..40 {
        assert_eq!(host.read(chunk), (!lost.contains(&chunk)).then_some(chunk as u8 + 1), "chunk {chunk}");
    }
}

#[test]
fn only_a_scrub_that_reads_everything_and_finds_nothing_lost_ends_the_count_of_a_rebuild() {
    let mut host = written(LOG, 5, 40);
    let stripe = stripe_of(&host, 17);
    let data: Vec<_> = stripe.into_iter().filter(|column| column.2.is_some()).collect();
    rot(&mut host, (data[0].0, data[0].1));
    replace(&mut host, data[1].0);
    assert_eq!(host.array.rebuild_lost(), 1);
    host.begin_scrub();
    host.array.stop_scrub();
    host.finish();
    assert_eq!(host.array.rebuild_lost(), 1, "one that was stopped proves nothing");
    assert_eq!(host.scrub().lost, 2);
    assert_eq!(host.array.rebuild_lost(), 1);
    data[..2].iter().filter_map(|column| column.2).for_each(|chunk| host.write(chunk, 99));
    host.flush();
    assert_eq!(host.scrub().lost, 0);
    assert_eq!(host.array.rebuild_lost(), 0);
}

/// In place, and in a log.
#[test]
fn a_rebuild_that_meets_damage_which_it_reads_around_is_followed_by_a_scrub() {
    for scheme in [RAID6, &LOG.replace("raid5", "raid6")] {
        let mut host = written(scheme, 6, 60);
        let (bad, gone) = match scheme == RAID6 {
            true => (row_of(&host, 13)[0], row_of(&host, 13)[1].0),
            false => {
                let stripe = stripe_of(&host, 13);
                let mut data = stripe.iter().filter(|column| column.2.is_some());
                let mut next = || *data.next().expect("it has several");
                let ((member, page, _), (gone, ..)) = (next(), next());
                ((member, page), gone)
            }
        };
        rot(&mut host, bad);
        replace(&mut host, gone);
        assert_eq!(host.array.rebuild_lost(), 0);
        let counts = host.array.scrub_counts().0;
        assert!(counts.bad > 0 && counts.repaired > 0 && counts.lost == 0, "{counts:?}");
        assert_eq!(check(scheme, &host.copy_of_disk()).1, []);
    }
}

/// If a segment begins with a slot of an absent column, the summary of its first batch begins before the first copy.
#[test]
fn data_written_without_a_member_has_checksums_of_its_parity() {
    let mut host = written(LOG, 5, 10);
    host.fail(0);
    (10..50).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let parities: Vec<(u16, u32)> = (10..50)
        .flat_map(|chunk| stripe_of(&host, chunk))
        .filter(|column| column.2.is_none())
        .map(|(member, page, _)| (member, page))
        .collect();
    for (member, page) in parities {
        let mut host = host.copy();
        rot(&mut host, (member, page));
        let (_, troubles) = check(LOG, &host.copy_of_disk());
        let is_named = matches!(troubles[..], [Trouble::Page { chunk: None, decodes: true, .. }]);
        assert!(is_named, "{troubles:?}");
        let counts = host.scrub();
        assert_eq!((counts.bad, counts.repaired + counts.obsolete), (1, 1));
    }
}

/// Neither page has a checksum: when the unreadable page is rewritten, the parity of the row is still wrong.
#[test]
fn without_checksums_one_scrub_repairs_a_row_that_is_damaged_twice() {
    let mut host = Host::create(BITMAP, Disk::new(6, 260, PAGE));
    (0..host.capacity()).for_each(|chunk| host.write(chunk, 7));
    host.flush();
    let row = row_of(&host, 21);
    host.disk().members[usize::from(row[4].0)].unreadable.insert(row[4].1);
    rot(&mut host, row[5]);
    let counts = host.scrub();
    assert_eq!((counts.bad, counts.repaired, counts.lost), (2, 2, 0));
    assert_eq!(check(BITMAP, &host.copy_of_disk()).1, []);
}

#[test]
fn chunks_that_were_lost_with_their_summary_are_counted_by_a_scrub_too() {
    let mut host = written(LOG, 5, 40);
    let copies: Vec<(u16, u32)> = {
        let disk = host.disk();
        let first = |page: &[u8]| Summary::parse(page).is_ok_and(|summary| summary.header.batch == 1);
        let pages = |member: usize| (0..).zip(&disk.members[member].pages);
        (0..5u16)
            .flat_map(|member| pages(member.into()).map(move |(page, its)| ((member, page), its)))
            .filter(|(_, its)| first(its))
            .map(|(at, _)| at)
            .collect()
    };
    // A checkpoint records its chunks.
    host.begin_checkpoint();
    host.finish();
    host.flush();
    assert_eq!(copies.len(), 2, "P + 1 copies");
    copies.into_iter().for_each(|at| rot(&mut host, at));
    let force = AssemblyOptions { force: true, ..AssemblyOptions::default() };
    let (checked, _) = check_so(LOG, &host.copy_of_disk(), force);
    assert!(checked.lost > 0);
    let mut host = host.try_open(force).expect("it is forced");
    assert_eq!(host.array.state().scrub_lost, checked.lost, "the health tells it before a scrub");
    let failing = (0..host.capacity()).filter(|&chunk| host.read(chunk).is_none()).count() as u64;
    assert_eq!((failing, host.scrub().lost), (checked.lost, checked.lost));
}
