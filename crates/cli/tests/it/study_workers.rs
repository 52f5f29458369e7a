//! The worker processes of `stripewise study run`: whichever process dies, the study ends with the same runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stripewise_study::StudyStore;

use crate::support::Sandbox;

/// Runs of some hundredths of a second.
const STUDY: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 2000
"geometry.blocks" = 64
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:2", "closed:4", "closed:8"]
[replicate]
seeds = 8
"#;
/// The number of its runs.
const RUNS: usize = 3 * 2 * 8;

fn sandbox(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("study.toml", text);
    sandbox
}

/// The digests of all runs and of their results.
pub(crate) fn pairs(sandbox: &Sandbox) -> BTreeSet<(String, String)> {
    let known = StudyStore::new(sandbox.path().join("study.results")).load(&[]).unwrap();
    known.iter().map(|(_, row)| (row.run.to_string(), row.results.to_string())).collect()
}

/// What an undisturbed study makes.
fn expected() -> BTreeSet<(String, String)> {
    let sandbox = sandbox(STUDY);
    sandbox.run("study run study.toml --jobs 1").success();
    let pairs = pairs(&sandbox);
    assert_eq!(pairs.len(), RUNS);
    pairs
}

fn start(sandbox: &Sandbox, line: &str) -> Child {
    let mut command = sandbox.command();
    command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The state and the parent of a process; none if there is no such process.
fn state(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// The processes that a process has started and that live.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all = Path::new("/proc").read_dir().unwrap();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| state(pid).is_some_and(|(state, its)| its == parent && state != "Z")).collect()
}

fn kill(pid: u32, signal: Signal) {
    // A process that has ended already is no error.
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), signal);
}

/// Waits until `what` gives something.
pub(crate) fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never happens");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_study_whose_workers_are_killed_makes_all_runs() {
    let sandbox = sandbox(&format!("{STUDY}[fail]\nretries = 20\n"));
    let mut command = start(&sandbox, "study run study.toml --jobs 2");
    let mut killed = BTreeSet::new();
    for signal in [Signal::KILL, Signal::ABORT, Signal::SEGV, Signal::TERM, Signal::KILL] {
        let victim = wait_for(|| {
            let living = children(command.id()).into_iter().find(|pid| !killed.contains(pid));
            living.or_else(|| command.try_wait().unwrap().map(|_| 0))
        });
        if victim != 0 {
            std::thread::sleep(Duration::from_millis(20));
            kill(victim, signal);
            killed.insert(victim);
        }
    }
    assert!(killed.len() > 2, "{killed:?}");
    assert_eq!(command.wait().unwrap().code(), Some(0));
    assert_eq!(pairs(&sandbox), expected());
    assert_eq!(sandbox.run("study errors study.toml").success(), "no run failed\n");
}

#[test]
fn a_killed_command_leaves_no_workers_and_is_resumed_to_the_same_runs() {
    let expected = expected();
    let sandbox = sandbox(STUDY);
    let mut kills = 0;
    for milliseconds in [0, 30, 80, 150] {
        let mut command = start(&sandbox, "study run study.toml --jobs 2");
        let workers = wait_for(|| {
            let workers = children(command.id());
            (workers.len() == 2 || command.try_wait().unwrap().is_some()).then_some(workers)
        });
        std::thread::sleep(Duration::from_millis(milliseconds));
        kills += u32::from(command.try_wait().unwrap().is_none());
        kill(command.id(), Signal::KILL);
        command.wait().unwrap();
        for worker in workers {
            // Who reaps orphans is the business of the machine.
            wait_for(|| state(worker).is_none_or(|(state, _)| state == "Z").then_some(()));
        }
        assert!(pairs(&sandbox).is_subset(&expected));
    }
    assert!(kills > 1, "{kills}");
    sandbox.run("study run study.toml").success();
    assert_eq!(pairs(&sandbox), expected);
}

#[test]
fn two_commands_at_once_make_the_same_runs() {
    let sandbox = sandbox(STUDY);
    let commands = [(); 2].map(|()| start(&sandbox, "study run study.toml --jobs 2"));
    for mut command in commands {
        assert_eq!(command.wait().unwrap().code(), Some(0));
    }
    assert_eq!(pairs(&sandbox), expected());
    let again = sandbox.run("study run study.toml").success();
    assert!(again.contains(&format!("0 made in 0 s of processor time, {RUNS} there already")), "{again}");
}

#[test]
fn an_interrupted_study_keeps_what_is_finished() {
    let sandbox = sandbox(&STUDY.replace("seeds = 8", "seeds = 200"));
    let mut command = start(&sandbox, "study run study.toml --jobs 1");
    wait_for(|| children(command.id()).pop());
    std::thread::sleep(Duration::from_millis(1500));
    kill(command.id(), Signal::INT);
    assert_eq!(command.wait().unwrap().code(), Some(130));
    let kept = pairs(&sandbox).len();
    assert!(kept > 0 && kept < 200 * RUNS / 8, "{kept}");
    let status = sandbox.run("study status study.toml --json").success();
    assert!(status.contains(&format!("\"runs_stored\": {kept}")), "{status}");
}

/// Only the larger device needs more memory than a worker may have.
#[test]
fn runs_that_need_too_much_memory_fail_and_the_others_are_made() {
    let text = STUDY
        .replace("\"geometry.blocks\" = 64\n", "")
        .replace("[axes]", "[axes]\n\"geometry.blocks\" = [64, 16384]");
    let text = text
        .replace("[\"closed:2\", \"closed:4\", \"closed:8\"]", "[\"closed:2\"]")
        .replace("seeds = 8", "seeds = 2");
    let sandbox = sandbox(&format!("{text}[fail]\nmemory = \"320MiB\"\nretries = 1\n"));
    let ended = sandbox.run("study run study.toml");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stdout.contains("FAILED    4 runs of 1 points"), "{ended:?}");
    assert_eq!(pairs(&sandbox).len(), 4);
    let errors: serde_json::Value =
        serde_json::from_str(&sandbox.run("study errors study.toml --json").success()).unwrap();
    let errors = errors.as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    for error in errors {
        let (run, reason) = (error["run"].as_str().unwrap(), error["reason"].as_str().unwrap());
        assert!(run.contains("geometry.blocks = 16384") && error["attempts"] == 2, "{error}");
        assert!(
            reason.contains("its worker died 2 times") && reason.contains("memory allocation"),
            "{error}"
        );
    }
}
