//! The number of members that collect garbage at the same time, in slices of time.
//!
//! Source: paper 003, section 4, Fig. 4(c) and 4(d): "the number of SSDs that run GCs during a fixed time slice". A
//! member counts in a slice if one of its blocks is being collected at any time of the slice, on any die. Counts are
//! exact: they are computed from the starts and ends of collections, at a fixed cost per collection, whatever its
//! length.

use stripewise_base::Nanos;

use crate::collection::slices::{GcSlices, Synchrony, Tally};
use crate::flash::Flash;
use crate::list::NONE;
use crate::media::Media;

impl<M: Media> Flash<M> {
    /// From `now` on, slices of `slice_ns` nanoseconds are counted by the number of members that collect in them. The
    /// first slice begins now.
    ///
    /// # Panics
    /// If slices have no length.
    pub fn count_gc_slices(&mut self, now: Nanos, slice_ns: Nanos) {
        let members = self.shape.members as usize;
        let tally = Tally::new(now, slice_ns, members);
        let seen = vec![(false, false); self.shape.dies as usize];
        self.synchrony = Some(Synchrony { under_way: tally.clone(), at_work: tally, seen });
        for die in 0..self.shape.dies {
            self.note_synchrony(now, die);
        }
    }

    /// The slices from [`Self::count_gc_slices`], or the last [`Self::reset_counters`], to `now`, by the number of
    /// members that collected in them: from none to all. Empty if slices are not counted.
    pub fn gc_slices(&self, now: Nanos) -> Vec<GcSlices> {
        let Some(synchrony) = &self.synchrony else { return Vec::new() };
        let sides = [&synchrony.under_way, &synchrony.at_work].map(|tally| tally.until(now));
        let pairs = sides[0].iter().zip(&sides[1]);
        pairs.map(|(&under_way, &at_work)| GcSlices { under_way, at_work }).collect()
    }

    /// Restarts the count of slices at `now`.
    pub(crate) fn restart_synchrony(&mut self, now: Nanos) {
        if let Some(synchrony) = &mut self.synchrony {
            synchrony.under_way.restart(now);
            synchrony.at_work.restart(now);
        }
    }

    /// Records that a die may have begun or ended to collect a block, or to hold back other dies for it.
    #[inline]
    pub(crate) fn note_synchrony(&mut self, now: Nanos, die: u32) {
        let Some(synchrony) = &mut self.synchrony else { return };
        let c = &self.collections[die as usize];
        let is = (c.block != NONE, c.block != NONE && c.held.is_some());
        let was = std::mem::replace(&mut synchrony.seen[die as usize], is);
        if is != was {
            let member = self.shape.member_of_die(die) as usize;
            synchrony.under_way.change(now, member, was.0, is.0);
            synchrony.at_work.change(now, member, was.1, is.1);
        }
    }
}
