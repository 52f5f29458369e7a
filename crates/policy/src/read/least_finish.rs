//! Least predicted finish: of the direct way and the ways around up to as many columns as the code tolerates, the one that is
//! predicted to finish first, taking into account queues, operations in service and garbage collection.
//!
//! Source: ours. Rule (a) of balanced redirected read (paper 002, Algorithm 2) is the case of one column, queues alone and a
//! gain of one read; GC-avoiding reads are the case of garbage collection alone.

use stripewise_base::Nanos;

use super::{ReadPath, Ways};

/// The way that finishes first. The costs in `ways` are the predicted times until a read is done. The way must finish `gain`
/// earlier than the direct one.
pub fn choose(ways: &Ways<'_>, gain: Nanos, sources: impl Fn(u64) -> u64) -> Option<ReadPath> {
    ways.least(sources).filter(|way| way.direct - way.cost >= gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D0 and D1, and P.
    fn around(costs: [Nanos; 3], gain: Nanos) -> Option<ReadPath> {
        choose(&Ways { costs: &costs, wanted: 0b001, parity: 1 }, gain, |avoided| 0b111 & !avoided)
    }

    #[test]
    fn a_read_goes_the_way_that_is_done_first() {
        assert_eq!(around([9, 3, 5], 1), Some(ReadPath { avoided: 0b001, cost: 5, direct: 9 }));
        assert_eq!(around([5, 3, 9], 1), None);
    }

    #[test]
    fn what_is_gained_must_be_worth_the_extra_reads() {
        assert_eq!(around([9, 3, 5], 5), None);
        assert!(around([9, 3, 5], 4).is_some());
    }
}
