//! Writes that return soon: the places of the last writes, and the choice of the one that an update returns to.

use stripewise_base::prng::Prng;

use super::statistics::Recency;

/// The writes that an immediate return chooses from.
const IMMEDIATE: usize = 6;

/// The last writes of a trace. Without a profile's [`Recency`] it stores and draws nothing.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    share: f64,
    immediate: f64,
    within: usize,
    /// Writes that are stored: at least those that `immediate` chooses from.
    stored: usize,
    /// Offsets; a ring once it is full.
    offsets: Vec<u64>,
    /// The index of the next entry.
    next: usize,
}

impl Recent {
    pub(super) fn new(recency: Option<Recency>) -> Self {
        let Recency { share, within, immediate } = recency.unwrap_or_default();
        let within = within.0 as usize;
        let stored = if immediate > 0.0 { within.max(IMMEDIATE) } else { within };
        Self { share, immediate, within, stored, offsets: Vec::new(), next: 0 }
    }

    /// Stores a write.
    pub(super) fn push(&mut self, offset: u64) {
        if self.stored == 0 {
            return;
        }
        match self.offsets.get_mut(self.next) {
            Some(place) => *place = offset,
            None => self.offsets.push(offset),
        }
        self.next += 1;
        if self.next == self.stored {
            self.next = 0;
        }
    }

    /// The number of recent writes to one of which an update returns, if it does.
    pub(super) fn draw(&self, prng: &mut Prng) -> Option<usize> {
        // Without a share no number is drawn, so that profiles without recency keep their traces.
        if self.share + self.immediate == 0.0 || self.offsets.is_empty() {
            return None;
        }
        let u = prng.unit();
        let within = if u < self.share { self.within } else { IMMEDIATE };
        (u < self.share + self.immediate).then_some(within)
    }

    /// The place that an update returns to: the d-th last write with a probability proportional to 1/d, for the last
    /// `within` writes.
    pub(super) fn place(&self, within: usize, prng: &mut Prng) -> Option<u64> {
        let held = self.offsets.len();
        let within = within.min(held);
        let back = libm::exp(prng.unit() * libm::log1p(within as f64)) as usize;
        self.offsets.get((self.next + held - back.clamp(1, within.max(1))) % held).copied()
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::units::Count;

    use super::*;

    fn recent(share: f64, within: u64) -> Recent {
        Recent::new(Some(Recency { share, within: Count(within), immediate: 0.0 }))
    }

    fn returned(recent: &Recent, prng: &mut Prng) -> Option<u64> {
        recent.draw(prng).and_then(|within| recent.place(within, prng))
    }

    #[test]
    fn the_last_writes_alone_are_drawn_and_each_power_of_two_as_often() {
        let (mut recent, mut prng) = (recent(1.0, 256), Prng::new(3));
        (0..1_000).for_each(|offset| recent.push(offset));
        let back = |_| 1_000 - returned(&recent, &mut prng).expect("a share of one");
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
        assert_eq!(returned(&recent, &mut prng), None);
        recent.push(7);
        let drawn = (0..10_000).filter(|_| returned(&recent, &mut prng) == Some(7)).count();
        assert!((2_850..3_150).contains(&drawn), "{drawn}");
    }

    #[test]
    fn immediate_returns_go_to_the_last_six_beside_the_others() {
        let recency = Recency { share: 0.2, within: Count(1 << 20), immediate: 0.6 };
        let (mut recent, mut prng) = (Recent::new(Some(recency)), Prng::new(6));
        (0..100_000).for_each(|offset| recent.push(offset));
        let mut found = [0u32; 7];
        for _ in 0..70_000 {
            let back = returned(&recent, &mut prng).map_or(7, |offset| 100_000 - offset);
            found[back.min(7) as usize - 1] += 1;
        }
        // Of the 60 % ln(1 + 1/d) / ln 7 each, of the 20 % ln(1 + 1/d) / ln 100,001.
        for (count, back) in found[..6].iter().zip(1u32..) {
            let expected = (1.0 + 1.0 / f64::from(back)).ln() * (0.6 / 7f64.ln() + 0.2 / 100_001f64.ln());
            assert!((f64::from(*count) / 70_000.0 - expected).abs() < 0.005, "{found:?}");
        }
    }

    #[test]
    fn without_recency_no_random_number_is_taken() {
        let (mut recent, mut prng) = (Recent::new(None), Prng::new(5));
        recent.push(1);
        assert_eq!(recent.draw(&mut prng), None);
        assert_eq!(prng.below(1 << 40), Prng::new(5).below(1 << 40));
    }
}
