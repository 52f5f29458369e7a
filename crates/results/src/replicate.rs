//! How many seeds a comparison needs: enough that its intervals are narrow, and no more.
//!
//! The seeds are looked at after `least` of them, and then after each `batch`, up to `most`. [`Rule::decide`] is a pure
//! function of the values of seeds 1 to n in order. It ignores later values, so a study ends at the same n whether its
//! seeds are made one after the other, on many threads, or by a study that was killed and resumed.

use crate::paired::{Difference, Kind, Pairs, Rate, differences_at, margin_at};

/// When the seeds of a comparison end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    least: u32,
    most: u32,
    batch: u32,
    confidence: f64,
    narrow: Option<Narrow>,
}

/// The largest half width of intervals that are narrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Narrow {
    /// Of a typical ratio: the factor, less one, by which the ends of its interval may differ from it. Of other differences
    /// and of means: a share of the mean of the scheme that the others are compared with.
    Relative(f64),
    /// In the unit of the figure.
    Absolute(f64),
}

/// What the intervals are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The mean of each scheme. `Narrow::Relative` refers to the first scheme's.
    Means,
    /// The paired difference of each other scheme from the one at this place.
    DifferencesFrom(usize),
}

/// The answer of [`Rule::decide`].
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Values of this many seeds are needed to decide.
    Needs(u32),
    /// The seeds end.
    Ends(Ended),
}

/// The end of the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The number of seeds that count. Values of later ones are to be ignored.
    pub seeds: u32,
    /// The reason.
    pub why: Why,
}

/// Why the seeds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The number of seeds was fixed.
    Fixed,
    /// All intervals are narrow.
    Narrow,
    /// The last look found an interval that is not narrow.
    Most,
    /// The seeds change nothing: all values are exact.
    Exact,
}

/// Seeds after which a comparison that depends on no seed ends.
pub const EXACT_AFTER: u32 = 2;

impl Rule {
    /// A fixed number of seeds.
    ///
    /// # Errors
    /// No seed; a confidence that is no probability.
    pub fn fixed(seeds: u32, confidence: f64) -> Result<Self, &'static str> {
        Self { least: seeds, most: seeds, batch: 1, confidence, narrow: None }.checked()
    }

    /// Seeds until all intervals are `narrow`: at least `least`, then `batch` at a time, and `most` at the end.
    ///
    /// # Errors
    /// Numbers that contradict each other, with the remedy.
    pub fn until(
        narrow: Narrow,
        confidence: f64,
        least: u32,
        batch: u32,
        most: u32,
    ) -> Result<Self, &'static str> {
        if least < 3 {
            return Err("`least` must be 3 or more: two seeds say too little of their deviation");
        }
        let (Narrow::Relative(width) | Narrow::Absolute(width)) = narrow;
        if !(width.is_finite() && width > 0.0) {
            return Err("the width of an interval must be more than 0");
        }
        Self { least, most, batch, confidence, narrow: Some(narrow) }.checked()
    }

    fn checked(self) -> Result<Self, &'static str> {
        if self.least == 0 || self.batch == 0 {
            return Err("give at least 1 seed");
        }
        if self.most < self.least {
            return Err("`most` must not be less than `least`");
        }
        if !(0.5..1.0).contains(&self.confidence) {
            return Err("the confidence must be from 0.5 to less than 1, as in 0.95");
        }
        Ok(self)
    }

    /// The numbers of seeds after which the intervals are looked at.
    pub fn looks(&self) -> impl Iterator<Item = u32> + use<> {
        let (least, most, batch) = (self.least, self.most, self.batch);
        let between = (u64::from(least)..u64::from(most)).step_by(batch as usize);
        between.map(|seeds| seeds as u32).chain([most])
    }

    /// The least and the most seeds.
    pub fn range(&self) -> (u32, u32) {
        (self.least, self.most)
    }

    /// The confidence of all intervals of a comparison together.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The error rate of the intervals, at each look.
    pub fn rate(&self) -> Rate {
        let several = (self.most - self.least).div_ceil(self.batch) + 1;
        let looks = if self.narrow.is_some() { several } else { 1 };
        Rate { miss: 1.0 - self.confidence, looks }
    }

    /// Whether the seeds end, by the values of a figure of that kind: one slice a scheme, in the order of the seeds from the
    /// first. Slices may differ in length. `is_exact(n)` says that n seeds gave the same results for each scheme.
    pub fn decide(&self, of: Of, kind: Kind, schemes: &[&[f64]], is_exact: impl Fn(u32) -> bool) -> Decision {
        let known = schemes.iter().map(|values| values.len()).min().unwrap_or(0);
        let needs = |seeds: u32| (known < seeds as usize).then_some(Decision::Needs(seeds));
        let ends = |seeds, why| Decision::Ends(Ended { seeds, why });
        let first = EXACT_AFTER.min(self.least);
        if let Some(needs) = needs(first) {
            return needs;
        }
        if first == EXACT_AFTER && is_exact(EXACT_AFTER) {
            return ends(EXACT_AFTER, Why::Exact);
        }
        let Some(narrow) = self.narrow else {
            return needs(self.most).unwrap_or_else(|| ends(self.most, Why::Fixed));
        };
        for seeds in self.looks() {
            if let Some(needs) = needs(seeds) {
                return needs;
            }
            let taken: Vec<&[f64]> = schemes.iter().map(|values| &values[..seeds as usize]).collect();
            if self.is_narrow(narrow, of, kind, &taken) {
                return ends(seeds, Why::Narrow);
            }
        }
        ends(self.most, Why::Most)
    }

    fn is_narrow(&self, narrow: Narrow, of: Of, kind: Kind, schemes: &[&[f64]]) -> bool {
        let base = match of {
            Of::Means => 0,
            Of::DifferencesFrom(base) => base,
        };
        let center = schemes.get(base).map_or(0.0, |values| mean(values).abs());
        match of {
            Of::Means => {
                let limit = match narrow {
                    Narrow::Absolute(width) => width,
                    Narrow::Relative(share) => share * center,
                };
                let margin = |values: &&[f64]| margin_at(values, self.rate(), schemes.len());
                schemes.iter().all(|values| margin(values).is_some_and(|margin| margin <= limit))
            }
            Of::DifferencesFrom(base) => {
                let is_narrow = |found: &Option<Difference>| {
                    found.is_some_and(|found| match narrow {
                        Narrow::Absolute(width) => found.margin <= width,
                        Narrow::Relative(share) => found.relative_width(center) <= share,
                    })
                };
                let found = self.differences(base, schemes, kind);
                found.iter().enumerate().filter(|(at, _)| *at != base).all(|(_, found)| is_narrow(found))
            }
        }
    }

    /// The effect of each scheme beside the one at `base`, by Holm's procedure over the others. Its own is none.
    pub fn differences(&self, base: usize, schemes: &[&[f64]], kind: Kind) -> Vec<Option<Difference>> {
        let Some(first) = schemes.get(base) else { return vec![None; schemes.len()] };
        let pair = |values: &&[f64]| first.iter().copied().zip(values.iter().copied()).collect::<Pairs>();
        let pairs: Vec<Pairs> = schemes.iter().map(pair).collect();
        let others: Vec<&Pairs> =
            pairs.iter().enumerate().filter(|(at, _)| *at != base).map(|(_, it)| it).collect();
        let mut found = differences_at(&others, kind, self.rate());
        found.insert(base, None);
        found
    }

    /// Half the width of the interval of the values' mean; none of fewer than two.
    pub fn margin(&self, values: &[f64]) -> Option<f64> {
        margin_at(values, self.rate(), 1)
    }
}

/// The mean of the values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
