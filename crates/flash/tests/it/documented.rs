//! Checks that the documentation page about devices names every key and every value, and no others. The list of keys
//! comes from the TOML reader itself, which prints it in the error for an unknown key.

use std::collections::BTreeSet;

use stripewise_flash::DeviceSpec;

const PAGE: &str = include_str!("../../../../docs/reference/device.md");

/// The texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The names that the reader expected instead of `text`.
fn expected(text: &str) -> Option<Vec<String>> {
    let error = toml::from_str::<DeviceSpec>(text).expect_err("nothing has this key or value").to_string();
    let (_, list) = error.split_once("expected ")?;
    error.contains("unknown").then(|| {
        let all: Vec<&str> = quoted(list).collect();
        let present = all.iter().filter(|name| !stripewise_base::renamed::is_former(name, &all));
        present.map(|name| (*name).to_owned()).collect()
    })
}

fn keys() -> Vec<(String, String)> {
    let sections = expected("nonsense = 1").expect("a list of sections");
    assert!(sections.len() >= 10, "{sections:?}");
    let of = |section: String| {
        let keys = expected(&format!("[{section}]\nnonsense = 1")).expect("a list of keys");
        keys.into_iter().map(move |key| (section.clone(), key))
    };
    sections.into_iter().filter(|section| section != "name").flat_map(of).collect()
}

/// The keys in the first column of tables.
fn rows() -> Vec<(String, &'static str)> {
    let row = |line: &'static str| {
        let key = line.strip_prefix("| `")?.split('`').next()?;
        Some((key.to_owned(), line))
    };
    PAGE.lines().filter_map(row).collect()
}

#[test]
fn every_key_has_a_row_and_every_row_a_key() {
    let known: BTreeSet<String> =
        keys().iter().map(|(section, key)| format!("{section}.{key}")).chain(["name".to_owned()]).collect();
    let documented: BTreeSet<String> = rows().into_iter().map(|row| row.0).collect();
    assert_eq!(documented, known);
    assert_eq!(rows().len(), known.len(), "a key has two rows");
}

#[test]
fn every_value_of_a_choice_is_named_in_its_row() {
    let mut choices = 0;
    for (section, key) in keys() {
        let Some(values) = expected(&format!("[{section}]\n{key} = \"nonsense\"")) else { continue };
        choices += 1;
        let name = format!("{section}.{key}");
        let row = rows().into_iter().find(|row| row.0 == name).expect("a row").1;
        // The kinds of watermarks are documented once.
        if name.ends_with("_watermark") && name != "gc.low_watermark" {
            continue;
        }
        let words = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        for value in values {
            let named = quoted(row).any(|quoted| quoted.split(words).any(|word| word == value));
            assert!(named, "{name}: `{value}` is not named");
        }
    }
    assert!(choices >= 12, "{choices} choices only");
}

#[test]
fn the_example_is_a_device() {
    let example =
        PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    DeviceSpec::from_toml("docs/reference/device.md", example).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn defaults_are_those_of_the_page() {
    // A key set to its documented default must give the same device as the file without the key.
    let base = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let table: toml::Table = base.parse().expect("TOML");
    let mut checked = 0;
    for (name, line) in rows() {
        let (Some((section, key)), Some(cell)) = (name.split_once('.'), line.split(" | ").nth(2)) else {
            continue;
        };
        let Some(default) = quoted(cell).next().filter(|_| cell.trim().starts_with('`')) else { continue };
        let bare =
            default.starts_with(|c: char| c.is_ascii_alphabetic()) && default != "true" && default != "false";
        let text = if bare { format!("\"{default}\"") } else { default.to_owned() };
        let value =
            toml::from_str::<toml::Table>(&format!("v = {text}")).expect("a value").remove("v").expect("v");
        let read = |value: Option<toml::Value>| -> DeviceSpec {
            let mut table = table.clone();
            let section = table.entry(section).or_insert(toml::Table::new().into());
            let section = section.as_table_mut().expect("a table");
            section.remove(key);
            value.map(|value| section.insert(key.to_owned(), value));
            table.try_into().unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        assert_eq!(read(Some(value)), read(None), "{name}");
        checked += 1;
    }
    assert!(checked >= 25, "{checked} defaults only");
}
