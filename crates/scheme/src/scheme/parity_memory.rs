//! Checks the settings of parity that is kept in persistent memory.

use stripewise_core::geometry::Level;
use stripewise_core::memory::Persistence;
use stripewise_policy::cache::CachePolicy;

use super::{Metadata, Scheme, SchemeError, WindowSize};
use crate::placement::FirstWrites;

/// The most rows whose parity may be kept; more are refused.
const ROWS_MAX: u32 = 1 << 24;

impl Scheme {
    /// The number of rows whose parity persistent memory keeps.
    pub fn parity_memory_rows(&self) -> u32 {
        if self.placement.facts().has_zones { self.zones.open_rows } else { self.parity.memory_rows }
    }

    /// Checks that parity kept in memory has a meaning in this scheme.
    pub(super) fn check_parity_memory(&self) -> Result<(), SchemeError> {
        let facts = self.placement.facts();
        let key = if facts.has_zones { "zones.open_rows" } else { "parity.memory_rows" };
        let rows = self.parity_memory_rows();
        let refuse = |key, rows: u32, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: rows.to_string(), reason })
        };
        if facts.has_zones && self.parity.memory_rows > 0 {
            let reason = "is for arrays without zones; use zones.open_rows, or 0";
            return refuse("parity.memory_rows", self.parity.memory_rows, reason);
        }
        if rows == 0 {
            return Ok(());
        }
        if rows > ROWS_MAX {
            return refuse(key, rows, "must be at most 16777216 rows");
        }
        if self.geometry.level == Level::Raid0 {
            return refuse(key, rows, "has no meaning without parity; use 0 with RAID-0");
        }
        if !facts.updates_parity || self.placement.first_writes != FirstWrites::InPlace {
            let reason = "is for parity that is updated where it lies; use 0, or placement.policy = \"in-place\" with \
                first_writes = \"in-place\"";
            return refuse(key, rows, reason);
        }
        if self.placement.buffer_persistence == Persistence::Volatile {
            let reason = "keeps the only parity of acknowledged data in memory; use 0, or placement.buffer_persistence = \
                \"persistent\"";
            return refuse(key, rows, reason);
        }
        if self.cache.policy != CachePolicy::None {
            let reason = "keeps parity of rows of which a write cache keeps content; use 0, or leave out the section [cache]";
            return refuse(key, rows, reason);
        }
        if self.parity.window != WindowSize::default() {
            let reason = "writes parity late, as a parity window does; use 0 for one of the two";
            return refuse(key, rows, reason);
        }
        if self.metadata == Metadata::On {
            let reason = "keeps parity where no member has it, and an array with metadata = \"on\" is assembled from its \
                members alone; use 0";
            return refuse(key, rows, reason);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stripewise_core::members::Members;

    use super::*;

    #[test]
    fn parity_in_memory_without_meaning_is_refused_with_the_reason() {
        let refused = |text: &str| {
            let text = format!("name = 'test'\n{text}");
            let members = Members { volatile_cache: false, ..Members::opaque(5, 4096, 64) };
            Scheme::from_toml("test", &text).unwrap().resolve(&members, false).unwrap_err().to_string()
        };
        let rows = "[parity]\nmemory_rows = 4\n";
        assert!(refused("[parity]\nmemory_rows = 20000000").contains("at most 16777216"));
        assert!(refused(&format!("{rows}[geometry]\nlevel = 'raid0'")).contains("without parity"));
        assert!(refused(&format!("{rows}window = 2")).contains("as a parity window does"));
        assert!(refused(&format!("{rows}[cache]\npolicy = 'wow'")).contains("a write cache keeps"));
        assert!(refused(&format!("metadata = 'on'\n{rows}")).contains("where no member has it"));
        assert!(refused(&format!("{rows}[placement]\nfirst_writes = 'gather'")).contains("where it lies"));
        assert!(
            refused(&format!("{rows}[placement]\nbuffer_persistence = 'volatile'"))
                .contains("the only parity")
        );
        let zones = "[placement]\npolicy = 'mc-rais'\n";
        assert!(refused(&format!("{zones}{rows}")).contains("use zones.open_rows"));
        let open = format!("{zones}[zones]\nopen_rows = 4\nfree_pages = 'data'");
        assert!(refused(&open).contains("use \"zeros\""));
        assert!(
            refused(&format!("{zones}[zones]\nopen_rows = 4\n[parity]\nwindow = 2"))
                .contains("one of the two")
        );
    }
}
