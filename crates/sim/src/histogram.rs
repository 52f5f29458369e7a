//! A histogram with buckets of constant relative width.
//!
//! `hdrhistogram` has the same buckets, but it uses eight bytes per count and a fixed number of digits, and it
//! updates a total and extremes for every value. That is too slow for one value per operation of each member: the
//! counts must not displace the simulator's data from the processor's caches.

/// A histogram with `2^bits` buckets per octave: values are exact to within `2^-bits`, and fully exact below
/// `2^(bits + 1)`.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bits: u32,
    /// Counts saturate, after four billion values per bucket.
    counts: Vec<u32>,
}

impl Histogram {
    /// An empty histogram.
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, counts: vec![0; (65 - bits as usize) << bits] }
    }

    #[inline]
    fn bucket(&self, value: u64) -> usize {
        let shift = (63 - (value | 1).leading_zeros()).saturating_sub(self.bits);
        ((shift as usize) << self.bits) + (value >> shift) as usize
    }

    /// The largest value of a bucket.
    fn last_of(&self, bucket: usize) -> u64 {
        let shift = ((bucket >> self.bits) as u32).saturating_sub(1);
        let first = (bucket - ((shift as usize) << self.bits)) as u64;
        (first << shift) + ((1 << shift) - 1)
    }

    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        let bucket = self.bucket(value);
        let count = &mut self.counts[bucket];
        *count = count.saturating_add(1);
    }

    /// Adds the counts of `other`, which has equal buckets.
    pub(crate) fn add(&mut self, other: &Self) {
        assert_eq!(self.bits, other.bits, "only equal buckets can be added");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// The buckets that are not empty, from the smallest value: the largest value of each, and the number of values
    /// in it and in all buckets before it.
    pub(crate) fn cumulated(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut seen = 0;
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(move |(bucket, &count)| {
            seen += u64::from(count);
            (self.last_of(bucket), seen)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_is_reported_to_within_its_share(width in 0u32..=64, value: u64, bits in 1u32..12) {
            let value = value.checked_shr(64 - width).unwrap_or(0);
            let mut histogram = Histogram::new(bits);
            histogram.record(value);
            let points: Vec<_> = histogram.cumulated().collect();
            prop_assert_eq!(points.len(), 1);
            let (last, count) = points[0];
            prop_assert_eq!(count, 1);
            prop_assert!(last >= value && last - value <= value >> bits, "{} for {}", last, value);
            prop_assert!(value >> (bits + 1) > 0 || last == value);
        }

        #[test]
        fn buckets_come_in_the_order_of_values(mut values in prop::collection::vec(0u64..1 << 40, 1..300)) {
            let (mut one, mut other) = (Histogram::new(8), Histogram::new(8));
            for (index, value) in values.iter().enumerate() {
                if index % 2 == 0 { one.record(*value) } else { other.record(*value) }
            }
            one.add(&other);
            values.sort_unstable();
            let points: Vec<_> = one.cumulated().collect();
            prop_assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for (last, count) in points {
                prop_assert_eq!(count, values.iter().filter(|value| **value <= last).count() as u64);
            }
        }
    }
}
