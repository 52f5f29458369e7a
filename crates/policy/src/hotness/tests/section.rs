//! The settings in a scheme's file. The defaults are printed in the paper. Source: paper 001, sections III-A and V-B.

use stripewise_base::share::Share;
use stripewise_base::units::Bytes;

use super::{HotnessPolicy, HotnessSection, of};
use crate::hotness::MEMBERS;

fn read(text: &str) -> HotnessSection {
    toml::from_str(text).unwrap()
}

fn refused(text: &str) -> String {
    let (key, value, reason) = read(text).check(1 << 20).unwrap_err();
    format!("{key} = {value} {reason}")
}

#[test]
fn the_defaults_are_those_of_the_paper_and_are_spelled_out_when_printed() {
    let section = read("policy = 'glru'");
    assert_eq!(section, of(HotnessPolicy::Glru));
    assert_eq!((section.tiers, section.lists, section.items), (2, 128, 8));
    assert_eq!((section.replace, section.extent), (Share(500_000), Bytes(1 << 20)));
    assert_eq!(section.check(1 << 30), Ok(()));
    assert_eq!(read(&toml::to_string(&section).unwrap()), section);
    assert!(HotnessSection::default().is_default() && !section.is_default());
}

#[test]
fn every_member_is_a_name_that_a_scheme_takes() {
    let defaults = MEMBERS.iter().map(|(name, _)| read(&format!("policy = '{name}'")));
    let policies: Vec<HotnessPolicy> = defaults.map(|section| section.policy).collect();
    assert_eq!(
        policies,
        [HotnessPolicy::None, HotnessPolicy::Glru, HotnessPolicy::Hca, HotnessPolicy::Direct]
    );
    assert!(policies.into_iter().all(|policy| of(policy).check(1 << 20).is_ok()));
    assert!(toml::from_str::<HotnessSection>("policy = 'lru'").is_err());
    assert!(toml::from_str::<HotnessSection>("list = 2").is_err());
}

#[test]
fn settings_without_a_meaning_are_refused_with_the_remedy() {
    for (text, message) in [
        ("policy = 'glru'\ntiers = 5", "hotness.tiers = 5 must be 1 to 4"),
        ("policy = 'hca'\ntiers = 0", "hotness.tiers = 0 must be 1 to 4"),
        (
            "policy = 'glru'\nthresholds = [2, 4]",
            "hotness.thresholds = [2, 4] must be one fewer than hotness.tiers",
        ),
        ("policy = 'glru'\ntiers = 3\nthresholds = [4, 4]", "hotness.thresholds = [4, 4] must ascend"),
        ("policy = 'direct'\nthresholds = [1]", "hotness.thresholds = [1] must be at least 2"),
        ("policy = 'glru'\nthresholds = [16]", "hotness.thresholds = [16] must be at most 15"),
        ("policy = 'direct'\nthresholds = [256]", "hotness.thresholds = [256] must be at most 255"),
        ("policy = 'glru'\nitems = 0", "hotness.items = 0 must be 1 to 64"),
        ("policy = 'glru'\nitems = 65", "hotness.items = 65 must be 1 to 64"),
        ("policy = 'glru'\nlists = 0", "hotness.lists = 0 must be 1 to 1048576"),
        ("policy = 'hca'\nextent = '3KiB'", "hotness.extent = \"3KiB\" must be a power of two"),
        (
            "policy = 'hca'\nextent = '256B'",
            "hotness.extent = \"256B\" must be a power of two from 512 bytes",
        ),
        ("tiers = 3", "hotness.tiers = 3 has no meaning without a hotness.policy"),
        ("sequential_shortcut = false", "hotness.sequential_shortcut = false has no meaning without"),
        ("policy = 'hca'\nthresholds = [2]", "hotness.thresholds = [2] has a meaning only with"),
        ("policy = 'hca'\nhalve_every = 9", "hotness.halve_every = 9 has a meaning only with"),
        (
            "policy = 'direct'\nlists = 64",
            "hotness.lists = 64 has a meaning only with hotness.policy = \"glru\"",
        ),
        (
            "policy = 'direct'\nitems = 4",
            "hotness.items = 4 has a meaning only with hotness.policy = \"glru\"",
        ),
        ("policy = 'direct'\nreplace = 0.25", "hotness.replace = 25% has a meaning only with"),
        ("policy = 'direct'\nseed = 3", "hotness.seed = 3 has a meaning only with hotness.policy = \"glru\""),
        (
            "policy = 'glru'\nextent = '2MiB'",
            "hotness.extent = 2MiB has a meaning only with hotness.policy = \"hca\"",
        ),
    ] {
        assert!(refused(text).starts_with(message), "{text}: {}", refused(text));
    }
}

#[test]
fn an_array_too_large_for_the_numbers_is_refused() {
    let one_list = HotnessSection { lists: 1, ..of(HotnessPolicy::Glru) };
    assert_eq!(one_list.check(1 << 32), Ok(()));
    assert_eq!(one_list.check((1 << 32) + 1).unwrap_err().0, "hotness.lists");
    assert_eq!(of(HotnessPolicy::Glru).check(1 << 39), Ok(()));
    assert_eq!(of(HotnessPolicy::Hca).check((1 << 32) + 1).unwrap_err().0, "hotness.policy");
    assert_eq!(of(HotnessPolicy::Direct).check(1 << 33), Ok(()));
}
