//! The directory of results: every run found in it is finished and complete.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use stripewise_base::prng::Prng;
use stripewise_results::digest::TableDigest;
use stripewise_results::{Error, Figure, Figures, FinishedRun, Optional, Store, Table};
use stripewise_sim::tables::{MemberRow, Sink, UpdateRow};

use crate::common::{inputs, request};

/// A separate directory for each test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stripewise-store-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Store {
        Store::new(self.0.join("results"))
    }

    fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join("results")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn totals(requests: u64) -> Figures {
    let mut totals =
        Figures::from_list(&[("requests", Figure::Count(requests)), ("mean_ns", Figure::Real(0.5))]).unwrap();
    totals.add_measured("cpu_ns", Figure::Count(123)).unwrap();
    totals
}

fn run(store: &Store, seed: u64, requests: u64, table: bool) -> Result<FinishedRun, Error> {
    let mut writer = store.begin(&inputs(seed), Optional { requests: table, updates: false })?;
    let mut prng = Prng::new(seed);
    (0..requests).for_each(|_| writer.request(&request(&mut prng)));
    writer.finish(&[MemberRow { member: 3, ..Default::default() }], &totals(requests))
}

#[test]
fn a_run_with_more_tables_takes_the_place_of_one_with_fewer() {
    let scratch = Scratch::new("updates");
    let store = scratch.store();
    let finish = |optional: Optional| {
        let mut writer = store.begin(&inputs(1), optional).unwrap();
        writer.update(&UpdateRow { adjusted: 1, ..Default::default() });
        writer.finish(&[], &totals(0)).unwrap()
    };
    assert!(!finish(Optional::NONE).has(Table::Updates));
    assert_eq!(rows(&finish(Optional::ALL), Table::Updates), 1);
    assert!(finish(Optional::NONE).has(Table::Updates), "the fuller run stays");
}

fn rows(run: &FinishedRun, table: Table) -> usize {
    run.batches(table).unwrap().unwrap().map(|batch| batch.unwrap().num_rows()).sum()
}

#[test]
fn a_finished_run_is_found_and_read_back() {
    let scratch = Scratch::new("found");
    let store = scratch.store();
    assert!(store.find(inputs(1).digest()).unwrap().is_none());
    let finished = run(&store, 1, 1000, true).unwrap();
    let found = store.find(inputs(1).digest()).unwrap().expect("it is finished");
    assert_eq!(found.path(), store.path(inputs(1).digest()));
    assert_eq!(found.inputs(), &inputs(1));
    assert_eq!(found.totals().unwrap(), totals(1000));
    assert_eq!(found.results_digest(), finished.results_digest());
    assert_eq!(
        (rows(&found, Table::Requests), rows(&found, Table::Members), rows(&found, Table::Gcs)),
        (1000, 1, 0)
    );
    assert!(store.find(inputs(2).digest()).unwrap().is_none(), "another seed is another run");
    let mut files: Vec<String> = fs::read_dir(found.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "gc_slices.parquet",
            "gcs.parquet",
            "latencies.parquet",
            "members.parquet",
            "requests.parquet",
            "run.toml",
            "samples.parquet",
            "totals.parquet"
        ]
    );
    assert_eq!(scratch.entries(), [inputs(1).digest().to_string()]);
}

#[test]
fn the_same_run_twice_has_one_results_digest() {
    let (a, b) = (Scratch::new("twice-a"), Scratch::new("twice-b"));
    let (first, second) =
        (run(&a.store(), 1, 70_000, true).unwrap(), run(&b.store(), 1, 70_000, true).unwrap());
    assert_eq!(first.results_digest(), second.results_digest());
    let without = run(&Scratch::new("twice-c").store(), 1, 70_000, false).unwrap();
    let shared = |run: &FinishedRun| -> Vec<TableDigest> {
        run.digests().iter().copied().filter(|digest| digest.table != Table::Requests).collect()
    };
    assert_eq!(shared(&first), shared(&without), "the other tables do not depend on the table of requests");
}

#[test]
fn a_run_that_is_dropped_leaves_nothing() {
    let scratch = Scratch::new("dropped");
    let writer = scratch.store().begin(&inputs(1), Optional::ALL).unwrap();
    assert_eq!(scratch.entries().len(), 1);
    drop(writer);
    assert!(scratch.entries().is_empty());
}

/// The directory for the child process of the test below, when that test starts it.
const CHILD: &str = "STRIPEWISE_TEST_CHILD_DIRECTORY";

#[test]
fn a_killed_run_is_not_found_and_what_it_left_goes_when_the_run_is_made_again() {
    if let Some(root) = std::env::var_os(CHILD) {
        let mut writer = Store::new(PathBuf::from(root)).begin(&inputs(1), Optional::ALL).unwrap();
        let mut prng = Prng::new(1);
        (0..300_000).for_each(|_| writer.request(&request(&mut prng)));
        println!("\nwriting");
        std::io::stdout().flush().unwrap();
        // Waits until it is killed, or until the test that started it ends.
        let _ = std::io::stdin().lock().read_line(&mut String::new());
        panic!("this process was to be killed");
    }

    let scratch = Scratch::new("killed");
    let test = "store::a_killed_run_is_not_found_and_what_it_left_goes_when_the_run_is_made_again";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, scratch.0.join("results"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "writing"), "the child writes its run");

    let store = scratch.store();
    assert!(store.find(inputs(1).digest()).unwrap().is_none(), "a run that is being written is not found");
    let left = scratch.entries();
    assert!(left.len() == 1 && left[0].starts_with(".partial-"), "{left:?}");
    drop(store.begin(&inputs(1), Optional::NONE).unwrap());
    assert_eq!(scratch.entries(), left, "what a living process writes is left alone");

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch.entries(), left);
    assert!(store.find(inputs(1).digest()).unwrap().is_none(), "a killed run is not found");
    run(&store, 1, 10, true).unwrap();
    assert_eq!(scratch.entries(), [inputs(1).digest().to_string()]);
}

#[test]
fn a_run_made_again_keeps_the_one_that_is_there_unless_it_adds_the_table_of_requests() {
    let scratch = Scratch::new("again");
    let store = scratch.store();
    let first = run(&store, 1, 100, false).unwrap();
    assert!(!first.has(Table::Requests) && first.batches(Table::Requests).unwrap().is_none());
    let with = run(&store, 1, 100, true).unwrap();
    assert_eq!(rows(&with, Table::Requests), 100);
    let again = run(&store, 1, 100, false).unwrap();
    assert!(again.has(Table::Requests), "the fuller run stays");
    assert_eq!(scratch.entries(), [inputs(1).digest().to_string()]);
}

#[test]
fn a_run_made_again_with_other_results_is_an_error() {
    let scratch = Scratch::new("unlike");
    let store = scratch.store();
    let first = run(&store, 1, 100, true).unwrap();
    let error = run(&store, 1, 99, true).unwrap_err();
    assert!(matches!(error, Error::NotReproduced { .. }), "{error}");
    assert!(error.to_string().contains(&first.path().display().to_string()), "{error}");
    assert_eq!(scratch.entries(), [inputs(1).digest().to_string()], "the second left nothing");
}

/// Damages one file of a finished run; the run is then neither found nor absent, but an error that names the file.
fn harmed(name: &str, file: &str, harm: impl Fn(&Path)) -> String {
    let scratch = Scratch::new(name);
    let store = scratch.store();
    let path = run(&store, 1, 10, true).unwrap().path().join(file);
    harm(&path);
    let error = store.find(inputs(1).digest()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&path.display().to_string()) && text.contains("delete the run's directory"),
        "{text}"
    );
    text
}

#[test]
fn a_run_with_a_harmed_file_is_not_taken_for_a_result() {
    let cut = |path: &Path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    };
    assert!(harmed("cut", "requests.parquet", cut).contains("bytes, but run.toml says"));
    harmed("gone", "members.parquet", |path| fs::remove_file(path).unwrap());
    harmed("no-record", "run.toml", |path| fs::remove_file(path).unwrap());
    harmed("not-toml", "run.toml", |path| fs::write(path, "[[").unwrap());
    let replace = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(path, text.replacen(from, to, 1)).unwrap();
        }
    };
    assert!(harmed("seed", "run.toml", replace("seed = \"1\"", "seed = \"2\"")).contains("has the digest"));
    assert!(
        harmed("no-seed", "run.toml", replace("seed = \"1\"", "seed = \"-1\"")).contains("`seed` should be")
    );
    assert!(harmed("rows", "run.toml", replace("rows = 10", "rows = 11")).contains("results digest"));
    assert!(harmed("count", "run.toml", replace("rows = 10", "rows = -1")).contains("tables.requests.rows"));
}

#[test]
fn totals_that_are_not_those_of_the_record_are_refused() {
    let scratch = Scratch::new("totals");
    let store = scratch.store();
    let (ours, other) = (run(&store, 1, 10, true).unwrap(), run(&store, 2, 20, true).unwrap());
    let file = |run: &FinishedRun| run.path().join("totals.parquet");
    fs::copy(file(&other), file(&ours)).unwrap();
    let error = ours.totals().unwrap_err();
    assert!(
        error.to_string().contains("totals.parquet") && error.to_string().contains("its digest is"),
        "{error}"
    );
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_that_says_what_to_do() {
    let scratch = Scratch::new("file");
    fs::write(scratch.0.join("results"), "in the way").unwrap();
    let error = run(&scratch.store(), 1, 1, true).unwrap_err().to_string();
    assert!(error.contains("results: cannot make the directory of results"), "{error}");
    assert!(error.contains("a file is in the way"), "{error}");
    fs::create_dir_all(scratch.0.join("other")).unwrap();
    let store = Store::new(scratch.0.join("other"));
    fs::write(store.path(inputs(1).digest()), "in the way").unwrap();
    assert!(matches!(store.find(inputs(1).digest()), Err(Error::Damaged { .. })));
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_digest_and_an_ambiguous_one_lists_the_candidates() {
    let scratch = Scratch::new("prefix");
    let store = scratch.store();
    for seed in 0..20 {
        run(&store, seed, 1, false).unwrap();
    }
    let digests: Vec<String> =
        store.runs().unwrap().iter().map(|run| run.inputs().digest().to_string()).collect();
    for digest in &digests {
        // As many digits as it takes, and one fewer.
        let shared =
            |length: usize| digests.iter().filter(|other| other.starts_with(&digest[..length])).count();
        let enough = (1..=64).find(|&length| shared(length) == 1).unwrap();
        let found = store.find_prefix(&digest[..enough]).unwrap();
        assert_eq!(found.inputs().digest().to_string(), *digest);
        if enough > 1 {
            let error = store.find_prefix(&digest[..enough - 1]).unwrap_err();
            let text = error.to_string();
            assert!(
                matches!(error, Error::AmbiguousRun { ref candidates, .. } if candidates.len() == shared(enough - 1))
            );
            assert!(text.contains(&digest[..16]) && text.contains("give more digits"), "{text}");
        }
    }
    let all = store.find_prefix("").unwrap_err().to_string();
    assert!(all.ends_with("and 10 more"), "{all}");
    let none = store.find_prefix("0123456789abcdef").unwrap_err().to_string();
    assert!(
        none.contains("no run") && none.contains("of 20 runs") && none.contains("stripewise runs"),
        "{none}"
    );
}

#[test]
fn a_scan_passes_the_chosen_columns_of_every_row_in_order() {
    let scratch = Scratch::new("scan");
    let store = scratch.store();
    let finished = run(&store, 5, 10_000, true).unwrap();
    let (mut latencies, mut kinds) = (Vec::new(), Vec::new());
    let each = |columns: &[Vec<u64>]| {
        latencies.extend_from_slice(&columns[0]);
        kinds.extend_from_slice(&columns[1]);
    };
    assert!(finished.scan(Table::Requests, &["latency_ns", "kind"], each).unwrap());
    assert_eq!(latencies, finished.numbers(Table::Requests, "latency_ns").unwrap());
    assert_eq!(kinds, finished.numbers(Table::Requests, "kind").unwrap());
    assert!(!finished.scan(Table::Updates, &["row"], |_| ()).unwrap(), "the run left this table out");
    let error = finished.scan(Table::Requests, &["volumes"], |_| ()).unwrap_err().to_string();
    assert!(error.contains("no column `volumes`"), "{error}");
    assert!(finished.finished_at().unwrap().elapsed().is_ok(), "it was finished before now");
}
