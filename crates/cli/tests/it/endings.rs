//! Readers that leave early, users who interrupt, terminals without colour.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Sandbox, msr_trace};

#[test]
fn a_reader_that_leaves_early_is_quiet_success() {
    let sandbox = Sandbox::with_trace();
    sandbox.write("long.csv", &msr_trace(200_000));
    for line in [
        "profile list",
        "device show ssdsim-5+1",
        "completions zsh",
        "compare --trace trace.csv",
        "trace info trace.csv",
        "trace convert long.csv - --to disksim",
        "compare --help",
    ] {
        let mut child = sandbox
            .command()
            .args(line.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {errors}");
        assert!(!errors.contains("error") && !errors.contains("panicked"), "{line}: {errors}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_exits_with_130_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let child = sandbox
        .command()
        .args("compare --gen uniform:requests=1G,arrival=none --rows --jobs 2".split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let results = sandbox.path().join("stripewise-results");
    let began = Instant::now();
    while std::fs::read_dir(&results).map_or(0, |entries| entries.count()) < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "the runs begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(std::fs::read_dir(&results).unwrap().count(), 0, "no half run is left");
}

#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_no_file() {
    let sandbox = Sandbox::new();
    let child = sandbox
        .command()
        .args("trace gen uniform:requests=1G -o large.parquet".split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while std::fs::read_dir(sandbox.path()).unwrap().count() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the file is begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 0);
}

#[test]
fn colours_come_when_requested_and_not_into_pipes() {
    let sandbox = Sandbox::new();
    let escape = '\u{1b}';
    for (words, coloured) in [
        (vec!["scheme", "show", "nope"], false),
        (vec!["scheme", "show", "nope", "--color", "always"], true),
        (vec!["scheme", "show", "nope", "--color", "never"], false),
    ] {
        let ended = sandbox.run_words(&words);
        assert_eq!(ended.stderr.contains(escape), coloured, "{words:?}: {}", ended.stderr);
    }
    let forced =
        sandbox.command().args(["scheme", "show", "nope"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8_lossy(&forced.stderr).contains(escape));
    let plain = sandbox.command().args(["scheme", "show", "nope"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!String::from_utf8_lossy(&plain.stderr).contains(escape));
}
