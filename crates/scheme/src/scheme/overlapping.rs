//! Checks `parity.updates = "each"`, where updates of one row overlap.

use stripewise_core::geometry::Level;
use stripewise_core::members::Members;
use stripewise_policy::cache::CachePolicy;
use stripewise_policy::dispatch::QueueOrder;
use stripewise_policy::read::ReadPolicy;

use super::{Metadata, Rows, Scheme, SchemeError, Updates, WindowSize};
use crate::placement::FirstWrites;

impl Scheme {
    /// Whether updates of one row may overlap, so that reads, trims and losses have no content that parity could cover.
    pub fn has_overlapping_updates(&self) -> bool {
        self.parity.updates == Updates::Each
    }

    /// Checks that nothing else needs to know which version of a page the parity of its row covers.
    pub(super) fn check_overlapping_updates(
        &self,
        members: &Members,
        carries_data: bool,
    ) -> Result<(), SchemeError> {
        if !self.has_overlapping_updates() {
            return Ok(());
        }
        let facts = self.placement.facts();
        let wrong = if carries_data {
            Some("leaves it open which version of a page parity covers; over real bytes use \"row\"")
        } else if !facts.updates_parity || self.geometry.level == Level::Raid0 {
            Some("is about parity that is updated where it lies; use \"row\" with this placement and level")
        } else if self.metadata == Metadata::On {
            Some(
                "leaves nothing from which an array could be assembled again; use \"row\" with metadata = \"on\"",
            )
        } else if self.parity.window == WindowSize::default() || self.parity.rows != Rows::Shared {
            Some(
                "is about writes that defer their parity and share their row; use a parity.window and parity.rows = \"shared\"",
            )
        } else if self.parity_memory_rows() > 0 {
            Some("has no one parity of a row to keep in memory; use parity.memory_rows = 0")
        } else if self.cache.policy != CachePolicy::None || facts.has_zones || facts.logs_parity {
            Some("is for writes that go to the members at once; leave out cache, zones and parity log")
        } else if self.placement.first_writes != FirstWrites::InPlace {
            Some("is for writes that go to the members at once; use placement.first_writes = \"in-place\"")
        } else if self.read.policy != ReadPolicy::Direct {
            Some("leaves nothing from which a read could be decoded; use read.policy = \"direct\"")
        } else if self.dispatch.order == QueueOrder::Rounds {
            Some("is for queues without rounds; use another dispatch.order")
        } else if members.old_versions == 0 {
            Some("is for members that let writes share their row; use another device, or \"row\"")
        } else {
            None
        };
        let Some(reason) = wrong else { return Ok(()) };
        let (scheme, value) = (self.name.clone(), "\"each\"".to_owned());
        Err(SchemeError::Setting { scheme, key: "parity.updates", value, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: Members = Members { old_versions: 8, ..Members::opaque(5, 4096, 1 << 14) };

    fn refusal(text: &str, carries_data: bool) -> Option<String> {
        let text = format!("name = 'test'\n{text}");
        let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
        scheme.resolve(&MEMBERS, carries_data).err().map(|error| error.to_string())
    }

    const EACH: &str = "updates = 'each'\nrows = 'shared'\nwindow = 8\n";

    #[test]
    fn overlapping_updates_are_refused_by_name_where_content_matters() {
        let parity = format!("[parity]\n{EACH}");
        assert_eq!(refusal(&parity, false), None);
        assert!(refusal(&parity, true).is_some_and(|text| text.contains("over real bytes use \"row\"")));
        for (more, remedy) in [
            ("[geometry]\nlevel = 'raid0'\n", "use "),
            ("[placement]\nfirst_writes = 'gather'\n", "first_writes = \"in-place\""),
            ("[read]\npolicy = 'hedged'\n", "read.policy = \"direct\""),
            ("[cache]\npolicy = 'parity-caching'\n", "leave out cache"),
            ("[placement]\npolicy = 'elastic'\n", "use "),
            ("[placement]\npolicy = 'parity-logging'\n", "use "),
            ("[placement]\npolicy = 'mc-rais'\n", "leave out cache, zones"),
            ("[dispatch]\norder = 'rounds'\n", "dispatch.order"),
        ] {
            let text =
                refusal(&format!("{more}{parity}"), false).unwrap_or_else(|| panic!("{more} was allowed"));
            assert!(text.contains(remedy), "{more}: {text}");
        }
        let on = refusal(&format!("metadata = 'on'\n{parity}"), false);
        assert!(on.is_some_and(|text| text.contains("assembled again")));
        let alone = refusal("[parity]\nupdates = 'each'\nwindow = 8\n", false);
        assert!(alone.is_some_and(|text| text.contains("parity.rows = \"shared\"")));
        let kept = refusal("[parity]\nupdates = 'each'\nrows = 'shared'\nmemory_rows = 2\n", false);
        assert!(kept.is_some());
    }
}
