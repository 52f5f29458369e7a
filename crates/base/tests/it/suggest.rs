//! Errors about names include the nearest known one, and keep file, line and caret.

use serde::Deserialize;
use stripewise_base::suggest::{ConfigError, nearest, read_toml, unknown};
use stripewise_base::units::{Bytes, Span};

#[test]
fn the_nearest_name_is_found_within_a_third_of_its_letters() {
    let known = ["baseline", "always-rmw", "always-rcw", "adaptive"];
    assert_eq!(nearest("basline", known), Some("baseline"));
    assert_eq!(nearest("always_rcw", known), Some("always-rcw"));
    assert_eq!(nearest("Always RMW", known), Some("always-rmw"));
    assert_eq!(nearest("adpative", known), Some("adaptive"));
    assert_eq!(nearest("raid", known), None);
    assert_eq!(nearest("", known), None);
    assert_eq!(nearest("x", []), None);
}

#[test]
fn an_unknown_name_is_said_with_the_nearest_or_with_all() {
    assert_eq!(unknown("key", "chnk", &["chunk", "page"]), "unknown key `chnk`; did you mean `chunk`?");
    assert_eq!(unknown("scheme", "zzz", &["a", "b"]), "unknown scheme `zzz`; known: a, b");
    assert_eq!(unknown("key", "zzz", &[]), "unknown key `zzz`; none is allowed here");
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only read")]
struct Scheme {
    name: String,
    #[serde(default)]
    array: Array,
    #[serde(default)]
    update: Update,
    #[serde(default)]
    cache: Option<Cache>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(dead_code, reason = "only read")]
struct Array {
    members: u32,
    chunk: Bytes,
    rotation_time: Span,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Update {
    #[default]
    Baseline,
    AlwaysRmw,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only read")]
enum Cache {
    Wow { capacity: Bytes },
}

fn refused(text: &str) -> ConfigError {
    read_toml::<Scheme>("my.toml", text).expect_err("refused")
}

#[test]
fn an_unknown_key_is_shown_in_its_line_with_the_nearest_known_key() {
    let error = refused("name = 'x'\n[array]\nmembers = 5\n  chnk = '4KiB'\n");
    assert_eq!((error.line, error.column), (4, 3));
    assert_eq!(
        error.to_string(),
        "my.toml:4:3: unknown key `chnk`; did you mean `chunk`?\n  |\n4 |   chnk = '4KiB'\n  |   ^^^^"
    );
}

#[test]
fn an_unknown_value_is_shown_with_the_nearest_known_value() {
    let error = refused("name = 'x'\nupdate = 'always-rwm'\n");
    assert_eq!(error.line, 2);
    assert_eq!(error.message, "unknown value `always-rwm`; did you mean `always-rmw`?");
}

#[test]
fn an_unknown_key_in_a_tagged_table_still_has_its_line() {
    let error = refused("name = 'x'\n\n[cache]\nkind = 'wow'\ncapcity = '1MiB'\ncapacity = '1MiB'\n");
    assert_eq!(error.message, "unknown key `capcity`; did you mean `capacity`?");
    assert_eq!((error.line, error.column), (5, 1));
}

#[test]
fn a_key_far_from_all_lists_the_known_ones() {
    let error = refused("name = 'x'\nzzzzzzzz = 1\n");
    assert_eq!(error.message, "unknown key `zzzzzzzz`; known: name, array, update, cache");
}

#[test]
fn other_errors_keep_their_words_and_place() {
    let error = refused("name = 'x'\n[array]\nchunk = 4096\n");
    assert_eq!((error.line, error.column), (3, 9));
    assert!(error.message.starts_with("`4096` has no unit"), "{error}");
    let error = refused("name = \n");
    assert_eq!(error.line, 1);
    let error = refused("[array]\nmembers = 1\n");
    assert!(error.message.contains("missing field `name`"), "{error}");
    assert!(error.to_string().starts_with("my.toml:"), "{error}");
}

#[test]
fn carets_count_characters_not_bytes_and_line_ends_of_any_kind() {
    let error = refused("name = 'ä'\r\narray = { chunk = '4KiB', 'mémbers' = 1 }\r\n");
    assert_eq!(error.message, "unknown key `mémbers`; did you mean `members`?");
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "2 | array = { chunk = '4KiB', 'mémbers' = 1 }");
    assert_eq!(lines[3].chars().filter(|&c| c == '^').count(), "'mémbers'".chars().count());
}

#[test]
fn a_former_name_is_not_proposed() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Log {
        #[serde(alias = "survivors")]
        _relocations: u32,
    }
    let error = read_toml::<Log>("my.toml", "survivor = 3\n").unwrap_err();
    assert!(!error.message.contains("survivors"), "{error}");
}
