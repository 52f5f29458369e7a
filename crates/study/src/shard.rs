//! Shares of a plan for jobs that do not know each other.

use std::str::FromStr;

/// One of several shares of the points of a plan. A point belongs to one shard with all its schemes and seeds. Whether it needs
/// more seeds depends on its own results alone, so shards make the same runs as one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0 on.
    at: u64,
    of: u64,
}

impl Shard {
    /// The whole plan.
    pub const ALL: Self = Self { at: 0, of: 1 };

    /// Whether the point of this index belongs to the shard.
    pub fn has(self, index: u64) -> bool {
        // Points that follow each other differ on the last axis. Without mixing, one shard would get all points of one of
        // its values, which may take longer than others.
        mixed(index) % self.of == self.at
    }
}

/// A bijection in which all bits of the result depend on all bits of `index` (the finalizer of SplitMix64).
fn mixed(index: u64) -> u64 {
    let mut mixed = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl FromStr for Shard {
    type Err = String;

    /// `I/N`, with I from 1 to N.
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(at, of)| {
            let (at, of) = (at.trim().parse::<u64>().ok()?, of.trim().parse::<u64>().ok()?);
            (1..=of).contains(&at).then_some(Self { at: at.wrapping_sub(1), of })
        });
        parsed.ok_or_else(|| "expected I/N with I from 1 to N, as in 3/8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_belongs_to_one_shard_and_shards_are_of_about_one_size() {
        for of in [1, 2, 3, 7, 64] {
            let shards: Vec<Shard> = (1..=of).map(|at| format!("{at}/{of}").parse().unwrap()).collect();
            let mut sizes = vec![0u64; shards.len()];
            for index in 0..10_000 {
                let owners: Vec<usize> = (0..shards.len()).filter(|&at| shards[at].has(index)).collect();
                let [owner] = owners[..] else { panic!("point {index} of {of}: {owners:?}") };
                sizes[owner] += 1;
            }
            let mean = 10_000 / of;
            assert!(sizes.iter().all(|size| size.abs_diff(mean) < mean / 3), "{of}: {sizes:?}");
        }
    }

    #[test]
    fn shards_count_from_one() {
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "1/2/3"] {
            let error = wrong.parse::<Shard>().unwrap_err();
            assert!(error.contains("I from 1 to N"), "{wrong}: {error}");
        }
        assert_eq!("1/1".parse::<Shard>().unwrap(), Shard::ALL);
    }
}
