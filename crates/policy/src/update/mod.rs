//! Update policies: which routine a parity update uses to pre-read.
//!
//! One file for each published scheme. A new scheme needs a new file, a variant of [`Update`] and a line in [`MEMBERS`].

mod adaptive;
mod always_rcw;
mod always_rmw;
mod baseline;
mod bpu;
mod custom;
mod decision;
mod rmw_vs_reconstruct;

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_core::member_load::MemberLoad;

pub use adaptive::Tgc;
pub use baseline::Tie;
pub use bpu::Weights;
pub use decision::{Choice, Cost, Decision, ParityUpdate, Reason, Routine};

/// The update policy of a scheme, chosen once a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// Fewest pre-reads.
    Baseline {
        /// The routine for an equal number of pre-reads.
        #[serde(default)]
        tie: Tie,
    },
    /// Balanced parity update.
    Bpu {
        /// The weights of queued reads and writes.
        #[serde(default)]
        weights: Weights,
    },
    /// The lower cost in time.
    Adaptive {
        /// The cost of a garbage collection that delays a pre-read.
        #[serde(default)]
        tgc: Tgc,
    },
    /// By the number of disks that are touched.
    RmwVsReconstruct {
        /// RMW below this share of the group.
        #[serde(default = "default_point")]
        point: Share,
    },
    /// Read-modify-write whenever possible.
    AlwaysRmw {},
    /// Read-construct-write whenever possible.
    AlwaysRcw {},
    /// The driver chooses.
    Custom {},
}

fn default_point() -> Share {
    rmw_vs_reconstruct::POINT
}

/// The update policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("baseline", "the routine with fewest pre-reads (paper 000, section II-B)"),
    ("bpu", "the routine whose most loaded member is less loaded (BPU, ICPADS 2016)"),
    ("adaptive", "the routine that costs less time, queues and collections counted (paper 000, section III)"),
    ("rmw-vs-reconstruct", "read-modify-write where few disks of the group are touched (DiskSim)"),
    ("always-rmw", "read-modify-write whenever it is possible"),
    ("always-rcw", "read-construct-write whenever it is possible"),
    ("custom", "a policy of the user's own; Baseline where none is given"),
];

impl Update {
    /// Chooses between RMW and RCW where both are possible and both must read. `chosen` is the driver's choice, for
    /// [`Update::Custom`].
    #[inline]
    pub fn choose(&self, choice: &Choice<'_>, state: &impl MemberLoad, chosen: Option<Routine>) -> Decision {
        let free = |(routine, reason)| (routine, reason, Cost::default(), Cost::default());
        let (routine, reason, rmw, rcw) = match self {
            Self::Baseline { tie } => free(baseline::choose(choice, *tie)),
            Self::Bpu { weights } => bpu::choose(choice, *weights),
            Self::Adaptive { tgc } => adaptive::choose(choice, *tgc, state),
            Self::RmwVsReconstruct { point } => free(rmw_vs_reconstruct::choose(choice, *point)),
            Self::AlwaysRmw {} => free(always_rmw::choose()),
            Self::AlwaysRcw {} => free(always_rcw::choose()),
            Self::Custom {} => free(custom::choose(choice, chosen)),
        };
        let tie = if let Self::Baseline { tie } = self { *tie } else { Tie::Rmw };
        Decision {
            routine,
            reason,
            baseline: baseline::choose(choice, tie).0,
            rmw_reads: choice.rmw.count_ones() as u8,
            rcw_reads: choice.rcw.count_ones() as u8,
            rmw,
            rcw,
        }
    }

    /// Whether the policy needs recent times of reads and writes.
    pub fn asks_times(&self) -> bool {
        matches!(self, Self::Adaptive { .. } | Self::Bpu { weights: Weights::Scaled } | Self::Custom {})
    }
}

#[cfg(test)]
pub mod tests;
