//! The units that a trace touches, and their ranks.

use stripewise_base::units::Bytes;

use crate::{Request, Source, TraceError};

/// The most runs of touched units that a scan keeps (24 bytes each). A trace with more is too scattered.
const MOST_RUNS: usize = 1 << 24;

/// The least number of new runs that are gathered before they are merged with the others.
const GATHERED: usize = 1 << 16;

/// Neighbouring touched units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TouchedRun {
    volume: u32,
    /// First and last unit on the volume.
    first: u64,
    last: u64,
}

/// The footprint of a trace.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    unit: u64,
    /// In order of volume and address, with gaps between them.
    runs: Vec<TouchedRun>,
    /// The number of touched units before each run.
    before: Vec<u64>,
    units: u128,
    /// The run of the previous request: the next request is likely to be in it too.
    recent: usize,
}

impl Footprint {
    /// Reads `trace` to its end.
    pub(super) fn scan(unit: u64, trace: &mut dyn Source) -> Result<Self, TraceError> {
        if unit == 0 {
            return Err(TraceError::Fold("a unit of `dense` is not 0 bytes".to_owned()));
        }
        let (mut runs, mut batch) = (Vec::<TouchedRun>::new(), Vec::with_capacity(4096));
        let mut merge_at = GATHERED;
        loop {
            trace.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for request in batch.iter().filter(|request| request.bytes > 0) {
                let run = run(request, unit)?;
                let known = runs.last().is_some_and(|last| {
                    last.volume == run.volume && last.first <= run.first && run.last <= last.last
                });
                if !known {
                    runs.push(run);
                }
            }
            if runs.len() >= merge_at {
                merge(&mut runs);
                if runs.len() > MOST_RUNS {
                    return Err(TraceError::Fold(format!(
                        "the trace touches more than {MOST_RUNS} separate places in units of {}; use a larger unit, \
                         or `modulo`",
                        Bytes(unit)
                    )));
                }
                // Twice the number of merged runs: the total work stays within a logarithm of the trace's length.
                merge_at = (runs.len() * 2).max(GATHERED);
            }
        }
        merge(&mut runs);
        let mut units = 0u128;
        let mut before = Vec::with_capacity(runs.len());
        for run in &runs {
            // This truncates only a footprint that exceeds any array; such a footprint is refused.
            before.push(units as u64);
            units += u128::from(run.last - run.first) + 1;
        }
        Ok(Self { unit, runs, before, units, recent: 0 })
    }

    /// Size of all touched units.
    pub(super) fn bytes(&self) -> u128 {
        self.units.saturating_mul(u128::from(self.unit))
    }

    /// The address of `request` among the touched units. All its bytes lie side by side there.
    #[inline]
    pub(super) fn place(&mut self, request: &Request) -> Result<u64, TraceError> {
        let wanted = run(request, self.unit)?;
        let within = |run: &TouchedRun| {
            run.volume == wanted.volume && run.first <= wanted.first && wanted.last <= run.last
        };
        if !self.runs.get(self.recent).is_some_and(within) {
            let after =
                self.runs.partition_point(|run| (run.volume, run.first) <= (wanted.volume, wanted.first));
            self.recent = after.saturating_sub(1);
            if !self.runs.get(self.recent).is_some_and(within) {
                return Err(TraceError::Fold(format!(
                    "volume {}, offset {} was not in the trace that was scanned; scan the trace that is folded",
                    request.volume, request.offset
                )));
            }
        }
        let rank = self.before[self.recent] + (wanted.first - self.runs[self.recent].first);
        Ok(rank * self.unit + request.offset % self.unit)
    }
}

fn run(request: &Request, unit: u64) -> Result<TouchedRun, TraceError> {
    let end = request.offset.checked_add(u64::from(request.bytes).saturating_sub(1));
    let end = end.ok_or_else(|| {
        TraceError::Fold(format!("a request at offset {} ends beyond 64-bit addresses", request.offset))
    })?;
    Ok(TouchedRun { volume: request.volume, first: request.offset / unit, last: end / unit })
}

/// Sorts runs and joins those that overlap or touch.
fn merge(runs: &mut Vec<TouchedRun>) {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let joined = next.volume == run.volume && next.first <= run.last.saturating_add(1);
        if joined {
            run.last = run.last.max(next.last);
        }
        joined
    });
}
