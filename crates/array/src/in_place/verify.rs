//! Content of rows against the table of checksums.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationId, Outcome};
use stripewise_exec::Executor;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_format::crc32c;

use crate::in_place::InPlace;
use crate::in_place::journal::Checksums;

impl InPlace {
    /// The outcome of reading a page of data or parity, with its checksum verified.
    #[inline]
    pub(crate) fn verified_in_place<M: Memory>(
        &self,
        id: OperationId,
        outcome: Outcome,
        exec: &Executor<M>,
    ) -> Outcome {
        let Some(journal) = self.journal.as_ref().filter(|_| M::CARRIES_DATA && outcome == Outcome::Done)
        else {
            return outcome;
        };
        let Operation { member, page, class, .. } = *exec.operation(id);
        if class == Class::Metadata {
            // Metadata lies outside of rows, and its reader verifies it.
            return outcome;
        }
        let (group, position) = exec.geometry().position_of(member);
        let expected = journal.table.get(group, page - exec.geometry().first_page, position);
        let is_right = crc32c(exec.memory().bytes(exec.buffer_of(id, self))) == expected;
        if is_right { Outcome::Done } else { Outcome::Corrupt }
    }

    /// Whether content that operation `id` read, and that does not match its checksum, is an error of its member. What a
    /// member that is being rebuilt has at or after the cursor is not: the rebuild reads it to see what it lacks. Nor is what the
    /// rebuild had to leave out, or parity that the array itself could not keep up to date.
    pub(crate) fn charges_in_place<M: Memory>(&self, id: OperationId, exec: &Executor<M>) -> bool {
        let Operation { member, page, .. } = *exec.operation(id);
        let (group, position) = exec.geometry().position_of(member);
        let is_unknown = self.journal.as_ref().is_some_and(|journal| {
            journal.table.get(group, page - exec.geometry().first_page, position) == Checksums::UNKNOWN
        });
        let is_left_out = self.membership().is_some_and(|members| {
            members.rebuilds.iter().any(|rebuild| rebuild.member == member && rebuild.leaves_out)
        });
        let is_excused = is_unknown || is_left_out || self.is_stale_in_place(member, page, exec);
        exec.has_bug(Bug::StaleCharged) || !is_excused
    }

    /// Whether the content that `plan` decoded has the expected checksums. If not, the requested content is lost: the plan
    /// ends, and writes nothing.
    pub(crate) fn verify_decoded<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let Some(journal) = &self.journal else { return true };
        let Plan { place, purpose, wanted, .. } = *exec.plan(plan);
        let is_wrong = |&column: &u32| {
            let (group, position) = exec.geometry().position_of(exec.geometry().member(place, column));
            let expected = journal.table.get(group, place.page - exec.geometry().first_page, position);
            let content = exec.content_of_old(plan, column).map(|page| crc32c(exec.memory().bytes(page)));
            content.is_some_and(|checksum| checksum != expected)
        };
        let wrong =
            columns(self.decoded(plan, exec)).filter(is_wrong).fold(0, |mask, column| mask | 1 << column);
        if wrong == 0 {
            return true;
        }
        exec.end_here(plan);
        exec.abandon(plan);
        exec.fail_requests(plan, if purpose == Purpose::Read { wrong } else { wanted }, self);
        false
    }
}
