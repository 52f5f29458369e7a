//! Content that members keep through a power loss: for each page, its durable content and the alternatives.
//!
//! All of it is derived from the operations that were sent to members and from their answers, independently of the
//! state of the flash and of the controller.

use std::collections::BTreeMap;
use std::io;

use stripewise_array::{MemberNo, Operation, OperationId, OperationKind};
use stripewise_base::prng::Prng;

use crate::stamp::SECTOR;

/// The content of a page of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    /// The page reads as zeros.
    #[default]
    Zeros,
    /// Bytes.
    Bytes(Box<[u8]>),
    /// The page cannot be read.
    Unreadable,
}

impl Content {
    fn of(bytes: Box<[u8]>) -> Self {
        if bytes.iter().all(|&byte| byte == 0) { Self::Zeros } else { Self::Bytes(bytes) }
    }

    /// Bytes of a sector; `None` if it cannot be read.
    pub(crate) fn sector(&self, sector: usize) -> Option<&[u8]> {
        match self {
            Self::Zeros => Some(&[0; SECTOR]),
            Self::Bytes(bytes) => Some(&bytes[sector * SECTOR..(sector + 1) * SECTOR]),
            Self::Unreadable => None,
        }
    }
}

/// A page of a member.
pub(crate) type At = (MemberNo, u32);

/// An operation that was started and has not been answered yet.
#[derive(Clone, Debug)]
struct Flight {
    operation: Operation,
    content: Content,
    /// Number of changes that had been answered when it was started.
    after: u64,
}

/// The share of the operations in flight that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Nothing,
    Everything,
    /// A random choice for each page.
    Any,
}

/// The content of pages, derived from the operations sent to them.
#[derive(Clone, Debug)]
pub(crate) struct Durable {
    /// Whether members keep answered writes in volatile memory until a flush.
    is_volatile: bool,
    page_bytes: usize,
    /// Durable content.
    settled: BTreeMap<At, Content>,
    /// Answered changes that no flush has covered, in order.
    unflushed: BTreeMap<At, Vec<(u64, Content)>>,
    flights: BTreeMap<OperationId, Flight>,
    /// Numbers of answered and of started changes.
    answered: u64,
    started: u64,
    /// When the last change of each page was started, as a number of started changes.
    touched: BTreeMap<At, u64>,
}

impl Durable {
    pub(crate) fn new(page_bytes: usize, is_volatile: bool) -> Self {
        Self {
            is_volatile,
            page_bytes,
            settled: BTreeMap::new(),
            unflushed: BTreeMap::new(),
            flights: BTreeMap::new(),
            answered: 0,
            started: 0,
            touched: BTreeMap::new(),
        }
    }

    /// Sets the initial content of a page. Pages without initial content are zeros.
    pub(crate) fn held(&mut self, at: At, bytes: &[u8]) {
        self.settled.insert(at, Content::of(bytes.into()));
    }

    /// Records the start of an operation; `bytes` is the content that it writes.
    pub(crate) fn started(&mut self, id: OperationId, operation: Operation, bytes: &[u8]) {
        let content = match operation.kind {
            OperationKind::Read => return,
            OperationKind::Write => Content::of(bytes.into()),
            OperationKind::Trim | OperationKind::Flush => Content::Zeros,
        };
        if operation.kind != OperationKind::Flush {
            self.started += 1;
            self.touched.insert((operation.member, operation.page), self.started);
        }
        self.flights.insert(id, Flight { operation, content, after: self.answered });
    }

    /// Records the answer of an operation. With `is_lost`, the content that it wrote went bad.
    pub(crate) fn ended(&mut self, id: OperationId, is_lost: bool) {
        let Some(Flight { operation, content, after }) = self.flights.remove(&id) else { return };
        let Operation { member, page, kind, .. } = operation;
        if kind == OperationKind::Flush {
            return self.flushed(member, after);
        }
        self.answered += 1;
        let content = if is_lost && kind == OperationKind::Write { Content::Unreadable } else { content };
        if self.is_volatile {
            self.unflushed.entry((member, page)).or_default().push((self.answered, content));
        } else {
            self.settled.insert((member, page), content);
        }
    }

    /// A flush covers the changes that were answered before the flush was started.
    fn flushed(&mut self, member: MemberNo, until: u64) {
        for (&at, changes) in self.unflushed.range_mut((member, 0)..=(member, u32::MAX)) {
            let covered = changes.iter().take_while(|(nth, _)| *nth <= until).count();
            if let Some((_, content)) = changes.drain(..covered).next_back() {
                self.settled.insert(at, content);
            }
        }
        self.unflushed.retain(|_, changes| !changes.is_empty());
    }

    /// The durable content of a page.
    pub(crate) fn content(&self, at: At) -> &Content {
        self.settled.get(&at).unwrap_or(&Content::Zeros)
    }

    /// Number of changes started so far.
    pub(crate) fn changes(&self) -> u64 {
        self.started
    }

    /// When the last change of a page was started.
    pub(crate) fn touched(&self, at: At) -> u64 {
        self.touched.get(&at).copied().unwrap_or(0)
    }

    /// Whether a page may hold one of several contents after a power loss now.
    pub(crate) fn is_undecided(&self, at: At) -> bool {
        let settled = self.settled.get(&at).unwrap_or(&Content::Zeros);
        let later = self.unflushed.get(&at).into_iter().flatten().map(|(_, content)| content);
        let flights = self.changing(at);
        later.chain(flights).any(|content| content != settled)
    }

    fn changing(&self, at: At) -> impl Iterator<Item = &Content> {
        let is_meant = move |flight: &&Flight| {
            let Operation { member, page, kind, .. } = flight.operation;
            kind != OperationKind::Flush && (member, page) == at
        };
        self.flights.values().filter(is_meant).map(|flight| &flight.content)
    }

    /// A power loss: of the unflushed changes and of the operations in flight, each page keeps some version. From now
    /// on this version is the page's content.
    pub(crate) fn lose_power(&mut self, random: &mut Prng) {
        let share = match random.below(4) {
            0 => Share::Nothing,
            1 => Share::Everything,
            _ => Share::Any,
        };
        let mut pages: Vec<At> = self.unflushed.keys().copied().collect();
        let changed = self.flights.values().filter(|flight| flight.operation.kind != OperationKind::Flush);
        pages.extend(changed.map(|flight| (flight.operation.member, flight.operation.page)));
        pages.sort_unstable();
        pages.dedup();
        for at in pages {
            let mut versions = vec![self.settled.remove(&at).unwrap_or_default()];
            versions.extend(self.unflushed.remove(&at).into_iter().flatten().map(|(_, content)| content));
            versions.extend(self.changing(at).cloned());
            self.settled.insert(at, self.relocation_stream(versions, share, random));
        }
        self.flights.clear();
    }

    /// One of `versions`, or a mix of their sectors.
    fn relocation_stream(&self, mut versions: Vec<Content>, share: Share, random: &mut Prng) -> Content {
        let last = versions.len() - 1;
        let nth = match share {
            Share::Nothing => 0,
            Share::Everything => last,
            Share::Any => random.below(last as u64 + 1) as usize,
        };
        let is_torn = share == Share::Any && random.chance(1, 2);
        if !is_torn || versions.contains(&Content::Unreadable) {
            return versions.swap_remove(nth);
        }
        let mut bytes = vec![0; self.page_bytes];
        for (sector, place) in bytes.chunks_exact_mut(SECTOR).enumerate() {
            let nth = random.below(versions.len() as u64) as usize;
            if let Some(content) = versions[nth].sector(sector) {
                place.copy_from_slice(content);
            }
        }
        Content::of(bytes.into())
    }

    /// The sender of the operations in flight was killed, and power stays on: `found` is what a page has of them. None of
    /// them is answered, so a flush in flight covers nothing.
    pub(crate) fn killed(&mut self, mut found: impl FnMut(At) -> io::Result<Box<[u8]>>) -> io::Result<()> {
        for Flight { operation, .. } in std::mem::take(&mut self.flights).into_values() {
            if operation.kind != OperationKind::Flush {
                let at = (operation.member, operation.page);
                self.answered += 1;
                self.unflushed.entry(at).or_default().push((self.answered, Content::of(found(at)?)));
            }
        }
        Ok(())
    }

    /// All pages with content; no operation may be in flight.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (At, &Content)> {
        self.settled.iter().map(|(&at, content)| (at, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4 * SECTOR;

    fn operation(kind: OperationKind) -> Operation {
        Operation { kind, member: MemberNo::new(1), page: 5, ..Operation::default() }
    }

    fn bytes(byte: u8) -> Vec<u8> {
        vec![byte; PAGE]
    }

    /// The possible contents of page 5 of member 1 after a power loss, over many seeds: the bytes of its sectors.
    fn left(durable: &Durable) -> std::collections::BTreeSet<Vec<u8>> {
        let one = |seed| {
            let mut durable = durable.clone();
            durable.lose_power(&mut Prng::stream(seed, 1));
            let content = durable.settled.get(&(MemberNo::new(1), 5)).cloned().unwrap_or_default();
            (0..4).map(|sector| content.sector(sector).map_or(255, |bytes| bytes[0])).collect()
        };
        (0..400).map(one).collect()
    }

    #[test]
    fn an_answered_write_stays_and_one_under_way_may_have_happened_sector_by_sector() {
        let mut durable = Durable::new(PAGE, false);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(1));
        durable.ended(OperationId::new(3), false);
        assert_eq!(left(&durable), [vec![1; 4]].into());
        assert!(!durable.is_undecided((MemberNo::new(1), 5)));
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(2));
        assert!(durable.is_undecided((MemberNo::new(1), 5)));
        let left = left(&durable);
        assert!(left.contains(&vec![1; 4]) && left.contains(&vec![2; 4]));
        assert_eq!(left.len(), 16, "each sector on its own");
        assert!(left.iter().flatten().all(|byte| [1, 2].contains(byte)));
    }

    #[test]
    fn volatile_members_may_forget_what_was_answered_until_a_flush_that_began_later_is_over() {
        let mut durable = Durable::new(PAGE, true);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(1));
        durable.ended(OperationId::new(3), false);
        durable.started(OperationId::new(4), operation(OperationKind::Flush), &[]);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(2));
        durable.ended(OperationId::new(3), false);
        assert!(left(&durable).iter().flatten().any(|&byte| byte == 0));
        durable.ended(OperationId::new(4), false);
        let kept = left(&durable);
        assert_eq!(
            kept.len(),
            16,
            "the first is there for certain, the second came when the flush was under way"
        );
        assert!(kept.iter().flatten().all(|byte| [1, 2].contains(byte)));
        let other = Operation { member: MemberNo::new(0), ..operation(OperationKind::Flush) };
        durable.started(OperationId::new(4), other, &[]);
        durable.ended(OperationId::new(4), false);
        assert_eq!(left(&durable).len(), 16, "a flush of another member is none of its business");
        durable.started(OperationId::new(4), operation(OperationKind::Flush), &[]);
        durable.ended(OperationId::new(4), false);
        assert_eq!(left(&durable), [vec![2; 4]].into());
    }

    #[test]
    fn a_killed_sender_leaves_what_the_page_has_until_power_is_lost_or_a_later_flush_covers_it() {
        let mut durable = Durable::new(PAGE, true);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(1));
        durable.ended(OperationId::new(3), false);
        durable.started(OperationId::new(4), operation(OperationKind::Flush), &[]);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(2));
        durable.killed(|_| Ok(bytes(2).into())).expect("it is read");
        durable.ended(OperationId::new(4), false);
        let kept: std::collections::BTreeSet<u8> = left(&durable).into_iter().flatten().collect();
        assert_eq!(kept, [0, 1, 2].into(), "the old content, or that of either write");
        durable.started(OperationId::new(4), operation(OperationKind::Flush), &[]);
        durable.ended(OperationId::new(4), false);
        assert_eq!(left(&durable), [vec![2; 4]].into());
    }

    #[test]
    fn a_bad_page_is_unreadable_until_it_is_overwritten() {
        let mut durable = Durable::new(PAGE, false);
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(1));
        durable.ended(OperationId::new(3), true);
        assert_eq!(left(&durable), [vec![255; 4]].into());
        durable.started(OperationId::new(3), operation(OperationKind::Write), &bytes(2));
        assert_eq!(left(&durable), [vec![255; 4], vec![2; 4]].into());
    }
}
