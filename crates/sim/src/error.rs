//! Errors of runs.

use stripewise_array::SchemeError;
use stripewise_base::Nanos;
use stripewise_flash::SpecError;

use crate::replay::ReplayError;
use crate::run::MOST_SAMPLE_ROWS;

/// Why a run could not start or finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The device is invalid.
    #[error(transparent)]
    Device(#[from] SpecError),
    /// The scheme is invalid over this device.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The scheme or the device leaves a choice to the user, but the caller gave no policy.
    #[error(
        "scheme `{scheme}`: {key} = \"custom\" needs a policy of your own, which only a program can give; {}",
        remedy(key)
    )]
    NoPolicy {
        /// The scheme.
        scheme: String,
        /// The key.
        key: &'static str,
    },
    /// The trace ended early.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The caller asked to stop.
    #[error("stopped after {requests} requests")]
    Stopped {
        /// Requests sent by then.
        requests: u64,
    },
    /// The run would record too many samples.
    #[error(
        "samples every {every_ns} ns are more than {MOST_SAMPLE_ROWS} rows (one a member and sample) by {until_ns} ns of \
         simulated time; take them less often (`--sample-every`), or cut out the gap in the trace (`stripewise trace slice`)"
    )]
    Samples {
        /// Time between two samples.
        every_ns: Nanos,
        /// The end of the gap in which the limit is exceeded.
        until_ns: Nanos,
    },
    /// The array makes no progress although requests are in flight: a bug of this program.
    #[error(
        "the array stands still at {now_ns} ns with requests under way: please report this with the run's seed"
    )]
    Stuck {
        /// Simulated time.
        now_ns: Nanos,
    },
}

fn remedy(key: &str) -> &'static str {
    match key {
        "update.policy" => "use one of baseline, bpu, adaptive, rmw-vs-reconstruct, always-rmw, always-rcw",
        _ => "use another value",
    }
}
