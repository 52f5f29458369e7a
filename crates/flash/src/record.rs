//! Counts the activity of dies, and reports it to media that record it.

use stripewise_base::Nanos;

use crate::flash::Flash;
use crate::media::{Media, Stretch, Work};
use crate::operations::die::Phase;

impl<M: Media> Flash<M> {
    /// A die begins a phase now, or at a known later `start`. `times` are its times on the bus and in the cells.
    #[inline(always)]
    pub(crate) fn record(&mut self, start: Nanos, die: u32, phase: Phase, times: (Nanos, Nanos)) {
        self.dies[die as usize].cell_busy += times.1;
        if M::RECORDS {
            self.report(start, die, phase, times, false);
        }
    }

    /// A die resumes a suspended phase.
    #[inline(always)]
    pub(crate) fn record_rest(&mut self, start: Nanos, die: u32, phase: Phase, left: Nanos) {
        self.dies[die as usize].cell_busy += left;
        if M::RECORDS {
            self.report(start, die, phase, (0, left), true);
        }
    }

    fn report(
        &mut self,
        start_ns: Nanos,
        die: u32,
        phase: Phase,
        (bus_ns, cell_ns): (Nanos, Nanos),
        is_rest: bool,
    ) {
        let work = match phase {
            Phase::Sense => Work::Sense,
            Phase::Out => Work::Out,
            Phase::Program => Work::Program,
            Phase::MoveSense | Phase::MoveOut => Work::MoveSense,
            Phase::MoveProgram => Work::MoveProgram,
            Phase::Erase => Work::Erase,
            Phase::Span => Work::Collection,
            Phase::Idle | Phase::Offer | Phase::Suspend => return,
        };
        let (token, plane, block) = if matches!(work, Work::Sense | Work::Out | Work::Program) {
            let slot = &self.slots[self.dies[die as usize].slot as usize];
            (Some(slot.token), slot.plane, 0)
        } else {
            let collection = &self.collections[die as usize];
            (None, collection.plane, collection.block)
        };
        let moves = match work {
            _ if is_rest => 0,
            Work::MoveProgram => 1,
            Work::Collection => self.collections[die as usize].moved,
            _ => 0,
        };
        let stretch = Stretch { die, work, token, plane, block, moves, start_ns, is_rest, bus_ns, cell_ns };
        self.media.stretch(&stretch);
        if !is_rest && matches!(work, Work::Sense | Work::Program) {
            let mut others = self.chain(self.dies[die as usize].slot);
            others.next();
            let tokens: Vec<u32> = others.map(|slot| self.slots[slot as usize].token).collect();
            tokens.into_iter().for_each(|token| self.media.joined(die, token));
        }
    }

    /// A die suspends its operation with `left` of its cell time remaining.
    #[inline(always)]
    pub(crate) fn record_suspended(&mut self, die: u32, left: Nanos) {
        self.dies[die as usize].cell_busy -= left;
        if M::RECORDS {
            self.media.suspended(die, left);
        }
    }
}
