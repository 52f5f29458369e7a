//! Help texts: they are complete, and their examples work.

use std::process::Command;

use crate::support::served::Served;
use crate::support::{Sandbox, msr_trace};

/// Every command with its path, parents first.
fn commands() -> Vec<(String, clap::Command)> {
    fn collect(path: String, command: &clap::Command, all: &mut Vec<(String, clap::Command)>) {
        all.push((path.clone(), command.clone()));
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            collect(format!("{path} {}", sub.get_name()), sub, all);
        }
    }
    let mut command = stripewise::command();
    command.build();
    let mut all = Vec::new();
    collect("stripewise".to_owned(), &command, &mut all);
    all
}

/// The examples that a command's help shows.
fn examples(command: &clap::Command) -> Vec<String> {
    let text = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("  stripewise ")).map(str::to_owned).collect()
}

/// The words of an example, up to the first redirection or pipe.
fn words(example: &str) -> Vec<&str> {
    example.split_whitespace().take_while(|word| !matches!(*word, ">" | "<" | "|")).collect()
}

#[test]
fn every_command_says_what_it_does_and_shows_an_example() {
    for (path, command) in commands() {
        assert!(command.get_about().is_some(), "{path} has no description");
        assert!(!examples(&command).is_empty(), "{path} has no example");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{path}: {} has no help", argument.get_id());
        }
    }
}

#[test]
fn the_options_do_not_contradict_each_other() {
    stripewise::command().debug_assert();
}

#[test]
fn every_example_is_understood() {
    for (path, command) in commands() {
        for example in examples(&command) {
            let parsed =
                stripewise::command().try_get_matches_from([vec!["stripewise"], words(&example)].concat());
            assert!(parsed.is_ok(), "{path}: {example}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_short_help_is_shorter_than_the_long_one_and_both_show_examples() {
    let sandbox = Sandbox::new();
    for name in ["compare", "run", "trace gen"] {
        let short = sandbox.run(&format!("{name} -h")).success();
        let long = sandbox.run(&format!("{name} --help")).success();
        assert!(short.lines().count() < long.lines().count(), "{name}");
        for help in [short, long] {
            assert!(help.contains("Examples:\n  # "), "{help}");
        }
    }
    assert!(sandbox.run("trace gen --help").success().contains("theta"), "the generators' keys are listed");
}

/// A study with the axes that examples name.
const STUDY: &str = "\
[base]
requests = 500
[compare]
scheme = [\"baseline\", \"bpu\"]
[axes]
pacing = [\"open:2\", \"open:4\"]
[replicate]
seeds = 2
";

/// Whether an example needs a served array.
fn is_of_serving(line: &str) -> bool {
    let command = line.split(' ').next().unwrap_or_default();
    ["serve", "status", "fail", "replace", "spare", "scrub", "rate", "stop"].contains(&command)
}

#[test]
fn every_example_of_serving_runs() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let lines: Vec<String> = commands()
        .iter()
        .flat_map(|(_, command)| examples(command))
        .filter(|line| is_of_serving(line))
        .collect();
    let of = |command: &'static str| lines.iter().filter(move |line| line.split(' ').next() == Some(command));
    for line in of("serve") {
        let options = line.strip_prefix("serve pool").expect("the examples are about pool");
        // Ports may be in use on the test machine.
        let options = options.replace(":10809", ":0").replace(":9180", ":0");
        // Any program that can be started.
        let options = options.replace("/usr/local/bin/notify", env!("CARGO_BIN_EXE_stripewise"));
        if options.contains("--detach") {
            sandbox.run(&format!("serve pool {options}")).success();
            sandbox.run("stop pool").success();
            continue;
        }
        let served = Served::start(&sandbox, "pool", &options);
        sandbox.run("stop pool").success();
        assert_eq!(served.wait(), 0, "{line}");
    }
    let _served = Served::start(&sandbox, "pool", "");
    for command in ["status", "fail", "replace", "spare", "scrub", "rate", "stop"] {
        assert!(of(command).next().is_some(), "{command} has examples");
        for line in of(command) {
            if line.contains("--force --wait") {
                sandbox.run("fail pool 2").success();
            }
            sandbox.run(line).success();
        }
    }
}

#[test]
fn every_example_runs() {
    let sandbox = Sandbox::new();
    // One example takes the requests from the tenth second on.
    let last = "128166372150000000,host,0,Write,0,4096,100\n";
    sandbox.write("trace.csv", &(msr_trace(400) + last));
    let spc: String =
        (0..50).map(|n| format!("{},{},4096,{},{}.5\n", n % 3, n * 8, ["r", "W"][n % 2], n)).collect();
    sandbox.write("trace.spc", &spc);
    sandbox.write("mine.csv", &msr_trace(10));
    sandbox.write("study.toml", STUDY);
    for folder in [".zfunc", ".config/fish/completions", ".local/share/bash-completion/completions"] {
        std::fs::create_dir_all(sandbox.path().join(folder)).unwrap();
    }
    // One example writes a scheme called mine.toml, another a device, a third a profile. Examples that read them come
    // last.
    let mut lines: Vec<String> = commands().iter().flat_map(|(_, command)| examples(command)).collect();
    // Arrays are created before they are inspected.
    lines.sort_by_key(|line| {
        let late = (line.contains("gen mine.toml"), line.contains("--profile-out"));
        // A study is run before its results are shown.
        let is_report = line.starts_with("report study.toml");
        let is_shown = is_report || line.starts_with("study") && !line.starts_with("study run");
        (!line.starts_with("create"), late, is_shown, line.clone())
    });
    lines.dedup();
    // Examples that need a server or its output, or that never end, have tests of their own.
    lines.retain(|line| !is_of_serving(line) && !line.starts_with("replay") && !line.contains("--follow"));
    // `paper all` would run the other papers' examples a second time.
    for line in lines.into_iter().filter(|line| !line.starts_with("paper all")) {
        let mut line = line;
        let is_long = line.split(' ').next().is_some_and(|name| ["compare", "run", "paper"].contains(&name));
        if is_long {
            // The option must not occur twice, so the number in the example is removed.
            let words: Vec<&str> = line.split(' ').collect();
            let at = words.iter().position(|word| *word == "--requests");
            let kept = words
                .iter()
                .enumerate()
                .filter(|(index, _)| at.is_none_or(|at| *index != at && *index != at + 1));
            line = kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ") + " --requests 200";
            // Of a whole evaluation only one result is computed, in its short form: the cheapest of its paper. Paper
            // 003's example names one.
            if line.starts_with("paper 000") {
                line = line.replace("--seeds 5", "--seeds 1") + " --rows 0i";
            } else if line.starts_with("paper 001") {
                line += " --rows 1a";
            } else if line.starts_with("paper default") {
                line += " --rows 5e";
            }
        }
        let name = line.split_whitespace().find(|word| word.ends_with(".parquet") || word.contains(".msr"));
        if let Some(name) = name.filter(|_| line.starts_with("trace")) {
            _ = std::fs::remove_file(sandbox.path().join(name));
        }
        let program = env!("CARGO_BIN_EXE_stripewise");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("'{program}' {line}")])
            .current_dir(sandbox.path())
            .env("HOME", sandbox.path())
            .env("STRIPEWISE_STATE_DIR", sandbox.path().join("state"))
            .env("STRIPEWISE_RUNTIME_DIR", sandbox.path().join("run"));
        let began = std::time::Instant::now();
        let output = shell.output().unwrap();
        println!("{:6.1} s  {line}", began.elapsed().as_secs_f64());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "stripewise {line}\n{errors}");
    }
}

#[test]
fn help_and_version_are_answers_and_no_subcommand_is_a_question() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run("--help").success().contains("Exit codes:"));
    let version = sandbox.run("-V").success();
    assert_eq!(version.trim(), format!("stripewise {}", env!("CARGO_PKG_VERSION")));
    assert!(sandbox.run("--version").success().contains("sources "));
    let nothing = sandbox.run("");
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("Usage: stripewise"), "{}", nothing.stderr);
}

#[test]
fn completions_name_the_subcommands_in_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&format!("completions {shell}")).success();
        assert!(script.contains("compare") && script.contains("completions"), "{shell}");
    }
}
