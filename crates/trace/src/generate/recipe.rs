//! What a generator is: its description for help texts, and the recipe that its parameters make.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::keys::{Key, Keys};
use crate::{Source, TraceError};

/// The description of a generator for help texts.
#[derive(Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its purpose, in a line.
    pub summary: &'static str,
    /// A valid specification.
    pub example: &'static str,
    /// Its parameters.
    pub keys: &'static [Key],
    /// Makes the recipe of the given parameters.
    pub(super) build: fn(&Keys) -> Result<Arc<dyn Recipe>, TraceError>,
}

/// The parameters with which a generator runs: everything except the seed.
pub(crate) trait Recipe: Debug + Same + Send + Sync {
    /// The requests that `seed` yields.
    fn source(&self, seed: u64) -> Box<dyn Source + Send>;

    /// The end of the address space that requests fall into, where a parameter sets it.
    fn end_bytes(&self) -> Option<u64> {
        None
    }
}

/// A value that can be compared with one of any type; those of two types differ.
pub(crate) trait Same: Any {
    fn is_same(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + Any> Same for T {
    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}
