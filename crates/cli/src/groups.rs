//! The commands in groups, as the program's help lists them.

use clap::builder::Styles;

/// Groups and their commands.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Simulate",
        &[
            "compare",
            "run",
            "study",
            "explain",
            "timeline",
            "report",
            "runs",
            "overhead",
            "reliability",
            "advise",
            "paper",
        ],
    ),
    ("Traces and presets", &["trace", "scheme", "device", "profile"]),
    ("Serve", &["create", "serve", "status", "events", "fail", "replace", "spare", "scrub", "rate", "stop"]),
    ("Inspect", &["scan", "check", "dump", "upgrade", "replay"]),
    ("Shell", &["completions", "man", "help"]),
];

/// The program with its commands listed in groups.
pub(crate) fn grouped(program: clap::Command) -> clap::Command {
    // `help` is a command only once the program is built, and a program that is built takes no settings any more.
    let mut built = program.clone();
    built.build();
    let styles = Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = built.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut list = String::new();
    for (group, names) in GROUPS {
        list.push_str(&format!("{header}{group}:{header:#}\n"));
        for name in names {
            let command = built.find_subcommand(name);
            let about = command.and_then(clap::Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            list.push_str(&format!("  {literal}{name:width$}{literal:#}  {about}\n"));
        }
    }
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut program = crate::command();
        program.build();
        let commands: BTreeSet<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), commands);
        assert_eq!(grouped.len(), commands.len());
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let help = crate::command().term_width(80).render_help().to_string();
        assert!(help.lines().count() <= 50, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}
