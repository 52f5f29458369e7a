//! Which schemes the engine runs.

use stripewise_array::cache::CachePolicy;
use stripewise_array::placement::{Commit, FirstWrites};
use stripewise_array::{Members, Persistence, Scheme, SchemeError};
use stripewise_base::units::Span;

use crate::discards::Trims;

/// The capabilities of files as members.
pub fn capabilities(count: usize, pages: u32, page_bytes: u32) -> Members {
    Members::opaque(count as u32, page_bytes, pages)
}

/// The purpose of a scheme's trims. Those of a log inform members of unused pages; those in place make zeros.
pub(super) fn trims(scheme: &Scheme) -> Trims {
    if scheme.placement.facts().trims_unmap { Trims::Advice } else { Trims::Zeros }
}

/// The scheme without modelled memory latencies: here an access to memory takes its own time.
pub(crate) fn with_own_times(scheme: &Scheme) -> Scheme {
    let mut scheme = scheme.clone();
    scheme.placement.buffer_latency = Span(0);
    if scheme.cache.policy != CachePolicy::None {
        scheme.cache.latency = Span(0);
    }
    scheme
}

/// Refuses a scheme whose data could not be found again, a scheme that calls data durable that is in memory only, and a
/// scheme whose parity would be in a log that no program can read.
pub(super) fn keeps_what_it_has(scheme: &Scheme) -> Result<(), SchemeError> {
    let refuse = |key, value: &str, reason| {
        Err(SchemeError::Setting { scheme: scheme.name.clone(), key, value: value.into(), reason })
    };
    if scheme.placement.first_writes == FirstWrites::Encode
        && scheme.placement.buffer_persistence == Persistence::Persistent
    {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("placement.buffer_persistence", "\"persistent\"", reason);
    }
    if scheme.placement.first_writes == FirstWrites::Gather {
        let reason = "keeps its map in memory only, and without a map on the media the data could not be found again; \
                      use \"in-place\"";
        return refuse("placement.first_writes", "\"gather\"", reason);
    }
    if scheme.placement.facts().buffers_writes
        && scheme.placement.buffer_persistence == Persistence::Persistent
    {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("placement.buffer_persistence", "\"persistent\"", reason);
    }
    if scheme.cache.policy != CachePolicy::None && scheme.cache.persistence == Persistence::Persistent {
        let reason = "is not true of this program's memory, which a flush must drain; use \"volatile\"";
        return refuse("cache.persistence", "\"persistent\"", reason);
    }
    if scheme.parity_log_members() > 0 && scheme.parity_logging.commit == Commit::Never {
        let reason = "leaves parity in a log of which only memory knows what it holds; use \"watermark\"";
        return refuse("parity_logging.commit", "\"never\"", reason);
    }
    Ok(())
}
