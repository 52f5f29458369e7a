//! The common part of the synthetic generators: sizes, kinds and arrivals of their own, and a law of addresses, which
//! alone differs from one generator to the next.

use std::fmt::Debug;
use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::arrival::{self, Arrival};
use super::keys::{Key, Keys};
use super::recipe::Recipe;
use super::size::{self, Size};
use crate::{Kind, Request, Source, TraceError};

pub(super) const REQUESTS: Key = Key { name: "requests", default: "1M", help: "how many, such as `3M`" };
pub(super) const SPAN: Key =
    Key { name: "span", default: "1GiB", help: "the address space that requests fall into, such as `64GiB`" };
pub(super) const START: Key =
    Key { name: "start", default: "0B", help: "the first byte of that address space, such as `0B`" };
pub(super) const VOLUME: Key = Key { name: "volume", default: "0", help: "the volume's number" };
pub(super) const WRITE: Key =
    Key { name: "write", default: "0.5", help: "the share of writes, such as `0.6` or `60%`" };
pub(super) const SIZE: Key = Key { name: "size", default: "4KiB", help: size::HELP };
pub(super) const ALIGN: Key = Key {
    name: "align",
    default: "smallest",
    help: "what offsets are multiples of: `smallest` (of the sizes), `size` (each request's own) or a size \
           such as `4KiB`",
};
pub(super) const ARRIVAL: Key = Key { name: "arrival", default: "none", help: arrival::HELP };

/// The alignment of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// The request's own size.
    Own,
    /// This many bytes.
    Bytes(u64),
}

/// The addresses that requests may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) span: u64,
    pub(super) align: Align,
}

impl Range {
    /// The distance of two neighbouring offsets for requests of `bytes`.
    #[inline]
    pub(super) fn grain(&self, bytes: u32) -> u64 {
        match self.align {
            Align::Own => u64::from(bytes),
            Align::Bytes(grain) => grain,
        }
    }

    /// The number of offsets that a request of `bytes` may have; at least one.
    #[inline]
    pub(super) fn slots(&self, bytes: u32) -> u64 {
        (self.span - u64::from(bytes)) / self.grain(bytes) + 1
    }
}

/// The law of the addresses of a generator.
pub(super) trait Law: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The offset of the next request, of `bytes`.
    fn place(&mut self, range: &Range, bytes: u32, prng: &mut Prng) -> u64;
}

/// A synthetic workload: everything except the seed.
#[derive(Clone, Debug, PartialEq)]
struct Synthetic<L> {
    requests: u64,
    volume: u32,
    write: f64,
    size: Size,
    arrival: Arrival,
    range: Range,
    law: L,
}

/// The recipe of the common keys; `law` builds the law of addresses from the range and the sizes.
pub(super) fn synthetic<L: Law>(
    keys: &Keys,
    law: impl FnOnce(&Range, &Size) -> Result<L, TraceError>,
) -> Result<Arc<dyn Recipe>, TraceError> {
    let (write, size, arrival) = (keys.share("write")?, Size::parse(keys)?, Arrival::parse(keys)?);
    synthetic_with(keys, write, size, arrival, law)
}

/// [`synthetic`], with write share, sizes and arrivals from the caller.
pub(super) fn synthetic_with<L: Law>(
    keys: &Keys,
    write: f64,
    size: Size,
    arrival: Arrival,
    law: impl FnOnce(&Range, &Size) -> Result<L, TraceError>,
) -> Result<Arc<dyn Recipe>, TraceError> {
    let (start, span) = (keys.bytes("start")?, keys.bytes("span")?);
    let align = match keys.text("align") {
        "smallest" => Align::Bytes(u64::from(size.smallest())),
        "size" => Align::Own,
        _ => match keys.bytes("align")? {
            0 => return Err(keys.fail("align", "offsets cannot be multiples of nothing; write `1B`")),
            grain => Align::Bytes(grain),
        },
    };
    if span < u64::from(size.largest()) {
        let largest = size.largest();
        return Err(keys.fail("span", format!("the largest request has {largest} bytes; widen the span")));
    }
    if start.checked_add(span).is_none() {
        return Err(keys.fail("start", "start and span exceed 2^64 bytes; lower one of them"));
    }
    let volume = u32::try_from(keys.count("volume")?)
        .map_err(|_| keys.fail("volume", "a volume's number is below 2^32"))?;
    let range = Range { start, span, align };
    let law = law(&range, &size)?;
    let requests = keys.count("requests")?;
    Ok(Arc::new(Synthetic { requests, volume, write, size, arrival, range, law }))
}

impl<L: Law> Recipe for Synthetic<L> {
    fn source(&self, seed: u64) -> Box<dyn Source + Send> {
        // Each has a stream of its own, so another law of arrivals or sizes does not change the addresses.
        let [kinds, sizes, arrivals, addresses] = std::array::from_fn(|at| Prng::stream(seed, at as u64));
        let workload = self.clone();
        Box::new(Generated { left: self.requests, clock: 0, kinds, sizes, arrivals, addresses, workload })
    }

    fn end_bytes(&self) -> Option<u64> {
        self.range.start.checked_add(self.range.span)
    }
}

/// A running synthetic workload.
struct Generated<L> {
    workload: Synthetic<L>,
    left: u64,
    clock: u64,
    kinds: Prng,
    sizes: Prng,
    arrivals: Prng,
    addresses: Prng,
}

impl<L: Law> Source for Generated<L> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let room = batch.capacity().max(1) as u64;
        let Synthetic { volume, write, size, arrival, range, law, .. } = &mut self.workload;
        let count = room.min(self.left);
        batch.extend((0..count).map(|_| {
            let bytes = size.draw(&mut self.sizes);
            let offset = law.place(range, bytes, &mut self.addresses);
            let kind = if self.kinds.unit() < *write { Kind::Write } else { Kind::Read };
            let time_ns = self.clock;
            self.clock = self.clock.saturating_add(arrival.interval(&mut self.arrivals));
            Request { time_ns, offset, bytes, volume: *volume, kind }
        }));
        self.left -= count;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(1.0 - self.left as f64 / self.workload.requests.max(1) as f64)
    }
}
