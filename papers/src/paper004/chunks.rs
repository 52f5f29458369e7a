//! The chunk-size experiment (section 2.2, Fig. 2): which of its three statements hold, and for how many sizes.

use super::measured::Measured;
use super::plan::{CHUNKS, Part, SIZES};
use super::variant::Policy;
use super::workload::{Access, Requests};
use crate::verdict::Verdict;

/// Differences of less than this are none.
const EQUAL: f64 = 0.01;

/// How often a statement holds, and of how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) holds: usize,
    pub(super) of: usize,
}

impl Count {
    fn note(&mut self, holds: bool) {
        self.of += 1;
        self.holds += usize::from(holds);
    }
}

/// Throughputs by access, request and chunk size.
pub(super) struct Experiment<'a>(pub(super) &'a [Measured]);

impl Experiment<'_> {
    /// Bytes a second with chunks and requests of so many KiB.
    pub(super) fn rate(&self, access: Access, request: u32, chunk: u32) -> Option<f64> {
        let ours = |one: &&Measured| {
            let Requests::Random(kind, kib) = one.cell.workload.requests else { return false };
            one.cell.part == Part::Chunks && (kind, kib) == (access, request)
        };
        let run = self.0.iter().find(ours)?.run(Policy::Chunk(chunk))?;
        Some(run.bytes_per_second).filter(|rate| *rate > 0.0)
    }

    /// The rates of a request size, by chunk.
    fn rates(&self, access: Access, request: u32) -> Option<Vec<f64>> {
        CHUNKS.iter().map(|chunk| self.rate(access, request, *chunk)).collect()
    }

    /// Request sizes of which reads are faster with the largest chunk than with the smallest, and with none slower than with
    /// the one before it.
    pub(super) fn reads_grow(&self) -> Count {
        let mut count = Count::default();
        for rates in SIZES.iter().filter_map(|size| self.rates(Access::Read, *size)) {
            let grows = rates[rates.len() - 1] > rates[0] * (1.0 + EQUAL);
            count.note(grows && rates.windows(2).all(|pair| pair[1] > pair[0] * (1.0 - EQUAL)));
        }
        count
    }

    /// Chunks of which a request of three is read no slower than with any other chunk, and faster than with some.
    pub(super) fn three_chunks_read_best(&self) -> Count {
        let mut count = Count::default();
        for (at, chunk) in CHUNKS.iter().enumerate().filter(|(_, chunk)| SIZES.contains(&(*chunk * 3))) {
            let Some(rates) = self.rates(Access::Read, chunk * 3) else { continue };
            count.note(is_best(&rates, at));
        }
        count
    }

    /// Request sizes that are written no slower with the smallest chunk than with any other, and faster than with some.
    pub(super) fn smallest_writes_best(&self) -> Count {
        let mut count = Count::default();
        for rates in SIZES.iter().filter_map(|size| self.rates(Access::Write, *size)) {
            count.note(is_best(&rates, 0));
        }
        count
    }

    /// The word for all three: agrees where each holds in three of four cases, differs where none holds in any such share.
    pub(super) fn verdict(&self) -> Verdict {
        let counts = [self.reads_grow(), self.three_chunks_read_best(), self.smallest_writes_best()];
        let mostly = counts.iter().filter(|count| count.holds * 4 >= count.of * 3).count();
        match mostly {
            _ if counts.iter().any(|count| count.of == 0) => Verdict::NotMeasured,
            3 => Verdict::Agrees,
            0 => Verdict::Differs,
            _ => Verdict::SameDirection,
        }
    }
}

/// Whether the rate at `at` is the largest, and not all are equal.
fn is_best(rates: &[f64], at: usize) -> bool {
    let (low, high) =
        rates.iter().fold((f64::MAX, 0.0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    rates[at] > high * (1.0 - EQUAL) && high > low * (1.0 + EQUAL)
}
