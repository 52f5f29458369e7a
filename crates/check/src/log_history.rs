//! History of each chunk of a log: its locations, losses, and versions on the members.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use stripewise_array::geometry::Geometry;
use stripewise_array::{Controller, MemberNo, StripeColumn, StripeView};

use crate::audit_log::{At, LogAudit};
use crate::media::Fault;
use crate::model::Update;
use crate::stamp::{Found, SECTOR};

/// The location of a chunk from some event on.
#[derive(Clone, Debug)]
struct Stay {
    event: u64,
    at: At,
    stripe: Option<Rc<StripeView>>,
}

/// The history of a log.
#[derive(Debug, Default)]
pub(crate) struct LogHistory {
    /// The locations of each chunk, in order.
    stays: Vec<Vec<Stay>>,
    /// Stripes that existed at the last look.
    known: BTreeSet<Vec<StripeColumn>>,
    /// Numbers of segments collected and of stripes written at the last look.
    done: (u64, u64),
    /// The event at which each member failed.
    failed: Vec<Option<u64>>,
    /// The latest version of each sector that was ever on the members.
    durable: Vec<Update>,
    /// Number of live chunks, from each event on.
    live: Vec<(u64, u64)>,
    /// The largest number of chunks that the failed members allow, from each event on.
    bounds: Vec<(u64, u64)>,
}

impl LogHistory {
    /// Examines an array after `event`. `faults` are all media faults so far, and `appended` the events in which
    /// stripes began to be written to pages of the log.
    ///
    /// # Errors
    /// A chunk is reported lost that was not lost.
    pub(crate) fn look(
        &mut self,
        audit: &LogAudit<'_>,
        event: u64,
        faults: &[Fault],
        appended: &BTreeMap<(MemberNo, u32), u64>,
    ) -> Result<(), String> {
        let chunks = audit.chunks();
        self.stays.resize(chunks as usize, Vec::new());
        self.durable.resize(audit.model.sectors() as usize, 0);
        let moved: Vec<(u64, At)> = (0..chunks)
            .map(|chunk| (chunk, audit.at(chunk)))
            .filter(|&(chunk, at)| self.last(chunk) != at)
            .collect();
        self.failed.resize(audit.array.members() as usize, None);
        for (member, failed) in (0..).zip(&mut self.failed) {
            if failed.is_none() && audit.array.is_failed(MemberNo::new(member)) {
                *failed = Some(event);
            }
        }
        let bound = audit.bound();
        if self.bounds.last().is_none_or(|&(_, last)| last != bound) {
            self.bounds.push((event, bound));
        }
        let counts = audit.array.log_counts();
        let done = (counts.collected, counts.stripes - audit.array.stripes_under_way());
        let before = std::mem::replace(&mut self.done, done);
        if moved.is_empty() && before == done {
            return Ok(());
        }
        for &(chunk, at) in &moved {
            if at == At::Lost && !self.may_be_lost(audit, chunk, 0, faults) {
                return Err(format!(
                    "chunk {chunk} was recorded as lost though its stripe is redundant enough"
                ));
            }
        }
        let mut of_slot = BTreeMap::new();
        let known = std::mem::take(&mut self.known);
        for stripe in audit.array.stripes().into_iter().map(Rc::new) {
            if !known.contains(&stripe.columns) {
                self.check_places(&stripe, appended, audit.array.geometry())?;
                self.note_durable(audit, &stripe);
            }
            self.known.insert(stripe.columns.clone());
            let columns = stripe.columns.iter();
            of_slot.extend(columns.map(|column| ((column.1, column.2), Rc::clone(&stripe))));
        }
        if before.0 != done.0 {
            self.note_collected(audit);
        }
        for (chunk, at) in moved {
            let stripe = match at {
                At::Log(member, page) => {
                    let stripe = of_slot.get(&(member, page)).cloned();
                    if stripe.is_none() {
                        return Err(format!("chunk {chunk} lies in no stripe that is written"));
                    }
                    stripe
                }
                _ => None,
            };
            self.stays[chunk as usize].push(Stay { event, at, stripe });
        }
        let live = self.stays.iter().filter(|stays| stays.last().is_some_and(|stay| stay.at != At::Nowhere));
        self.live.push((event, live.count() as u64));
        Ok(())
    }

    /// Checks that a new stripe has no column on a member that had failed before the stripe was begun.
    fn check_places(
        &self,
        stripe: &StripeView,
        appended: &BTreeMap<(MemberNo, u32), u64>,
        geometry: &Geometry,
    ) -> Result<(), String> {
        let begun = stripe.columns.iter().filter_map(|column| appended.get(&(column.1, column.2))).max();
        let Some(&begun) = begun else { return Ok(()) };
        // Parity of a deep stripe has its place even on a member that is missing, and gets there when the member returns.
        let data = if geometry.depth > 1 { geometry.data } else { u32::MAX };
        let is_dead = |&&(number, member, ..): &&(u32, MemberNo, u32, Option<u64>)| {
            number < data && self.failed[member.index()].is_some_and(|failed| failed < begun)
        };
        match stripe.columns.iter().find(is_dead) {
            None => Ok(()),
            Some((_, member, page, _)) => {
                Err(format!("a new stripe takes page {page} of member {member}, which had failed before"))
            }
        }
    }

    /// Records that a stripe was written: its content was on the members, even if it is no longer live.
    fn note_durable(&mut self, audit: &LogAudit<'_>, stripe: &StripeView) {
        let data = audit.array.geometry().data;
        for &(_, member, page, chunk) in stripe.columns.iter().filter(|column| column.0 < data) {
            match (audit.content(member, page, Some(stripe)), chunk) {
                (Some(bytes), _) => {
                    bytes.chunks_exact(SECTOR).for_each(|bytes| self.note_stamp(Found::of(bytes)));
                }
                // Reads report lost content.
                (None, Some(chunk)) => self.trust(audit, chunk),
                (None, None) => self.trust_memory(audit),
            }
        }
    }

    /// Handles collected segments. A stripe that was written, and whose chunks all became stale, within one event is
    /// never seen by a look. Its pages may be rewritten before the next flush ends, so their content is recorded now.
    fn note_collected(&mut self, audit: &LogAudit<'_>) {
        for bytes in audit.on_members() {
            match bytes {
                Some(bytes) => bytes.chunks_exact(SECTOR).for_each(|bytes| self.note_stamp(Found::of(bytes))),
                None => self.trust_memory(audit),
            }
        }
    }

    fn note_stamp(&mut self, found: Found) {
        if let Found::Stamp { write, sector } = found {
            let place = &mut self.durable[sector as usize];
            *place = write.max(*place);
        }
    }

    /// The versions of `chunk` on the members cannot be determined.
    fn trust(&mut self, audit: &LogAudit<'_>, chunk: u64) {
        let sectors = (audit.flash.media().page_bytes() / SECTOR) as u64;
        self.durable[(chunk * sectors) as usize..((chunk + 1) * sectors) as usize].fill(Update::MAX);
    }

    /// Some of the content of controller memory was on pages whose content cannot be determined.
    fn trust_memory(&mut self, audit: &LogAudit<'_>) {
        let in_memory = |&chunk: &u64| audit.at(chunk) == At::Memory;
        (0..audit.chunks()).filter(in_memory).for_each(|chunk| self.trust(audit, chunk));
    }

    fn last(&self, chunk: u64) -> At {
        self.stays[chunk as usize].last().map_or(At::Nowhere, |stay| stay.at)
    }

    /// The stripe that contains `chunk`, if the chunk is in the log.
    pub(crate) fn stripe_of(&self, chunk: u64) -> Option<&StripeView> {
        self.stays[chunk as usize].last()?.stripe.as_deref()
    }

    /// The locations of `chunk` at any time since `event`.
    fn since(&self, chunk: u64, event: u64) -> impl Iterator<Item = &Stay> {
        let stays = &self.stays[chunk as usize];
        let first = stays.iter().rposition(|stay| stay.event < event).unwrap_or(0);
        stays[first..].iter()
    }

    /// Whether at any time since `event`, with these media faults, `chunk` was in a stripe that lost more than the
    /// code tolerates.
    fn may_be_lost(&self, audit: &LogAudit<'_>, chunk: u64, event: u64, faults: &[Fault]) -> bool {
        self.since(chunk, event).any(|stay| {
            let Some(stripe) = &stay.stripe else { return stay.at == At::Lost };
            let is_lost = |&&(_, member, page, _): &&(u32, MemberNo, u32, Option<u64>)| {
                audit.array.is_failed(member)
                    || faults.iter().any(|fault| (fault.member, fault.page) == (member, page))
            };
            let lost = stripe.columns.iter().filter(is_lost).fold(0u64, |mask, column| mask | 1 << column.0);
            audit.is_beyond(lost)
        })
    }

    /// Whether a read of `chunks`, or a partial write to some of them, that was submitted in `event` may fail.
    pub(crate) fn may_fail(
        &self,
        audit: &LogAudit<'_>,
        mut chunks: impl Iterator<Item = u64>,
        event: u64,
        faults: &[Fault],
    ) -> bool {
        chunks.any(|chunk| self.may_be_lost(audit, chunk, event, faults))
    }

    /// Whether the array may have been out of space at some time since `event`: it had lost members, and it held more
    /// chunks than it can hold without them and still always find space.
    pub(crate) fn may_be_full(&self, event: u64) -> bool {
        let since = |list: &[(u64, u64)]| list.iter().rposition(|&(at, _)| at < event).unwrap_or(0);
        let live = self.live[since(&self.live)..].iter().map(|&(_, live)| live).max().unwrap_or(0);
        let bound = self.bounds[since(&self.bounds)..].iter().map(|&(_, bound)| bound).min().unwrap_or(0);
        // If no group has enough members for a stripe, there is no space at all.
        live > bound || bound == 0
    }

    /// Whether the members have had every sector of `chunk` in a version at least as new as `floor`, and still have
    /// that version or a later one, unless memory has a newer version since.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn durable_chunk(
        &self,
        audit: &LogAudit<'_>,
        chunk: u64,
        floor: impl Fn(u64) -> Update,
    ) -> Result<(), String> {
        let sectors = (audit.flash.media().page_bytes() / SECTOR) as u64;
        match self.last(chunk) {
            At::Memory => {
                let mut of_chunk = chunk * sectors..(chunk + 1) * sectors;
                // A later trim cancels the promise.
                let was_trimmed = |sector| audit.model.check(sector, Found::Zeros, floor(sector)).is_ok();
                let is_missing = |&sector: &u64| self.durable[sector as usize] < floor(sector);
                // A stripe that was written and collected in one event, and lost a column in that write, cannot be
                // examined.
                let is_degraded = self.failed.iter().any(Option::is_some);
                let is_broken = |&sector: &u64| is_missing(&sector) && !was_trimmed(sector) && !is_degraded;
                match of_chunk.find(is_broken) {
                    None => Ok(()),
                    Some(sector) => Err(format!(
                        "sector {sector} is in controller memory only; promised: {}",
                        floor(sector)
                    )),
                }
            }
            _ => audit.chunk(chunk, self.stripe_of(chunk), floor),
        }
    }
}
