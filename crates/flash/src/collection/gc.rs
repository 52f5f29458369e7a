//! Victim selection: the written block of a plane that is collected.

use stripewise_base::prng::Prng;

use crate::collection::custom::{Blocks, Chooser};
use crate::map::ftl::{Ftl, OPEN};
use crate::spec::Victim;

/// Blocks in one stride of the search for the block with the fewest valid pages; a stride is scanned without
/// branches.
const STRIDE: usize = 64;

/// Chooses the victim of a plane; `None` if no written block has an invalid page, so that collection cannot gain
/// space.
pub(crate) fn choose(
    ftl: &mut Ftl,
    plane: u32,
    policy: Victim,
    random: &mut Prng,
    chooser: &mut Chooser,
) -> Option<u32> {
    let full = ftl.data_pages();
    let gains = |ftl: &Ftl, block: u32| ftl.valid_of(plane)[block as usize] < full;
    let block = match policy {
        Victim::Greedy => least_valid(ftl.valid_of(plane))?,
        Victim::DChoices(d) => {
            let valid = ftl.valid_of(plane);
            let mut best = written(valid, random)?;
            for _ in 1..d {
                let other = written(valid, random)?;
                if valid[other as usize] < valid[best as usize] {
                    best = other;
                }
            }
            best
        }
        Victim::CostBenefit => most_beneficial(ftl.valid_of(plane), ftl.ages_of(plane), full)?,
        // Removed from the ring only after it is known that collection gains space.
        Victim::Fifo => {
            let least = least_valid(ftl.valid_of(plane))?;
            return if gains(ftl, least) { ftl.take_oldest(plane) } else { None };
        }
        Victim::Random => written(ftl.valid_of(plane), random)?,
        Victim::Custom => {
            let least = least_valid(ftl.valid_of(plane))?;
            if !gains(ftl, least) {
                return None;
            }
            let is_full = |block: &u32| ftl.valid_of(plane).get(*block as usize).is_some_and(|&it| it < OPEN);
            let blocks = Blocks { ftl, plane, full };
            chooser.0.as_mut().and_then(|chooser| chooser.choose(&blocks)).filter(is_full).unwrap_or(least)
        }
    };
    if gains(ftl, block) {
        return Some(block);
    }
    // The policy may choose a full block, but not forever.
    let least = least_valid(ftl.valid_of(plane))?;
    (gains(ftl, least)).then_some(block)
}

/// The block with the fewest valid pages, the first of equals; `None` if no block is full.
pub(crate) fn least_valid(valid: &[u16]) -> Option<u32> {
    let (mut least, mut at) = (OPEN, 0);
    for (stride, blocks) in valid.chunks(STRIDE).enumerate() {
        let here = blocks.iter().copied().fold(u16::MAX, u16::min);
        if here < least {
            (least, at) = (here, stride * STRIDE);
        }
    }
    let offset = valid[at..].iter().position(|&count| count == least)?;
    (least < OPEN).then_some((at + offset) as u32)
}

/// The block with the best ratio of benefit to cost, the first of equals; `None` if no block is full.
fn most_beneficial(valid: &[u16], age: impl Fn(usize) -> u32, full: u16) -> Option<u32> {
    let (mut best, mut at) = ((0, 1), None);
    for (block, &count) in valid.iter().enumerate() {
        if count >= OPEN {
            continue;
        }
        // A block without valid pages has the lowest cost; the youngest block is one page old.
        if count == 0 {
            return Some(block as u32);
        }
        let benefit = u64::from(age(block).max(1)) * u64::from(full - count);
        let cost = 2 * u64::from(count);
        if at.is_none() || u128::from(benefit) * u128::from(best.1) > u128::from(best.0) * u128::from(cost) {
            (best, at) = ((benefit, cost), Some(block as u32));
        }
    }
    at
}

/// A full block, each with the same probability. A plane below its watermark has almost no other blocks.
fn written(valid: &[u16], random: &mut Prng) -> Option<u32> {
    for _ in 0..64 {
        let block = random.below(valid.len() as u64) as usize;
        if valid[block] < OPEN {
            return Some(block as u32);
        }
    }
    // Too few blocks are full for random probing: take one of them by its rank.
    let count = valid.iter().filter(|&&count| count < OPEN).count();
    if count == 0 {
        return None;
    }
    let rank = random.below(count as u64) as usize;
    valid.iter().enumerate().filter(|(_, count)| **count < OPEN).nth(rank).map(|(block, _)| block as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_valid_block_is_found_first_of_equals(
            valid in prop::collection::vec(prop_oneof![0u16..40, Just(OPEN), Just(OPEN | 7), Just(u16::MAX)], 1..400)
        ) {
            let naive = (0..valid.len()).filter(|&block| valid[block] < OPEN).min_by_key(|&block| (valid[block], block));
            prop_assert_eq!(least_valid(&valid), naive.map(|block| block as u32));
        }

        #[test]
        fn the_most_beneficial_block_is_that_of_the_formula(
            blocks in prop::collection::vec((prop_oneof![5 => 1u16..=40, 1 => Just(OPEN), 1 => Just(u16::MAX)], 1u32..9), 1..60)
        ) {
            let valid: Vec<u16> = blocks.iter().map(|block| block.0).collect();
            let score = |block: usize| {
                let u = f64::from(valid[block]) / 40.0;
                f64::from(blocks[block].1) * (1.0 - u) / (2.0 * u)
            };
            let found = most_beneficial(&valid, |block| blocks[block].1, 40);
            let written = (0..valid.len()).filter(|&block| valid[block] < OPEN);
            let best = written.map(score).fold(None, |best: Option<f64>, score| Some(best.map_or(score, |best| best.max(score))));
            prop_assert_eq!(found.is_some(), best.is_some());
            if let (Some(found), Some(best)) = (found, best) {
                prop_assert!((score(found as usize) - best).abs() < 1e-9);
            }
        }

        #[test]
        fn random_blocks_are_written_ones(
            valid in prop::collection::vec(prop_oneof![1 => 0u16..40, 20 => Just(u16::MAX)], 1..300), seed: u64
        ) {
            let any = valid.iter().any(|&count| count < OPEN);
            let block = written(&valid, &mut Prng::new(seed));
            prop_assert_eq!(block.is_some(), any);
            prop_assert!(block.is_none_or(|block| valid[block as usize] < OPEN));
        }
    }
}
