//! The pages of the redo journal that no record takes. One that cannot be read may have held the newest record, as far as an
//! assembly can know, and counts as a loss of the member. A scrub finds such pages, and they are written with zeros.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::metadata_pieces::{PageRun, PieceLocation};

use crate::in_place::InPlace;
use crate::in_place::job::ClearVacant;
use crate::job::{Cx, Job};

/// The page of the ring and the member of a piece, among `members` members.
fn place_of(nth: u64, members: u32) -> (u32, MemberNo) {
    ((nth / u64::from(members)) as u32, MemberNo::at((nth % u64::from(members)) as usize))
}

impl InPlace {
    pub(crate) fn vacant_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let Some(journal) = &self.journal else { return PieceLocation::Over };
        let (page, member) = place_of(nth, exec.members().count);
        if page >= journal.layout.journal.pages || exec.has_bug(Bug::VacantNotRead) {
            return PieceLocation::Over;
        }
        let is_written = journal.record.is_under_way && journal.ring.newest_takes(page);
        if is_written && !exec.has_bug(Bug::RecordNotAwaited) {
            return PieceLocation::Busy;
        }
        if journal.ring.takes(page, member) || self.is_filled(member) {
            return PieceLocation::Nowhere;
        }
        PieceLocation::At(PageRun {
            member,
            first: journal.layout.journal.first + page,
            pages: 1,
            version: 0,
        })
    }

    /// Lets the next record wait until zeros are on this page, which cannot be read.
    pub(crate) fn clear_vacant<M: Memory>(&mut self, nth: u64, exec: &Executor<M>) {
        let (page, member) = place_of(nth, exec.members().count);
        if let Some(journal) = &mut self.journal {
            journal.unread.push((member, page));
        }
    }

    /// Writes zeros on vacant pages that cannot be read, with the plan of records: no record is written meanwhile. Returns false
    /// if there are none.
    pub(crate) fn write_vacant<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self
            .journal
            .as_ref()
            .is_none_or(|journal| journal.unread.is_empty() || journal.record.is_under_way)
        {
            return false;
        }
        // Beyond parity nothing is written to a group.
        let keeps = self.is_any_beyond(exec) || exec.has_lost_data(self);
        let Some(mut journal) = self.journal.take() else { return false };
        let is_vacant = |&(member, page): &(MemberNo, u32)| {
            !keeps && !exec.is_failed(member) && !journal.ring.takes(page, member)
        };
        let mut pages = std::mem::take(&mut journal.unread);
        pages.retain(is_vacant);
        // A plan has room for this number of writes, and a flush of each member.
        let most = (exec.operations_each() - exec.members().count) as usize;
        journal.unread = pages.split_off(pages.len().min(most));
        let plan = journal.plan;
        let is_any = !pages.is_empty();
        if is_any {
            self.clear_own(plan, ClearVacant, exec);
            let zeros = exec.memory_mut().take();
            if M::CARRIES_DATA {
                exec.memory_mut().bytes_mut(zeros).fill(0);
            }
            let mut members: Vec<MemberNo> = pages.iter().map(|&(member, _)| member).collect();
            let first = journal.layout.journal.first;
            let writes = pages.iter().map(|&(member, page)| (OperationKind::Write, member, first + page));
            self.push_own(plan, writes, exec);
            journal.record.pages.clear();
            journal.record.pages.resize(pages.len(), zeros);
            journal.record.owned.push(zeros);
            members.sort_unstable();
            members.dedup();
            if exec.members().volatile_cache {
                journal.record.pages.resize(pages.len() + members.len(), zeros);
                self.push_own(
                    plan,
                    members.into_iter().map(|member| (OperationKind::Flush, member, 0)),
                    exec,
                );
            }
            (journal.record.is_under_way, journal.is_clearing) = (true, true);
        }
        self.journal = Some(journal);
        if is_any {
            exec.run(plan, self, driver);
        }
        is_any
    }

    /// Vacant pages have zeros.
    fn vacant_cleared<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Some(journal) = &mut self.journal else { return };
        exec.end_own(plan);
        (journal.record.is_under_way, journal.is_clearing) = (false, false);
        journal.record.owned.drain(..).for_each(|page| exec.memory_mut().give(page));
    }
}

impl Job<InPlace> for ClearVacant {
    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.vacant_cleared(cx.plan, cx.exec);
    }
}
