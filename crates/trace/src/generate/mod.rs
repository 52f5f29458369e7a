//! Generators: workloads from a line of text and a seed.
//!
//! `uniform:write=1,size=8KiB,span=1GiB,requests=3M,arrival=poisson:100us` names a generator and its parameters; the
//! others have defaults. The same text and seed give the same requests on every machine. [`catalog`] lists the
//! generators with their keys. One file a generator.

mod arrival;
mod disksim_suite;
mod hpc;
mod keys;
mod normal;
mod phases;
mod profile;
mod recipe;
mod sequential;
pub(crate) mod shuffle;
mod size;
mod synthetic;
#[cfg(test)]
mod tests;
mod uniform;
mod wriw;
mod zipf;

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use stripewise_base::suggest;

use crate::profile::Profile;
use crate::{Source, TraceError};
pub use keys::Key;
use keys::Keys;
pub use recipe::About;
pub(crate) use recipe::Recipe;

/// Every generator.
pub fn catalog() -> &'static [About] {
    const CATALOG: &[About] = &[
        uniform::ABOUT,
        sequential::ABOUT,
        zipf::ABOUT,
        normal::ABOUT,
        wriw::ABOUT,
        hpc::ABOUT,
        phases::ABOUT,
        disksim_suite::ABOUT,
        profile::ABOUT,
    ];
    CATALOG
}

/// A workload that can be generated: everything except the seed.
#[derive(Clone, Debug)]
pub struct Generator {
    keys: Keys,
    recipe: Arc<dyn Recipe>,
}

impl Generator {
    /// The generator of a profile. It is named by the digest of the profile's text, so it is the same wherever the text lies.
    ///
    /// # Errors
    /// A profile whose numbers contradict each other.
    pub fn of_profile(profile: &Profile, requests: u64) -> Result<Self, TraceError> {
        let digest = blake3::hash(profile.to_toml().as_bytes()).to_hex();
        let text = format!("file=blake3-{},requests={requests}", &digest[..32]);
        let keys = Keys::parse(profile::ABOUT.name, &text, profile::ABOUT.keys)?;
        Ok(Self { keys, recipe: Arc::new(profile.recipe(Some(requests))?) })
    }

    /// The requests that `seed` yields.
    pub fn source(&self, seed: u64) -> Box<dyn Source + Send> {
        self.recipe.source(seed)
    }

    /// Bytes from the first address to the end of the address space that its `span` and `start` set; none of a generator without
    /// these parameters.
    pub fn end_bytes(&self) -> Option<u64> {
        self.recipe.end_bytes()
    }
}

impl PartialEq for Generator {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys && self.recipe.is_same(&*other.recipe)
    }
}

impl FromStr for Generator {
    type Err = TraceError;

    /// Parses a specification such as `uniform:write=1,size=8KiB`. A profile that is named by file is read here.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let Some(about) = catalog().iter().find(|about| about.name == name.trim()) else {
            let names: Vec<&str> = catalog().iter().map(|about| about.name).collect();
            return Err(TraceError::Setting(suggest::unknown("generator", name.trim(), &names)));
        };
        let keys = Keys::parse(about.name, rest, about.keys)?;
        let recipe = (about.build)(&keys)?;
        Ok(Self { keys, recipe })
    }
}

impl Display for Generator {
    /// The specification with every parameter, defaults included: the form for results.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.keys.fmt(f)
    }
}
