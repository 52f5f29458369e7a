//! Storms of updates: a few places that take many writes for some time (paper 000, section I, names them).

use stripewise_base::prng::Prng;

use super::statistics::Storm;

/// The storm of a running profile. Without a profile's [`Storm`] it draws nothing.
#[derive(Clone, Debug)]
pub(super) struct Storms {
    share: f64,
    pages: usize,
    every: u64,
    /// The places of the storm, once they are known.
    places: Vec<u64>,
    /// Writes until the storm moves.
    left: u64,
}

impl Storms {
    pub(super) fn new(storm: Option<Storm>) -> Self {
        let (share, pages, every) =
            storm.map_or((0.0, 0, 0), |storm| (storm.share, storm.pages.0 as usize, storm.every.0));
        Self { share, pages, every, places: Vec::new(), left: every }
    }

    /// Whether an update belongs to the storm.
    pub(super) fn draw(&self, prng: &mut Prng) -> bool {
        // Without a share no number is drawn, so that profiles without storms keep their traces.
        self.share > 0.0 && prng.unit() < self.share
    }

    /// The place of an update of the storm; `None` while the storm chooses its places, which are those of other updates.
    pub(super) fn place(&mut self, prng: &mut Prng) -> Option<u64> {
        if self.left == 0 {
            self.places.clear();
            self.left = self.every;
        }
        self.left -= 1;
        if self.places.len() < self.pages {
            return None;
        }
        self.places.get(prng.below(self.pages as u64) as usize).copied()
    }

    /// An update that the storm did not place went to `offset`: the storm stays there.
    pub(super) fn settle(&mut self, offset: u64) {
        if self.places.len() < self.pages && !self.places.contains(&offset) {
            self.places.push(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::units::Count;

    use super::*;

    #[test]
    fn a_storm_chooses_its_places_stays_for_its_writes_and_moves() {
        let storm = Storm { share: 0.5, pages: Count(2), every: Count(100) };
        let (mut storms, mut prng) = (Storms::new(Some(storm)), Prng::new(1));
        let mut met = Vec::new();
        for nth in 0..300u64 {
            let place = storms.place(&mut prng);
            if place.is_none() {
                storms.settle(nth * 4096);
            }
            met.extend(place);
        }
        let of = |round: u64| [round * 100 * 4096, (round * 100 + 1) * 4096];
        for round in 0..3 {
            let here = &met[round as usize * 98..][..98];
            assert!(here.iter().all(|place| of(round).contains(place)), "{round}: {here:?}");
            assert!(of(round).iter().all(|place| here.contains(place)), "{round}: {here:?}");
        }
        let drawn = (0..10_000).filter(|_| storms.draw(&mut prng)).count();
        assert!((4_800..5_200).contains(&drawn), "{drawn}");
        let before = prng.clone().unit();
        assert!(!Storms::new(None).draw(&mut prng), "no storm");
        assert_eq!(prng.unit().to_bits(), before.to_bits(), "nothing is drawn without a storm");
    }
}
