//! The page of keys has every key of a scheme with its values, and no other. The list of keys comes from the reader, which
//! prints it in the error for an unknown key.

use std::collections::BTreeSet;

use stripewise_array::Scheme;

const PAGE: &str = include_str!("../../../../docs/reference/scheme-keys.md");

/// The names that the reader knows instead of `text`.
fn known(text: &str) -> Option<Vec<String>> {
    let error = Scheme::from_toml("x.toml", &format!("name = \"x\"\n{text}")).err()?.to_string();
    let (_, list) = error.lines().next()?.split_once("; known: ")?;
    Some(list.split(", ").map(str::to_owned).collect())
}

/// The keys of all sections, and the text in front of each that makes it a key.
fn keys() -> Vec<(String, String)> {
    let sections = known("nonsense = 1").expect("a list of sections");
    let single = ["name", "description", "metadata"];
    let mut keys = Vec::new();
    for section in sections.iter().filter(|section| !single.contains(&section.as_str())) {
        if let Some(found) = known(&format!("[{section}]\nnonsense = 1")) {
            keys.extend(found.into_iter().map(|key| (format!("{section}.{key}"), format!("[{section}]\n"))));
            continue;
        }
        // The keys depend on the policy.
        keys.push((format!("{section}.policy"), format!("[{section}]\n")));
        for policy in known(&format!("[{section}]\npolicy = \"nonsense\"")).expect("a list of policies") {
            let before = format!("[{section}]\npolicy = \"{policy}\"\n");
            let found = known(&format!("{before}nonsense = 1")).unwrap_or_default();
            keys.extend(found.into_iter().map(|key| (format!("{section}.{key}"), before.clone())));
        }
    }
    keys
}

fn row(key: &str) -> Option<&'static str> {
    PAGE.lines().find(|line| line.starts_with(&format!("| `{key}` |")))
}

#[test]
fn every_key_has_a_row_and_every_row_a_key() {
    let keys: BTreeSet<String> = keys().into_iter().map(|(key, _)| key).collect();
    assert!(keys.len() > 80, "{keys:?}");
    let rows = PAGE.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()));
    assert_eq!(rows.collect::<BTreeSet<_>>(), keys);
}

#[test]
fn every_value_of_a_choice_is_named_in_its_row_and_no_other() {
    let mut choices = 0;
    for (key, before) in keys() {
        let name = key.split_once('.').expect("a section and a key").1;
        let Some(values) = known(&format!("{before}{name} = \"nonsense\"")) else { continue };
        choices += 1;
        let cell = row(&key).expect("a row").split(" | ").nth(1).expect("a cell");
        let expected: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        assert_eq!(cell, expected.join(", "), "{key}");
    }
    assert!(choices > 20, "{choices} choices");
}
