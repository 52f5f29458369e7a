//! Writes that return soon: the places of the last writes, and the choice of the one that an update returns to.

use stripewise_base::prng::Prng;

use super::statistics::Recency;

/// The last writes of a trace. Without a profile's [`Recency`] it stores and draws nothing.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    share: f64,
    within: usize,
    /// Offsets; a ring once it is full.
    offsets: Vec<u64>,
    /// The index of the next entry.
    next: usize,
}

impl Recent {
    pub(super) fn new(recency: Option<Recency>) -> Self {
        let (share, within) = recency.map_or((0.0, 0), |recency| (recency.share, recency.within.0 as usize));
        Self { share, within, offsets: Vec::new(), next: 0 }
    }

    /// Stores a write.
    pub(super) fn push(&mut self, offset: u64) {
        if self.within == 0 {
            return;
        }
        match self.offsets.get_mut(self.next) {
            Some(place) => *place = offset,
            None => self.offsets.push(offset),
        }
        self.next = (self.next + 1) % self.within;
    }

    /// The place of an update, if it returns to a recent write: the d-th last write with a probability proportional
    /// to 1/d, for all stored writes.
    pub(super) fn draw(&self, prng: &mut Prng) -> Option<u64> {
        // Without a share no number is drawn, so that profiles without recency keep their traces.
        if self.share == 0.0 || self.offsets.is_empty() || prng.unit() >= self.share {
            return None;
        }
        let held = self.offsets.len();
        let back = libm::exp(prng.unit() * libm::log1p(held as f64)) as usize;
        self.offsets.get((self.next + held - back.clamp(1, held)) % held).copied()
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::units::Count;

    use super::*;

    fn recent(share: f64, within: u64) -> Recent {
        Recent::new(Some(Recency { share, within: Count(within) }))
    }

    #[test]
    fn the_last_writes_alone_are_drawn_and_each_power_of_two_as_often() {
        let (mut recent, mut prng) = (recent(1.0, 256), Prng::new(3));
        (0..1_000).for_each(|offset| recent.push(offset));
        let back = |_| 1_000 - recent.draw(&mut prng).expect("a share of one");
        let mut found = [0u32; 9];
        (0..90_000).map(back).for_each(|back| {
            assert!((1..=256).contains(&back), "{back}");
            found[back.ilog2() as usize] += 1;
        });
        // Each of the eight powers gets ln 2 / ln 257 of the draws, 256 itself almost none.
        for count in &found[..8] {
            assert!((f64::from(*count) / 90_000.0 - 0.1249).abs() < 0.01, "{found:?}");
        }
    }

    #[test]
    fn as_many_return_as_the_share_says_and_before_the_first_write_none() {
        let (mut recent, mut prng) = (recent(0.3, 64), Prng::new(4));
        assert_eq!(recent.draw(&mut prng), None);
        recent.push(7);
        let drawn = (0..10_000).filter(|_| recent.draw(&mut prng) == Some(7)).count();
        assert!((2_850..3_150).contains(&drawn), "{drawn}");
    }

    #[test]
    fn without_recency_no_random_number_is_taken() {
        let (mut recent, mut prng) = (Recent::new(None), Prng::new(5));
        recent.push(1);
        assert_eq!(recent.draw(&mut prng), None);
        assert_eq!(prng.below(1 << 40), Prng::new(5).below(1 << 40));
    }
}
