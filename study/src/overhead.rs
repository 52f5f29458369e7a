//! What parity updates cost beside the data itself, counted over a trace without any device or time: chunks pre-read,
//! chunks written to a log, parity chunks written.
//!
//! Requests are taken one by one; nothing is merged over time. A request is cut at stripes. A stripe whose data chunks it
//! covers whole is a full-stripe write: its parity is written and nothing read. Any other stripe that it touches is an
//! update, and what that costs is what the schemes differ in:
//!
//! - *Parity logging*: the old content of the touched chunks is pre-read, and one delta chunk for each parity goes to a
//!   dedicated log device. The log is never merged back.
//! - *In place*: by RMW or RCW, whichever pre-reads fewer chunks; parity is written. RMW pre-reads the touched chunks and
//!   the parities, RCW the data chunks that are not covered whole.
//!
//! A chunk that was never written holds zeros, which need no pre-read. An array that does not remember what was written
//! is counted too, as *in place, blind*: it pre-reads whatever the routine asks for.
//!
//! Source: paper 001, section V-F and Fig. 12 (parity logging); that zeros are not read, and that a chunk covered in part
//! is an update, are choices of ours.

use std::collections::BTreeMap;

use stripewise_trace::{Kind, Request};

/// The most data chunks of a stripe: sets of them are 128-bit masks.
pub const DATA_MAX: u32 = 128;

/// The smallest chunk, so that a request has a bounded number of stripes.
pub const CHUNK_BYTES_MIN: u64 = 512;

/// What a stripe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Data chunks.
    pub data: u32,
    /// Parity chunks.
    pub parity: u32,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
}

/// Why there is no such stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// Not as many data chunks as can be counted.
    #[error("a stripe of {0} data chunks; use 1 to {DATA_MAX}")]
    Data(u32),
    /// No parity to update.
    #[error("without parity nothing is updated; use raid5 or raid6")]
    NoParity,
    /// A chunk smaller than a sector.
    #[error("a chunk of {0} bytes; use at least {CHUNK_BYTES_MIN}")]
    Chunk(u64),
}

/// Chunks that are read or written beside the data.
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
    /// All of them: the overhead of paper 001.
    pub fn sum(&self) -> u64 {
        self.pre_reads + self.log_writes + self.parity_writes
    }
}

/// What the writes of a trace come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Write requests.
    pub writes: u64,
    /// Data chunks that they touch, each time counted.
    pub chunks: u64,
    /// Those of them that are covered in part only.
    pub partial_chunks: u64,
    /// Data chunks that were ever written.
    pub unique_chunks: u64,
    /// Stripes written whole by one request.
    pub full_stripes: u64,
    /// Stripes updated in part.
    pub updates: u64,
    /// Of the updates in place, those by RMW; the others are by RCW, ties among them.
    pub updates_rmw: u64,
    /// Parity logging.
    pub parity_logging: Cost,
    /// RAID in place that remembers which chunks were ever written.
    pub in_place: Cost,
    /// RAID in place that does not.
    pub in_place_blind: Cost,
}

/// Counts the overhead of writes as they come.
#[derive(Clone, Debug)]
pub struct Counter {
    stripe: Stripe,
    /// Whether every chunk holds data before the first request.
    filled: bool,
    /// The data chunks of each stripe that were written, as bits. Grows with the stripes that are touched.
    written: BTreeMap<(u32, u64), u128>,
    overhead: Overhead,
}

impl Counter {
    /// A counter over an array of such stripes, for each volume one; `filled` when all of it holds data already.
    ///
    /// # Errors
    /// When there is no such stripe.
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

    /// Takes the next request. All but writes are passed over.
    pub fn add(&mut self, request: &Request) {
        if request.kind != Kind::Write || request.bytes == 0 {
            return;
        }
        self.overhead.writes += 1;
        let Stripe { data, chunk_bytes, .. } = self.stripe;
        let stripe_bytes = chunk_bytes.saturating_mul(u64::from(data));
        // The last byte of the address space ends a request that would go beyond it.
        let last = request.offset.saturating_add(u64::from(request.bytes) - 1);
        for stripe in request.offset / stripe_bytes..=last / stripe_bytes {
            let begin = stripe * stripe_bytes;
            let from = request.offset.max(begin) - begin;
            let to = (last - begin).min(stripe_bytes - 1);
            self.update((request.volume, stripe), from, to);
        }
    }

    /// Writes bytes `from` to `to` of a stripe, both included.
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
        // A stripe that holds nothing has parity of zeros.
        let rmw = count(touched & held) + if held == 0 { 0 } else { parity };
        let rcw = count(all & !whole & held);
        overhead.updates_rmw += u64::from(rmw < rcw);
        overhead.in_place.pre_reads += rmw.min(rcw);
        overhead.in_place_blind.pre_reads += (count(touched) + parity).min(count(all & !whole));
    }

    /// What came to be so far.
    pub fn overhead(&self) -> &Overhead {
        &self.overhead
    }
}

/// The set of `from` up to, not including, `to`; empty where that is none.
fn bits(from: u64, to: u64) -> u128 {
    let below = |end: u64| if end >= 128 { u128::MAX } else { (1u128 << end) - 1 };
    below(to) & !below(from)
}
