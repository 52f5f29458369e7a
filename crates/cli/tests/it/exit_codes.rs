//! The page of exit codes: what the help of each command says, in one table.

use std::fmt::Write as _;

use crate::docs::document;

/// The exit codes of a command's help, each with its meaning, below their title.
fn exit_codes(command: &clap::Command) -> Option<(String, Vec<(String, String)>)> {
    let help = command.get_after_long_help().or_else(|| command.get_after_help())?.to_string();
    let (_, section) = help.split_once("Exit codes")?;
    let mut lines = section.lines();
    let title = lines.next()?.trim_matches([',', ':', ' ']).to_owned();
    let mut codes: Vec<(String, String)> = Vec::new();
    for line in lines.take_while(|line| line.starts_with(' ')) {
        match line.trim_start().split_once("  ") {
            Some((code, meaning)) if code.bytes().all(|byte| byte.is_ascii_digit()) => {
                codes.push((code.to_owned(), meaning.trim().to_owned()));
            }
            _ => {
                let (_, meaning) = codes.last_mut().expect("an exit code comes first");
                let _ = write!(meaning, " {}", line.trim());
            }
        }
    }
    Some((title, codes))
}

/// The page.
fn page() -> String {
    let mut text = "# Exit codes\n\n\
        Scripts can rely on these codes. Every command has the codes of `stripewise`; the commands below it have \
        codes of their\nown. This page is written from the help of the commands by\n\
        `STRIPEWISE_BLESS=1 cargo test -p stripewise --test it -- exit_codes`.\n"
        .to_owned();
    let mut command = stripewise::command();
    command.build();
    section("stripewise", &command, &mut text);
    text
}

fn section(path: &str, command: &clap::Command, text: &mut String) {
    if let Some((title, codes)) = exit_codes(command) {
        let of = if title.is_empty() { String::new() } else { format!("The code is that of {title}.\n\n") };
        let _ = write!(text, "\n## {path}\n\n{of}| code | meaning |\n| --- | --- |\n");
        for (code, meaning) in codes {
            let _ = writeln!(text, "| {code} | {} |", meaning.replace('|', "\\|"));
        }
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(&format!("{path} {}", sub.get_name()), sub, text);
    }
}

#[test]
fn the_page_of_exit_codes_is_what_the_help_says() {
    let path = document("reference/exit-codes.md");
    let expected = page();
    assert!(expected.matches("\n| 0 |").count() > 4, "the help of the commands lists exit codes");
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/exit-codes.md is out of date: run this test with STRIPEWISE_BLESS=1"
    );
}
