//! The order in which the log writes the metadata that makes it durable, with the flushes in between (`docs/design/format.md`).
//! The order determines after which write power may fail, and which members may then be missing.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_array::format::{Commit, Copy, MemberState, Superblock, Uuid, superblock_pages};
use stripewise_array::{AssemblyOptions, Bug, Controller, Outcome, Rejoining};
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use crate::host::Host;

const PAGES: u32 = 400;
const PAGE_BYTES: u32 = 1024;

fn scheme(level: &str) -> String {
    format!(
        "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n"
    )
}

fn host(level: &str, members: usize) -> Host {
    Host::create(&scheme(level), Disk::new(members, PAGES, PAGE_BYTES))
}

/// The target of a write to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Front,
    Back,
    /// A header, in this slot.
    Header(u32),
    Body(u32),
    /// A commit record, in this page of the ring.
    Commit(u32),
    /// Stripes and summaries.
    Data,
}

/// The places of all areas.
struct Map {
    superblock: Superblock,
    members: usize,
}

impl Map {
    fn of(host: &mut Host) -> Self {
        let disk = host.disk();
        let superblock = copy_of(&disk.members[0].pages, Copy::Front);
        Self { superblock, members: disk.members.len() }
    }

    fn what(&self, page: u32) -> What {
        let Superblock { checkpoint, commits, .. } = &self.superblock;
        let span = superblock_pages(PAGE_BYTES);
        match page {
            _ if page < span => What::Front,
            _ if page >= PAGES - span => What::Back,
            _ if (commits.first..commits.first + commits.pages).contains(&page) => What::Commit(page),
            _ => match page
                .checked_sub(checkpoint.first)
                .map(|at| (at / checkpoint.pages, at % checkpoint.pages))
            {
                Some((slot @ 0..2, 0)) => What::Header(slot),
                Some((slot @ 0..2, _)) => What::Body(slot),
                _ => What::Data,
            },
        }
    }
}

/// A copy of the superblock of a member with these pages.
fn copy_of(pages: &[Box<[u8]>], copy: Copy) -> Superblock {
    let span = superblock_pages(PAGE_BYTES) as usize;
    let first = if copy == Copy::Front { 0 } else { pages.len() - span };
    Superblock::parse(&pages[first..first + span].concat()).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks every write against the rules.
struct Rules {
    map: Map,
    copies: usize,
    /// For each member, the writes that were not flushed since.
    dirty: Vec<BTreeSet<What>>,
    /// The members that have the current body, header and commit record.
    bodies: BTreeSet<u16>,
    headers: BTreeSet<u16>,
    commits: BTreeSet<u16>,
    /// The slot of the last header, whether a record names it yet, and the page of the last record.
    slot: Option<u32>,
    is_named: bool,
    record: Option<u32>,
    /// The numbers of checkpoints, records and new superblocks.
    counts: BTreeMap<&'static str, u32>,
    last: Option<What>,
}

impl Rules {
    fn new(host: &mut Host, copies: usize) -> Self {
        let map = Map::of(host);
        host.take_log();
        Self {
            dirty: vec![BTreeSet::new(); map.members],
            map,
            copies,
            bodies: BTreeSet::new(),
            headers: BTreeSet::new(),
            commits: BTreeSet::new(),
            slot: None,
            is_named: true,
            record: None,
            counts: BTreeMap::new(),
            last: None,
        }
    }

    fn is_dirty(&self, of: impl Fn(&What) -> bool) -> bool {
        self.dirty.iter().flatten().any(of)
    }

    /// Processes all writes of `host` since the last call.
    fn take(&mut self, host: &mut Host) {
        for (member, page) in host.take_log() {
            if page == u32::MAX {
                self.dirty[member as usize].clear();
            } else if !host.disk().members[member as usize].is_gone {
                self.wrote(member, self.map.what(page));
            }
        }
        // Content of a missing member no longer counts.
        for (member, dirty) in self.dirty.iter_mut().enumerate() {
            if host.disk().members[member].is_gone {
                dirty.clear();
            }
        }
    }

    fn wrote(&mut self, member: u16, what: What) {
        let is_begun = self.last != Some(what);
        match what {
            What::Front if is_begun => {
                assert!(!self.is_dirty(|its| *its == What::Back));
                *self.counts.entry("superblocks").or_default() += 1;
            }
            What::Back => {
                assert!(!self.is_dirty(|its| *its == What::Front), "front copies come first");
            }
            What::Commit(page) => {
                assert!(
                    !self.is_dirty(|its| matches!(its, What::Front | What::Back)),
                    "superblocks come before"
                );
                if is_begun {
                    assert_ne!(self.record.replace(page), Some(page), "a record is not written over");
                    self.commits.clear();
                    if !self.is_named {
                        assert!(
                            !self.is_dirty(|its| matches!(its, What::Header(_))),
                            "it names what is there"
                        );
                        self.is_named = true;
                    }
                    *self.counts.entry("commits").or_default() += 1;
                }
                self.commits.insert(member);
            }
            What::Body(slot) => {
                assert!(!self.is_dirty(|its| matches!(its, What::Commit(_) | What::Header(_))));
                assert_ne!(self.slot, Some(slot), "a checkpoint is not written over");
                if !matches!(self.last, Some(What::Body(_))) {
                    self.bodies.clear();
                }
                self.bodies.insert(member);
            }
            What::Header(slot) => {
                assert!(
                    !self.is_dirty(|its| matches!(its, What::Body(_))),
                    "a header comes when its body is there"
                );
                if is_begun {
                    self.slot = Some(slot);
                    assert!(std::mem::take(&mut self.is_named), "the one before it was named");
                    self.headers.clear();
                    *self.counts.entry("checkpoints").or_default() += 1;
                }
                self.headers.insert(member);
            }
            What::Front | What::Data => {}
        }
        self.dirty[member as usize].insert(what);
        self.last = Some(what);
    }

    /// Checks that nothing is in flight.
    fn rest(&self) {
        let is_metadata = |what: &What| *what != What::Data;
        assert!(!self.is_dirty(is_metadata), "flushed: {:?}", self.dirty);
        assert_eq!(self.headers, self.bodies, "a header lies where its body does");
        assert!(self.is_named, "a record names the checkpoint");
        for copies in [&self.headers, &self.commits].into_iter().filter(|copies| !copies.is_empty()) {
            assert_eq!(copies.len(), self.copies, "copies on members of their own");
        }
    }
}

#[test]
fn a_flush_is_data_then_a_record_each_flushed() {
    for (level, members, copies) in [("raid5", 4, 2), ("raid6", 5, 3)] {
        let mut host = host(level, members);
        let mut rules = Rules::new(&mut host, copies);
        for round in 0..40 {
            host.write(round % 7, round as u8);
            rules.take(&mut host);
            assert!(host.flush_while(|_, _| {}));
            let log = host.take_log();
            let is_record = |&(_, page): &(u16, u32)| matches!(rules.map.what(page), What::Commit(_));
            // A checkpoint may have come before the record, with a record of its own.
            let Some(record) = log.iter().position(is_record) else { continue };
            let before = log[..record].iter().rposition(|(_, page)| *page != u32::MAX).unwrap_or_default();
            let flushed: BTreeSet<u16> = log[before + 1..record].iter().map(|(member, _)| *member).collect();
            assert_eq!(flushed.len(), members, "data may be anywhere: {log:?}");
            for (member, page) in log {
                match page {
                    u32::MAX => rules.dirty[member as usize].clear(),
                    _ => rules.wrote(member, rules.map.what(page)),
                }
            }
            rules.rest();
        }
        assert!(rules.counts["commits"] > 30, "{:?}", rules.counts);
    }
}

#[test]
fn a_checkpoint_is_a_body_then_a_header_each_flushed_and_leaves_the_one_before_it() {
    for (level, members, copies) in [("raid5", 4, 2), ("raid6", 5, 3)] {
        let mut host = host(level, members);
        let chunks = host.capacity();
        let mut rules = Rules::new(&mut host, copies);
        for round in 0..6 * chunks {
            host.write(round * 7919 % chunks, round as u8);
            if round % 13 == 0 {
                host.flush();
            }
            rules.take(&mut host);
        }
        host.finish();
        rules.take(&mut host);
        rules.rest();
        assert!(rules.counts["checkpoints"] > 5, "{:?}", rules.counts);
    }
}

/// The durable horizon of the newest commit record.
fn newest_record(host: &mut Host) -> u64 {
    let commits = Map::of(host).superblock.commits;
    let disk = host.disk();
    let ring = commits.first as usize..(commits.first + commits.pages) as usize;
    let records = disk.members.iter().flat_map(|member| &member.pages[ring.clone()]);
    let records = records.filter_map(|page| Commit::parse(page).ok());
    records.max_by_key(|record| (record.epoch, record.number)).map_or(0, |record| record.horizon)
}

/// Flushes while members fail, each before the given number of operations; then all remaining members record it.
fn flushed_while_going(level: &str, members: usize, going: &[(u16, u32)]) -> bool {
    let mut host = host(level, members);
    (0..20).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    (5..15).for_each(|chunk| host.write(chunk, 99));
    let mut rules = Rules::new(&mut host, going.len() + 1);
    let update = rules.map.superblock.update;
    let (mut known, mut horizon) = (0, 0);
    let flushed = host.flush_while(|host, nth| {
        for (member, _) in going.iter().filter(|(_, at)| *at == nth) {
            host.disk().members[*member as usize].is_gone = true;
        }
        let failed = going.iter().filter(|(member, _)| host.array.is_failed(MemberNo::new(*member))).count();
        if failed > known {
            // Earlier writes are not at fault.
            known = failed;
            horizon = newest_record(host);
            rules.counts.remove("superblocks");
            rules.commits.clear();
        }
        rules.take(host);
        let is_recorded = known == 0 || rules.counts.contains_key("superblocks");
        assert!(is_recorded || rules.commits.is_empty(), "superblocks come before the next record");
    });
    assert!(flushed, "{going:?}: parity bears that");
    rules.take(&mut host);
    assert!(!rules.is_dirty(|what| matches!(what, What::Commit(_) | What::Front | What::Back)), "{going:?}");
    let failed: Vec<u16> =
        (0..members as u16).filter(|&member| host.array.is_failed(MemberNo::new(member))).collect();
    for member in (0..members).filter(|&member| !failed.contains(&(member as u16))) {
        for copy in [Copy::Front, Copy::Back] {
            let superblock = copy_of(&host.disk().members[member].pages, copy);
            for &other in &failed {
                let record = &superblock.members[other as usize];
                assert_eq!(
                    record.state,
                    MemberState::Failed,
                    "{going:?}: {copy:?} of {member} about {other}"
                );
                assert!(record.failed_batch <= horizon, "what no flush covered it may lack");
                assert!(superblock.update > update, "a version of its own");
            }
        }
    }
    (0..20).for_each(|chunk| {
        let expected = if (5..15).contains(&chunk) { 99 } else { chunk as u8 + 1 };
        assert_eq!(host.read(chunk), Some(expected), "{going:?}");
    });
    let mut host = host.lose_power();
    (0..20).for_each(|chunk| {
        let expected = if (5..15).contains(&chunk) { 99 } else { chunk as u8 + 1 };
        assert_eq!(host.read(chunk), Some(expected), "{going:?}");
    });
    failed.len() == going.len()
}

#[test]
fn a_flush_during_which_a_member_goes_ends_when_superblocks_record_it() {
    let flushed =
        (0..4).flat_map(|member| (0..40).map(move |at| flushed_while_going("raid5", 4, &[(member, at)])));
    assert!(flushed.filter(|flushed| *flushed).count() > 60);
}

#[test]
fn a_flush_during_which_two_members_go_ends_when_superblocks_record_both() {
    let pairs = (0..30).flat_map(|one| (0..20).step_by(2).map(move |later| (one, one + later)));
    let flushed = pairs.map(|(one, other)| flushed_while_going("raid6", 5, &[(1, one), (3, other)]));
    assert!(flushed.filter(|flushed| *flushed).count() > 50);
}

#[test]
fn a_flush_during_which_more_goes_than_parity_tolerates_fails() {
    for at in 0..30 {
        let mut host = host("raid5", 4);
        (0..20).for_each(|chunk| host.write(chunk, 7));
        host.flush();
        (0..20).for_each(|chunk| host.write(chunk, 8));
        let flushed = host.flush_while(|host, nth| {
            if nth == at {
                (1..3).for_each(|member| host.disk().members[member].is_gone = true);
            }
        });
        let is_known = (1..3).all(|member| host.array.is_failed(MemberNo::new(member)));
        assert!(!(flushed && is_known), "after {at}");
        if !is_known {
            assert!(flushed, "what was gone when all was over does not count");
        }
    }
}

#[test]
fn a_record_has_its_copies_on_members_that_are_there() {
    let mut host = host("raid6", 5);
    (0..20).for_each(|chunk| host.write(chunk, 7));
    host.fail(0);
    host.fail(3);
    host.flush();
    let mut rules = Rules::new(&mut host, 3);
    for round in 0..12 {
        host.write(round, 8);
        host.flush();
        rules.take(&mut host);
        assert_eq!(rules.commits, BTreeSet::from([1, 2, 4]));
    }
}

#[test]
fn a_flush_during_which_a_stripe_has_to_go_elsewhere_covers_it() {
    for at in 0..30 {
        let mut host = host("raid5", 4);
        (0..20).for_each(|chunk| host.write(chunk, 7));
        host.flush();
        (4..11).for_each(|chunk| host.write(chunk, 8));
        let member = at as usize % 4;
        assert!(host.flush_while(|host, nth| {
            if nth == at {
                host.disk().members[member].next_write = Some(Outcome::MediumError);
            }
        }));
        let mut host = host.lose_power();
        (4..11).for_each(|chunk| assert_eq!(host.read(chunk), Some(8), "chunk {chunk}, after {at}"));
    }
}

const IN_PLACE: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n";

/// Pages of member 1 with a write that no flush covers.
#[derive(Default)]
struct InFlight(BTreeSet<u32>);

impl InFlight {
    const MEMBER: u16 = 1;

    /// Processes all writes of `host` since the last call.
    fn take(&mut self, host: &mut Host) {
        for (_, page) in host.take_log().into_iter().filter(|(member, _)| *member == Self::MEMBER) {
            if page == u32::MAX {
                self.0.clear();
            } else {
                self.0.insert(page);
            }
        }
    }

    /// The member returns after its pages in flight were torn.
    fn returns_torn(&mut self, host: &mut Host) {
        let member = &mut host.disk().members[usize::from(Self::MEMBER)];
        std::mem::take(&mut self.0).into_iter().for_each(|page| member.pages[page as usize].fill(0xee));
        member.is_gone = false;
    }

    /// Whether the member would have a whole copy of its superblock if its pages in flight were torn.
    fn leaves_a_copy(&self, host: &mut Host) -> bool {
        let span = superblock_pages(PAGE_BYTES);
        let pages = &host.disk().members[usize::from(Self::MEMBER)].pages;
        [0, PAGES - span].into_iter().any(|first| {
            let is_still = (first..first + span).all(|page| !self.0.contains(&page));
            is_still && Superblock::parse(&pages[first as usize..(first + span) as usize].concat()).is_ok()
        })
    }
}

/// Superblocks are updated for the return of member 0; after `operations` operations of that, member 1 fails and returns with
/// torn pages. Returns whether its back copy was among them.
fn return_torn(scheme: &str, operations: u32, bug: Option<Bug>) -> (Host, InFlight, bool) {
    let mut host = Host::create(scheme, Disk::new(5, PAGES, PAGE_BYTES));
    host.array.plant(bug);
    (0..20).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    host.fail(0);
    host.write(3, 2);
    host.flush();
    host.finish();
    host.disk().members[0].is_gone = false;
    let how = host.returned(0);
    host.take_log();
    host.rejoin(0, how);
    let mut in_flight = InFlight::default();
    host.finish_within(operations);
    in_flight.take(&mut host);
    host.fail(InFlight::MEMBER);
    while host.is_busy(InFlight::MEMBER) {
        host.complete_one();
    }
    let is_torn = in_flight.0.contains(&(PAGES - 1));
    in_flight.returns_torn(&mut host);
    host.take_log();
    let how = host.returned(InFlight::MEMBER);
    host.rejoin(InFlight::MEMBER, how);
    (host, in_flight, is_torn)
}

/// Whether the back copy of the member was torn, and whether it always had a whole copy after that.
fn returned_torn(scheme: &str, operations: u32, bug: Option<Bug>) -> (bool, bool) {
    let (mut host, mut in_flight, is_torn) = return_torn(scheme, operations, bug);
    let mut has_one = in_flight.leaves_a_copy(&mut host);
    for _ in 0..4000 {
        host.finish_within(1);
        in_flight.take(&mut host);
        has_one &= in_flight.leaves_a_copy(&mut host);
    }
    (is_torn, has_one)
}

/// Whether power may be lost at any time after that, with the pages in flight torn, and the array assembles.
fn assembles(operations: u32, bug: Option<Bug>) -> bool {
    const RAID5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
    let (mut host, mut in_flight, _) = return_torn(RAID5, operations, bug);
    (0..200).all(|_| {
        host.finish_within(3);
        in_flight.take(&mut host);
        let mut disk = host.copy_of_disk();
        let pages = &mut disk.members[usize::from(InFlight::MEMBER)].pages;
        in_flight.0.iter().for_each(|&page| pages[page as usize].fill(0xee));
        Host::try_open_as(RAID5, disk, AssemblyOptions::default()).is_ok()
    })
}

#[test]
fn a_version_is_left_if_a_member_returns_that_may_lack_its_front_copy() {
    for operations in (0..400).step_by(9) {
        assert!(assembles(operations, None), "it failed after {operations} operations");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_version_that_a_member_may_lack_is_found() {
    assert!((0..400).step_by(9).any(|operations| !assembles(operations, Some(Bug::TornFrontCounts))));
}

#[test]
fn a_member_that_returns_has_a_whole_superblock_at_any_time_although_pages_in_flight_were_torn() {
    for scheme in [&*scheme("raid6"), IN_PLACE] {
        let all = (0..400).step_by(4).map(|operations| (operations, returned_torn(scheme, operations, None)));
        let torn = all.filter(|&(operations, (is_torn, has_one))| {
            assert!(has_one, "it failed after {operations} operations");
            is_torn
        });
        assert!(torn.count() > 3, "back copies were torn");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_front_copy_written_over_before_there_is_a_back_copy_is_found() {
    for scheme in [&*scheme("raid6"), IN_PLACE] {
        let all = (0..400).step_by(4).map(|nth| returned_torn(scheme, nth, Some(Bug::FrontCopyFirst)));
        assert!(all.filter(|(_, has_one)| !has_one).count() > 3);
    }
}

#[test]
fn a_replacement_gets_no_superblock_of_the_member_in_whose_place_it_comes() {
    let span = superblock_pages(PAGE_BYTES) as usize;
    let mut in_between = 0;
    for operations in 0..60 {
        let mut host = host("raid6", 5);
        (0..20).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        let before = Map::of(&mut host).superblock.members[1].uuid;
        // Superblocks are updated for member 0 while member 1 fails, and another device replaces it.
        host.fail(0);
        host.finish_within(operations);
        host.fail(1);
        while host.is_busy(1) {
            host.complete_one();
        }
        host.take_log();
        {
            let member = &mut host.disk().members[1];
            member.is_gone = false;
            member.pages.iter_mut().for_each(|page| page.fill(0));
        }
        host.rejoin(1, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: PAGES });
        let is_back = |page: u32| page != u32::MAX && page >= PAGES - span as u32;
        for _ in 0..60 {
            host.finish_within(1);
            let pages = &host.disk().members[1].pages;
            for first in [0, pages.len() - span] {
                let its = Superblock::parse(&pages[first..first + span].concat());
                assert!(
                    its.is_err() || its.is_ok_and(|its| its.uuid != before),
                    "after {operations} operations"
                );
            }
        }
        let first = host.take_log().into_iter().find(|&(_, page)| page < span as u32 || is_back(page));
        in_between += u32::from(first.is_some_and(|(_, page)| is_back(page)));
    }
    assert!(in_between > 3, "{in_between} times between the copies of a version");
}
