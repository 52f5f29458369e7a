//! Where a write is stored when it is acknowledged. Comparisons show it, since memory answers faster than flash.

use stripewise_core::memory::Persistence;
use stripewise_policy::cache::CachePolicy;

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
        let memory = |persistence| match persistence {
            Persistence::Persistent => "memory (persistent)",
            Persistence::Volatile => "memory (volatile)",
        };
        if self.cache.policy != CachePolicy::None {
            return memory(self.cache.persistence);
        }
        let buffer = self.placement.buffer_persistence;
        if self.placement.facts().buffers_writes {
            return match self.elastic.acknowledge {
                AcknowledgeWrites::Durable => "members",
                AcknowledgeWrites::TriggerWaits | AcknowledgeWrites::Buffered => memory(buffer),
            };
        }
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
