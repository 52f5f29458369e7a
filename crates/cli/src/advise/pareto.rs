//! Which candidates no other one makes pointless: the Pareto front.

use stripewise_results::paired::{Kind, Pairs, differences};

/// What a candidate offers. The measured values have one entry a seed, in the same order for all candidates, whose requests are
/// the same.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The place of a write when it is acknowledged: only offers with the same are compared.
    pub(super) acknowledges: &'static str,
    /// Bytes that hosts can use: more is better.
    pub(super) capacity: u64,
    /// The mean time to data loss: more is better.
    pub(super) mttdl_years: f64,
    /// Bytes of persistent memory in use at a time, the most of all seeds: less is better.
    pub(super) persistent: u64,
    /// Bytes of the controller's maps: less is better.
    pub(super) map_bytes: u64,
    /// The response time that 99 % of requests do not exceed, in ns: less is better.
    pub(super) p99_ns: Vec<f64>,
    /// Pages that flash programs for a page that hosts write: less is better.
    pub(super) programs: Vec<f64>,
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Offer {
    /// Whether this offer acknowledges writes from the same place as `other`, is no worse in anything, and better in something. A
    /// lower mean over the seeds is no worse; it is better only where the 95 % interval of the typical ratio excludes 1.
    pub(super) fn beats(&self, other: &Self) -> bool {
        let measured = [(&self.p99_ns, &other.p99_ns), (&self.programs, &other.programs)];
        let is_no_worse = self.acknowledges == other.acknowledges
            && self.capacity >= other.capacity
            && self.mttdl_years >= other.mttdl_years
            && self.persistent <= other.persistent
            && self.map_bytes <= other.map_bytes
            && measured.iter().all(|(ours, theirs)| mean(ours) <= mean(theirs));
        let is_better = self.capacity > other.capacity
            || self.mttdl_years > other.mttdl_years
            || self.persistent < other.persistent
            || self.map_bytes < other.map_bytes
            || measured.iter().any(|(ours, theirs)| is_lower(ours, theirs));
        is_no_worse && is_better
    }
}

/// Whether `ours` is lower than `theirs` by more than the seeds explain.
fn is_lower(ours: &[f64], theirs: &[f64]) -> bool {
    let pairs: Pairs = theirs.iter().copied().zip(ours.iter().copied()).collect();
    differences(&[&pairs], Kind::Ratio)[0].is_some_and(|found| found.is_significant && found.is_lower())
}

/// For each offer, the first that beats it; none for those on the front.
pub(super) fn beaten_by(offers: &[Offer]) -> Vec<Option<usize>> {
    // An offer that is beaten is beaten by one on the front too, as far as differences are significant.
    let first = |offer: &Offer| offers.iter().position(|other| other.beats(offer));
    offers.iter().map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(capacity: u64, p99: [f64; 4]) -> Offer {
        Offer {
            acknowledges: "members",
            capacity,
            mttdl_years: 1e6,
            persistent: 0,
            map_bytes: 0,
            p99_ns: p99.to_vec(),
            programs: vec![1.0; 4],
        }
    }

    const CALM: [f64; 4] = [10.0, 11.0, 10.0, 11.0];

    #[test]
    fn an_offer_is_beaten_where_another_is_better_in_one_thing_and_worse_in_none() {
        let lower = CALM.map(|value| value - 5.0);
        let offers = [offer(100, CALM), offer(100, lower), offer(200, CALM), offer(200, lower)];
        assert_eq!(beaten_by(&offers), [Some(1), Some(3), Some(3), None]);
    }

    #[test]
    fn offers_that_are_each_better_in_something_are_all_on_the_front() {
        let offers = [offer(100, CALM.map(|value| value - 5.0)), offer(200, CALM)];
        assert_eq!(beaten_by(&offers), [None, None]);
    }

    #[test]
    fn less_persistent_memory_is_better_and_another_acknowledgement_is_another_front() {
        let buffered = Offer { persistent: 4096, ..offer(100, CALM) };
        assert_eq!(beaten_by(&[buffered.clone(), offer(100, CALM)]), [Some(1), None]);
        let lower = CALM.map(|value| value - 5.0);
        let from_memory = Offer { acknowledges: "persistent memory", ..offer(100, lower) };
        assert_eq!(beaten_by(&[offer(100, CALM), from_memory]), [None, None]);
    }

    #[test]
    fn a_mean_that_is_lower_by_chance_beats_nothing() {
        let offers = [offer(100, [10.0, 30.0, 10.0, 30.0]), offer(100, [29.0, 11.0, 28.0, 11.0])];
        assert_eq!(beaten_by(&offers), [None, None]);
    }

    #[test]
    fn equal_offers_leave_each_other_on_the_front() {
        assert_eq!(beaten_by(&[offer(100, CALM), offer(100, CALM)]), [None, None]);
    }
}
