//! Redundancy by name, for commands that take no scheme.

use clap::ValueEnum;

/// Redundancy by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Level {
    Raid0,
    Raid5,
    Raid6,
}

impl Level {
    /// Parity chunks of a stripe.
    pub(crate) fn parity(self) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }
}
