//! Sequential access: one or several streams. Each repeats a part of the address space of its own.

use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::size::Size;
use super::synthetic::{ARRIVAL, Law, REQUESTS, Range, SIZE, SPAN, START, VOLUME, WRITE, synthetic};
use crate::TraceError;

const STREAMS: Key = Key {
    name: "streams",
    default: "1",
    help: "how many sequential streams interleave at random, each in an equal part of the span",
};
/// Offsets follow from the sizes; only the start of a stream is aligned.
const ALIGN: Key = Key {
    name: "align",
    default: "smallest",
    help: "what the streams' first offsets are multiples of: `smallest` (of the sizes) or a size such as `4KiB`",
};

pub(super) const ABOUT: About = About {
    name: "sequential",
    summary: "one or several sequential streams",
    example: "sequential:write=1,size=128KiB,span=64GiB,streams=4",
    keys: &[REQUESTS, WRITE, SIZE, SPAN, STREAMS, ALIGN, ARRIVAL, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let streams = keys.count("streams")?;
    let law = |range: &Range, size: &Size| {
        let part = match range.span.checked_div(streams) {
            Some(part) if streams <= 1 << 20 && part >= u64::from(size.largest()) => part,
            _ => return Err(keys.fail("streams", "each stream needs room for a request; 1 to 1M streams")),
        };
        let grain = range.grain(size.smallest());
        let aligned = |at: u64| at.div_ceil(grain).saturating_mul(grain);
        let cursors = (0..streams).map(|stream| range.start.saturating_add(aligned(stream * part)));
        let cursors: Vec<Cursor> = cursors.map(|start| Cursor { start, at: start, end: 0 }).collect();
        let cursors = close(cursors, range.start + range.span);
        // Alignment may have moved the start of a part too far.
        if cursors.iter().any(|cursor| cursor.end.saturating_sub(cursor.start) < u64::from(size.largest())) {
            return Err(
                keys.fail("align", "a stream's part has no room for an aligned request; widen the span")
            );
        }
        Ok(Sequential { cursors })
    };
    synthetic(keys, law)
}

/// Each part ends where the next begins.
fn close(mut cursors: Vec<Cursor>, end: u64) -> Vec<Cursor> {
    let mut next = end;
    for cursor in cursors.iter_mut().rev() {
        (cursor.end, next) = (next, cursor.start);
    }
    cursors
}

#[derive(Clone, Debug, PartialEq)]
struct Cursor {
    start: u64,
    at: u64,
    end: u64,
}

/// Streams that each continue where they stopped.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sequential {
    cursors: Vec<Cursor>,
}

impl Law for Sequential {
    #[inline]
    fn place(&mut self, _: &Range, bytes: u32, prng: &mut Prng) -> u64 {
        let streams = self.cursors.len();
        let at = if streams == 1 { 0 } else { prng.below(streams as u64) as usize };
        let cursor = &mut self.cursors[at];
        if cursor.end - cursor.at < u64::from(bytes) {
            cursor.at = cursor.start;
        }
        let offset = cursor.at;
        cursor.at += u64::from(bytes);
        offset
    }
}
