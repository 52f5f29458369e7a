//! The schemes that are part of the program: the files under `presets/schemes/`.

use stripewise_base::suggest::unknown;

use crate::scheme::{Scheme, SchemeError};

/// Name and text of every scheme that is part of the program.
pub const PRESETS: [(&str, &str); 55] = [
    ("stripewise", include_str!("../../../presets/schemes/stripewise.toml")),
    ("baseline", include_str!("../../../presets/schemes/baseline.toml")),
    ("bpu", include_str!("../../../presets/schemes/bpu.toml")),
    ("bpu-scaled", include_str!("../../../presets/schemes/bpu-scaled.toml")),
    ("adaptive", include_str!("../../../presets/schemes/adaptive.toml")),
    ("always-rmw", include_str!("../../../presets/schemes/always-rmw.toml")),
    ("always-rcw", include_str!("../../../presets/schemes/always-rcw.toml")),
    ("linux-md", include_str!("../../../presets/schemes/linux-md.toml")),
    ("paper000-baseline", include_str!("../../../presets/schemes/paper000-baseline.toml")),
    ("paper000-bpu", include_str!("../../../presets/schemes/paper000-bpu.toml")),
    ("paper000-bpu-scaled", include_str!("../../../presets/schemes/paper000-bpu-scaled.toml")),
    ("paper000-adaptive", include_str!("../../../presets/schemes/paper000-adaptive.toml")),
    ("raid0", include_str!("../../../presets/schemes/raid0.toml")),
    ("raid6", include_str!("../../../presets/schemes/raid6.toml")),
    ("raid6-bpu", include_str!("../../../presets/schemes/raid6-bpu.toml")),
    ("raid6-adaptive", include_str!("../../../presets/schemes/raid6-adaptive.toml")),
    ("raid6-rdp", include_str!("../../../presets/schemes/raid6-rdp.toml")),
    ("raid6-evenodd", include_str!("../../../presets/schemes/raid6-evenodd.toml")),
    ("parity-caching", include_str!("../../../presets/schemes/parity-caching.toml")),
    ("raid6-caching", include_str!("../../../presets/schemes/raid6-caching.toml")),
    ("parity-logging", include_str!("../../../presets/schemes/parity-logging.toml")),
    ("raid6-logging", include_str!("../../../presets/schemes/raid6-logging.toml")),
    ("esap", include_str!("../../../presets/schemes/esap.toml")),
    ("was", include_str!("../../../presets/schemes/was.toml")),
    ("was-mc", include_str!("../../../presets/schemes/was-mc.toml")),
    ("raid6-esap", include_str!("../../../presets/schemes/raid6-esap.toml")),
    ("raid6-was", include_str!("../../../presets/schemes/raid6-was.toml")),
    ("raid6-was-xcode", include_str!("../../../presets/schemes/raid6-was-xcode.toml")),
    ("durable-was", include_str!("../../../presets/schemes/durable-was.toml")),
    ("durable-raid6-was", include_str!("../../../presets/schemes/durable-raid6-was.toml")),
    ("durable-raid5", include_str!("../../../presets/schemes/durable-raid5.toml")),
    ("durable-raid6", include_str!("../../../presets/schemes/durable-raid6.toml")),
    ("sync-fifo", include_str!("../../../presets/schemes/sync-fifo.toml")),
    ("piq", include_str!("../../../presets/schemes/piq.toml")),
    ("paper002-fifo", include_str!("../../../presets/schemes/paper002-fifo.toml")),
    ("paper002-sync-fifo", include_str!("../../../presets/schemes/paper002-sync-fifo.toml")),
    ("paper002-piq", include_str!("../../../presets/schemes/paper002-piq.toml")),
    ("rotating", include_str!("../../../presets/schemes/rotating.toml")),
    ("ggc", include_str!("../../../presets/schemes/ggc.toml")),
    ("ggc-proactive", include_str!("../../../presets/schemes/ggc-proactive.toml")),
    ("brr", include_str!("../../../presets/schemes/brr.toml")),
    ("gc-avoiding", include_str!("../../../presets/schemes/gc-avoiding.toml")),
    ("hedged", include_str!("../../../presets/schemes/hedged.toml")),
    ("least-finish", include_str!("../../../presets/schemes/least-finish.toml")),
    ("paper002-brr", include_str!("../../../presets/schemes/paper002-brr.toml")),
    ("paper003-none", include_str!("../../../presets/schemes/paper003-none.toml")),
    ("paper003-isc", include_str!("../../../presets/schemes/paper003-isc.toml")),
    ("paper003-wow", include_str!("../../../presets/schemes/paper003-wow.toml")),
    ("paper003-stow", include_str!("../../../presets/schemes/paper003-stow.toml")),
    ("paper003-siw", include_str!("../../../presets/schemes/paper003-siw.toml")),
    ("paper003-hybrid", include_str!("../../../presets/schemes/paper003-hybrid.toml")),
    ("paper004-4k", include_str!("../../../presets/schemes/paper004-4k.toml")),
    ("paper004-8k", include_str!("../../../presets/schemes/paper004-8k.toml")),
    ("paper004-32k", include_str!("../../../presets/schemes/paper004-32k.toml")),
    ("paper004-mc-rais", include_str!("../../../presets/schemes/paper004-mc-rais.toml")),
];

impl Scheme {
    /// The preset called `name`.
    ///
    /// # Errors
    /// The name is unknown; the message suggests the nearest one.
    pub fn preset(name: &str) -> Result<Self, SchemeError> {
        match PRESETS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_toml(name, text),
            None => Err(SchemeError::Syntax(unknown("scheme", name, &PRESETS.map(|(known, _)| known)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementPolicy;

    #[test]
    fn every_preset_is_a_scheme_of_its_own_name_that_says_what_it_is() {
        for (name, text) in PRESETS {
            let scheme = Scheme::from_toml(name, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scheme.name, name);
            assert!(!scheme.description.is_empty(), "{name}");
            assert!(text.starts_with("# "), "{name} begins with where it comes from");
        }
    }

    #[test]
    fn every_preset_is_read_back_from_its_full_toml() {
        for (name, _) in PRESETS {
            let scheme = Scheme::preset(name).unwrap();
            let text = scheme.to_toml();
            assert_eq!(Scheme::from_toml(name, &text).unwrap(), scheme);
            let section = match scheme.placement.policy {
                PlacementPolicy::InPlace => "[placement]",
                PlacementPolicy::ParityLogging => "[parity_logging]",
                PlacementPolicy::Elastic => "[elastic]",
                PlacementPolicy::McRais => "[zones",
            };
            assert!(text.contains(section), "{name} hides {section}");
        }
    }

    #[test]
    fn parity_logging_is_read_under_both_names_and_recorded_under_the_former_one() {
        let text = |section: &str| {
            let placement = "[placement]\npolicy = 'parity-logging'";
            format!("name = 'x'\n{placement}\n[{section}]\ncommits = 7")
        };
        let scheme = Scheme::from_toml("x", &text("parity_logging")).unwrap();
        assert_eq!(scheme.parity_logging.commits, 7);
        assert_eq!(Scheme::from_toml("x", &text("log")).unwrap(), scheme, "an array may have recorded it");
        let both = text("log") + "\n[parity_logging]\ncommits = 7";
        let refused = Scheme::from_toml("x", &both).unwrap_err().to_string();
        assert!(refused.starts_with("x: `[log]` is the former name of `[parity_logging]`"), "{refused}");
        // What users see, and what digests and superblocks have.
        let shown = scheme.to_toml();
        assert!(shown.contains("\n[parity_logging]\n") && !shown.contains("[log]"), "{shown}");
        assert!(scheme.to_settings().contains("[log]\ncommits = 7"), "{}", scheme.to_settings());
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let error = Scheme::preset("allways-rcw").unwrap_err().to_string();
        assert!(error.contains("did you mean `always-rcw`?"), "{error}");
    }
}
