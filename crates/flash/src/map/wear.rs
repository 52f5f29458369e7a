//! The wear of each block, and the read time that results from it.

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;

use crate::geometry::Shape;
use crate::spec::{AgeSpec, BINS, DeviceSpec, LEVELS, LdpcSpec, Victim};

/// A block's wear.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    erases: u32,
    /// Reads since the last erase; retries count as reads if they disturb the block.
    reads: u32,
    /// The number of reads at which the level increases.
    next: u32,
    /// Read level, from 0.
    level: u8,
}

/// The blocks of all planes, and the levels of their reads. Empty unless the device models wear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wear {
    blocks: Vec<Block>,
    levels: Option<Box<Levels>>,
}

#[derive(Clone, Debug)]
struct Levels {
    spec: LdpcSpec,
    times: [Nanos; LEVELS],
    /// The number of reads from which a block needs the next level, by bin of wear.
    limits: [[u32; LEVELS - 1]; BINS],
}

/// Whether the state of each block is kept.
fn is_kept(spec: &DeviceSpec) -> bool {
    spec.ldpc.is_some() || spec.wear.is_some() || spec.age.is_some() || spec.gc.victim == Victim::Custom
}

/// Bytes of state for each block.
pub(crate) fn block_bytes(spec: &DeviceSpec) -> u64 {
    if is_kept(spec) { size_of::<Block>() as u64 } else { 0 }
}

impl Wear {
    pub(crate) fn new(spec: &DeviceSpec, shape: &Shape) -> Self {
        let kept = is_kept(spec);
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        let levels = spec.ldpc.map(|ldpc| {
            Box::new(Levels {
                spec: ldpc,
                times: ldpc.times(spec.timing.read.0),
                limits: std::array::from_fn(|bin| ldpc.reads_to_level(bin)),
            })
        });
        Self { blocks: if kept { vec![Block::default(); blocks] } else { Vec::new() }, levels }
    }

    /// Bytes of state.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..])
    }

    /// Whether erases are counted per block.
    pub(crate) fn is_kept(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Whether reads have levels.
    #[inline(always)]
    pub(crate) fn has_levels(&self) -> bool {
        self.levels.is_some()
    }

    /// Erases of a block; blocks count over all planes.
    pub(crate) fn erases(&self, block: usize) -> u32 {
        self.blocks[block].erases
    }

    /// Gives every block its initial age; `written` returns whether a block holds data.
    pub(crate) fn age(&mut self, age: Option<AgeSpec>, written: impl Fn(usize) -> bool) {
        let age = age.unwrap_or_default();
        let mut random = Prng::stream(age.seed, 0x6167_6564);
        for at in 0..self.blocks.len() {
            let [from, below] = age.erases;
            // Also drawn for blocks without data, so that the age of a block does not depend on the content of
            // others.
            let erases = from + random.below(u64::from(below - from)) as u32;
            let reads = normal(age.reads_mean, age.reads_deviation, &mut random);
            let reads = if written(at) { reads.saturating_add(self.retention(age, erases)) } else { 0 };
            self.blocks[at] = Block { erases, reads, next: 0, level: 0 };
            self.settle(at);
        }
    }

    /// Retention, expressed as a number of reads, to the nearest read. Both add to the error rate, and an erase ends
    /// both.
    fn retention(&self, age: AgeSpec, erases: u32) -> u32 {
        let Some(levels) = &self.levels else { return 0 };
        let per_read = levels.spec.rber_ppb_per_read[levels.spec.bin(erases)];
        if per_read == 0 {
            return 0;
        }
        let ppb = f64::from(levels.spec.retention_ppm)
            * f64::from(erases)
            * libm::log1p(f64::from(age.retention_days));
        (ppb / f64::from(per_read) + 0.5) as u32
    }

    /// Reads a block once. Returns the level of that read, from 0, and its cell time.
    #[inline]
    pub(crate) fn read(&mut self, block: usize) -> Option<(usize, Nanos)> {
        let levels = self.levels.as_ref()?;
        let b = &mut self.blocks[block];
        let level = b.level;
        let retries = if levels.spec.retry_disturb { u32::from(level) } else { 0 };
        b.reads = b.reads.saturating_add(1 + retries);
        let time = levels.times[usize::from(level)];
        if b.reads >= b.next {
            self.settle(block);
        }
        Some((usize::from(level), time))
    }

    /// Cell time of a read of a block now; `None` if reads have no levels.
    pub(crate) fn read_time(&self, block: usize) -> Option<Nanos> {
        self.levels.as_ref().map(|levels| levels.times[usize::from(self.blocks[block].level)])
    }

    /// Total cell time of the given numbers of reads at each level.
    pub(crate) fn time_of(&self, reads: &[u64; LEVELS]) -> Option<Nanos> {
        let levels = self.levels.as_ref()?;
        Some(reads.iter().zip(levels.times).map(|(count, time)| count * time).sum())
    }

    /// Records that a block is erased.
    #[inline]
    pub(crate) fn erase(&mut self, block: usize) {
        if self.blocks.is_empty() {
            return;
        }
        let b = &mut self.blocks[block];
        b.erases = b.erases.saturating_add(1);
        b.reads = 0;
        self.settle(block);
    }

    /// Updates the level of a block whose erases or reads changed.
    fn settle(&mut self, block: usize) {
        let Some(levels) = &self.levels else { return };
        let b = &mut self.blocks[block];
        let limits = &levels.limits[levels.spec.bin(b.erases)];
        let level = limits.iter().filter(|&&limit| b.reads >= limit).count();
        b.level = level as u8;
        b.next = limits.get(level).copied().unwrap_or(u32::MAX);
    }

    /// Checks that the level of a block is consistent with its erases and reads.
    pub(crate) fn audit(&self, block: usize) -> Result<(), String> {
        let (Some(levels), Some(b)) = (&self.levels, self.blocks.get(block)) else { return Ok(()) };
        let limits = levels.spec.reads_to_level(levels.spec.bin(b.erases));
        let level = limits.iter().take_while(|&&limit| b.reads >= limit).count();
        let next = limits.get(level).copied().unwrap_or(u32::MAX);
        if (usize::from(b.level), b.next) == (level, next) {
            return Ok(());
        }
        Err(format!("block {block} has {b:?}, but its level is {level}"))
    }
}

/// A random number with a normal distribution, rounded, and not below 0 (Box and Muller, 1958).
fn normal(mean: u32, deviation: u32, random: &mut Prng) -> u32 {
    // 1 - u lies in (0, 1], where the logarithm is finite.
    let radius = (-2.0 * libm::log(1.0 - random.unit())).sqrt();
    let z = radius * libm::cos(core::f64::consts::TAU * random.unit());
    (f64::from(mean) + z * f64::from(deviation) + 0.5).max(0.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Level;

    fn aged(age: AgeSpec, ldpc: LdpcSpec) -> Wear {
        let mut spec = DeviceSpec::preset("ssdsim-5+1").unwrap_or_else(|error| panic!("{error}"));
        (spec.age, spec.ldpc) = (Some(age), Some(ldpc));
        let shape = Shape::new(&spec, Level::Channel, 1).unwrap_or_else(|error| panic!("{error}"));
        let mut wear = Wear::new(&spec, &shape);
        wear.age(spec.age, |_| true);
        wear
    }

    #[test]
    fn ages_have_the_laws_that_they_are_drawn_from() {
        let age = AgeSpec {
            erases: [4_000, 8_000],
            reads_mean: 9_000,
            reads_deviation: 2_500,
            ..AgeSpec::default()
        };
        let wear = aged(age, LdpcSpec::default());
        let count = wear.blocks.len() as f64;
        let mean = |value: &dyn Fn(&Block) -> f64| wear.blocks.iter().map(value).sum::<f64>() / count;
        // 49,152 blocks: standard errors are 4000 / sqrt(12) / 222 = 5.2, 2500 / 222 = 11.3, and for a share 0.0023.
        let erases = mean(&|block| f64::from(block.erases));
        assert!((erases - 5_999.5).abs() < 21.0, "{erases}");
        let reads = mean(&|block| f64::from(block.reads));
        assert!((reads - 9_000.0).abs() < 46.0, "{reads}");
        let beyond = mean(&|block| f64::from(u8::from(block.reads > 11_500)));
        assert!((beyond - 0.1587).abs() < 0.007, "{beyond}");
        assert!(wear.blocks.iter().all(|block| (4_000..8_000).contains(&block.erases)));
        (0..wear.blocks.len()).for_each(|block| wear.audit(block).expect("consistent"));
    }

    #[test]
    fn retention_is_as_good_as_reads_until_the_erase() {
        // 0.25 x 10^-3 x 4 x ln(1 + 6) = 1945.9 x 10^-6 are 5740.1 reads of 339 x 10^-9.
        let age = AgeSpec { erases: [4_000, 4_001], retention_days: 6, ..AgeSpec::default() };
        let mut wear = aged(age, LdpcSpec::default());
        assert_eq!(wear.blocks[7].reads, 5_740);
        wear.erase(7);
        assert_eq!((wear.blocks[7].reads, wear.blocks[7].erases), (0, 4_001));
    }

    #[test]
    fn a_read_rises_to_the_next_level_at_its_limit_and_an_erase_brings_it_down() {
        // In this bin, (5 - 1.163) x 10^-3 are 9245.8 reads of 415 x 10^-9; (6 - 1.163) are 11,655.4.
        let age = AgeSpec { erases: [4_500, 4_501], reads_mean: 9_244, ..AgeSpec::default() };
        for (disturb, second) in [(true, 1_205), (false, 2_410)] {
            let mut wear = aged(age, LdpcSpec { retry_disturb: disturb, ..LdpcSpec::default() });
            let levels = |wear: &mut Wear, count: u32| -> Vec<(usize, Nanos)> {
                (0..count).filter_map(|_| wear.read(3)).collect()
            };
            // Reads 9244 and 9245 are the last of level 1. Each of level 2 counts twice if it disturbs.
            assert_eq!(levels(&mut wear, 2), [(0, 45_000); 2]);
            let at_two = levels(&mut wear, second);
            assert!(at_two.iter().all(|&read| read == (1, 114_000)), "{disturb}");
            assert_eq!(levels(&mut wear, 1), [(2, 207_000)], "{disturb}");
            wear.audit(3).expect("consistent");
            wear.erase(3);
            assert_eq!(levels(&mut wear, 1), [(0, 45_000)]);
            // Other blocks are not disturbed.
            assert_eq!(wear.read_time(2), Some(45_000));
        }
    }

    #[test]
    fn an_old_block_needs_more_than_a_young_one_after_as_many_reads() {
        let level = |erases: u32| {
            let age = AgeSpec { erases: [erases, erases + 1], reads_mean: 15_000, ..AgeSpec::default() };
            aged(age, LdpcSpec::default()).read(0).map(|(level, _)| level + 1)
        };
        // Error rates: 2.49, 6.28, 7.39 and 8.09 x 10^-3.
        assert_eq!([500, 3_500, 4_500, 6_500].map(level), [Some(1), Some(3), Some(3), Some(4)]);
    }
}
