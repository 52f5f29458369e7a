//! Sizes dealt from a shuffled deck: over the whole trace each size occurs exactly as often as its share says. So a
//! trace meets the means however short it is.

use stripewise_base::prng::Prng;

use crate::generate::shuffle::Shuffle;

/// The guide has at most twice this many parts.
const GUIDE_BITS: u32 = 8;

/// A deck of sizes in bytes, dealt one by one.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    sizes: Vec<u32>,
    /// The number of cards below the end of each size.
    ends: Vec<u64>,
    /// The start of the search for a card: the size of the first card of each run of `2^part_bits` cards.
    guide: Vec<u32>,
    part_bits: u32,
    shuffle: Shuffle,
    cards: u64,
    dealt: u64,
}

impl Deck {
    /// A deck of `cards` from sizes with their shares, ascending; shares need not add up to one.
    pub(super) fn new(law: &[(u32, f64)], cards: u64, prng: &mut Prng) -> Self {
        let cards = cards.max(1);
        let total: f64 = law.iter().map(|atom| atom.1).sum();
        let mut below = 0.0;
        // Rounding the sums and not the counts keeps every share, and the mean, within one card.
        let mut ends: Vec<u64> = law
            .iter()
            .map(|atom| {
                below += atom.1;
                ((below / total * cards as f64 + 0.5) as u64).min(cards)
            })
            .collect();
        if let Some(last) = ends.last_mut() {
            *last = cards;
        }
        let part_bits = (64 - cards.leading_zeros()).saturating_sub(GUIDE_BITS);
        let first =
            |part: u64| ends.partition_point(|&end| end <= part << part_bits).min(law.len() - 1) as u32;
        let guide = (0..=(cards - 1) >> part_bits).map(first).collect();
        let shuffle = Shuffle::new(cards, prng);
        let sizes = law.iter().map(|atom| atom.0).collect();
        Self { sizes, ends, guide, part_bits, shuffle, cards, dealt: 0 }
    }

    /// The next size. An exhausted deck is dealt again in the same order.
    #[inline]
    pub(super) fn deal(&mut self) -> u32 {
        let card = self.shuffle.at(self.dealt);
        self.dealt = if self.dealt + 1 == self.cards { 0 } else { self.dealt + 1 };
        let mut at = self.guide[(card >> self.part_bits) as usize] as usize;
        while self.ends[at] <= card {
            at += 1;
        }
        self.sizes[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_deals_every_size_its_share_of_times() {
        let law = [(512, 0.25), (4096, 0.5), (8192, 0.125), (1 << 20, 0.125)];
        for cards in [8, 1000, 100_000] {
            let mut deck = Deck::new(&law, cards, &mut Prng::new(cards));
            let mut seen = [0u64; 4];
            for _ in 0..cards {
                let size = deck.deal();
                seen[law.iter().position(|atom| atom.0 == size).expect("a size of the law")] += 1;
            }
            for (count, (_, share)) in seen.iter().zip(law) {
                assert!((*count as f64 - share * cards as f64).abs() <= 1.0, "{seen:?} of {cards}");
            }
        }
    }

    #[test]
    fn an_exhausted_deck_starts_again() {
        let mut deck = Deck::new(&[(1, 1.0), (2, 1.0), (3, 2.0)], 4, &mut Prng::new(1));
        let first: Vec<u32> = (0..4).map(|_| deck.deal()).collect();
        let second: Vec<u32> = (0..4).map(|_| deck.deal()).collect();
        assert_eq!(first, second);
    }
}
