//! The instructions that the kernels use.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

/// Instructions of the loops over bytes. The results are the same at every level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Those that the program was compiled for.
    Portable,
    /// NEON of 64-bit ARM.
    Neon,
    /// AVX2 of x86-64.
    Avx2,
    /// AVX-512 (F, BW) with GFNI of x86-64.
    Avx512,
}

/// The processor does not support a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this processor has no {0} kernels; {best} is the best that it has", best = Level::detect())]
pub struct Unsupported(pub Level);

/// A name that is not the name of a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no kernels; there are portable, neon, avx2 and avx512")]
pub struct UnknownLevel(pub String);

/// The level that was forced, plus one.
static FORCED: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// All levels. The last one that a processor supports is its best.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor supports the level.
    pub fn supported(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("gfni")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The best level of this processor.
    pub fn detect() -> Self {
        Self::ALL.into_iter().rev().find(|level| level.supported()).unwrap_or(Self::Portable)
    }

    /// The level of codes that are created from now on: the forced one, else the best.
    pub fn current() -> Self {
        match FORCED.load(Ordering::Relaxed) {
            0 => Self::detect(),
            forced => Self::ALL[usize::from(forced - 1)],
        }
    }

    /// Sets the level of codes that are created from now on, in the whole process.
    pub fn force(self) -> Result<(), Unsupported> {
        if !self.supported() {
            return Err(Unsupported(self));
        }
        FORCED.store(self as u8 + 1, Ordering::Relaxed);
        Ok(())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.name() == text).ok_or_else(|| UnknownLevel(text.into()))
    }
}
