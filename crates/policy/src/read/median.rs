//! The running median of operations' times.
//!
//! Source: Hao et al., FAST 2016, measure slowness against the median of peers; how it is counted here is ours.

use stripewise_base::Nanos;

/// Buckets to the octave; the median is accurate to 1/8 of itself.
const OCTAVE_BITS: u32 = 3;
const BUCKETS: usize = (64 << OCTAVE_BITS) as usize;
/// The median is recomputed after this number of times.
const LOOK_EVERY: u32 = 64;
/// At this count all counts are halved, so that old times fade.
const FADES_AT: u32 = 4096;

/// A median over the last few thousand times.
#[derive(Clone, Debug)]
pub(crate) struct Median {
    buckets: Vec<u32>,
    counted: u32,
    to_look: u32,
    value: Option<Nanos>,
}

impl Median {
    /// A median with nothing counted yet.
    pub(crate) fn new() -> Self {
        Self { buckets: vec![0; BUCKETS], counted: 0, to_look: 1, value: None }
    }

    /// Counts one time.
    #[inline]
    pub(crate) fn count(&mut self, ns: Nanos) {
        self.buckets[bucket(ns)] += 1;
        self.counted += 1;
        self.to_look -= 1;
        if self.to_look == 0 {
            self.look();
        }
    }

    /// The median, once any time was counted: the upper end of its bucket.
    #[inline]
    pub(crate) fn get(&self) -> Option<Nanos> {
        self.value
    }

    #[cold]
    fn look(&mut self) {
        if self.counted >= FADES_AT {
            self.buckets.iter_mut().for_each(|count| *count /= 2);
            self.counted = self.buckets.iter().sum();
        }
        self.to_look = LOOK_EVERY.min(self.counted.max(1));
        let mut below = 0;
        self.value = self
            .buckets
            .iter()
            .position(|&count| {
                below += count;
                below * 2 >= self.counted
            })
            .map(upper_end);
    }
}

/// The bucket of a time: its octave and the bits after the leading one.
#[inline]
fn bucket(ns: Nanos) -> usize {
    let ns = ns.max(1 << OCTAVE_BITS);
    let octave = ns.ilog2();
    let rest = (ns >> (octave - OCTAVE_BITS)) as usize & ((1 << OCTAVE_BITS) - 1);
    ((octave as usize) << OCTAVE_BITS) + rest
}

/// The greatest time of a bucket.
fn upper_end(bucket: usize) -> Nanos {
    let octave = (bucket >> OCTAVE_BITS) as u32;
    let rest = (bucket & ((1 << OCTAVE_BITS) - 1)) as Nanos;
    let first = ((1 << OCTAVE_BITS) + rest) << (octave - OCTAVE_BITS);
    first + (1 << (octave - OCTAVE_BITS)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_a_bucket_that_ends_within_an_eighth_above_it() {
        for ns in (8..100_000).chain([1 << 20, (1 << 40) + 12_345, Nanos::MAX / 2]) {
            let end = upper_end(bucket(ns));
            assert!(end >= ns && end - ns <= ns / 8, "{ns}: {end}");
        }
    }

    #[test]
    fn the_median_is_known_from_the_first_time_on() {
        let mut median = Median::new();
        assert_eq!(median.get(), None);
        median.count(25_000);
        assert!(median.get().is_some_and(|value| (25_000..28_200).contains(&value)));
    }

    #[test]
    fn few_slow_times_do_not_move_it() {
        let mut median = Median::new();
        for n in 0..10_000 {
            median.count(if n % 10 == 0 { 5_000_000 } else { 25_000 });
        }
        assert!(median.get().is_some_and(|value| value < 28_200));
    }

    #[test]
    fn it_follows_a_lasting_change_and_forgets_the_past() {
        let mut median = Median::new();
        (0..50_000).for_each(|_| median.count(25_000));
        (0..10_000).for_each(|_| median.count(100_000));
        assert!(median.get().is_some_and(|value| value >= 100_000));
    }
}
