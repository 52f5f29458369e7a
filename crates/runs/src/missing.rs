//! Reports all missing keys of a file at once: the parser of TOML stops at the first.

use serde::de::DeserializeOwned;
use stripewise_base::suggest::ConfigError;
use toml::{Table, Value};

/// If `error` is a missing key in `text`, the contents of `file`: an error that names all missing keys, with the
/// values that `example`, a whole file called `name`, has for them. Any other error is returned unchanged.
pub(crate) fn all_missing<T: DeserializeOwned>(
    error: ConfigError,
    file: &str,
    text: &str,
    (name, example): (&str, &str),
) -> ConfigError {
    let (Ok(mut table), Ok(example)) = (text.parse::<Table>(), example.parse::<Table>()) else {
        return error;
    };
    let mut lacking = Table::new();
    let mut count = 0;
    // Each turn adds a key of the example, so there are no more turns than the example has keys.
    while let Some(key) = missing::<T>(&table) {
        let Some((section, value)) = places(&key, &table, &example).find(|(section, value)| {
            let mut with = table.clone();
            insert(&mut with, section.as_deref(), &key, value.clone());
            missing::<T>(&with).as_ref() != Some(&key)
        }) else {
            break;
        };
        let is_section = section.is_none() && value.is_table();
        insert(&mut table, section.as_deref(), &key, value.clone());
        if !is_section {
            insert(&mut lacking, section.as_deref(), &key, value);
            count += 1;
        }
    }
    if count == 0 {
        return error;
    }
    let what = if count == 1 { "a key is".to_owned() } else { format!("{count} keys are") };
    let lines = lacking.to_string();
    let lines: String =
        lines.lines().filter(|line| !line.is_empty()).map(|line| format!("\n  {line}")).collect();
    ConfigError::at(file, text, None, format!("{what} missing; with the values of `{name}`:{lines}"))
}

/// The first key that the parser misses in `table`.
fn missing<T: DeserializeOwned>(table: &Table) -> Option<String> {
    let error = T::deserialize(table.clone()).err()?.to_string();
    let (key, _) = error.strip_prefix("missing field `")?.split_once('`')?;
    Some(key.to_owned())
}

/// The sections, none for the top, in which `example` has `key` and `table` lacks it, with the value to put there.
/// For a missing section the value is an empty one, so its own missing keys are found in later turns.
fn places(key: &str, table: &Table, example: &Table) -> impl Iterator<Item = (Option<String>, Value)> {
    let top = example.get(key).filter(|_| !table.contains_key(key));
    let top = top.map(|value| (None, if value.is_table() { Table::new().into() } else { value.clone() }));
    let sections = example.iter().filter_map(move |(section, within)| {
        let value = within.as_table()?.get(key)?;
        let present = table.get(section)?.as_table()?;
        (!present.contains_key(key)).then(|| (Some(section.clone()), value.clone()))
    });
    top.into_iter().chain(sections)
}

fn insert(table: &mut Table, section: Option<&str>, key: &str, value: Value) {
    let Some(section) = section else {
        table.insert(key.to_owned(), value);
        return;
    };
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Some(section) = section.as_table_mut() {
        section.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_base::suggest::read_toml;
    use stripewise_flash::DeviceSpec;
    use stripewise_flash::spec::PRESETS;

    fn message(text: &str) -> String {
        let error = read_toml::<DeviceSpec>("mine.toml", text).expect_err("keys are missing");
        all_missing::<DeviceSpec>(error, "mine.toml", text, PRESETS[0]).to_string()
    }

    #[test]
    fn all_missing_keys_are_named_at_once_with_values_that_make_the_file_whole() {
        for text in [
            "",
            "name = 'mine'\n[geometry]\nchannels = 2\n",
            "name = 'mine'\n[timing]\nread = '45us'\n[gc]\n",
        ] {
            let message = message(text);
            let (head, lines) = message.split_once('\n').expect("lines");
            assert!(head.starts_with("mine.toml: ") && head.contains("keys are missing"), "{head}");
            assert!(head.contains("`ssdsim-5+1`") && lines.contains("page_bytes = \"8KiB\""), "{message}");
            let mut whole: Table = text.parse().expect("TOML");
            for (key, value) in lines.parse::<Table>().expect("the example is TOML") {
                match value {
                    Value::Table(keys) => {
                        keys.into_iter()
                            .for_each(|(name, value)| insert(&mut whole, Some(&key), &name, value));
                    }
                    value => insert(&mut whole, None, &key, value),
                }
            }
            DeviceSpec::from_toml("whole.toml", &whole.to_string()).expect("nothing is missing any more");
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let text = "name = 'mine'\n[geometry]\nchanels = 2\n";
        assert!(message(text).contains("did you mean `channels`?"), "{}", message(text));
    }
}
