//! Checks whether the coordination of garbage collection has a meaning for given members.

use stripewise_core::geometry::Level;
use stripewise_core::members::Members;
use stripewise_policy::coordination::{CoordinationPolicy, CoordinationSection, Start, Turn, When};

use super::{Scheme, SchemeError};

/// The shortest window of rotating permission, in nanoseconds: about the time to erase a block.
const WINDOW_MIN: u64 = 1_000_000;

/// The shortest idle time before global collection begins without need, in nanoseconds.
const IDLE_MIN: u64 = 1_000;

impl Scheme {
    /// Checks that the coordination of garbage collection has a meaning for these members.
    pub(super) fn check_coordination(&self, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let section = &self.coordination;
        if section.policy == CoordinationPolicy::None {
            // `when` may stay: it says where to coordinate, and the policy says that nowhere.
            if (CoordinationSection { when: When::default(), ..*section }).is_default() {
                return Ok(());
            }
            let reason = "has no meaning where every member collects when it has to; use policy = \"rotating\" or \"global\"";
            return refuse("section", "[coordination]".into(), reason);
        }
        let is_global = section.policy == CoordinationPolicy::Global;
        let policy = || if is_global { "\"global\"" } else { "\"rotating\"" }.to_owned();
        if self.geometry.level == Level::Raid0 && !is_global {
            let reason = "has no meaning without parity, since every member is a group of its own; use \"none\", or \
                \"global\", which takes all members together";
            return refuse("coordination.policy", policy(), reason);
        }
        if !members.gc_control && self.active_coordination().policy != CoordinationPolicy::None {
            let reason = "needs members that collect garbage only when they are permitted to, which files and block \
                devices cannot tell; use \"none\"";
            return refuse("coordination.policy", policy(), reason);
        }
        if is_global && !section.is_default_of(CoordinationPolicy::Rotating) {
            let reason = "has keys of rotating permission (turn, window, ahead), which global collection has no use for; \
                leave them out";
            return refuse("section", "[coordination]".into(), reason);
        }
        if !is_global && !section.is_default_of(CoordinationPolicy::Global) {
            let reason = "has keys of global collection (start, trigger, idle, margin, blocks), which rotating permission \
                has no use for; leave them out";
            return refuse("section", "[coordination]".into(), reason);
        }
        if section.start == Start::Reactive && !section.is_default_if_reactive() {
            let reason = "leaves no use for trigger and idle; use \"proactive\", or leave them out";
            return refuse("coordination.start", "\"reactive\"".into(), reason);
        }
        if section.idle.0 < IDLE_MIN {
            let reason = "is no rest; use at least \"1us\"";
            return refuse("coordination.idle", format!("\"{}\"", section.idle), reason);
        }
        if section.blocks == 0 {
            return refuse("coordination.blocks", "0".into(), "lets no one collect; use at least 1");
        }
        if section.turn == Turn::Window && section.window.0 < WINDOW_MIN {
            let reason = "passes on faster than a block is collected; use at least \"1ms\"";
            return refuse("coordination.window", format!("\"{}\"", section.window), reason);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: Members =
        Members { volatile_cache: false, old_versions: 8, gc_control: true, ..Members::opaque(6, 4096, 64) };

    fn refused(text: &str) -> String {
        let scheme = Scheme::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"));
        scheme.resolve(&MEMBERS, false).expect_err("a refusal").to_string()
    }

    #[test]
    fn coordination_without_meaning_is_refused_with_the_reason() {
        let of = |text: &str| refused(&format!("name = 'test'\n[coordination]\n{text}"));
        assert!(of("policy = 'global'\nahead = 2").contains("keys of rotating permission"));
        assert!(of("policy = 'rotating'\nmargin = '2%'").contains("keys of global collection"));
        assert!(of("policy = 'global'\nidle = '2ms'").contains("use \"proactive\""));
        assert!(of("policy = 'global'\nstart = 'proactive'\nidle = '0ns'").contains("use at least \"1us\""));
        assert!(of("policy = 'global'\nblocks = 0").contains("use at least 1"));
        assert!(of("turn = 'window'").contains("use policy = \"rotating\""));
        assert!(of("policy = 'rotating'\nturn = 'window'\nwindow = '10us'").contains("use at least \"1ms\""));
        assert!(of("policy = 'rotating'\n[geometry]\nlevel = 'raid0'").contains("a group of its own"));
        let files = Members { gc_control: false, ..MEMBERS };
        for text in ["'rotating'", "'global'", "'global'\nstart = 'proactive'\n[geometry]\nlevel = 'raid0'"] {
            let text = format!("name = 'test'\n[coordination]\npolicy = {text}");
            let scheme = Scheme::from_toml("test", &text).unwrap();
            let error = scheme.resolve(&files, false).expect_err("a refusal").to_string();
            assert!(error.contains("only when they are permitted to"), "{error}");
            assert!(scheme.resolve(&MEMBERS, false).is_ok());
        }
    }

    #[test]
    fn coordination_of_buffered_writes_is_left_out_where_members_acknowledge() {
        let policy_of = |text: &str| {
            let text =
                format!("name = 'test'\n[coordination]\npolicy = 'rotating'\nwhen = 'buffered'\n{text}");
            Scheme::from_toml("test", &text).unwrap().active_coordination().policy
        };
        let log = |acknowledge: &str| {
            policy_of(&format!("[placement]\npolicy = 'elastic'\n[elastic]\nacknowledge = '{acknowledge}'"))
        };
        assert_eq!(policy_of(""), CoordinationPolicy::None);
        assert_eq!(log("durable"), CoordinationPolicy::None);
        assert_eq!(log("buffered"), CoordinationPolicy::Rotating);
        let uncoordinated =
            Scheme::from_toml("test", "name = 'test'\n[coordination]\nwhen = 'buffered'").unwrap();
        assert!(uncoordinated.resolve(&MEMBERS, false).is_ok(), "the default scheme with another policy");
        let files = Members { gc_control: false, ..MEMBERS };
        let scheme = Scheme::from_toml(
            "test",
            "name = 'test'\n[coordination]\npolicy = 'rotating'\nwhen = 'buffered'",
        );
        assert!(scheme.unwrap().resolve(&files, false).is_ok(), "nothing is coordinated");
    }
}
