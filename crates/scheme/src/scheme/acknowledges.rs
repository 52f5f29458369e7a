//! Where a write is stored when it is acknowledged. Comparisons show it, since memory answers faster than flash.

use stripewise_core::memory::Persistence;
use stripewise_policy::cache::CachePolicy;
use stripewise_policy::coordination::{CoordinationSection, When};

use super::{Acknowledge, Scheme, WindowSize};
use crate::placement::{AcknowledgeWrites, FirstWrites};

impl Scheme {
    /// [`Scheme::acknowledges`] of the scheme in the configuration of a run, a TOML document; `None` if this program does
    /// not know the scheme.
    pub fn acknowledges_in(configuration: &str) -> Option<&'static str> {
        let configuration: toml::Table = configuration.parse().ok()?;
        let scheme = toml::to_string(configuration.get("scheme")?).ok()?;
        Scheme::from_toml("run.toml", &scheme).map(|scheme| scheme.acknowledges()).ok()
    }

    /// Where a write is stored when it is acknowledged: on members, in memory that survives a power loss, or in memory
    /// that does not.
    pub fn acknowledges(&self) -> &'static str {
        match self.memory_of_writes() {
            Some(Persistence::Persistent) => return "memory (persistent)",
            Some(Persistence::Volatile) => return "memory (volatile)",
            None if self.placement.facts().buffers_writes => return "members",
            None => {}
        }
        let buffer = self.placement.buffer_persistence;
        if self.placement.first_writes != FirstWrites::InPlace {
            return match buffer {
                Persistence::Persistent => "members; first writes memory (persistent)",
                Persistence::Volatile => "members; first writes memory (volatile)",
            };
        }
        let is_late = self.parity.window != WindowSize::default();
        if is_late || self.parity.acknowledge == Acknowledge::AfterData {
            "members, parity later"
        } else {
            "members"
        }
    }

    /// The memory that acknowledges writes; `None` if members do.
    fn memory_of_writes(&self) -> Option<Persistence> {
        if self.cache.policy != CachePolicy::None {
            return Some(self.cache.persistence);
        }
        let buffers = self.placement.facts().buffers_writes;
        let is_early = buffers && self.elastic.acknowledge != AcknowledgeWrites::Durable;
        is_early.then_some(self.placement.buffer_persistence)
    }

    /// The coordination of garbage collection, unless it is for other acknowledgements than those of this scheme.
    pub fn active_coordination(&self) -> CoordinationSection {
        let is_active = self.coordination.when == When::Always || self.memory_of_writes().is_some();
        if is_active { self.coordination } else { CoordinationSection::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_say_what_has_a_write_when_it_is_acknowledged() {
        let said = |preset: &str| Scheme::preset(preset).map(|scheme| scheme.acknowledges()).ok();
        let cases = [
            ("baseline", "members"),
            ("raid6", "members"),
            ("stripewise", "memory (persistent)"),
            ("durable-was", "memory (volatile)"),
            ("paper003-siw", "memory (persistent)"),
            ("parity-caching", "memory (persistent)"),
            ("parity-logging", "members"),
        ];
        for (preset, expected) in cases {
            assert_eq!(said(preset), Some(expected), "{preset}");
        }
        let with = |toml: &str| Scheme::from_toml("test.toml", toml).map(|scheme| scheme.acknowledges()).ok();
        assert_eq!(with("name = 'a'\n[parity]\nacknowledge = 'after-data'"), Some("members, parity later"));
        assert_eq!(with("name = 'a'\n[parity]\nwindow = 6"), Some("members, parity later"));
    }
}
