//! `compare` and `run` with their results in a bucket.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stripewise_results::Store;

use crate::proxy::{Fault, Proxy};
use crate::{Machine, Pairs, copied, seeds, server};

const COMPARE: &str =
    "compare -s baseline -s bpu -n 200 --seeds 2 --set geometry.blocks=64 --precondition fresh";

/// The digests of the runs that a command lists.
fn listed(machine: &Machine, place: &str) -> Pairs {
    let listed: Value = serde_json::from_str(&machine.run(&format!("runs {place} --json"))).unwrap();
    let text = |run: &Value, name: &str| run[name].as_str().unwrap().to_owned();
    let runs = listed.as_array().unwrap().iter();
    runs.map(|run| (text(run, "run_digest"), text(run, "results_digest"))).collect()
}

/// The digests of the runs of a directory, whose tables are all read.
fn whole(folder: &Path) -> Pairs {
    let runs = Store::new(folder).runs().unwrap_or_else(|error| panic!("{error}"));
    let verified = runs.iter().inspect(|run| run.verify().unwrap_or_else(|error| panic!("{error}")));
    verified.map(|run| (run.inputs().digest().to_string(), run.results_digest().to_string())).collect()
}

/// What a comparison makes in a directory.
fn expected() -> Pairs {
    let machine = Machine::new(1);
    machine.run(&format!("{COMPARE} --out here"));
    whole(&machine.path().join("here"))
}

/// The copy of a bucket without runs that are not finished: these have no record.
fn finished(server: &server::Server, prefix: &str) -> tempfile::TempDir {
    let copy = copied(server, prefix);
    for entry in std::fs::read_dir(copy.path()).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() && !entry.path().join("run.toml").exists() {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    copy
}

#[test]
fn a_bucket_gets_the_runs_of_a_directory_and_every_command_finds_them() {
    let Some(server) = server() else { return };
    let (one, other) = (Machine::new(server.port()), Machine::new(server.port()));
    let place = server.url("runs");
    let expected = expected();
    let said = one.run(&format!("{COMPARE} --out {place}/"));
    assert!(said.contains(&format!("report    {place}/report.html")), "{said}");
    assert!(said.contains(&format!("results   {place}\n")) && !said.contains("there already"), "{said}");
    assert_eq!(whole(finished(&server, "runs").path()), expected);

    // Another machine finds all runs, and makes none.
    let found: Value = serde_json::from_str(&other.run(&format!("{COMPARE} --json --out {place}"))).unwrap();
    for run in found["runs"].as_array().unwrap() {
        assert_eq!(run["computed"], false, "{run}");
        assert!(run["path"].as_str().unwrap().starts_with(&format!("{place}/")), "{run}");
    }
    let third = Machine::new(server.port());
    assert_eq!(listed(&third, &place), expected);
    let digits = &expected.first().unwrap().0[..12];
    third.run(&format!("report {place}/{digits} -o one.html"));
    let said = third.run(&format!("report {place}"));
    assert_eq!(said, format!("report    {place}/report.html\n"));
    assert!(third.path().join("one.html").exists());
    assert!(server.get("runs/report.html").starts_with(b"<!"));

    // A run with more tables adds them, and keeps the others.
    let rows = "run -s bpu -n 200 --set geometry.blocks=64 --precondition fresh --rows";
    let totals = |digest: &str| server.get(&format!("runs/{digest}/totals.parquet"));
    let made: Value = serde_json::from_str(&third.run(&format!("{rows} --json --out {place}"))).unwrap();
    assert_eq!(made["computed"], true, "{made}");
    let digest = made["run_digest"].as_str().unwrap();
    let before = totals(digest);
    let again: Value = serde_json::from_str(&one.run(&format!("{rows} --json --out {place}"))).unwrap();
    assert_eq!((&again["computed"], &again["results_digest"]), (&false.into(), &made["results_digest"]));
    assert_eq!(totals(digest), before);
    assert!(server.keys("runs").contains(&format!("runs/{digest}/requests.parquet")));
}

#[test]
fn what_decided_the_seeds_is_in_the_bucket_too() {
    let Some(server) = server() else { return };
    let place = server.url("until");
    let line = "compare -s baseline -s bpu -n 200 --seeds 3 --set geometry.blocks=64 --precondition fresh";
    Machine::new(server.port()).run(&format!("{line} --until mean_ns=30% --out {place}"));
    let said = Machine::new(server.port()).run(&format!("report {place}"));
    assert!(said.contains("looks (compare --until)"), "{said}");
}

/// In each round one command is killed, two compare at the same time on other machines, and one finds everything.
#[test]
fn a_killed_or_failed_upload_leaves_nothing_that_looks_whole() {
    let Some(server) = server() else { return };
    let expected = expected();
    let proxy = Proxy::start(server.port());
    let mut unfinished = 0;
    for seed in seeds() {
        proxy.begin(seed);
        let (prefix, place) = (format!("kills/{seed}"), server.url(&format!("kills/{seed}")));
        let machines = [(); 3].map(|()| Machine::new(proxy.port()));
        let line = format!("{COMPARE} --out {place}");
        let mut killed = machines[0].start(&line);
        std::thread::sleep(Duration::from_millis(seed * 193 % 2500));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let copy = finished(&server, &prefix);
        let found = whole(copy.path());
        assert!(found.is_subset(&expected), "seed {seed}: {found:?}");
        let folders: BTreeSet<String> = server
            .keys(&prefix)
            .iter()
            .filter_map(|key| Some(key.strip_prefix(&format!("{prefix}/"))?.split_once('/')?.0.to_owned()))
            .collect();
        unfinished += folders.len() - found.len();
        let both = [machines[0].start(&line), machines[1].start(&line)];
        for one in both {
            let ended = one.wait_with_output().unwrap();
            let errors = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "seed {seed}: {errors}");
        }
        assert_eq!(whole(finished(&server, &prefix).path()), expected, "seed {seed}");
        let said = machines[2].run(&line);
        assert_eq!(said.matches("there already").count(), expected.len(), "seed {seed}: {said}");
        println!("seed {seed}: {} whole after the kill; {}", found.len(), proxy.counts());
    }
    println!("{unfinished} runs were cut within their upload");
    for fault in Fault::ALL {
        assert!(proxy.count(fault) > 0, "no request met {fault:?}: {}", proxy.counts());
    }
}

#[test]
fn a_bucket_that_is_not_there_is_named_before_anything_is_computed() {
    let Some(server) = server() else { return };
    let machine = Machine::new(server.port());
    let nowhere = server.nowhere();
    for (line, part) in [
        (format!("{COMPARE} --out {nowhere}"), format!("{nowhere}/")),
        ("run --out ftp://host/x".to_owned(), "a store is a folder, s3://BUCKET/PREFIX".to_owned()),
        (format!("report {nowhere}"), format!("{nowhere}: cannot list the objects")),
    ] {
        let ended = machine.ended(&line);
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && errors.contains(&part), "{line}: {errors}");
    }
    assert!(!machine.path().join("cache/buckets").exists(), "nothing was computed");
}
