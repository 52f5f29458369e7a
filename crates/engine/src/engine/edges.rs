//! Detects when rebuilds, scrubs and lack of space begin and end. The state is compared after each call that may change
//! it, and changes are noted as [`Incident`]s.

use std::path::Path;

use stripewise_array::format::{FailReason, Uuid};
use stripewise_array::health::{ArrayState, Troubles};
use stripewise_array::{Controller, Halt, MemberNo};

use super::Engine;
use crate::backend::Backend;
use crate::error::EngineError;
use crate::failure::Failure;
use crate::incidents::Incident;

/// The state at the last comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edges {
    rebuild: Option<MemberNo>,
    halted: Option<Halt>,
    is_scrubbing: bool,
    /// Whether the current or the last scrub was stopped before its end.
    is_scrub_stopped: bool,
    /// Repairs of all scrubs since the array was assembled, without and with the current scrub.
    scrub_repairs: (u64, u64),
    /// The same for copies of metadata.
    metadata_repairs: (u64, u64),
    out_of_space: Option<bool>,
    /// Whether more members are lost than parity tolerates, and how often that has begun.
    is_beyond_parity: bool,
    outages: u64,
    is_epoch_ending: bool,
}

impl<B: Backend> Engine<B> {
    /// The first incident that was not taken yet.
    pub fn take_incident(&mut self) -> Option<Incident> {
        self.member_io.incidents.take()
    }

    /// Incidents that were dropped because the queue was full.
    pub fn incidents_left_out(&self) -> u64 {
        self.member_io.incidents.left_out()
    }

    /// The state of the array, as far as its health depends on it.
    pub fn state(&self) -> ArrayState {
        let state = self.array.state();
        let is_read_only = self.is_read_only || state.is_read_only;
        let is_out_of_space = self.member_io.is_out_of_space();
        ArrayState { is_out_of_space, spares: self.spares.count(), is_read_only, ..state }
    }

    /// How often more members were lost than parity tolerates. Members that return afterwards may lack what no flush had
    /// covered, so the next flush of each client must fail: its data may be lost although it was acknowledged.
    pub fn outages(&self) -> u64 {
        self.edges.outages
    }

    /// Whether the array takes no writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The path of a member, or its last path if it has failed.
    pub fn member_path(&self, member: MemberNo) -> Option<&Path> {
        self.member_io.backend.path(member)
    }

    /// The identifiers of the array and of `member` in the superblocks. None if the array has no metadata.
    pub fn identity_of(&self, member: MemberNo) -> Option<(Uuid, Uuid)> {
        let known = self.known.as_ref()?;
        Some((known.array, *known.members.get(member.index())?))
    }

    /// Errors of `member` since the array was assembled.
    pub fn troubles(&self, member: MemberNo) -> Troubles {
        self.member_io.troubles_of(member)
    }

    /// The number of errors of all members; it only grows. A change is a cheap sign that there is something to look at.
    pub fn trouble_count(&self) -> u64 {
        self.member_io.trouble_count
    }

    /// Repairs. Of a log: pages that could not be read and were written again elsewhere, and repairs by scrubs. In
    /// place: the repairs of its members. In both: repaired copies of metadata.
    pub fn repairs(&self) -> u64 {
        let in_place = MemberNo::first(self.member_io.backend.count().into())
            .map(|member| self.troubles(member).repairs)
            .sum();
        let log = self.array.log_counts().healed + self.edges.scrub_repairs.0 + self.edges.scrub_repairs.1;
        let metadata = self.edges.metadata_repairs.0 + self.edges.metadata_repairs.1;
        metadata + if self.is_log() { log } else { in_place }
    }

    /// Takes a member out of service because of its behaviour, as [`Engine::fail`] does. The `reason` decides how much of
    /// its content counts when it returns; `text` is for people.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn fail_for(
        &mut self,
        member: MemberNo,
        reason: FailReason,
        text: String,
    ) -> Result<(), EngineError> {
        self.fail_because(member, Failure::Unreliable { reason, text })
    }

    /// Notes that the current scrub is stopped.
    pub(super) fn note_stopped_scrub(&mut self) {
        self.edges.is_scrub_stopped = self.array.scrub_counts().1;
    }

    /// Notes the activities that began or ended since the last call.
    #[inline]
    pub(super) fn watch_edges(&mut self) {
        let rebuild = self.array.rebuilding();
        self.member_io.rebuilt = match rebuild {
            Some(_) => MemberNo::first(self.array.members())
                .filter(|&member| self.array.is_incomplete(member))
                .fold(0, |mask, member| mask | member.bit()),
            None => 0,
        };
        if rebuild.map(|(member, ..)| member) != self.edges.rebuild || rebuild.is_some() {
            self.watch_rebuild(rebuild);
        }
        let (_, is_scrubbing) = self.array.scrub_counts();
        if is_scrubbing || self.edges.is_scrubbing {
            self.watch_scrub(is_scrubbing);
        }
        let is_beyond_parity = self.array.is_beyond_parity();
        let was_beyond_parity = std::mem::replace(&mut self.edges.is_beyond_parity, is_beyond_parity);
        self.edges.outages += u64::from(is_beyond_parity && !was_beyond_parity);
        let out_of_space =
            self.member_io.is_out_of_space().then(|| self.member_io.is_out_of_space_beyond_parity());
        if out_of_space != self.edges.out_of_space {
            self.edges.out_of_space = out_of_space;
            self.member_io.incidents.note(match out_of_space {
                Some(is_beyond_parity) => Incident::OutOfSpace { is_beyond_parity },
                None => Incident::SpaceBack,
            });
        }
        if !self.edges.is_epoch_ending && self.array.is_epoch_ending() {
            self.edges.is_epoch_ending = true;
            self.member_io.incidents.note(Incident::ReadOnly);
        }
    }

    fn watch_rebuild(&mut self, rebuild: Option<(MemberNo, u32, u32)>) {
        let member = rebuild.map(|(member, ..)| member);
        if let Some(before) = self.edges.rebuild.filter(|_| member != self.edges.rebuild) {
            let is_complete = !self.array.is_failed(before);
            let lost = self.array.rebuild_lost();
            self.member_io.incidents.note(Incident::RebuildEnded { member: before, lost, is_complete });
            self.edges.halted = None;
        }
        if let Some((member, _, total)) = rebuild.filter(|_| member != self.edges.rebuild) {
            self.member_io.incidents.note(Incident::RebuildBegan { member, total: total.into() });
        }
        self.edges.rebuild = member;
        let halted = self.array.rebuild_halted();
        if let (Some(member), Some(why)) = (member, halted.filter(|_| self.edges.halted.is_none())) {
            self.member_io.incidents.note(Incident::RebuildHalted { member, reason: why.to_string() });
        }
        self.edges.halted = halted;
    }

    fn watch_scrub(&mut self, is_scrubbing: bool) {
        let (counts, _) = self.array.scrub_counts();
        let repaired = [
            (&mut self.edges.scrub_repairs, counts.repaired),
            (&mut self.edges.metadata_repairs, counts.metadata_repaired),
        ];
        for ((before, current), repaired) in repaired {
            if repaired < *current {
                // Another scrub began.
                *before += *current;
            }
            *current = repaired;
        }
        if self.edges.is_scrubbing && !is_scrubbing {
            let is_complete = !std::mem::take(&mut self.edges.is_scrub_stopped);
            self.member_io.incidents.note(Incident::ScrubEnded {
                pages: counts.pages,
                bad: counts.bad,
                repaired: counts.repaired,
                obsolete: counts.obsolete,
                lost: counts.lost,
                metadata_damaged: counts.metadata_damaged,
                metadata_repaired: counts.metadata_repaired,
                is_complete,
            });
            for (before, current) in [&mut self.edges.scrub_repairs, &mut self.edges.metadata_repairs] {
                *before += std::mem::take(current);
            }
        }
        self.edges.is_scrubbing = is_scrubbing;
    }
}
