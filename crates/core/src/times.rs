//! Smoothed cell times of completed operations: the controller's knowledge of its members' speed.

use stripewise_base::Nanos;

use crate::ids::MemberNo;

/// A new time has a weight of one in `WEIGHT`. Choice: paper 000 (section IV-A) adjusts t_R to the recent read level
/// without saying over how many reads.
const WEIGHT: u64 = 8;

/// Smoothed cell times. Integers, each stored multiplied by `WEIGHT`, so that rounding errors do not accumulate.
#[derive(Clone, Debug)]
pub struct CellTimes {
    /// Of reads, by member; 0 where no read was observed.
    reads: Vec<u64>,
    all_reads: u64,
    all_writes: u64,
}

/// Takes `time` into the weighted sum.
#[inline]
pub fn smooth(sum: &mut u64, time: Nanos) {
    *sum = if *sum == 0 { time * WEIGHT } else { *sum - *sum / WEIGHT + time };
}

/// The average of which `sum` is the weighted sum; `None` before the first observation.
#[inline]
pub fn known(sum: u64) -> Option<Nanos> {
    (sum != 0).then_some(sum / WEIGHT)
}

impl CellTimes {
    /// No times observed yet.
    pub fn new(members: u32) -> Self {
        Self { reads: vec![0; members as usize], all_reads: 0, all_writes: 0 }
    }

    /// A read took `time` in the cells of `member`. A read of unwritten pages takes no time and is ignored.
    #[inline]
    pub fn observe_read(&mut self, member: MemberNo, time: Nanos) {
        if time > 0 {
            smooth(&mut self.reads[member.index()], time);
            smooth(&mut self.all_reads, time);
        }
    }

    /// A write took `time` in the cells.
    #[inline]
    pub fn observe_write(&mut self, time: Nanos) {
        if time > 0 {
            smooth(&mut self.all_writes, time);
        }
    }

    /// Recent time of a read of `member`, or of all members if it was never read.
    #[inline]
    pub fn read_ns(&self, member: MemberNo) -> Option<Nanos> {
        known(self.reads[member.index()]).or(known(self.all_reads))
    }

    /// Recent time of a read of any member.
    #[inline]
    pub fn mean_read_ns(&self) -> Option<Nanos> {
        known(self.all_reads)
    }

    /// Recent time of a write of any member.
    #[inline]
    pub fn mean_write_ns(&self) -> Option<Nanos> {
        known(self.all_writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_time_counts_an_eighth() {
        let mut times = CellTimes::new(2);
        assert_eq!((times.read_ns(MemberNo::new(0)), times.mean_write_ns()), (None, None));
        times.observe_read(MemberNo::new(0), 45_000);
        times.observe_read(MemberNo::new(0), 0);
        assert_eq!(times.read_ns(MemberNo::new(0)), Some(45_000));
        assert_eq!(times.read_ns(MemberNo::new(1)), Some(45_000), "what is not known of one is that of all");
        times.observe_read(MemberNo::new(0), 117_000);
        assert_eq!(times.read_ns(MemberNo::new(0)), Some(54_000));
        for _ in 0..300 {
            times.observe_read(MemberNo::new(0), 117_000);
        }
        assert_eq!(times.read_ns(MemberNo::new(0)), Some(117_000), "a level that lasts is reached");
    }
}
