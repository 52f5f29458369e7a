//! The documents: their command lines parse, and the reference equals the help of the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A document of the tree.
fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

/// Every shell command line in a document.
fn commands(text: &str) -> Vec<String> {
    let mut shell = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if shell && line.starts_with("stripewise ") {
            let ends = [" > ", " #", " &"].map(|end| line.find(end).unwrap_or(line.len()));
            found.push(line[..ends.into_iter().min().unwrap_or_default()].trim_end().to_owned());
        }
    }
    found
}

#[test]
fn every_command_of_the_guide_and_of_other_pages_is_understood() {
    let text = |name| std::fs::read_to_string(document(name)).unwrap();
    let (guide, traces) = (commands(&text("guide.md")), commands(&text("traces.md")));
    assert!(guide.len() > 15 && traces.len() > 8, "{} and {} commands", guide.len(), traces.len());
    let others = ["reliability.md", "parity-logging.md", "serving.md"].map(|name| commands(&text(name)));
    assert!(others.iter().all(|commands| commands.len() > 1), "{others:?}");
    for line in guide.into_iter().chain(traces).chain(others.into_iter().flatten()) {
        // The quotes belong to the shell.
        let words = line.split_whitespace().map(|word| word.trim_matches('\''));
        let parsed = stripewise::command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
}

/// The reference: the long help of every command.
fn reference() -> String {
    let mut text = "# Command reference\n\n\
        The long help of every command, as `--help` prints it. The [user guide](guide.md) goes \
        through their use. \
        This page is made by a test: `STRIPEWISE_BLESS=1 cargo test -p stripewise --test it docs`.\n"
        .to_owned();
    let mut command = stripewise::command().term_width(100);
    command.build();
    section("stripewise", &mut command, &mut text);
    text
}

fn section(path: &str, command: &mut clap::Command, text: &mut String) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## {path}\n\n```text\n{}\n```\n", lines.join("\n"));
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        section(&path, sub, text);
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let path = document("cli.md");
    let expected = reference();
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/cli.md is out of date: run this test with STRIPEWISE_BLESS=1");
}
