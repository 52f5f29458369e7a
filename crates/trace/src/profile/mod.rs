//! Profiles: the statistics of a workload as a text file, and a generator that yields a trace with these statistics.
//!
//! A profile is TOML. It comes from a paper's workload table ([`builtin`]), from a real trace
//! ([`Profile::from_stats`]) or from a user. The generated trace has the profile's counts exactly, its mean sizes and
//! intervals, its distribution of intervals at the given points, and its update ratio. It meets footprint, skew and
//! sequentiality closely ([`check`]). Anything that a profile does *not* state is lost: which request follows which.

mod amounts;
mod builtin;
pub mod check;
mod deck;
mod generator;
mod intervals;
mod measured;
mod order;
mod popularity;
mod recency;
mod sizes;
mod space;
mod statistics;
mod storm;
#[cfg(test)]
mod tests;

pub(crate) use builtin::find;
pub use builtin::{Builtin, builtin};
pub use sizes::{SizeLaw, Sizes};
pub use statistics::{Arrivals, ExtentLaw, Footprint, Places, Profile, Recency, Skew, Storm};

use crate::generate::Recipe;
use crate::stats::Stats;
use crate::{Source, TraceError};
use generator::ProfileRecipe;

impl Profile {
    /// The profile of a measured trace.
    ///
    /// # Errors
    /// If the trace has no requests.
    pub fn from_stats(stats: &Stats, source: &str) -> Result<Self, TraceError> {
        measured::profile(stats, source)
    }

    /// The trace of this profile: `requests` requests (the profile's own number if absent) from `seed`.
    ///
    /// # Errors
    /// A profile whose numbers contradict each other, such as a mean interval outside what its distribution allows.
    pub fn generate(&self, requests: Option<u64>, seed: u64) -> Result<Box<dyn Source + Send>, TraceError> {
        Ok(self.recipe(requests)?.source(seed))
    }

    /// Fits the skew, and checks that the profile runs.
    pub(crate) fn recipe(&self, requests: Option<u64>) -> Result<ProfileRecipe, TraceError> {
        self.validate()?;
        let requests = requests.unwrap_or(self.requests.0);
        let hot = check::fit_skew(self, requests)?;
        // Any remaining error depends on the number of requests, not on the seed.
        ProfileRecipe::run(self, requests, hot, 0)?;
        Ok(ProfileRecipe { profile: self.clone(), requests, hot })
    }
}
