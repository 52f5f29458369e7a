//! The settings of runs as names and values, and the settings that distinguish runs.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_base::renamed;

use crate::digest::RunInputs;

/// All settings, by name.
pub type Settings = BTreeMap<String, String>;

/// Settings that change the kept tables and not the simulation.
const KEPT_ONLY: [&str; 4] = ["gc_rows", "gc_slice", "sample_every", "update_rows"];

/// The settings of a run.
pub fn settings(inputs: &RunInputs) -> Settings {
    let mut settings = Settings::new();
    for text in [inputs.configuration(), inputs.replay()] {
        // Text that is not TOML was refused when the run was opened.
        if let Ok(table) = text.parse::<toml::Table>() {
            flatten("", &table, &mut settings);
        }
    }
    modernize(&mut settings);
    for key in KEPT_ONLY {
        settings.remove(key);
    }
    settings.insert("seed".to_owned(), inputs.seed.to_string());
    settings.insert("version".to_owned(), inputs.version.clone());
    for (key, value) in workload(&inputs.trace_digest) {
        settings.insert(format!("workload.{key}"), value);
    }
    settings
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut Settings) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, settings),
            toml::Value::String(text) => match text.parse::<toml::Table>() {
                // A profile is a document inside the document.
                Ok(inner) if text.contains('=') => flatten(&name, &inner, settings),
                _ => _ = settings.insert(name, text.clone()),
            },
            other => _ = settings.insert(name, other.to_string()),
        }
    }
}

/// Gives settings of earlier programs their present names.
fn modernize(settings: &mut Settings) {
    if let Some(layout) = settings.remove("elements") {
        settings.insert("members".to_owned(), layout);
    }
    for (name, value) in std::mem::take(settings) {
        let (target, path) = name.split_once('.').unwrap_or(("", &name));
        let value = renamed::value(path, &value).map_or(value, str::to_owned);
        let name = renamed::key(path).map_or(name.clone(), |path| format!("{target}.{path}"));
        settings.insert(name, value);
    }
}

/// The parts of a trace's digest: `blake3:…` of a file, or a generator's text, `kind:key=value,…;seed=N`.
fn workload(digest: &str) -> Vec<(String, String)> {
    let (text, seed) = digest.split_once(";seed=").map_or((digest, None), |(text, seed)| (text, Some(seed)));
    let mut parts = Vec::new();
    match text.split_once(':') {
        Some((kind, rest)) if rest.contains('=') => {
            parts.push(("kind".to_owned(), kind.to_owned()));
            for part in rest.split(',') {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                parts.push((key.to_owned(), value.to_owned()));
            }
        }
        _ => parts.push(("trace".to_owned(), text.to_owned())),
    }
    parts.extend(seed.map(|seed| ("seed".to_owned(), seed.to_owned())));
    parts
}

/// The name of a run's workload, if the caller gives none.
pub fn workload_name(inputs: &RunInputs) -> String {
    let parts = workload(&inputs.trace_digest);
    let of = |key: &str| parts.iter().find(|part| part.0 == key).map(|part| part.1.as_str());
    match (of("name"), of("kind"), of("trace")) {
        (Some(name), ..) => name.rsplit('/').next().unwrap_or(name).to_owned(),
        (None, Some(kind), _) => kind.to_owned(),
        (.., Some(trace)) => {
            let digits = trace.rsplit(':').next().unwrap_or(trace);
            format!("trace {}", digits.chars().take(8).collect::<String>())
        }
        _ => inputs.trace_digest.clone(),
    }
}

/// Whether a setting contains only the seed of a run.
pub fn is_seed(name: &str) -> bool {
    matches!(name, "seed" | "workload.seed")
}

/// Whether a setting belongs to the scheme: runs that share all other settings are compared by scheme.
pub fn is_of_scheme(name: &str) -> bool {
    name == "policy" || name.starts_with("scheme.")
}

/// Names of the settings that differ among the runs.
pub fn differing<'a>(all: &[&'a Settings], counts: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let mut names: Vec<&str> = all.iter().flat_map(|settings| settings.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &&str| all.iter().any(|settings| settings.get(*name) != all[0].get(*name));
    names.into_iter().filter(|name| counts(name)).filter(differs).collect()
}

/// Names of settings that differ, enough of them to distinguish all runs. Settings that follow from others are
/// included only where they are needed.
pub fn distinguishing<'a>(all: &[&'a Settings], counts: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let mut names = differing(all, counts);
    let values = |names: &[&str], one: &'a Settings| -> Vec<Option<&'a String>> {
        names.iter().map(|name| one.get(*name)).collect()
    };
    let mut seen = BTreeSet::new();
    let distinct: Vec<&Settings> =
        all.iter().copied().filter(|one| seen.insert(values(&names, one))).collect();
    for name in names.clone() {
        if !follows(name, &names) {
            continue;
        }
        let left: Vec<&str> = names.iter().copied().filter(|other| *other != name).collect();
        let mut seen = BTreeSet::new();
        if distinct.iter().all(|one| seen.insert(values(&left, one))) {
            names = left;
        }
    }
    names
}

/// Whether other differing settings in `names` decide this one, or it decides little.
fn follows(name: &str, names: &[&str]) -> bool {
    let part_of = |whole: &str, prefixes: &[&str]| {
        name != whole && names.contains(&whole) && prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    matches!(name, "fold_bytes" | "workload.seed" | "requests" | "version")
        || name.starts_with("profile.")
        || part_of("device.name", &["device."])
        || part_of(WORKLOAD, &["workload.", "format", "skip_bad"])
}

/// The setting that holds the workload's name for people, where it is added.
pub const WORKLOAD: &str = "workload";

/// A setting in as few words as possible.
pub fn in_words(name: &str, value: Option<&String>) -> String {
    let short = ["scheme.", "device.", "workload."].iter().find_map(|prefix| name.strip_prefix(prefix));
    let short = short.unwrap_or(name);
    match (name, value) {
        (_, None) => format!("no {short}"),
        ("pacing" | "precondition" | "device.name" | "members" | WORKLOAD, Some(value)) => value.clone(),
        ("requests", Some(value)) => format!("{value} requests"),
        ("version", Some(value)) => {
            let (_, sources) = value.split_once('+').unwrap_or(("", value));
            format!("version {}", sources.chars().take(6).collect::<String>())
        }
        // The source code of a Python class.
        ("policy", Some(value)) => format!("policy {}", &blake3::hash(value.as_bytes()).to_hex()[..6]),
        (_, Some(value)) => format!("{short}={value}"),
    }
}

/// For each of `all`, given with its key, the settings that distinguish it from others of the same key, in words.
pub fn apart(all: &[(&str, &Settings)], counts: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut alike: BTreeMap<&str, Vec<&Settings>> = BTreeMap::new();
    all.iter().for_each(|&(key, settings)| alike.entry(key).or_default().push(settings));
    let names: BTreeMap<&str, Vec<&str>> =
        alike.iter().map(|(key, alike)| (*key, distinguishing(alike, &counts))).collect();
    let words = |(key, settings): &(&str, &Settings)| {
        names[key].iter().map(|name| in_words(name, settings.get(*name))).collect()
    };
    all.iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(trace: &str) -> RunInputs {
        let configuration =
            "members = \"channel:1\"\n[scheme]\nname = \"bpu\"\n[scheme.parity]\nwindow = 8\n";
        let replay = "pacing = \"open:1\"\ngc_rows = \"true\"\nprofile = \"\"\"\nwrite_ratio = 0.5\n\"\"\"\n";
        RunInputs::new(configuration, replay, trace, 7, "0.1.0+abc").expect("TOML")
    }

    #[test]
    fn documents_inside_documents_are_settings_too() {
        let settings = settings(&inputs("profile:name=paper000/lun0,requests=30000;seed=1"));
        let of = |key: &str| settings.get(key).map(String::as_str);
        assert_eq!(of("scheme.parity.window"), Some("8"));
        assert_eq!(of("profile.write_ratio"), Some("0.5"));
        assert_eq!((of("workload.requests"), of("seed")), (Some("30000"), Some("7")));
        assert_eq!(of("gc_rows"), None, "what is kept does not distinguish runs");
    }

    #[test]
    fn a_workload_has_its_profiles_name_or_its_generators_or_its_digest() {
        let name = |digest: &str| workload_name(&inputs(digest));
        assert_eq!(name("profile:name=paper000/lun0,file=none,requests=30000;seed=1"), "lun0");
        assert_eq!(name("zipf:size=8192,span=1073741824;seed=1"), "zipf");
        assert_eq!(name("blake3:0123456789abcdef"), "trace 01234567");
    }

    #[test]
    fn what_differs_is_what_some_lack_or_have_otherwise() {
        let of = |list: &[(&str, &str)]| -> Settings {
            list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let (a, b) = (of(&[("x", "1"), ("y", "1"), ("z", "1")]), of(&[("x", "1"), ("y", "2")]));
        assert_eq!(differing(&[&a, &b], |_| true), ["y", "z"]);
        assert_eq!(differing(&[&a, &b], |name| name != "z"), ["y"]);
    }

    #[test]
    fn what_follows_from_other_settings_is_reported_only_where_it_is_needed() {
        let of = |list: &[(&str, &str)]| -> Settings {
            list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let a = of(&[
            ("device.name", "x"),
            ("device.geometry.channels", "6"),
            ("fold_bytes", "1"),
            ("pacing", "p"),
        ]);
        let b = of(&[
            ("device.name", "y"),
            ("device.geometry.channels", "8"),
            ("fold_bytes", "2"),
            ("pacing", "q"),
        ]);
        assert_eq!(distinguishing(&[&a, &b], |_| true), ["device.name", "pacing"]);
        let c = of(&[
            ("device.name", "y"),
            ("device.geometry.channels", "9"),
            ("fold_bytes", "2"),
            ("pacing", "q"),
        ]);
        assert_eq!(
            distinguishing(&[&a, &b, &c], |_| true),
            ["device.geometry.channels", "device.name", "pacing"]
        );
        let words = apart(&[("", &a), ("", &b)], |_| true);
        assert_eq!(words, [["x", "p"], ["y", "q"]]);
    }
}
