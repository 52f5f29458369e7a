//! The profiles that ship with the program: one file a paper, in `profiles/`.

use std::collections::BTreeMap;

use serde::Deserialize;
use stripewise_base::suggest;

use super::statistics::Profile;

const FILES: [(&str, &str); 5] = [
    ("paper000", include_str!("../../../../presets/profiles/paper000.toml")),
    ("paper001", include_str!("../../../../presets/profiles/paper001.toml")),
    ("paper002", include_str!("../../../../presets/profiles/paper002.toml")),
    ("paper003", include_str!("../../../../presets/profiles/paper003.toml")),
    ("paper004", include_str!("../../../../presets/profiles/paper004.toml")),
];

/// A file of profiles.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
    #[serde(default)]
    generator: BTreeMap<String, Spec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    source: String,
    spec: String,
}

/// A workload of a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Builtin {
    /// Its name, such as `paper000/hm_0`.
    pub name: String,
    /// The place of its numbers in the paper.
    pub source: String,
    /// The generator's specification: `profile:name=…`, or the paper's own recipe where it gives one.
    pub generator: String,
    /// Its statistics, unless the paper gives a recipe.
    pub profile: Option<Profile>,
}

/// All built-in workloads, by paper and name.
pub fn builtin() -> Vec<Builtin> {
    FILES.iter().flat_map(|&(paper, text)| read(paper, text)).collect()
}

/// The built-in workload called `name`, or the error for an unknown name.
pub(crate) fn find(name: &str) -> Result<Builtin, String> {
    let all = builtin();
    let names: Vec<&str> = all.iter().map(|builtin| builtin.name.as_str()).collect();
    match names.iter().position(|known| *known == name) {
        Some(at) => Ok(all[at].clone()),
        None => Err(suggest::unknown("profile", name, &names)),
    }
}

fn read(paper: &str, text: &str) -> Vec<Builtin> {
    let library: Library =
        suggest::read_toml(&format!("{paper}.toml"), text).expect("the shipped profiles are tested");
    let profiles = library.profile.into_iter().map(|(name, profile)| Builtin {
        name: format!("{paper}/{name}"),
        source: profile.source.clone(),
        generator: format!("profile:name={paper}/{name}"),
        profile: Some(profile),
    });
    let generators = library.generator.into_iter().map(|(name, Spec { source, spec })| Builtin {
        name: format!("{paper}/{name}"),
        source,
        generator: spec,
        profile: None,
    });
    profiles.chain(generators).collect()
}
