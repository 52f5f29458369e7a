//! The command: its output and its exit code.

use std::process::{Command, Output};

fn check(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_stripewise-check");
    Command::new(program).args(arguments).output().expect("the command runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn seeds_that_pass_are_counted_and_the_exit_code_is_0() {
    let output = check(&["--seeds", "0..25"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).starts_with("25 of 25 seeds pass"), "{}", text(&output));
}

#[test]
fn a_verbose_run_prints_its_case_and_every_event_and_is_the_same_each_time() {
    let output = check(&["--seed", "3", "--verbose"]);
    let lines = text(&output);
    for part in ["[device.geometry]", "request 0: ", "plan 0: ", " succeeded", "seed 3 passes"] {
        assert!(lines.contains(part), "no `{part}` in\n{lines}");
    }
    assert_eq!(text(&check(&["--seed", "3", "-v"])), lines);
}

#[test]
fn rows_of_the_covering_array_are_run_listed_and_named_by_their_members() {
    let output = check(&["compose", "--rows", "3..5", "--seeds", "2", "--jobs", "2"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).starts_with("4 of 4 runs pass, 2 of 2 rows"), "{}", text(&output));

    let list = text(&check(&["compose", "--list", "--rows", "3..4"]));
    let (number, row) = list.trim_end().split_once(' ').expect("a number and a row");
    assert_eq!(number, "3");
    let output = text(&check(&["compose", "--of", row, "--seed", "1", "--verbose"]));
    assert!(output.contains("[device.geometry]"), "{output}");
    assert!(output.contains(&format!("{row}, seed 1 passes")), "{output}");
}

#[test]
fn an_impossible_command_is_reported_with_exit_code_2() {
    for (arguments, expected) in [
        (&["--case", "no/such/file"][..], "cannot read no/such/file"),
        (&["--seeds", "9"], "0..1000"),
        (&["--case", "Cargo.toml"], "Cargo.toml"),
        (&[], "--seed"),
        (&["compose", "--of", "cash=wow"], "`cash` is no axis; there are geometry"),
        (
            &["compose", "--of", "geometry=raid0,read=brr"],
            "is refused: read.policy = \"brr\" has nothing to decode",
        ),
        (&["compose", "--verbose"], "--of"),
    ] {
        let output = check(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_failure_is_one_line_that_replays_it_and_shrinks_to_a_case() {
    let bug = ["--bug", "OldDataForgotten"];
    let output = check(&[&["--seeds", "0..50"][..], &bug].concat());
    assert_eq!(output.status.code(), Some(1));
    let line = text(&output);
    assert_eq!(line.lines().count(), 1, "{line}");
    let (_, replay) = line.trim_end().split_once(" -- ").expect("a command");
    let again = text(&check(&replay.split(' ').collect::<Vec<_>>()));
    assert_eq!(again.lines().last(), Some(line.trim_end()), "it ends the same way");

    let seed = replay.split(' ').nth(1).expect("a seed");
    let small = text(&check(&[&["--seed", seed, "--shrink"][..], &bug].concat()));
    let toml: Vec<&str> =
        small.lines().filter(|line| !line.starts_with("seed ") || line.contains('=')).collect();
    let file = std::env::temp_dir().join(format!("stripewise-check-{}.toml", std::process::id()));
    std::fs::write(&file, toml[..toml.len() - 1].join("\n")).expect("a file");
    let output = check(&[&["--case", &file.to_string_lossy()][..], &bug].concat());
    assert_eq!(output.status.code(), Some(1), "{small}\n{}", text(&output));
    let _ = std::fs::remove_file(file);
}
