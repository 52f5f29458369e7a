//! Modelled members without time: the content of their pages, and for each page the writes not yet made durable by a
//! flush.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;
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
    pub(crate) const REPORTED: [Self; 4] =
        [Self::Lost, Self::Unreadable, Self::Unwritable, Self::Unflushable];
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
    pub(crate) member: MemberNo,
    pub(crate) page: u32,
    pub(crate) sector: u32,
    /// The possible contents, all different, the durable one first.
    pub(crate) versions: Vec<Content>,
}

/// A write that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) member: MemberNo,
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

    /// The members, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = MemberNo> + use<> {
        MemberNo::first(self.each.len() as u32)
    }

    pub(crate) fn count(&self) -> u16 {
        self.each.len() as u16
    }

    /// Pages of a member.
    pub(crate) fn pages(&self, member: MemberNo) -> u32 {
        self.each[member.index()].durable.len() as u32
    }

    /// A member becomes larger. Snapshots of a smaller one do not count any more.
    pub(crate) fn grow(&mut self, member: MemberNo, pages: u32) {
        let zeros: Content = vec![0; self.page_bytes].into();
        let one = &mut self.each[member.index()];
        one.durable.extend((0..pages).map(|_| zeros.clone()));
        one.past.clear();
    }

    /// Takes a member from `other`, a copy of these members that has changed since.
    pub(crate) fn take(&mut self, member: MemberNo, other: &Self) {
        self.each[member.index()] = other.each[member.index()].clone();
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// The result of a read of a page.
    pub(crate) fn read(&self, member: MemberNo, page: u32) -> Result<&Content, Outcome> {
        let one = &self.each[member.index()];
        if one.is_lost {
            return Err(Outcome::Timeout);
        }
        if !one.is_readable(page) {
            return Err(Outcome::MediumError);
        }
        Ok(one.visible(page))
    }

    /// A write of a page does not reach its member.
    pub(crate) fn leave_unwritten(&mut self, member: MemberNo, page: u32) {
        self.each[member.index()].unwritten.push(page);
    }

    /// Answers a write.
    pub(crate) fn write(&mut self, member: MemberNo, page: u32, content: Content) -> Outcome {
        let one = &mut self.each[member.index()];
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
    pub(crate) fn answered(&self, member: MemberNo) -> u64 {
        self.each[member.index()].answered
    }

    /// Answers a flush that covers the first `until` writes.
    pub(crate) fn flush(&mut self, member: MemberNo, until: u64) -> Outcome {
        let page_bytes = self.page_bytes;
        let one = &mut self.each[member.index()];
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
    pub(crate) fn go_wrong(&mut self, member: MemberNo, wrong: Wrong, choice: u64) -> bool {
        let one = &mut self.each[member.index()];
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

    /// Whether a fault of `member` is still to strike, or the member is gone.
    pub(crate) fn is_armed(&self, member: MemberNo) -> bool {
        let one = &self.each[member.index()];
        one.armed.is_some() || one.is_lost
    }

    /// The pages of all members but those of `except` that may lose with power what reads return, although flushes succeed.
    pub(crate) fn forsaken(&self, except: u64) -> impl Iterator<Item = u32> + '_ {
        let those = self.all().zip(&self.each).filter(move |(member, _)| !member.is_in(except));
        let changes = those.flat_map(|(_, one)| &one.changes);
        changes.filter(|change| change.is_forsaken).map(|change| change.page)
    }

    /// Whether `member` may lose with power what reads return, although flushes succeed.
    pub(crate) fn has_forsaken(&self, member: MemberNo) -> bool {
        self.each[member.index()].changes.iter().any(|change| change.is_forsaken)
    }

    /// Damages `percent` of the pages of `member` for which `is_meant` returns true and which hold something: their content
    /// changes, or with `is_reported` they cannot be read. Returns the number of damaged pages.
    pub(crate) fn damage(
        &mut self,
        member: MemberNo,
        percent: u64,
        is_reported: bool,
        random: &mut Prng,
        is_meant: impl Fn(u32) -> bool,
    ) -> u64 {
        let one = &mut self.each[member.index()];
        let mut count = 0;
        for page in (0..one.durable.len() as u32).filter(|&page| is_meant(page)) {
            let is_used = one.durable[page as usize].iter().any(|&byte| byte != 0);
            if !is_used || !random.chance(percent, 100) {
                continue;
            }
            count += 1;
            if is_reported {
                one.unreadable.push(page);
                continue;
            }
            let mut bytes = one.durable[page as usize].to_vec();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            one.durable[page as usize] = bytes.into();
        }
        count
    }

    /// Saves a snapshot of a member's durable content.
    pub(crate) fn remember(&mut self, member: MemberNo) {
        let one = &mut self.each[member.index()];
        one.past.push(one.durable.as_slice().into());
    }

    /// Whether a member has a snapshot.
    pub(crate) fn has_past(&self, member: MemberNo) -> bool {
        !self.each[member.index()].past.is_empty()
    }

    /// Rolls a member back to one of its snapshots, selected by `choice`. False if there is none.
    pub(crate) fn put_back(&mut self, member: MemberNo, choice: u64) -> bool {
        let one = &mut self.each[member.index()];
        let Some(nth) = choice.checked_rem(one.past.len() as u64) else { return false };
        one.durable.clone_from_slice(&one.past[nth as usize]);
        one.unreadable.clear();
        one.changes.clear();
        true
    }

    /// Destroys a page permanently: it cannot be read, or has wrong content, such as zeros.
    pub(crate) fn destroy(&mut self, member: MemberNo, page: u32, choice: u64) {
        let one = &mut self.each[member.index()];
        match [None, Some(0), Some(0xA5)][(choice % 3) as usize] {
            None => one.unreadable.push(page),
            Some(byte) => one.durable[page as usize] = vec![byte; self.page_bytes].into(),
        }
    }

    /// Whether a member no longer answers.
    pub(crate) fn is_lost(&self, member: MemberNo) -> bool {
        self.each[member.index()].is_lost
    }

    /// Replaces a member by another one with the same durable content, or with one wrong byte value on all pages, such as
    /// zeros. It lacks what was not durable: if power is lost before superblocks know of the replacement, it is taken for the
    /// member.
    pub(crate) fn replace(&mut self, member: MemberNo, choice: u64) {
        let one = &mut self.each[member.index()];
        (one.is_lost, one.armed) = (false, None);
        one.unreadable.clear();
        one.unwritten.extend(one.changes.drain(..).map(|change| change.page));
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
            let begun = in_flight.iter().filter(|flight| flight.member == MemberNo::new(member));
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
                        undecided.push(Undecided { member: MemberNo::new(member), page, sector, versions });
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
            let one = &mut self.each[(*member).index()];
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
            let CrashMember { durable, unreadable, .. } = &mut self.each[member.index()];
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
mod tests;
