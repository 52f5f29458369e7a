//! The workloads: the traces of Table 2 by their statistics, random accesses of one size, slices of real traces.

use std::path::PathBuf;

use stripewise_study::{Error, Origin, WorkloadSpec};
use stripewise_trace::fold::Fold;

use crate::slice::Slice;

/// Accesses of the chunk-size experiment (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Random reads.
    Read,
    /// Random writes.
    Write,
}

impl Access {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// As tables and reports name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "random reads",
            Self::Write => "random writes",
        }
    }
}

/// Where a workload's requests come from.
#[derive(Clone, Debug)]
pub enum Requests {
    /// A trace of Table 2, generated.
    Profile(Trace),
    /// Random accesses of so many KiB, 32 under way.
    Random(Access, u32),
    /// A part of a real trace.
    Slice(PathBuf, Slice),
}

/// A trace of Table 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trace {
    /// Its name.
    pub name: &'static str,
    /// Bytes that a request writes, in the mean: the share of writes times their size.
    written_bytes: u64,
}

/// The traces of Table 2; a test holds what they write against their profiles.
pub(super) const TRACES: [Trace; 3] = [
    Trace { name: "proj_0", written_bytes: 1_366 },
    Trace { name: "stg_0", written_bytes: 6_992 },
    Trace { name: "hm_0", written_bytes: 2_096 },
];

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: Requests,
}

/// MiB in which random accesses lie (choice): what an array of the quickest study holds several times.
const SPAN_MIB: u64 = 1024;

/// Bytes of the units in which what a slice touches is packed: the largest chunk.
const SLICE_UNIT: u64 = 32 << 10;

impl Workload {
    pub(super) fn trace(trace: Trace) -> Self {
        Self { name: trace.name.to_owned(), requests: Requests::Profile(trace) }
    }

    pub(super) fn random(access: Access, kib: u32) -> Self {
        Self { name: format!("{}, {kib} KiB", access.name()), requests: Requests::Random(access, kib) }
    }

    pub(super) fn slice((path, slice): (PathBuf, Slice)) -> Self {
        Self { name: slice.workload.to_owned(), requests: Requests::Slice(path, slice) }
    }

    /// Whether it is a part of a real trace.
    pub(super) fn is_real(&self) -> bool {
        matches!(self.requests, Requests::Slice(..))
    }

    /// Requests until SSDs that began full, with so many raw bytes together, collect garbage: a tenth of them, the reserve less
    /// the minimum of free blocks, must be programmed, and a small write of RAID-5 programs two pages.
    pub(super) fn warmup(&self, raw_bytes: u64) -> u64 {
        match &self.requests {
            Requests::Profile(trace) => raw_bytes / 10 / (2 * trace.written_bytes),
            _ => 0,
        }
    }

    /// Requests that are replayed: `measured` of them after `warmup`.
    ///
    /// # Errors
    /// None as long as the generators take what is asked of them, which a test holds.
    pub(super) fn spec(&self, warmup: u64, measured: u64) -> Result<WorkloadSpec, Error> {
        let requests = warmup.saturating_add(measured);
        let (origin, fold) = match &self.requests {
            Requests::Profile(trace) => (Origin::Profile(format!("paper004/{}", trace.name)), Fold::Modulo),
            Requests::Random(access, kib) => {
                let write = u32::from(*access == Access::Write);
                let text = format!(
                    "uniform:write={write},size={kib}KiB,align=size,span={SPAN_MIB}MiB,requests={requests}"
                );
                (Origin::generated(&text)?, Fold::Modulo)
            }
            Requests::Slice(path, slice) => (slice.origin(path.clone()), Fold::Dense { unit: SLICE_UNIT }),
        };
        Ok(WorkloadSpec { origin, requests: Some(requests), fold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_trace::profile::builtin;

    #[test]
    fn what_a_trace_writes_is_what_its_profile_says() {
        for trace in TRACES {
            let name = format!("paper004/{}", trace.name);
            let profile = builtin().into_iter().find(|one| one.name == name).and_then(|one| one.profile);
            let profile = profile.unwrap_or_else(|| panic!("{name} is a profile"));
            let kib = profile.sizes.write.as_ref().and_then(|law| law.mean_kib).expect("a mean size");
            let expected = profile.write_ratio * kib * 1024.0;
            assert!((trace.written_bytes as f64 - expected).abs() < 1.0, "{name}: {expected}");
        }
    }
}
