//! Counts the cost of parity updates in addition to the data, over a trace, without any device or time: chunks
//! pre-read, chunks written to a log, parity chunks written.
//!
//! Requests are counted one by one; nothing is merged over time. A request is split at stripes. A stripe whose data
//! chunks it covers whole is a full-stripe write: its parity is written and nothing is read. Any other stripe that
//! the request touches is an update. The schemes differ in the cost of updates:
//!
//! - *Parity logging*: the old content of the touched chunks is pre-read, and one delta chunk for each parity goes to
//!   a dedicated log device. The log is never merged back.
//! - *In place*: by RMW or RCW, whichever pre-reads fewer chunks; parity is written. RMW pre-reads the touched chunks
//!   and the parities, RCW the data chunks that are not covered whole.
//!
//! A chunk that was never written holds zeros, which need no pre-read. An array that does not track written chunks is
//! counted too, as *in place, blind*: it performs every pre-read of the routine.
//!
//! Source: paper 001, section V-F and Fig. 12 (parity logging). Two rules are our own choices: zeros are not read,
//! and a chunk covered in part is an update.

use std::collections::BTreeMap;

use stripewise_trace::{Kind, Request};

/// The most data chunks of a stripe: sets of them are 128-bit masks.
pub const DATA_MAX: u32 = 128;

/// The smallest chunk, so that a request has a bounded number of stripes.
pub const CHUNK_BYTES_MIN: u64 = 512;

/// The shape of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Data chunks.
    pub data: u32,
    /// Parity chunks.
    pub parity: u32,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
}

/// Why a stripe of this shape is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// No data chunks, or more than can be counted.
    #[error("a stripe of {0} data chunks; use 1 to {DATA_MAX}")]
    Data(u32),
    /// No parity to update.
    #[error("without parity nothing is updated; use raid5 or raid6")]
    NoParity,
    /// A chunk smaller than a sector.
    #[error("a chunk of {0} bytes; use at least {CHUNK_BYTES_MIN}")]
    Chunk(u64),
}

/// Chunks that are read or written in addition to the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Chunks of data or parity read before an update.
    pub pre_reads: u64,
    /// Delta chunks written to the log device.
    pub log_writes: u64,
    /// Parity chunks written to the array.
    pub parity_writes: u64,
}

impl Cost {
    /// Their sum: the overhead of paper 001.
    pub fn sum(&self) -> u64 {
        self.pre_reads + self.log_writes + self.parity_writes
    }
}

/// The counts of a trace's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Write requests.
    pub writes: u64,
    /// Data chunks that they touch, counted each time.
    pub chunks: u64,
    /// Those of them that are covered only in part.
    pub partial_chunks: u64,
    /// Distinct data chunks that were written.
    pub unique_chunks: u64,
    /// Stripes written whole by one request.
    pub full_stripes: u64,
    /// Stripes updated in part.
    pub updates: u64,
    /// Of the updates in place, those by RMW; the others are by RCW, ties among them.
    pub updates_rmw: u64,
    /// Parity logging.
    pub parity_logging: Cost,
    /// RAID in place that tracks which chunks were written.
    pub in_place: Cost,
    /// RAID in place that does not.
    pub in_place_blind: Cost,
}

/// Counts the overhead of writes one by one.
#[derive(Clone, Debug)]
pub struct Counter {
    stripe: Stripe,
    /// Whether every chunk holds data before the first request.
    filled: bool,
    /// The written data chunks of each stripe, as bits. Grows with the number of touched stripes.
    written: BTreeMap<(u32, u64), u128>,
    overhead: Overhead,
}

impl Counter {
    /// A counter over an array of such stripes for each volume; `filled` when all chunks hold data already.
    ///
    /// # Errors
    /// When such a stripe is impossible.
    pub fn new(stripe: Stripe, filled: bool) -> Result<Self, StripeError> {
        match stripe {
            Stripe { parity: 0, .. } => Err(StripeError::NoParity),
            Stripe { chunk_bytes, .. } if chunk_bytes < CHUNK_BYTES_MIN => {
                Err(StripeError::Chunk(chunk_bytes))
            }
            Stripe { data, .. } if !(1..=DATA_MAX).contains(&data) => Err(StripeError::Data(data)),
            _ => Ok(Self { stripe, filled, written: BTreeMap::new(), overhead: Overhead::default() }),
        }
    }

    /// Adds the next request. All requests except writes are skipped.
    pub fn add(&mut self, request: &Request) {
        if request.kind != Kind::Write || request.bytes == 0 {
            return;
        }
        self.overhead.writes += 1;
        let Stripe { data, chunk_bytes, .. } = self.stripe;
        let stripe_bytes = chunk_bytes.saturating_mul(u64::from(data));
        // A request that would reach beyond the address space ends at its last byte.
        let last = request.offset.saturating_add(u64::from(request.bytes) - 1);
        for stripe in request.offset / stripe_bytes..=last / stripe_bytes {
            let begin = stripe * stripe_bytes;
            let from = request.offset.max(begin) - begin;
            let to = (last - begin).min(stripe_bytes - 1);
            self.update((request.volume, stripe), from, to);
        }
    }

    /// Counts a write of bytes `from` to `to` of a stripe, both included.
    fn update(&mut self, stripe: (u32, u64), from: u64, to: u64) {
        let Stripe { data, parity, chunk_bytes } = self.stripe;
        let all = bits(0, u64::from(data));
        let touched = bits(from / chunk_bytes, to / chunk_bytes + 1);
        let whole = bits(from.div_ceil(chunk_bytes), (to + 1) / chunk_bytes);
        let written = self.written.entry(stripe).or_default();
        let before = *written;
        *written |= touched;
        let held = if self.filled { all } else { before };

        let count = |set: u128| u64::from(set.count_ones());
        let parity = u64::from(parity);
        let overhead = &mut self.overhead;
        overhead.chunks += count(touched);
        overhead.partial_chunks += count(touched & !whole);
        overhead.unique_chunks += count(touched & !before);
        for cost in [&mut overhead.in_place, &mut overhead.in_place_blind] {
            cost.parity_writes += parity;
        }
        if whole == all {
            overhead.full_stripes += 1;
            overhead.parity_logging.parity_writes += parity;
            return;
        }
        overhead.updates += 1;
        overhead.parity_logging.pre_reads += count(touched & held);
        overhead.parity_logging.log_writes += parity;
        // An empty stripe has a parity of zeros.
        let rmw = count(touched & held) + if held == 0 { 0 } else { parity };
        let rcw = count(all & !whole & held);
        overhead.updates_rmw += u64::from(rmw < rcw);
        overhead.in_place.pre_reads += rmw.min(rcw);
        overhead.in_place_blind.pre_reads += (count(touched) + parity).min(count(all & !whole));
    }

    /// The counts so far.
    pub fn overhead(&self) -> &Overhead {
        &self.overhead
    }
}

/// The set from `from` up to, not including, `to`; empty if `to` is not above `from`.
fn bits(from: u64, to: u64) -> u128 {
    let below = |end: u64| if end >= 128 { u128::MAX } else { (1u128 << end) - 1 };
    below(to) & !below(from)
}
