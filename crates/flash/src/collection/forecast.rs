//! Forecasts that a controller may ask of a member: the time that collections take, and the time that a read takes.

use std::ops::Range;

use stripewise_base::Nanos;

use crate::flash::Flash;
use crate::list::NONE;
use crate::map::ftl::{FREE, OPEN};
use crate::media::Media;
use crate::operations::die::{NEVER, Phase};
use crate::spec::{Domain, GcSpan};

impl<M: Media> Flash<M> {
    /// Expected length of a collection of one block of a member: `(t_R + t_W) * moves / erases + t_E` from the
    /// member's running counters, cell times only (paper 000, section III-B, Eq. 3), to the nearest nanosecond.
    ///
    /// The counters run from the end of preconditioning; [`Self::reset_counters`] does not reset them. The paper
    /// leaves the quotient undefined before the first erase. Our choice: the mean number of valid pages of the
    /// member's blocks, read without retries; computing it takes time in proportion to the number of blocks. With
    /// read levels, `t_R` is the mean of the moves' own reads (paper 000, section IV-A, adjusts it to them).
    pub fn gc_average_ns(&self, member: u32) -> Nanos {
        let e = &self.members[member as usize];
        let (moves, erases) = self.mean_moves(member);
        let sense = if e.carried.erases + e.counters.erase_blocks == 0 {
            u128::from(moves) * u128::from(self.times.read)
        } else {
            u128::from(e.carried.sense)
        };
        let cells = sense + u128::from(self.times.program) * u128::from(moves);
        let erases = u128::from(erases);
        ((cells + erases / 2) / erases) as Nanos + self.times.erase
    }

    /// Pages that collections of a member moved, and blocks that they erased, as a quotient. Before the first erase:
    /// the member's valid pages and its blocks.
    pub(crate) fn mean_moves(&self, member: u32) -> (u64, u64) {
        let e = &self.members[member as usize];
        let erases = e.carried.erases + e.counters.erase_blocks;
        if erases == 0 {
            return self.valid_share(member);
        }
        (e.carried.moves + e.counters.gc_move_pages, erases)
    }

    /// The number of valid pages of a member, and of its blocks.
    fn valid_share(&self, member: u32) -> (u64, u64) {
        let planes = self.planes_of(member);
        let held = |plane: u32| {
            let counts = self.ftl.valid_of(plane).iter().filter(|&&count| count != FREE);
            let pages: u64 = counts.map(|&count| u64::from(count & !OPEN)).sum();
            // A block that is being written counts as full.
            pages - u64::from(self.ftl.unwritten(plane))
        };
        (planes.map(held).sum(), u64::from(self.shape.blocks_per_member()))
    }

    /// Time until the last of the current collections that run on a member or hold it back is over; 0 if there is
    /// none. Only the blocks being collected now count, not later ones.
    ///
    /// The value is exact if a collection is one busy span, or runs stepwise and undisturbed. Otherwise it is an
    /// estimate, because host operations may still invalidate pages to be moved, or use the bus or the die in
    /// between.
    pub fn gc_remaining_ns(&self, now: Nanos, member: u32) -> Nanos {
        if !self.is_collecting(member) {
            return 0;
        }
        let first = member * self.shape.dies_per_member;
        let own = first..first + self.shape.dies_per_member;
        let around = self.dies_of(first, Some(self.gc.blocking));
        let dies = own.start.min(around.start)..own.end.max(around.end);
        let concerns = |die: &u32| {
            let held: Range<u32> = self.dies_of(*die, self.collections[*die as usize].held);
            held.start < own.end && own.start < held.end
        };
        dies.filter(concerns).map(|die| self.remaining_of(now, die)).max().unwrap_or(0)
    }

    /// Remaining time of the collection of one block on its die.
    pub(crate) fn remaining_of(&self, now: Nanos, die: u32) -> Nanos {
        let (d, c, t) = (&self.dies[die as usize], &self.collections[die as usize], &self.times);
        if c.block == NONE {
            return 0;
        }
        let until = |whole: Nanos| if d.due == NEVER { whole } else { d.due.saturating_sub(now) };
        if let Some(suspended) = self.suspensions.get(die as usize).filter(|_| self.is_suspended(die)) {
            // The collection resumes after the reads for which it was suspended.
            let resume = self.spec.suspend.map_or(0, |spec| spec.resume.0);
            let moves = if suspended.phase == Phase::MoveProgram { self.moves_left(die) } else { 0 };
            return until(0) + resume + suspended.left + moves;
        }
        if self.gc.span == GcSpan::Busy {
            return until(0);
        }
        let (erase, later) = (t.erase_command + t.erase, self.moves_left(die));
        let program = t.move_bus(c.filled) + t.move_program(c.filled);
        match d.phase {
            Phase::MoveSense => until(t.read_command + c.sense) + program + later,
            Phase::MoveOut => until(t.page) + program - t.page + later,
            Phase::MoveProgram => until(program) + later,
            Phase::Erase => until(erase),
            // A host operation on another plane goes first.
            _ => until(0) + later,
        }
    }

    /// Time of the moves that a collection has not begun, plus its erase.
    pub(crate) fn moves_left(&self, die: u32) -> Nanos {
        let (c, t) = (&self.collections[die as usize], &self.times);
        let sense = self.cell_read_ns(self.shape.member_of_die(die), c.first);
        let a_move = t.read_command + sense + t.move_bus(false) + t.move_program(false);
        u64::from(c.end - c.next) * a_move + t.erase_command + t.erase
    }

    /// Cell time of reading a logical page of a member now; 0 if the page is not mapped, since then nothing is read.
    pub fn read_ns(&self, member: u32, page: u32) -> Nanos {
        self.ftl.lookup(member, page).map_or(0, |page| self.cell_read_ns(member, page))
    }

    /// Cell time of reading a physical page of a member now.
    pub(crate) fn cell_read_ns(&self, member: u32, page: u32) -> Nanos {
        let level = self.ftl.wear.has_levels().then(|| self.ftl.block_at(member, page));
        level.and_then(|block| self.ftl.wear.read_time(block)).unwrap_or(self.times.read)
    }

    /// The planes of a member.
    pub(crate) fn planes_of(&self, member: u32) -> Range<u32> {
        let first = self.shape.first_plane(member);
        first..first + self.shape.planes_per_member
    }

    /// The dies of a domain around a die.
    pub(crate) fn dies_of(&self, die: u32, domain: Option<Domain>) -> Range<u32> {
        let around = |count: u32| die / count * count..die / count * count + count;
        match domain {
            None => 0..0,
            Some(Domain::Plane | Domain::Die) => die..die + 1,
            Some(Domain::Channel) => around(self.shape.dies_per_bus),
            Some(Domain::Device) => around(self.shape.dies_per_device),
        }
    }
}
