//! Modelled members without time: the content of their pages, and for each page the writes not yet made durable by a
//! flush.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use stripewise_array::Outcome;
use stripewise_base::prng::Prng;

use crate::stamp::SECTOR;

/// The content of a page. Snapshots share unchanged content.
pub(crate) type Content = Rc<[u8]>;

/// A fault of a member: rows of `docs/design/fault-contract.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// The member never answers again.
    Lost,
    /// A page with content cannot be read until it is written.
    Unreadable,
    /// The content of a page changes.
    Rot,
    /// The next write is answered but not done.
    Vanished,
    /// The next write is answered but done at another page.
    Misdirected,
    /// The next write fails.
    Unwritable,
    /// The next flush fails.
    Unflushable,
    /// The member has its content of an earlier time.
    RolledBack,
}

impl Wrong {
    /// All faults that need no snapshot.
    pub const ALL: [Self; 7] = [
        Self::Lost,
        Self::Unreadable,
        Self::Rot,
        Self::Vanished,
        Self::Misdirected,
        Self::Unwritable,
        Self::Unflushable,
    ];

    /// The faults that a member reports.
    pub(crate) const TOLD: [Self; 4] = [Self::Lost, Self::Unreadable, Self::Unwritable, Self::Unflushable];
}

/// A write that was answered and is not covered by a flush.
#[derive(Clone, Debug)]
struct Change {
    page: u32,
    content: Content,
    /// Number of writes answered before it.
    nth: u64,
    /// A flush that should have covered it failed: later flushes do not make it durable.
    is_forsaken: bool,
}

/// One member.
#[derive(Clone, Debug)]
struct CrashMember {
    durable: Vec<Content>,
    /// Pages of failed writes, and of writes that a failed flush should have covered.
    unwritten: Vec<u32>,
    changes: Vec<Change>,
    answered: u64,
    is_lost: bool,
    /// Pages whose durable content cannot be read. A write makes the page readable, unless the write is lost with
    /// power.
    unreadable: Vec<u32>,
    /// The pending fault of the next write or flush, and a number that determines its details.
    armed: Option<(Wrong, u64)>,
    /// Snapshots of the durable content.
    past: Vec<Rc<[Content]>>,
}

impl CrashMember {
    fn visible(&self, page: u32) -> &Content {
        let newest = self.changes.iter().rev().find(|change| change.page == page);
        newest.map_or(&self.durable[page as usize], |change| &change.content)
    }

    fn is_readable(&self, page: u32) -> bool {
        !self.unreadable.contains(&page) || self.changes.iter().any(|change| change.page == page)
    }

    fn put(&mut self, page: u32, content: Content) {
        self.changes.push(Change { page, content, nth: self.answered, is_forsaken: false });
        self.answered += 1;
    }

    /// Takes the pending fault if it is one of `kinds`.
    fn fire(&mut self, kinds: &[Wrong]) -> Option<(Wrong, u64)> {
        self.armed.take_if(|(wrong, _)| kinds.contains(wrong))
    }

    /// A page with content, the same for the same `choice`.
    fn used_page(&self, choice: u64) -> Option<u32> {
        let is_used = |page: &u32| self.durable[*page as usize].iter().any(|&byte| byte != 0);
        let pages: Vec<u32> = (0..self.durable.len() as u32).filter(is_used).collect();
        let nth = choice.checked_rem(pages.len() as u64)?;
        Some(pages[nth as usize])
    }
}

/// A sector for which several contents may be durable.
#[derive(Clone, Debug)]
pub(crate) struct Undecided {
    pub(crate) member: u16,
    pub(crate) page: u32,
    pub(crate) sector: u32,
    /// The possible contents, all different, the durable one first.
    pub(crate) versions: Vec<Content>,
}

/// A write that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) member: u16,
    pub(crate) page: u32,
    pub(crate) content: Content,
}

/// The members of an array.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    page_bytes: usize,
    each: Vec<CrashMember>,
}

impl Members {
    /// `count` members of `pages` pages of zeros.
    pub(crate) fn new(count: u16, pages: u32, page_bytes: u32) -> Self {
        let zeros: Content = vec![0; page_bytes as usize].into();
        let member = CrashMember {
            durable: vec![zeros; pages as usize],
            unwritten: Vec::new(),
            changes: Vec::new(),
            answered: 0,
            is_lost: false,
            unreadable: Vec::new(),
            armed: None,
            past: Vec::new(),
        };
        Self { page_bytes: page_bytes as usize, each: vec![member; count as usize] }
    }

    pub(crate) fn count(&self) -> u16 {
        self.each.len() as u16
    }

    pub(crate) fn pages(&self) -> u32 {
        self.each[0].durable.len() as u32
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// The result of a read of a page.
    pub(crate) fn read(&self, member: u16, page: u32) -> Result<&Content, Outcome> {
        let one = &self.each[member as usize];
        if one.is_lost {
            return Err(Outcome::Timeout);
        }
        if !one.is_readable(page) {
            return Err(Outcome::MediumError);
        }
        Ok(one.visible(page))
    }

    /// Answers a write.
    pub(crate) fn write(&mut self, member: u16, page: u32, content: Content) -> Outcome {
        let one = &mut self.each[member as usize];
        if one.is_lost {
            return Outcome::Timeout;
        }
        match one.fire(&[Wrong::Vanished, Wrong::Misdirected, Wrong::Unwritable]) {
            Some((Wrong::Unwritable, _)) => {
                one.unwritten.push(page);
                return Outcome::MediumError;
            }
            Some((Wrong::Misdirected, choice)) => {
                let other = one.used_page(choice).filter(|&other| other != page).unwrap_or(page ^ 1);
                one.put(other, content);
            }
            Some(_) => {}
            None => one.put(page, content),
        }
        Outcome::Done
    }

    /// Number of answered writes of a member, which a flush that begins now covers.
    pub(crate) fn answered(&self, member: u16) -> u64 {
        self.each[member as usize].answered
    }

    /// Answers a flush that covers the first `until` writes.
    pub(crate) fn flush(&mut self, member: u16, until: u64) -> Outcome {
        let page_bytes = self.page_bytes;
        let one = &mut self.each[member as usize];
        if one.is_lost {
            return Outcome::Timeout;
        }
        let failed = one.fire(&[Wrong::Unflushable]);
        let mut random = failed.map(|(_, choice)| Prng::stream(choice, 7));
        let CrashMember { changes, durable, unreadable, unwritten, .. } = one;
        for change in changes.iter_mut().filter(|change| change.nth < until && !change.is_forsaken) {
            let place = &mut durable[change.page as usize];
            match &mut random {
                None => {
                    *place = change.content.clone();
                    unreadable.retain(|&bad| bad != change.page);
                }
                Some(random) => {
                    let mut bytes = place.to_vec();
                    for at in (0..page_bytes).step_by(SECTOR).filter(|_| random.chance(1, 2)) {
                        bytes[at..at + SECTOR].copy_from_slice(&change.content[at..at + SECTOR]);
                    }
                    *place = bytes.into();
                    change.is_forsaken = true;
                    unwritten.push(change.page);
                }
            }
        }
        if random.is_some() {
            return Outcome::MediumError;
        }
        // A forsaken change is permanently gone if a later write of its page is flushed.
        let covered = |change: &Change| change.nth < until && !change.is_forsaken;
        let last: Vec<(u32, u64)> =
            changes.iter().filter(|change| covered(change)).map(|change| (change.page, change.nth)).collect();
        changes.retain(|change| !last.iter().any(|&(page, nth)| page == change.page && nth >= change.nth));
        Outcome::Done
    }

    /// Injects a fault; `choice` determines its place or details. False if the fault has no effect.
    pub(crate) fn go_wrong(&mut self, member: u16, wrong: Wrong, choice: u64) -> bool {
        let one = &mut self.each[member as usize];
        match wrong {
            Wrong::Lost => one.is_lost = true,
            Wrong::Unreadable | Wrong::Rot => {
                let Some(page) = one.used_page(choice) else { return false };
                if wrong == Wrong::Unreadable {
                    one.unreadable.push(page);
                } else {
                    let mut bytes = one.durable[page as usize].to_vec();
                    let at = (choice / 7) as usize % bytes.len();
                    bytes[at] ^= 1 << (choice % 7);
                    one.durable[page as usize] = bytes.into();
                }
            }
            Wrong::RolledBack => return self.put_back(member, choice),
            _ => one.armed = Some((wrong, choice)),
        }
        true
    }

    /// Saves a snapshot of a member's durable content.
    pub(crate) fn remember(&mut self, member: u16) {
        let one = &mut self.each[member as usize];
        one.past.push(one.durable.as_slice().into());
    }

    /// Whether a member has a snapshot.
    pub(crate) fn has_past(&self, member: u16) -> bool {
        !self.each[member as usize].past.is_empty()
    }

    /// Rolls a member back to one of its snapshots, selected by `choice`. False if there is none.
    pub(crate) fn put_back(&mut self, member: u16, choice: u64) -> bool {
        let one = &mut self.each[member as usize];
        let Some(nth) = choice.checked_rem(one.past.len() as u64) else { return false };
        one.durable.clone_from_slice(&one.past[nth as usize]);
        one.unreadable.clear();
        one.changes.clear();
        true
    }

    /// Destroys a page permanently: it cannot be read, or has wrong content, such as zeros.
    pub(crate) fn destroy(&mut self, member: u16, page: u32, choice: u64) {
        let one = &mut self.each[member as usize];
        match [None, Some(0), Some(0xA5)][(choice % 3) as usize] {
            None => one.unreadable.push(page),
            Some(byte) => one.durable[page as usize] = vec![byte; self.page_bytes].into(),
        }
    }

    /// Whether a member no longer answers.
    pub(crate) fn is_lost(&self, member: u16) -> bool {
        self.each[member as usize].is_lost
    }

    /// Replaces a member by another one with the same content, or with one wrong byte value on all pages, such as
    /// zeros.
    pub(crate) fn replace(&mut self, member: u16, choice: u64) {
        let one = &mut self.each[member as usize];
        (one.is_lost, one.armed) = (false, None);
        one.unreadable.clear();
        one.changes.clear();
        if let Some(byte) = [None, Some(0), Some(0xA5)][(choice % 3) as usize] {
            let content: Content = vec![byte; self.page_bytes].into();
            one.durable.fill(content);
        }
    }

    /// Handles a power loss: no write is pending any more; pending faults remain.
    fn forget_changes(&mut self) {
        self.each.iter_mut().for_each(|one| one.changes.clear());
    }

    /// The pages of failed writes, and of writes that a failed flush should have covered, since the last call.
    pub(crate) fn take_unwritten(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.each.iter_mut().flat_map(|one| one.unwritten.drain(..))
    }

    /// The sectors whose content is undecided if power is lost now with the writes `in_flight`.
    pub(crate) fn undecided(&self, in_flight: &[InFlight]) -> Vec<Undecided> {
        let mut undecided: Vec<Undecided> = Vec::new();
        for (member, one) in (0..).zip(&self.each) {
            let answered = one.changes.iter().filter(|change| !change.is_forsaken);
            let begun = in_flight.iter().filter(|flight| flight.member == member);
            let writes: Vec<(u32, &Content)> = answered
                .map(|change| (change.page, &change.content))
                .chain(begun.map(|flight| (flight.page, &flight.content)))
                .collect();
            let mut pages: Vec<u32> = writes.iter().map(|&(page, _)| page).collect();
            pages.sort_unstable();
            pages.dedup();
            for page in pages {
                let later = writes.iter().filter(|(other, _)| *other == page).map(|(_, content)| *content);
                let contents: Vec<&Content> =
                    [&one.durable[page as usize]].into_iter().chain(later).collect();
                for sector in 0..(self.page_bytes / SECTOR) as u32 {
                    let at = sector as usize * SECTOR;
                    let mut versions: Vec<Content> = Vec::new();
                    for content in &contents {
                        if versions.iter().all(|one| one[at..at + SECTOR] != content[at..at + SECTOR]) {
                            versions.push((*content).clone());
                        }
                    }
                    if versions.len() > 1 {
                        undecided.push(Undecided { member, page, sector, versions });
                    }
                }
            }
        }
        undecided
    }

    /// The server is killed: of each write `in_flight`, any sectors are written, and none is durable yet.
    pub(crate) fn kill(&mut self, in_flight: &[InFlight], seed: u64) {
        let mut random = Prng::stream(seed, 0x6B69_6C6C);
        for InFlight { member, page, content } in in_flight {
            let one = &mut self.each[*member as usize];
            let percent = [0, 50, 100][random.below(3) as usize];
            // A part of a page does not make the rest of it readable.
            if one.is_lost || percent == 0 || percent < 100 && !one.is_readable(*page) {
                continue;
            }
            let mut bytes = one.visible(*page).to_vec();
            for at in (0..self.page_bytes).step_by(SECTOR).filter(|_| random.chance(percent, 100)) {
                bytes[at..at + SECTOR].copy_from_slice(&content[at..at + SECTOR]);
            }
            one.put(*page, bytes.into());
        }
    }

    /// Members write everything that they answered to their media, as they do in time without a flush.
    pub(crate) fn write_back(&mut self) {
        let undecided = self.undecided(&[]);
        self.lose_power(&undecided, |nth| undecided[nth].versions.len() - 1);
    }

    /// A power loss: each undecided sector has the version that `pick` selects from now on.
    pub(crate) fn lose_power(&mut self, undecided: &[Undecided], mut pick: impl FnMut(usize) -> usize) {
        self.forget_changes();
        let mut first = 0;
        while first < undecided.len() {
            let Undecided { member, page, .. } = undecided[first];
            let same = |one: &&Undecided| (one.member, one.page) == (member, page);
            let count = undecided[first..].iter().take_while(same).count();
            let CrashMember { durable, unreadable, .. } = &mut self.each[member as usize];
            let place = &mut durable[page as usize];
            let mut bytes = place.to_vec();
            let mut is_old = false;
            for (nth, one) in undecided[first..first + count].iter().enumerate() {
                let at = one.sector as usize * SECTOR;
                let choice = pick(first + nth);
                is_old |= choice == 0;
                let version = &one.versions[choice];
                bytes[at..at + SECTOR].copy_from_slice(&version[at..at + SECTOR]);
            }
            *place = bytes.into();
            unreadable.retain(|&bad| bad != page || is_old);
            first += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u32 = 2 * SECTOR as u32;

    fn page(byte: u8) -> Content {
        vec![byte; PAGE as usize].into()
    }

    fn first_bytes(members: &Members, member: u16, page: u32) -> Vec<u8> {
        let content = members.read(member, page).expect("it can be read");
        content.chunks(SECTOR).map(|sector| sector[0]).collect()
    }

    /// All possible contents of page 3 of member 1 after a power loss.
    fn left(members: &Members, in_flight: &[InFlight]) -> Vec<Vec<u8>> {
        let undecided = members.undecided(in_flight);
        let states: usize = undecided.iter().map(|one| one.versions.len()).product();
        let mut all: Vec<Vec<u8>> = (0..states)
            .map(|state| {
                let (mut after, mut rest) = (members.clone(), state);
                after.lose_power(&undecided, |nth| {
                    let of = undecided[nth].versions.len();
                    let picked = rest % of;
                    rest /= of;
                    picked
                });
                first_bytes(&after, 1, 3)
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn unflushed_each_sector_keeps_the_old_content_or_that_of_any_write_since() {
        let mut members = Members::new(2, 8, PAGE);
        members.write(1, 3, page(1));
        assert_eq!(first_bytes(&members, 1, 3), [1, 1], "what was answered is read");
        assert_eq!(left(&members, &[]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        let flight = InFlight { member: 1, page: 3, content: page(2) };
        assert_eq!(left(&members, &[flight]).len(), 9);
        assert_eq!(members.flush(1, members.answered(1)), Outcome::Done);
        assert_eq!(left(&members, &[]), [[1, 1]]);
    }

    #[test]
    fn a_killed_server_leaves_its_writes_to_be_read_and_a_later_loss_of_power_may_undo_them() {
        let mut members = Members::new(2, 8, PAGE);
        members.write(1, 3, page(1));
        let flight = InFlight { member: 1, page: 3, content: page(2) };
        let mut found = Vec::new();
        for seed in 0..200 {
            let mut after = members.clone();
            after.kill(std::slice::from_ref(&flight), seed);
            found.push(first_bytes(&after, 1, 3));
            assert!(left(&after, &[]).contains(&vec![0, 0]), "nothing of it is durable");
            after.write_back();
            assert_eq!(left(&after, &[]), [first_bytes(&after, 1, 3)]);
        }
        found.sort();
        found.dedup();
        assert_eq!(found, [[1, 1], [1, 2], [2, 1], [2, 2]]);
    }

    #[test]
    fn a_flush_covers_what_was_answered_when_it_began() {
        let mut members = Members::new(2, 8, PAGE);
        members.write(1, 3, page(1));
        let until = members.answered(1);
        members.write(1, 3, page(2));
        members.flush(0, until);
        assert_eq!(left(&members, &[]).len(), 9, "a flush of another member is none of its business");
        members.flush(1, until);
        assert_eq!(left(&members, &[]), [[1, 1], [1, 2], [2, 1], [2, 2]]);
        assert_eq!(first_bytes(&members, 1, 3), [2, 2]);
    }

    #[test]
    fn unflushable_writes_are_read_but_no_later_flush_makes_more_of_them_durable() {
        for choice in 0..8 {
            let mut members = Members::new(2, 8, PAGE);
            members.write(1, 3, page(1));
            members.go_wrong(1, Wrong::Unflushable, choice);
            assert_eq!(members.flush(1, members.answered(1)), Outcome::MediumError);
            assert_eq!(first_bytes(&members, 1, 3), [1, 1]);
            let before = left(&members, &[]);
            assert_eq!(before.len(), 1, "what is durable was decided when the flush failed");
            assert_eq!(members.flush(1, members.answered(1)), Outcome::Done);
            assert_eq!(left(&members, &[]), before);
            members.write(1, 3, page(2));
            members.flush(1, members.answered(1));
            assert_eq!(left(&members, &[]), [[2, 2]]);
        }
    }

    #[test]
    fn vanished_misdirected_and_unwritable_writes_leave_their_page_as_it_was() {
        for (wrong, outcome) in [
            (Wrong::Vanished, Outcome::Done),
            (Wrong::Misdirected, Outcome::Done),
            (Wrong::Unwritable, Outcome::MediumError),
        ] {
            let mut members = Members::new(2, 8, PAGE);
            members.go_wrong(1, wrong, 5);
            assert_eq!(members.write(1, 3, page(1)), outcome);
            assert_eq!(first_bytes(&members, 1, 3), [0, 0]);
            let others = (0..8).filter(|&other| first_bytes(&members, 1, other) == [1, 1]).count();
            assert_eq!(others, usize::from(wrong == Wrong::Misdirected));
            assert_eq!(members.write(1, 3, page(2)), Outcome::Done);
            assert_eq!(first_bytes(&members, 1, 3), [2, 2]);
        }
    }

    #[test]
    fn a_member_that_is_put_back_has_what_was_durable_at_that_moment() {
        let mut members = Members::new(2, 8, PAGE);
        assert!(!members.go_wrong(1, Wrong::RolledBack, 0), "there is none");
        members.write(1, 3, page(1));
        members.flush(1, 1);
        members.write(1, 3, page(2));
        members.remember(1);
        members.flush(1, 2);
        members.write(1, 3, page(3));
        assert!(members.has_past(1) && members.go_wrong(1, Wrong::RolledBack, 5));
        assert_eq!(first_bytes(&members, 1, 3), [1, 1]);
        assert_eq!(left(&members, &[]), [[1, 1]]);
    }

    #[test]
    fn rot_and_unreadable_strike_a_page_that_holds_something() {
        let mut members = Members::new(2, 8, PAGE);
        assert!(!members.go_wrong(1, Wrong::Rot, 9), "there is none");
        members.write(1, 3, page(1));
        members.flush(1, 1);
        members.go_wrong(1, Wrong::Rot, 9);
        assert_ne!(members.read(1, 3).expect("rot is silent"), &page(1));
        members.go_wrong(1, Wrong::Unreadable, 9);
        assert_eq!(members.read(1, 3).err(), Some(Outcome::MediumError));
        members.write(1, 3, page(2));
        assert_eq!(first_bytes(&members, 1, 3), [2, 2]);
        members.go_wrong(1, Wrong::Lost, 0);
        assert_eq!(members.read(1, 3).err(), Some(Outcome::Timeout));
    }
}
