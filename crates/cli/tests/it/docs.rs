//! The documents: their command lines parse, and the reference equals the help of the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A document of the tree.
pub(crate) fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Every shell command line in a document.
fn commands(text: &str) -> Vec<String> {
    let mut shell = false;
    let mut found = Vec::new();
    // A backslash at the end of a line continues the command.
    for line in text.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if shell && line.starts_with("stripewise ") {
            let ends = [" > ", " #", " &"].map(|end| line.find(end).unwrap_or(line.len()));
            found.push(line[..ends.into_iter().min().unwrap_or_default()].trim_end().to_owned());
        }
    }
    found
}

/// All pages below `folder`.
pub(crate) fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.chain(folders.iter().flat_map(|folder| pages(folder))).collect()
}

#[test]
fn every_command_of_the_pages_is_understood() {
    let mut count = 0;
    for page in pages(&document("")) {
        for line in commands(&std::fs::read_to_string(&page).unwrap()) {
            // The quotes belong to the shell, and what follows a pipe to another program.
            let own = line.split(" | ").next().unwrap_or_default();
            let words = own.split_whitespace().map(|word| word.trim_matches('\''));
            let parsed = stripewise::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{}: {line}: {}", page.display(), parsed.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 60, "{count} commands");
}

/// The reference: the long help of every command.
fn reference() -> String {
    let mut text = "# Command reference\n\n\
        Every command with its options, as `--help` describes them. The [tutorials](../tutorials/compare-schemes.md) go \
        through their use. \
        This page is made by a test: `STRIPEWISE_BLESS=1 cargo test -p stripewise --test it docs`.\n"
        .to_owned();
    let mut command = stripewise::command().term_width(100);
    command.build();
    let _ = write!(text, "\nThe commands: {}.\n", links(&command, "stripewise").join(", "));
    let shared = shared(&command);
    section("stripewise", &mut command, &shared, &mut text);
    let _ = write!(text, "\n## Common options\n\nMany commands have these options.\n\n");
    let options: Vec<&str> = shared.values().map(String::as_str).collect();
    text.push_str(&options.join("\n"));
    text
}

/// Links to the sections of all commands below `command`.
fn links(command: &clap::Command, path: &str) -> Vec<String> {
    let below = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    below
        .flat_map(|sub| {
            let path = format!("{path} {}", sub.get_name());
            let name = path.trim_start_matches("stripewise ");
            let link = format!("[{name}](#{})", path.replace(' ', "-"));
            std::iter::once(link).chain(links(sub, &path)).collect::<Vec<_>>()
        })
        .collect()
}

/// The options that at least [`MANY`] commands have, the same in all: how each looks, and its part of the page.
fn shared(program: &clap::Command) -> BTreeMap<String, String> {
    fn count(command: &clap::Command, all: &mut BTreeMap<String, (u32, String)>) {
        for option in command.get_arguments().filter(|option| is_common(option)) {
            let described = || {
                let long = option.get_long().unwrap_or_default();
                (0, described(&format!("### `--{long}`"), option))
            };
            all.entry(look(option)).or_insert_with(described).0 += 1;
        }
        command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(|sub| count(sub, all));
    }
    let mut all = BTreeMap::new();
    program.get_subcommands().for_each(|sub| count(sub, &mut all));
    all.into_iter().filter(|(_, (count, _))| *count >= MANY).map(|(look, (_, help))| (look, help)).collect()
}

const MANY: u32 = 3;

/// Whether an option may be described apart from its command: `--help` and positions may not.
fn is_common(option: &clap::Arg) -> bool {
    option.get_long().is_some_and(|long| !is_everywhere(long)) && !option.is_hide_set()
}

/// Whether all commands have an option that says nothing of them.
fn is_everywhere(long: &str) -> bool {
    ["help", "version"].contains(&long)
}

/// All that a help text shows of an option.
fn look(option: &clap::Arg) -> String {
    let texts = (option.get_help().map(ToString::to_string), option.get_long_help().map(ToString::to_string));
    format!(
        "{} {:?} {texts:?} {:?}",
        option.get_id(),
        option.get_short_and_visible_aliases(),
        option.get_default_values()
    )
}

/// A heading, the form of an option or argument, and its help.
fn described(heading: &str, option: &clap::Arg) -> String {
    let mut text = format!("{heading}\n\n");
    let names = option.get_value_names().unwrap_or_default();
    let value = if option.get_action().takes_values() && !names.is_empty() {
        format!(" <{}>", names.join("> <"))
    } else {
        String::new()
    };
    let short = option.get_short().map(|short| format!("`-{short}{value}`, ")).unwrap_or_default();
    if let Some(long) = option.get_long() {
        let _ = write!(text, "{short}`--{long}{value}`\n\n");
    }
    let help = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "{}", prose(&help));
    let defaults: Vec<String> =
        option.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if !defaults.is_empty() && option.get_action().takes_values() && !option.is_hide_default_value_set() {
        let _ = write!(text, "\nDefault: {}.\n", defaults.join(", "));
    }
    let values = option.get_possible_values();
    if option.get_action().takes_values() && !values.is_empty() && !option.is_hide_possible_values_set() {
        text.push('\n');
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let help = value.get_help().map(|help| format!(": {}", prose(&help.to_string())));
            let _ = writeln!(text, "- `{}`{}", value.get_name(), help.unwrap_or_default());
        }
    }
    text
}

/// Help of the program as text of a page: no letter of it is a mark of the page but the backquotes.
fn prose(help: &str) -> String {
    let mut text = String::new();
    for (at, part) in help.split('`').enumerate() {
        if at > 0 {
            text.push('`');
        }
        for letter in part.chars() {
            if at % 2 == 0 && matches!(letter, '<' | '>' | '*' | '_' | '[' | ']' | '|' | '\\') {
                text.push('\\');
            }
            text.push(letter);
        }
    }
    text
}

fn section(path: &str, command: &mut clap::Command, shared: &BTreeMap<String, String>, text: &mut String) {
    let _ = write!(text, "\n## {path}\n\n");
    let usage = command.clone().render_usage().to_string();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let has_list = command.get_subcommands().any(|sub| sub.get_name() != "help");
    if has_list {
        // Without options: each has its own part below.
        let ids: Vec<clap::Id> = command.get_arguments().map(|option| option.get_id().clone()).collect();
        let hide = |shown: clap::Command, id| shown.mut_arg(id, |option| option.hide(true));
        let mut bare = ids.into_iter().fold(command.clone(), hide).after_help("").after_long_help("");
        let help = bare.render_long_help().to_string();
        block(help.trim_end().trim_end_matches("Options:"), text);
    } else {
        let _ = write!(text, "{}\n\n", prose(&about));
        block(&usage, text);
    }
    let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    if let Some(after) = after.filter(|after| !after.is_empty()) {
        text.push('\n');
        block(&after, text);
    }
    let own = |option: &&clap::Arg| {
        let is_shared = is_common(option) && shared.contains_key(&look(option));
        !option.is_hide_set() && !option.get_long().is_some_and(is_everywhere) && !is_shared
    };
    let name = path.trim_start_matches("stripewise ");
    for option in command.get_arguments().filter(own) {
        let called = match option.get_long() {
            Some(long) => format!("--{long}"),
            None => option.get_value_names().unwrap_or_default().join(" "),
        };
        let heading = format!("### `{name} {called}`");
        let _ = write!(text, "\n{}", described(&heading, option));
    }
    let common: Vec<String> = command
        .get_arguments()
        .filter(|option| is_common(option) && shared.contains_key(&look(option)))
        .map(|option| option.get_long().map(|long| format!("[`--{long}`](#--{long})")).unwrap_or_default())
        .collect();
    if !common.is_empty() {
        let _ = write!(text, "\nCommon options: {}.\n", common.join(", "));
    }
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        section(&path, sub, shared, text);
    }
}

/// A block of text as the program prints it.
fn block(help: &str, text: &mut String) {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(text, "```text\n{}\n```\n", lines.join("\n"));
}

#[test]
fn the_reference_is_what_the_program_says() {
    let path = document("reference/cli.md");
    let expected = reference();
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/cli.md is out of date: run this test with STRIPEWISE_BLESS=1");
}
