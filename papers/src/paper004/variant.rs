//! What is compared: RAID-5 of one chunk size, and MC-RAIS.

use std::fmt;

/// An array of the paper (section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// RAID-5 with chunks of so many KiB: "4 KB-RAIS".
    Chunk(u32),
    /// Three zones of different chunk sizes.
    McRais,
}

/// Chunk sizes that MC-RAIS is compared with, in KiB (section 4.1).
pub(super) const FIXED: [u32; 3] = [4, 8, 32];

impl Policy {
    /// Those of Fig. 5, in its order.
    pub const ALL: [Self; 4] = [Self::Chunk(4), Self::Chunk(8), Self::Chunk(32), Self::McRais];

    /// The scheme: a preset's name, with settings where there is no preset.
    pub fn scheme(self) -> String {
        match self {
            Self::Chunk(kib) if FIXED.contains(&kib) => format!("paper004-{kib}k"),
            Self::Chunk(kib) => format!("paper004-4k,geometry.chunk={kib}KiB"),
            Self::McRais => "paper004-mc-rais".to_owned(),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(kib) => write!(f, "{kib} KB-RAIS"),
            Self::McRais => f.write_str("MC-RAIS"),
        }
    }
}
