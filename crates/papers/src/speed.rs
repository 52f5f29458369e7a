//! How much faster than they came requests must be sent for a metric to be what a paper prints.

/// A speed-up in hundredths; 100 is as the requests came, less is slower.
type Speed = u64;

/// As the requests came.
pub(crate) const REAL_TIME: Speed = 100;

/// Utilisation is met when it is off by no more than one part in this number.
const PARTS: f64 = 100.0;
/// Tries before the best is taken.
const TRIES: u32 = 24;
/// A try is at most this number of times as fast as the one before.
const STEP: u64 = 1024;
/// Slowest and fastest.
const BOUNDS: [u64; 2] = [1, 1 << 40];

/// A search for the speed-up at which utilisation is `target`, by bisection: utilisation never falls when requests come
/// faster. Inside the bracket, and as long as there is none, the next try is where utilisation would be met if it were in
/// proportion to the speed, as it is in an open queueing system that is not saturated.
#[derive(Clone, Debug)]
pub(crate) struct Calibration {
    target: f64,
    now: Speed,
    /// A speed that is too slow, and one that is too fast.
    slow: u64,
    fast: u64,
    best: (f64, Speed),
    tries: u32,
}

impl Calibration {
    /// A search for `target`, a share of the chips.
    pub(crate) fn new(target: f64) -> Self {
        let now = REAL_TIME;
        Self { target, now, slow: BOUNDS[0], fast: BOUNDS[1], best: (f64::INFINITY, now), tries: 0 }
    }

    /// The speed to try next; in the end the one that was found.
    pub(crate) fn speed(&self) -> Speed {
        self.now
    }

    /// At [`Self::speed`], utilisation was `found`. Returns whether to try again.
    pub(crate) fn take(&mut self, found: f64) -> bool {
        let now = self.now;
        let off = (found / self.target - 1.0).abs();
        if off <= self.best.0 {
            self.best = (off, self.now);
        }
        if found < self.target {
            self.slow = self.slow.max(now);
        } else {
            self.fast = self.fast.min(now);
        }
        self.tries += 1;
        if off * PARTS <= 1.0 || self.tries == TRIES || self.fast - self.slow <= 1 {
            self.now = self.best.1;
            return false;
        }
        let in_proportion = (now as f64 * self.target / found.max(1e-9)).min(1e12) as u64;
        let next = in_proportion.clamp((now / STEP).max(1), now * STEP);
        // Outside the bracket its middle, and every other time, so that it closes in from both sides.
        let is_inside = next > self.slow && next < self.fast;
        let middle = (u128::from(self.slow) * u128::from(self.fast)).isqrt() as u64;
        let is_open = self.slow == BOUNDS[0] || self.fast == BOUNDS[1];
        let next = if is_inside && (is_open || !self.tries.is_multiple_of(2)) { next } else { middle };
        self.now = next.clamp((now / STEP).max(1), now * STEP);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The speed-up found when utilisation is this function of it, and the number of tries.
    fn found(target: f64, of: impl Fn(f64) -> f64) -> (f64, u32) {
        let mut search = Calibration::new(target);
        while search.take(of(search.now as f64 / 100.0)) {}
        (search.now as f64 / 100.0, search.tries)
    }

    #[test]
    fn the_speed_is_found_where_utilisation_follows_it_and_where_it_bends() {
        let (speed, tries) = found(0.2, |speed| speed * 1e-4);
        assert!((speed / 2_000.0 - 1.0).abs() < 0.01 && tries <= 4, "{speed} after {tries}");
        let (speed, tries) = found(0.6, |speed| speed / (speed + 1e3));
        assert!((speed / 1_500.0 - 1.0).abs() < 0.03 && tries <= 16, "{speed} after {tries}");
        let (speed, _) = found(0.5, |speed| (speed * 4.0).min(0.9));
        assert!((speed / 0.125 - 1.0).abs() < 0.06, "slower than real time: {speed}");
    }

    #[test]
    fn what_cannot_be_met_ends_with_the_nearest() {
        let (speed, tries) = found(0.5, |speed| if speed < 7.0 { 0.1 } else { 0.52 });
        assert!((7.0..7.1).contains(&speed) && tries <= TRIES, "{speed} after {tries}");
        assert!(found(0.9, |_| 0.3).1 == TRIES);
    }
}
