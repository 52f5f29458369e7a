//! Bytes at the physical pages of small devices, and the faults that the contract allows.
//!
//! Content is kept at the physical page where the flash puts it. Therefore a wrong map, a page moved to a wrong place
//! or a block erased too early shows up as wrong content in a read.

use serde::{Deserialize, Serialize};
use stripewise_array::{MemberNo, Operation, OperationId, OperationKind, Outcome, PageMemory};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::Media;
use stripewise_sim::Content;

use crate::durable::{Content as Kept, Durable};
use crate::stamp::ERASED;

/// Faults of pages: probabilities in parts per million, and specific reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// A programmed page cannot be read until it is written again.
    pub lost_ppm: u32,
    /// One read ends with a medium error.
    pub failed_read_ppm: u32,
    /// One read returns content that is known to be wrong.
    pub corrupt_read_ppm: u32,
    /// The reads with these numbers, counted from 0 over all members, end with a medium error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_reads: Vec<u64>,
    /// Only these members have the faults above, other than the reads with numbers; all members if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sick: Vec<MemberNo>,
    /// The answer to an operation is delayed.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_ppm: u32,
    /// The longest such delay.
    #[serde(skip_serializing_if = "is_none")]
    pub late: Span,
    /// Before an event a member is reported slow, or to answer again, whatever its actual state.
    #[serde(skip_serializing_if = "is_zero")]
    pub slow_ppm: u32,
}

fn is_zero(ppm: &u32) -> bool {
    *ppm == 0
}

fn is_none(span: &Span) -> bool {
    span.0 == 0
}

/// The manner in which a member is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// The member is gone, and the controller is notified.
    Gone,
    /// The member's next operation ends without an answer in time.
    Silent,
    /// The member's next write ends with a medium error.
    FailedWrite,
}

/// An operation that ended in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The member.
    pub member: MemberNo,
    /// Its page.
    pub page: u32,
    /// The kind of operation.
    pub kind: OperationKind,
    /// The outcome.
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Erased,
    Written,
    /// Written, but unreadable.
    Lost,
}

/// Content of an operation in flight inside a member: that of a write before it is programmed, that of a read after
/// it is read.
#[derive(Clone, Debug, Default)]
struct Cargo {
    bytes: Box<[u8]>,
    is_lost: bool,
}

/// The bytes of all members.
#[derive(Clone, Debug)]
pub struct PageMedia {
    page_bytes: usize,
    pages_per_member: u32,
    bytes: Vec<u8>,
    states: Vec<State>,
    zeros: Box<[u8]>,
    poison: Box<[u8]>,
    cargo: Vec<Cargo>,
    faults: Faults,
    random: Prng,
    /// Reads that have ended.
    reads: u64,
    /// Members that are about to be lost, and in which manner.
    doomed: Vec<Option<Manner>>,
    log: Vec<Fault>,
    wrong: Option<String>,
    /// The content that a power loss leaves; recorded only if the case has power losses.
    durable: Option<Durable>,
}

impl PageMedia {
    /// Erased pages of `page_bytes` bytes for `members` members. `seed` determines which operations fail.
    pub fn new(members: u32, pages_per_member: u32, page_bytes: u32, faults: Faults, seed: u64) -> Self {
        let pages = members as usize * pages_per_member as usize;
        Self {
            page_bytes: page_bytes as usize,
            pages_per_member,
            bytes: vec![0; pages * page_bytes as usize],
            states: vec![State::Erased; pages],
            zeros: vec![0; page_bytes as usize].into(),
            poison: vec![ERASED; page_bytes as usize].into(),
            cargo: Vec::new(),
            faults,
            random: Prng::stream(seed, 0x6D65_6469),
            reads: 0,
            doomed: vec![None; members as usize],
            log: Vec::new(),
            wrong: None,
            durable: None,
        }
    }

    /// Records from now on the content that a power loss would leave. `is_volatile`: members have volatile caches.
    pub(crate) fn note_durable(&mut self, is_volatile: bool) {
        self.durable = Some(Durable::new(self.page_bytes, is_volatile));
    }

    /// The content that a power loss would leave, if it is recorded.
    pub(crate) fn durable(&self) -> Option<&Durable> {
        self.durable.as_ref()
    }

    /// Like [`Self::durable`], mutable.
    pub(crate) fn durable_mut(&mut self) -> Option<&mut Durable> {
        self.durable.as_mut()
    }

    /// Handles a power loss: afterwards all pages are erased. The caller then writes the kept content to its new
    /// places, with [`Self::put`] and [`Self::spoil`].
    pub(crate) fn lose_power(&mut self) {
        if let Some(durable) = &mut self.durable {
            durable.lose_power(&mut self.random);
        }
        self.states.fill(State::Erased);
    }

    /// Sets the content that program `token` will write.
    pub(crate) fn put(&mut self, token: u32, content: &Kept) {
        let cargo = self.cargo(OperationId::new(token));
        match content {
            Kept::Bytes(bytes) => cargo.bytes.copy_from_slice(bytes),
            Kept::Zeros | Kept::Unreadable => cargo.bytes.fill(0),
        }
    }

    /// Makes a physical page unreadable.
    pub(crate) fn spoil(&mut self, member: u32, page: u32) {
        let at = self.at(member, page);
        self.states[at] = State::Lost;
    }

    /// The rate of reports that a member is slow or answers again.
    pub(crate) fn slow_ppm(&self) -> u32 {
        self.faults.slow_ppm
    }

    /// The fault rates, mutable, so that a caller can change them for some time.
    pub(crate) fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// The content of a physical page, or zeros for an unmapped page; `None` if it cannot be read.
    pub fn page(&self, member: u32, page: Option<u32>) -> Option<&[u8]> {
        let Some(page) = page else { return Some(&self.zeros) };
        let at = self.at(member, page);
        match self.states[at] {
            State::Erased => Some(&self.poison),
            State::Written => Some(self.content(at)),
            State::Lost => None,
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Every operation that ended in an error so far, in order.
    pub fn log(&self) -> &[Fault] {
        &self.log
    }

    /// The first impossible action of the flash, if there was one.
    pub fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    /// From now on no further page goes bad; bad pages stay bad.
    pub fn calm(&mut self) {
        self.faults = Faults::default();
    }

    /// Makes the member's next operation, or next write, fail in this manner.
    pub fn doom(&mut self, member: MemberNo, manner: Manner) {
        self.doomed[member.index()] = Some(manner);
    }

    /// Whether the member is doomed and has not failed yet.
    pub fn is_doomed(&self, member: MemberNo) -> bool {
        self.doomed[member.index()].is_some()
    }

    fn at(&self, member: u32, page: u32) -> usize {
        member as usize * self.pages_per_member as usize + page as usize
    }

    fn content(&self, at: usize) -> &[u8] {
        &self.bytes[at * self.page_bytes..(at + 1) * self.page_bytes]
    }

    fn cargo(&mut self, id: OperationId) -> &mut Cargo {
        let token = id.index();
        while self.cargo.len() <= token {
            self.cargo.push(Cargo { bytes: vec![0; self.page_bytes].into(), is_lost: false });
        }
        &mut self.cargo[token]
    }

    fn happens(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.random.chance(u64::from(ppm), 1_000_000)
    }

    /// Whether a fault of this rate happens to `member`.
    fn strikes(&mut self, ppm: u32, member: MemberNo) -> bool {
        self.happens(ppm) && (self.faults.sick.is_empty() || self.faults.sick.contains(&member))
    }

    fn complain(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    /// Gives new content to a page, which must be erased.
    fn occupy(&mut self, member: u32, page: u32, state: State, how: &str) -> usize {
        let at = self.at(member, page);
        if self.states[at] != State::Erased {
            self.complain(format!("page {page} of member {member} was {how} without an erase before"));
        }
        self.states[at] = state;
        at
    }

    fn outcome_of(&mut self, id: OperationId, operation: &Operation) -> Outcome {
        let is_read = operation.kind == OperationKind::Read;
        let doom = &mut self.doomed[operation.member.index()];
        match doom {
            Some(Manner::Silent) => {
                *doom = None;
                return Outcome::Timeout;
            }
            Some(Manner::FailedWrite) if operation.kind == OperationKind::Write => {
                *doom = None;
                return Outcome::MediumError;
            }
            _ => {}
        }
        if !is_read {
            return Outcome::Done;
        }
        self.reads += 1;
        let is_chosen = self.faults.failed_reads.contains(&(self.reads - 1));
        if self.cargo(id).is_lost || is_chosen || self.strikes(self.faults.failed_read_ppm, operation.member)
        {
            Outcome::MediumError
        } else if self.strikes(self.faults.corrupt_read_ppm, operation.member) {
            Outcome::Corrupt
        } else {
            Outcome::Done
        }
    }
}

impl Media for PageMedia {
    fn program(&mut self, member: u32, page: u32, token: u32) {
        let is_lost = self.strikes(self.faults.lost_ppm, MemberNo::at(member as usize));
        let state = if is_lost { State::Lost } else { State::Written };
        let at = self.occupy(member, page, state, "programmed");
        self.cargo(OperationId::new(token)).is_lost = state == State::Lost;
        let (from, size) = (&self.cargo[token as usize].bytes, self.page_bytes);
        self.bytes[at * size..(at + 1) * size].copy_from_slice(from);
    }

    fn read(&mut self, member: u32, page: Option<u32>, token: u32) {
        let mut cargo = std::mem::take(self.cargo(OperationId::new(token)));
        let found = self.page(member, page);
        cargo.is_lost = found.is_none();
        if let Some(found) = found {
            cargo.bytes.copy_from_slice(found);
        }
        *self.cargo(OperationId::new(token)) = cargo;
    }

    fn copy(&mut self, member: u32, from: u32, to: u32) {
        let source = self.at(member, from);
        if self.states[source] == State::Erased {
            self.complain(format!("page {from} of member {member} was moved though it holds nothing"));
        }
        let at = self.occupy(member, to, self.states[source], "moved to");
        let size = self.page_bytes;
        self.bytes.copy_within(source * size..(source + 1) * size, at * size);
    }

    fn erase(&mut self, member: u32, first: u32, count: u32) {
        let at = self.at(member, first);
        self.states[at..at + count as usize].fill(State::Erased);
    }
}

impl Content<PageMemory> for PageMedia {
    fn stage(&mut self, id: OperationId, page: u32, memory: &PageMemory) {
        self.cargo(id).bytes.copy_from_slice(memory.page(page));
    }

    fn fetch(&mut self, id: OperationId, page: u32, memory: &mut PageMemory) {
        memory.page_mut(page).copy_from_slice(&self.cargo(id).bytes);
    }

    fn started(&mut self, _: Nanos, id: OperationId, operation: &Operation) {
        if self.durable.is_some() {
            self.cargo(id);
        }
        if let Some(durable) = &mut self.durable {
            durable.started(id, *operation, &self.cargo[id.index()].bytes);
        }
    }

    fn ended(&mut self, _: Nanos, id: OperationId) {
        if let Some(durable) = &mut self.durable {
            durable.ended(id, self.cargo[id.index()].is_lost);
        }
    }

    fn late_ns(&mut self, _: &Operation) -> Nanos {
        if self.happens(self.faults.late_ppm) { 1 + self.random.below(self.faults.late.0.max(1)) } else { 0 }
    }

    fn outcome(&mut self, id: OperationId, operation: &Operation) -> Outcome {
        let outcome = self.outcome_of(id, operation);
        if outcome != Outcome::Done {
            let Operation { member, page, kind, .. } = *operation;
            self.log.push(Fault { member, page, kind, outcome });
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use stripewise_array::Memory as _;

    use super::*;

    const READ: Operation = Operation {
        page: 0,
        member: MemberNo::new(1),
        kind: OperationKind::Read,
        class: stripewise_array::Class::HostRead,
        column: 0,
        old_version: false,
        stream: 0,
        request: 0,
    };
    const WRITE: Operation = Operation { kind: OperationKind::Write, ..READ };

    fn media(faults: Faults) -> (PageMedia, PageMemory, u32) {
        let mut memory = PageMemory::new(512);
        let buffer = memory.take();
        memory.page_mut(buffer).fill(7);
        (PageMedia::new(2, 8, 512, faults, 1), memory, buffer)
    }

    /// The first byte of the content that a read of a physical page returns.
    fn fetched(media: &mut PageMedia, memory: &mut PageMemory, page: Option<u32>) -> u8 {
        let buffer = memory.take();
        media.read(1, page, 3);
        media.fetch(OperationId::new(3), buffer, memory);
        let byte = memory.page(buffer)[0];
        memory.give(buffer);
        byte
    }

    #[test]
    fn bytes_go_where_the_flash_puts_them_and_move_with_its_pages() {
        let (mut media, mut memory, buffer) = media(Faults::default());
        media.stage(OperationId::new(9), buffer, &memory);
        media.program(1, 5, 9);
        media.copy(1, 5, 6);
        media.erase(1, 4, 2);
        assert_eq!(fetched(&mut media, &mut memory, Some(6)), 7);
        assert_eq!(fetched(&mut media, &mut memory, Some(5)), ERASED);
        assert_eq!(fetched(&mut media, &mut memory, None), 0);
        assert_eq!(media.wrong(), None);
    }

    #[test]
    fn programming_a_written_page_and_moving_an_erased_one_are_noticed() {
        let (mut media, memory, buffer) = media(Faults::default());
        media.stage(OperationId::new(9), buffer, &memory);
        media.program(1, 5, 9);
        media.program(1, 5, 9);
        assert_eq!(media.wrong(), Some("page 5 of member 1 was programmed without an erase before"));
        let (mut media, ..) = self::media(Faults::default());
        media.copy(1, 2, 3);
        assert_eq!(media.wrong(), Some("page 2 of member 1 was moved though it holds nothing"));
    }

    #[test]
    fn a_lost_page_stays_lost_when_it_moves_and_is_well_when_it_is_written_again() {
        let (mut media, memory, buffer) = media(Faults { lost_ppm: 1_000_000, ..Faults::default() });
        media.stage(OperationId::new(9), buffer, &memory);
        media.program(1, 5, 9);
        media.copy(1, 5, 6);
        media.calm();
        media.read(1, Some(6), 3);
        assert_eq!(media.outcome(OperationId::new(3), &READ), Outcome::MediumError);
        assert_eq!(media.page(1, Some(6)), None);
        media.program(1, 7, 9);
        media.read(1, Some(7), 3);
        assert_eq!(media.outcome(OperationId::new(3), &READ), Outcome::Done);
        assert_eq!(
            media.log(),
            [Fault {
                member: MemberNo::new(1),
                page: 0,
                kind: OperationKind::Read,
                outcome: Outcome::MediumError
            }]
        );
    }

    #[test]
    fn a_doomed_member_fails_once_in_its_manner() {
        let (mut media, ..) = media(Faults::default());
        media.doom(MemberNo::new(1), Manner::FailedWrite);
        assert_eq!(media.outcome(OperationId::new(3), &READ), Outcome::Done);
        assert_eq!(
            media.outcome(OperationId::new(3), &Operation { member: MemberNo::new(0), ..WRITE }),
            Outcome::Done
        );
        assert_eq!(media.outcome(OperationId::new(3), &WRITE), Outcome::MediumError);
        assert_eq!(media.outcome(OperationId::new(3), &WRITE), Outcome::Done);
        media.doom(MemberNo::new(1), Manner::Silent);
        assert_eq!(media.outcome(OperationId::new(3), &READ), Outcome::Timeout);
    }

    #[test]
    fn chosen_reads_fail_and_no_others() {
        let (mut media, ..) = media(Faults { failed_reads: vec![2, 3], ..Faults::default() });
        media.read(1, None, 3);
        let failed: Vec<bool> =
            (0..5).map(|_| media.outcome(OperationId::new(3), &READ) != Outcome::Done).collect();
        assert_eq!(failed, [false, false, true, true, false]);
    }

    #[test]
    fn only_sick_members_have_faults() {
        let faults = Faults {
            lost_ppm: 1_000_000,
            failed_read_ppm: 1_000_000,
            sick: vec![MemberNo::new(1)],
            ..Faults::default()
        };
        let (mut media, memory, buffer) = media(faults);
        media.stage(OperationId::new(9), buffer, &memory);
        for (member, is_sick) in [(0, false), (1, true)] {
            media.program(member, 5, 9);
            assert_eq!(media.page(member, Some(5)).is_none(), is_sick);
            media.read(member, None, 3);
            let outcome = media
                .outcome(OperationId::new(3), &Operation { member: MemberNo::at(member as usize), ..READ });
            assert_eq!(outcome == Outcome::MediumError, is_sick, "member {member}");
        }
    }

    #[test]
    fn failing_reads_come_at_their_rate() {
        let faults = Faults { failed_read_ppm: 100_000, corrupt_read_ppm: 200_000, ..Faults::default() };
        let (mut media, ..) = media(faults);
        media.read(1, None, 3);
        let mut count =
            |outcome| (0..10_000).filter(|_| media.outcome(OperationId::new(3), &READ) == outcome).count();
        // Standard deviations are 30 and 38.
        assert!(count(Outcome::MediumError).abs_diff(1_000) < 150);
        assert!(count(Outcome::Corrupt).abs_diff(1_800) < 190);
    }
}
