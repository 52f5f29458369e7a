//! Readers that leave early, users who interrupt, terminals without colour.

use std::io::Read as _;
use std::path::PathBuf;
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

/// A pipe called `name` in the sandbox, with `requests` that a thread writes as soon as a reader is there.
fn pipe(sandbox: &Sandbox, name: &str, requests: u64) -> PathBuf {
    let path = sandbox.path().join(name);
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
    if requests > 0 {
        let to = path.clone();
        std::thread::spawn(move || std::fs::write(to, msr_trace(requests)));
    }
    path
}

#[test]
fn a_trace_in_a_pipe_is_refused_at_once_where_it_is_read_several_times() {
    let sandbox = Sandbox::new();
    pipe(&sandbox, "pipe", 0);
    sandbox.write("s.toml", "[base]\nworkload = { trace = \"pipe\" }\n[compare]\nscheme = [\"baseline\"]\n");
    let of_stdin = sandbox.run("run --trace -").failure(2);
    let reason = "a trace is replayed from a file, once for each scheme; write it to one first";
    assert!(of_stdin.contains(reason), "{of_stdin}");
    for line in ["compare --trace pipe", "run --trace pipe", "overhead --trace pipe", "study check s.toml"] {
        let error = sandbox.run(line).failure(2);
        assert!(
            error.contains("pipe is neither a file nor a folder") && error.contains(reason),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_trace_in_a_pipe_is_read_where_one_pass_suffices() {
    let sandbox = Sandbox::with_trace();
    pipe(&sandbox, "pipe", 400);
    let text = sandbox.run("trace info pipe").success();
    assert!(text.starts_with("pipe: msr\nrequests               400 "), "{text}");
    pipe(&sandbox, "other", 400);
    sandbox.run("trace convert other copy.csv --to msr").success();
    let copy = std::fs::read_to_string(sandbox.path().join("copy.csv")).unwrap();
    assert_eq!(copy.lines().count(), 400);
}

#[test]
fn a_command_that_waits_for_a_pipe_ends_on_the_first_signal() {
    for (line, signal) in [("trace info pipe", "-TERM"), ("trace convert pipe a.parquet", "-INT")] {
        let sandbox = Sandbox::new();
        pipe(&sandbox, "pipe", 0);
        let mut command = sandbox.command();
        let child =
            command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Before the handler is set, the signal ends the program without a message.
        std::thread::sleep(Duration::from_millis(500));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let began = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{line}");
        assert_eq!(output.status.code(), Some(130), "{line}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"), "{line}");
        assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 1, "{line}: only the pipe is there");
    }
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
