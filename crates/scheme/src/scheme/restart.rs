//! Whether a controller can restart from what its members have.

use stripewise_core::memory::Persistence;

use super::{Metadata, Scheme, SchemeError};
use crate::placement::{FirstWrites, RestartFrom};

impl Scheme {
    /// Checks that a controller of this scheme can recover all content after a loss of power.
    ///
    /// # Errors
    /// The setting that keeps state only in memory, and the setting to use instead.
    pub fn check_restart(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: &str, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.into(), reason })
        };
        if self.metadata == Metadata::On {
            let reason = "is assembled from its members, with nothing kept in memory: use `Array::open`";
            return refuse("metadata", "\"on\"", reason);
        }
        let reason = "keeps its map in memory alone, which a loss of power erases; use \"in-place\"";
        let facts = self.placement.facts();
        match facts.restart {
            RestartFrom::Members => {}
            RestartFrom::Buffer if self.placement.buffer_persistence == Persistence::Persistent => {}
            RestartFrom::Buffer => {
                let reason = "loses the map of zones with power; use \"persistent\"";
                return refuse("placement.buffer_persistence", "\"volatile\"", reason);
            }
            RestartFrom::Nothing => return refuse("placement.policy", &facts.value(), reason),
        }
        match self.placement.first_writes {
            FirstWrites::InPlace => {}
            FirstWrites::Gather => return refuse("placement.first_writes", "\"gather\"", reason),
            FirstWrites::Encode => return refuse("placement.first_writes", "\"encode\"", reason),
        }
        if self.parity.window != super::WindowSize::default() {
            let reason = "keeps in memory alone which parity is late, which a loss of power erases; use 0";
            return refuse("parity.window", "a window", reason);
        }
        Ok(())
    }
}
