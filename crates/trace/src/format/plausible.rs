//! Checks whether a file is plausible in its detected format: the lines do not contain the units, and a wrong unit
//! turns a trace into another workload without any other sign.
//!
//! The check applies only to a detected format. A format that the user names is trusted.

use std::collections::BTreeSet;

use super::likely::FEWEST;
use super::{Chosen, Cursor, Entry, Record};
use crate::Kind;

/// Bytes a second that no device reaches: more than the 15.75 GB/s of four lanes of PCI Express 5.0.
const ABSURD: f64 = 16e9;

/// The requests of `block` as `chosen` reads them; lines that it cannot read are left out.
pub(super) fn records(chosen: Chosen, block: &[u8]) -> Vec<Record> {
    let Some(mut reader) = chosen.lines() else { return Vec::new() };
    let block = super::quotes::plain_lines(chosen, block);
    let lines = block.split_inclusive(|&byte| byte == b'\n');
    let read = lines.filter_map(|line| match reader.whole_record(&mut Cursor::new(line)) {
        Ok(Entry::Request(record)) => Some(record),
        _ => None,
    });
    read.collect()
}

/// The bytes a second that `sample` moves on each of its volumes, if its times of `tick_ns` show a rate that no
/// device reaches.
pub(super) fn absurd_rate(sample: &[Record], tick_ns: u64) -> Option<f64> {
    let (first, last) = sample.iter().fold((u64::MAX, 0), |(first, last): (u64, u64), record| {
        (first.min(record.time), last.max(record.time))
    });
    if sample.len() < FEWEST || last == first {
        return None;
    }
    // The last request counts as long as the clock's grain.
    let seconds = (last - first + 1) as f64 * tick_ns as f64 * 1e-9;
    let data = sample.iter().filter(|record| matches!(record.kind, Kind::Read | Kind::Write));
    let bytes: f64 = data.map(|record| f64::from(record.bytes)).sum();
    let volumes = sample.iter().map(|record| record.volume).collect::<BTreeSet<u32>>().len();
    let rate = bytes / seconds / volumes as f64;
    (rate > ABSURD).then_some(rate)
}
