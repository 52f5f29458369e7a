//! Requests over time, in fixed memory.

use serde::{Deserialize, Serialize};

use crate::{Kind, Request};

/// Most parts of the time; at least half as many are used, unless the trace is shorter than that many microseconds.
pub const PARTS: usize = 128;

/// The requests of one part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatePart {
    /// Requests of all kinds.
    pub requests: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// Requests over time, from the first to the last, in parts of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStats {
    /// Length of a part in nanoseconds: a microsecond times a power of two.
    pub part_ns: u64,
    /// The parts, in order.
    pub parts: Vec<RatePart>,
}

/// Counts by time. When the time no longer fits, neighbouring parts are merged.
pub(super) struct Rate {
    first_ns: Option<u64>,
    stats: RateStats,
}

impl Default for Rate {
    fn default() -> Self {
        Self { first_ns: None, stats: RateStats { part_ns: 1_000, parts: Vec::with_capacity(PARTS) } }
    }
}

impl Rate {
    pub(super) fn add(&mut self, request: &Request) {
        let first = *self.first_ns.get_or_insert(request.time_ns);
        let since = request.time_ns.saturating_sub(first);
        let RateStats { part_ns, parts } = &mut self.stats;
        while since / *part_ns >= PARTS as u64 {
            // 2^54 microseconds hold any time.
            *part_ns *= 2;
            for at in 0..parts.len().div_ceil(2) {
                let pair = [parts[2 * at], parts.get(2 * at + 1).copied().unwrap_or_default()];
                parts[at] = RatePart {
                    requests: pair[0].requests + pair[1].requests,
                    writes: pair[0].writes + pair[1].writes,
                    bytes: pair[0].bytes.saturating_add(pair[1].bytes),
                };
            }
            parts.truncate(parts.len().div_ceil(2));
        }
        let at = (since / *part_ns) as usize;
        if parts.len() <= at {
            parts.resize(at + 1, RatePart::default());
        }
        let part = &mut parts[at];
        part.requests += 1;
        part.writes += u64::from(request.kind == Kind::Write);
        if matches!(request.kind, Kind::Read | Kind::Write) {
            part.bytes = part.bytes.saturating_add(u64::from(request.bytes));
        }
    }

    pub(super) fn summary(self) -> RateStats {
        if self.first_ns.is_none() { RateStats::default() } else { self.stats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(times: impl IntoIterator<Item = u64>) -> RateStats {
        let mut rate = Rate::default();
        for (number, time_ns) in (0u64..).zip(times) {
            let kind = if number.is_multiple_of(2) { Kind::Write } else { Kind::Read };
            rate.add(&Request { time_ns, offset: 0, bytes: 512, volume: 0, kind });
        }
        rate.summary()
    }

    #[test]
    fn a_short_trace_is_cut_into_microseconds() {
        let stats = rate([7_000, 7_999, 8_000, 10_500]);
        assert_eq!(stats.part_ns, 1_000);
        let part = |requests, writes| RatePart { requests, writes, bytes: 512 * requests };
        assert_eq!(stats.parts, [part(2, 1), part(1, 1), part(0, 0), part(1, 0)]);
    }

    #[test]
    fn parts_grow_with_the_trace_and_lose_no_request() {
        let stats = rate((0..100_000).map(|n| n * 777_777));
        let span = 99_999 * 777_777;
        assert!(stats.parts.len() > PARTS / 2 && stats.parts.len() <= PARTS, "{}", stats.parts.len());
        assert!(span / stats.part_ns < PARTS as u64 && span / (stats.part_ns / 2) >= PARTS as u64);
        assert_eq!(stats.parts.iter().map(|part| part.requests).sum::<u64>(), 100_000);
        assert_eq!(stats.parts.iter().map(|part| part.writes).sum::<u64>(), 50_000);
        let expected = stats.part_ns as f64 / 777_777.0;
        let inner = &stats.parts[1..stats.parts.len() - 1];
        assert!(inner.iter().all(|part| (part.requests as f64 - expected).abs() <= 1.0), "{expected}");
    }

    #[test]
    fn the_longest_time_and_a_step_back_are_no_trouble() {
        let stats = rate([1_000, 0, u64::MAX]);
        assert_eq!(stats.parts.iter().map(|part| part.requests).sum::<u64>(), 3);
        assert_eq!(rate([]), RateStats::default());
    }
}
