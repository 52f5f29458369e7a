//! Stores, results and caches in folders that others may write to: what they plant there is refused at once, and nothing is
//! written through their links.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::Sandbox;

const STUDY: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 200
"geometry.blocks" = 64
[compare]
scheme = ["baseline"]
[replicate]
seeds = 2
"#;

/// A command that must not wait: its exit code and its errors.
#[track_caller]
fn refused(sandbox: &Sandbox, line: &str) -> String {
    let mut command = sandbox.within(Command::new("timeout"));
    command.args(["--signal=KILL", "60", env!("CARGO_BIN_EXE_stripewise")]).args(line.split(' '));
    // A file of zeros without an end would be read into memory.
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
    errors
}

/// Puts in the place of `name`, one after another, what no reader may wait for or take into memory.
fn each_obstacle(sandbox: &Sandbox, name: &str, mut check: impl FnMut(&str)) {
    let path = sandbox.path().join(name);
    let obstacles: [(&str, &dyn Fn()); 3] = [
        ("FIFO", &|| mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap()),
        ("link to a device", &|| symlink("/dev/zero", &path).unwrap()),
        ("huge file", &|| File::create(&path).unwrap().set_len(1 << 42).unwrap()),
    ];
    for (obstacle, plant) in obstacles {
        let _ = fs::remove_file(&path);
        plant();
        check(obstacle);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_is_no_file_in_a_store_ends_commands_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("study.toml", STUDY);
    sandbox.run("study run study.toml").success();
    fs::create_dir_all(sandbox.path().join("study.results/errors")).unwrap();
    let pack = format!("study.results/runs/{}.parquet", "ab".repeat(16));
    let failure = format!("study.results/errors/{}.json", "ab".repeat(16));
    for (name, lines) in [
        (&pack, &["study status study.toml", "study run study.toml", "study errors study.toml"][..]),
        (&failure, &["study run study.toml", "study errors study.toml"]),
    ] {
        each_obstacle(&sandbox, name, |obstacle| {
            for line in lines {
                let errors = refused(&sandbox, line);
                assert!(
                    errors.contains(name.as_str()) && errors.contains("remove it"),
                    "{obstacle}: {errors}"
                );
            }
        });
    }
    sandbox.run("study status study.toml").success();
}

#[test]
fn what_is_no_file_in_a_folder_of_results_ends_commands_at_once() {
    let sandbox = Sandbox::with_trace();
    sandbox.run("run --trace trace.csv --out shared").success();
    let run = fs::read_dir(sandbox.path().join("shared")).unwrap().map(|entry| entry.unwrap().file_name());
    let run = run.map(|name| name.into_string().unwrap()).find(|name| name.len() == 64).expect("a run");
    for file in ["run.toml", "totals.parquet"] {
        let name = format!("shared/{run}/{file}");
        let kept = fs::read(sandbox.path().join(&name)).unwrap();
        each_obstacle(&sandbox, &name, |obstacle| {
            for line in ["runs shared", "report shared -o report.html"] {
                let errors = refused(&sandbox, line);
                assert!(errors.contains(file), "{obstacle}: {errors}");
            }
        });
        fs::write(sandbox.path().join(&name), kept).unwrap();
    }
    fs::create_dir(sandbox.path().join("shared/until")).unwrap();
    each_obstacle(&sandbox, "shared/until/a.toml", |obstacle| {
        let errors = refused(&sandbox, "report shared -o report.html");
        assert!(errors.contains("until/a.toml"), "{obstacle}: {errors}");
    });
    sandbox.run("report shared -o report.html").success();
}

#[test]
fn reports_are_not_written_through_planted_links() {
    let sandbox = Sandbox::with_trace();
    sandbox.run("run --trace trace.csv --out shared").success();
    let precious = sandbox.write("precious", "precious");
    let planted = sandbox.path().join("shared/report.html");
    let _ = fs::remove_file(&planted);
    symlink(&precious, &planted).unwrap();
    sandbox.run("report shared").success();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(fs::symlink_metadata(&planted).unwrap().is_file());
    assert!(fs::read_to_string(&planted).unwrap().contains("<html"));
}

#[test]
fn caches_are_of_their_user_and_are_not_written_through_links() {
    let sandbox = Sandbox::with_trace();
    let text = STUDY
        .replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"trace.csv\" }")
        .replace("requests = 200\n", "");
    sandbox.write("study.toml", &text);
    // A digest is kept when the trace is old enough.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let trace = File::options().write(true).open(sandbox.path().join("trace.csv")).unwrap();
    trace.set_modified(old).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    sandbox.run("study check study.toml").success();
    let folder = sandbox.path().join("cache/digests");
    let entries = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let [entry] = &entries()[..] else { panic!("one trace has one entry: {:?}", entries()) };
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(entry), mode(&folder)), (0o600, 0o700));
    let precious = sandbox.write("precious", "precious");
    fs::remove_file(entry).unwrap();
    symlink(&precious, entry).unwrap();
    sandbox.run("study check study.toml").success();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(fs::symlink_metadata(entry).unwrap().is_file());
}

#[test]
fn a_message_of_a_store_is_one_row() {
    let sandbox = Sandbox::new();
    sandbox.write("study.toml", STUDY);
    fs::create_dir_all(sandbox.path().join("study.results/errors")).unwrap();
    let failure =
        r#"{"run": "one\ntwo", "message": "a\nbaseline, seed 1  1  none", "attempts": 1, "refused": false}"#;
    sandbox.write(&format!("study.results/errors/{}.json", "ab".repeat(16)), failure);
    let output = sandbox.run("study errors study.toml").success();
    assert!(output.contains("one\\ntwo") && output.contains("a\\nbaseline"), "{output}");
    let json = sandbox.run("study errors study.toml --json").success();
    assert!(json.contains("one\\ntwo"), "{json}");
}
