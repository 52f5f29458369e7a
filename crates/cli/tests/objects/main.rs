//! Commands with their results in a bucket: a server of S3 behind a proxy that fails, command after command.
//!
//! The server is `moto` (`pip install 'moto[server]'`), run by `$STRIPEWISE_MOTO`, an interpreter that has it, or by
//! `target/moto/bin/python`, which `make test-objects` makes. Without it the tests say that they are skipped.
//! With `STRIPEWISE_AZURITE`, the path of the command `azurite-blob` (`npm install azurite`), the same tests are made against
//! that server of Azure. `STRIPEWISE_OBJECT_SEEDS=200` makes the rounds of 200 seeds; `FROM..TO` is
//! a range of them.

mod proxy;
mod runs;
mod server;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use stripewise_study::StudyStore;

use crate::proxy::{Fault, Proxy};
use crate::server::Server;

/// Points with few seeds and with many.
const STUDY: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 60
precondition = "fresh"
"geometry.blocks" = 64
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:2", "closed:4", "closed:8"]
[replicate]
least = 3
batch = 2
most = 7
until = { figure = "response_mean_ns", relative = 0.04, paired_with = "baseline" }
"#;

type Pairs = BTreeSet<(String, String)>;

/// The digests of all runs of a folder and of their results.
fn pairs(store: &Path) -> Pairs {
    let known = StudyStore::new(store).load(&[]).unwrap_or_else(|error| panic!("{error}"));
    known.iter().map(|(_, row)| (row.run.to_string(), row.results.to_string())).collect()
}

/// A machine with the study file, with a cache of its own.
struct Machine {
    folder: tempfile::TempDir,
    port: u16,
}

impl Machine {
    /// Its requests go to a port of this host.
    fn new(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
        Self { folder, port }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stripewise"));
        for (name, _) in std::env::vars_os() {
            let is_ours = name.to_str().is_none_or(|name| {
                name.starts_with("AWS_")
                    || name.starts_with("AZURE_")
                    || name.to_ascii_lowercase().ends_with("_proxy")
            });
            if is_ours {
                command.env_remove(name);
            }
        }
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env("STRIPEWISE_CACHE_DIR", self.path().join("cache"))
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1")
            .env("AZURE_STORAGE_USE_EMULATOR", "true")
            .env("AZURITE_BLOB_STORAGE_URL", format!("http://127.0.0.1:{}", self.port));
        command
    }

    fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn ended(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// The output of a command that must succeed.
    #[track_caller]
    fn run(&self, line: &str) -> String {
        let ended = self.ended(line);
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{line}: {:?}: {errors}", ended.status);
        String::from_utf8(ended.stdout).unwrap()
    }

    fn status(&self, store: &str) -> serde_json::Value {
        serde_json::from_str(&self.run(&format!("study status study.toml --json --store {store}"))).unwrap()
    }
}

/// What the study makes in a folder.
fn expected() -> Pairs {
    let machine = Machine::new(1);
    machine.run("study run study.toml --jobs 2");
    let pairs = pairs(&machine.path().join("study.results"));
    assert!(pairs.len() > 3 * 2 * 3, "some points need more than the least seeds: {}", pairs.len());
    pairs
}

/// A server, or why there is none.
fn server() -> Option<Server> {
    match Server::start() {
        Ok(server) => Some(server),
        Err(reason) => {
            println!("skipped: no server: {reason}; pip install 'moto[server]'");
            None
        }
    }
}

/// A copy of what a bucket has under a prefix.
fn copied(server: &Server, prefix: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for key in server.keys(prefix) {
        let path = folder.path().join(key.strip_prefix(prefix).unwrap().trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, server.get(&key)).unwrap();
    }
    folder
}

fn seeds() -> Range<u64> {
    let text = std::env::var("STRIPEWISE_OBJECT_SEEDS").unwrap_or_default();
    match text.split_once("..") {
        Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
        None => 0..text.parse().unwrap_or(3),
    }
}

/// In each round one command is killed, two make shares at the same time on other machines, and one makes the rest.
#[test]
fn a_bucket_behind_a_failing_network_gets_the_runs_of_a_folder() {
    let Some(server) = server() else { return };
    let expected = expected();
    let proxy = Proxy::start(server.port());
    for seed in seeds() {
        proxy.begin(seed);
        let (prefix, store) = (format!("round/{seed}"), server.url(&format!("round/{seed}")));
        let [one, other] = [(); 2].map(|()| Machine::new(proxy.port()));
        let mut killed = one.start(&format!("study run study.toml --jobs 2 --store {store}"));
        std::thread::sleep(Duration::from_millis(seed * 97 % 600));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let line = |shard| format!("study worker study.toml --jobs 1 --store {store} --shard {shard}/2");
        let shares = [one.start(&line(1)), other.start(&line(2))];
        for share in shares {
            let ended = share.wait_with_output().unwrap();
            let errors = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "seed {seed}: {errors}");
        }
        let said = other.run(&format!("study run study.toml --jobs 1 --store {store}"));
        assert!(said.contains(&format!("{store}/catalogue/")), "seed {seed}: {said}");

        let copy = copied(&server, &prefix);
        assert_eq!(pairs(copy.path()), expected, "seed {seed}");
        let status = one.status(&store);
        assert_eq!(status["runs"], expected.len(), "seed {seed}: {status}");
        assert_eq!((&status["runs_left"], &status["runs_failed"]), (&0.into(), &0.into()), "seed {seed}");
        println!("seed {seed}: {}", proxy.counts());
    }
    for fault in Fault::ALL {
        assert!(proxy.count(fault) > 0, "no request met {fault:?}: {}", proxy.counts());
    }
    assert!(proxy.refused_puts() > 0, "no put was refused after it had won: {}", proxy.counts());
}

#[test]
fn every_command_takes_a_bucket_and_the_cache_may_be_removed() {
    let Some(server) = server() else { return };
    let machine = Machine::new(server.port());
    let store = server.url("all");
    let text = format!("[study]\nstore = \"{store}\"\n{STUDY}[fail]\nretries = 0\nrun_limit = \"1ns\"\n");
    std::fs::write(machine.path().join("late.toml"), text).unwrap();
    let late = machine.ended("study run late.toml --jobs 1");
    assert_eq!(late.status.code(), Some(3), "{}", String::from_utf8_lossy(&late.stderr));
    let errors = machine.run("study errors late.toml");
    assert!(errors.contains("it took longer than"), "{errors}");

    machine.run(&format!("study run study.toml --jobs 2 --store {store}/"));
    assert_eq!(machine.run("study errors late.toml"), "no run failed\n");
    let shown = machine.run(&format!("study show study.toml --store {store}"));
    let status = machine.status(&store);
    std::fs::remove_dir_all(machine.path().join("cache")).unwrap();
    assert_eq!(machine.run(&format!("study show study.toml --store {store}")), shown);
    assert_eq!(machine.status(&store), status);
    let index = machine.run(&format!("study index study.toml --store {store}"));
    assert!(index.starts_with(&format!("{store}/catalogue/")), "{index}");
    let cleaned = machine.run(&format!("study clean study.toml --store {store}"));
    assert!(cleaned.contains("removed 0 half written files"), "{cleaned}");
}

#[test]
fn a_damaged_pack_and_a_bucket_that_is_not_there_are_reported_by_name() {
    let Some(server) = server() else { return };
    let machine = Machine::new(server.port());
    let store = server.url("damaged");
    machine.run(&format!("study run study.toml --jobs 1 --store {store}"));
    let pack = server.keys("damaged/runs").remove(0);
    let mut bytes = server.get(&pack);
    bytes[100] ^= 1;
    server.put(&pack, &bytes);
    std::fs::remove_dir_all(machine.path().join("cache")).unwrap();
    for (place, part) in [
        (store, format!("{}: this pack of runs is damaged", server.url(&pack))),
        (server.nowhere(), format!("{}/runs: cannot list the objects", server.nowhere())),
        ("ftp://host/x".to_owned(), "a store is a folder, s3://BUCKET/PREFIX".to_owned()),
    ] {
        let ended = machine.ended(&format!("study status study.toml --store {place}"));
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && errors.contains(&part), "{place}: {errors}");
    }
}
