//! The page about traces names every format, generator and profile.

use stripewise_trace::format::format_names;
use stripewise_trace::generate::catalog;
use stripewise_trace::profile::builtin;

const PAGE: &str = include_str!("../../../../docs/reference/traces.md");

#[test]
fn every_format_generator_and_profile_is_on_the_page() {
    let formats = format_names().into_iter().map(|(name, _)| name);
    let formats = formats.filter(|name| !name.starts_with("columns:"));
    let generators = catalog().iter().map(|about| about.name.to_owned());
    let profiles = builtin().into_iter().map(|builtin| builtin.name);
    for name in formats.chain(generators).chain(profiles) {
        assert!(PAGE.contains(&format!("`{name}`")), "docs/reference/traces.md lacks `{name}`");
    }
}
