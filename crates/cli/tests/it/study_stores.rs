//! `stripewise study` where its surroundings fail: a full disk, a store that cannot be written, a program of another build, a
//! trace that changes meanwhile.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use stripewise_study::{Coordinator, Next, Options, Plan, StudyFile, StudyStore};

use crate::study_workers::{children, pairs, wait_for};
use crate::support::{Sandbox, msr_trace};

const STUDY: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 200
"geometry.blocks" = 64
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:2", "closed:4"]
[replicate]
seeds = 3
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("study.toml", STUDY);
    sandbox
}

fn shell(sandbox: &Sandbox, script: &str) -> Output {
    let mut shell = sandbox.within(Command::new("sh"));
    shell.args(["-c", script, env!("CARGO_BIN_EXE_stripewise")]).output().unwrap()
}

/// The files of a store, except its folders.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path.display().to_string()] })
        .collect()
}

/// A limit on the size of files stands for a disk that gets full in the middle of a file.
#[test]
fn a_full_disk_ends_a_study_which_continues_when_there_is_room() {
    let whole = sandbox();
    whole.run("study run study.toml").success();
    let sandbox = sandbox();
    let ended = shell(&sandbox, "trap '' XFSZ; ulimit -f 8; exec \"$0\" study run study.toml");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{errors}");
    assert!(errors.contains("cannot write the file") && errors.contains("too large"), "{errors}");
    assert_eq!(files(&sandbox.path().join("study.results")), [""; 0], "nothing is left half written");
    sandbox.run("study run study.toml").success();
    assert_eq!(pairs(&sandbox), pairs(&whole));
}

#[test]
fn a_full_file_system_ends_a_study_with_its_reason() {
    let sandbox = sandbox();
    let script = "mount -t tmpfs -o size=16k none study.results || exit 77; exec \"$0\" study run study.toml";
    let ended = shell(&sandbox, &format!("mkdir study.results; exec unshare -m sh -c '{script}' \"$0\""));
    let errors = String::from_utf8_lossy(&ended.stderr);
    if errors.contains("unshare") || ended.status.code() == Some(77) {
        println!("skipped: no file system can be mounted here: {errors}");
        return;
    }
    assert_eq!(ended.status.code(), Some(1), "{errors}");
    assert!(errors.contains("No space left on device") && errors.contains("study.results"), "{errors}");
}

#[test]
fn a_store_that_cannot_be_written_is_shown_and_refuses_new_runs() {
    let sandbox = sandbox();
    sandbox.run("study run study.toml").success();
    sandbox.write(
        "more.toml",
        &format!("[study]\nstore = \"study.results\"\n{}", STUDY.replace("seeds = 3", "seeds = 5")),
    );
    let before = files(&sandbox.path().join("study.results"));
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    set(sandbox.path(), 0o755);
    let folders = ["", "runs", "catalogue"].map(|name| sandbox.path().join("study.results").join(name));
    folders.iter().for_each(|folder| set(folder, 0o555));
    // Permissions do not bind root.
    let run = |line: &str| {
        let mut command = sandbox.command();
        if rustix::process::geteuid().is_root() {
            command.uid(65_534);
        }
        command.args(line.split(' ')).output()
    };
    match run("--version") {
        Ok(answer) if answer.status.success() => {}
        other => {
            println!("skipped: another user cannot run the program: {other:?}");
            return;
        }
    }
    for line in ["study status study.toml", "study show study.toml", "study errors study.toml"] {
        let answer = run(line).unwrap();
        assert!(answer.status.success(), "{line}: {answer:?}");
    }
    let refused = run("study run more.toml --jobs 2").unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{errors}");
    assert!(errors.contains("study.results/runs/") && errors.contains("Permission denied"), "{errors}");
    folders.iter().for_each(|folder| set(folder, 0o755));
    assert_eq!(files(&sandbox.path().join("study.results")), before);
    let more = sandbox.run("study run more.toml").success();
    assert!(more.contains("8 made") && more.contains("12 there already"), "{more}");
}

#[test]
fn a_worker_refuses_the_batches_of_another_build_by_name() {
    let sandbox = sandbox();
    let file = StudyFile::read(&sandbox.path().join("study.toml")).unwrap();
    let plan = Arc::new(Plan::new(file, &()).unwrap());
    let store = StudyStore::new(sandbox.path().join("study.results"));
    let mut coordinator = Coordinator::new(&plan, &store, Options::default()).unwrap();
    let Next::Batch(batch) = coordinator.next(&()) else { panic!("there is a batch") };
    let mut other: serde_json::Value = serde_json::from_slice(&batch.to_bytes()).unwrap();
    other["build"] = "0.0.9+0123abcd".into();
    let mut command = sandbox.command();
    let streams = command.args(["study", "batches"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut worker = streams.spawn().unwrap();
    let mut input = worker.stdin.take().unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(Result::unwrap);
    assert_eq!(next(), Some(format!("worker {}", plan.version())));
    // Its own build.
    input.write_all(&[&batch.to_bytes()[..], b"\n"].concat()).unwrap();
    assert!(next().unwrap().starts_with("report {"));
    assert_eq!(next().unwrap(), "done");
    let made = pairs(&sandbox);
    assert_eq!(made.len(), batch.runs());
    writeln!(input, "{other}").unwrap();
    let refused = next().unwrap();
    for part in ["error \"worker process ", plan.version(), "0.0.9+0123abcd", "Install the same build"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(next(), None);
    assert!(worker.wait().unwrap().success());
    assert_eq!(pairs(&sandbox), made);
}

#[test]
fn a_trace_that_changes_while_a_study_runs_ends_it() {
    let sandbox = Sandbox::new();
    let trace = sandbox.write("trace.csv", &msr_trace(3000));
    let text = STUDY.replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"trace.csv\" }");
    sandbox.write("study.toml", &text.replace("requests = 200\n", "").replace("seeds = 3", "seeds = 40"));
    let mut command = sandbox.command();
    command.args(["study", "run", "study.toml", "--jobs", "1"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let command = command.spawn().unwrap();
    wait_for(|| children(command.id()).pop());
    std::thread::sleep(Duration::from_millis(50));
    std::fs::write(trace, msr_trace(3001)).unwrap();
    let ended = command.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{errors}");
    assert!(errors.contains("trace.csv: this trace "), "{errors}");
}
