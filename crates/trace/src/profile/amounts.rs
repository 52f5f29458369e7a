//! How many requests of each sort a trace has.

use super::statistics::Profile;

/// The shares of a profile as counts, for a number of requests.
pub(super) struct Amounts {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) trims: u64,
    pub(super) flushes: u64,
    pub(super) updates: u64,
    pub(super) sequential: u64,
}

impl Amounts {
    pub(super) fn of(profile: &Profile, requests: u64) -> Self {
        let of = |whole: u64, share: f64| ((whole as f64 * share + 0.5) as u64).min(whole);
        let trims = of(requests, profile.trim_ratio);
        let flushes = of(requests, profile.flush_ratio).min(requests - trims);
        let data = requests - trims - flushes;
        let writes = of(data, profile.write_ratio);
        // At least one write must precede an update.
        let updates = of(writes, profile.update_ratio).min(writes.saturating_sub(1));
        let sequential = of(data, profile.sequential);
        Self { reads: data - writes, writes, trims, flushes, updates, sequential }
    }
}
