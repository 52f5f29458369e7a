//! The threads of a comparison change no result.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use stripewise_runs::{Comparison, ComparisonSpec, Error, Observer, Origin, SchemeSpec, WorkloadSpec};
use stripewise_sim::Progress;
use stripewise_trace::OpenOptions;
use stripewise_trace::fold::Fold;

/// All schemes, over `origin`, with every table.
fn comparison(out: &Path, schemes: &[&str], origin: Origin, fold: Fold) -> Comparison {
    let schemes = schemes.iter().map(|name| SchemeSpec::parse(name).unwrap()).collect();
    let mut spec = ComparisonSpec::new(schemes).unwrap();
    spec.settings =
        vec!["device.geometry.blocks=64".parse().unwrap(), "device.geometry.chips=1".parse().unwrap()];
    spec.workload = WorkloadSpec { origin, requests: Some(12_000), fold };
    spec.tables.requests = true;
    spec.tables.updates = true;
    spec.tables.gcs = true;
    spec.out = out.to_owned();
    Comparison::new(spec, &()).unwrap()
}

fn generated() -> Origin {
    Origin::generated("uniform:write=0.7,size=8KiB,span=64MiB").unwrap()
}

/// A trace with a broken line, so that the report of its reader is in the totals.
fn recorded(folder: &Path) -> Origin {
    let path = folder.join("trace.csv");
    let line = |n: u64| {
        let (time, offset) = (128_166_372_000_000_000 + n * 3_000, n * 7919 % 10_000 * 4096);
        format!("{time},host,0,{},{offset},8192,100\n", if n.is_multiple_of(3) { "Read" } else { "Write" })
    };
    let mut lines: Vec<String> = (0..20_000).map(line).collect();
    lines[11_000] = "broken\n".to_owned();
    lines[13_500] = "broken, and beyond the limit\n".to_owned();
    std::fs::write(&path, lines.concat()).unwrap();
    Origin::Trace(path, OpenOptions { skip_bad: 100, ..OpenOptions::default() })
}

/// The digest and the bytes of every table of each run.
fn tables(comparison: &Comparison, threads: Option<usize>) -> Vec<(String, BTreeMap<String, Vec<u8>>)> {
    let runs: Vec<_> = match threads {
        Some(threads) => comparison.run(threads, &()),
        None => (0..comparison.len()).map(|place| comparison.run_one(place, &())).collect(),
    };
    let tables = |path: &Path| {
        let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
        // The totals and the record of the run contain the measured processor time.
        let files = files.filter(|file| file.extension().is_some_and(|it| it == "parquet"));
        let files = files.filter(|file| file.file_stem().is_some_and(|name| name != "totals"));
        files
            .map(|file| (file.display().to_string(), std::fs::read(file).unwrap()))
            .collect::<BTreeMap<_, _>>()
    };
    let found = |run: stripewise_runs::Finished| {
        let here = run.run.path().display().to_string();
        let tables = tables(run.run.path()).into_iter();
        let tables = tables.map(|(path, bytes)| (path.replace(&here, ""), bytes)).collect();
        (run.run.results_digest().to_string(), tables)
    };
    runs.into_iter().map(|run| found(run.unwrap())).collect()
}

#[test]
fn results_are_the_same_with_any_number_of_threads_and_with_shared_requests() {
    let folder = tempfile::tempdir().unwrap();
    let dense = Fold::Dense { unit: 1 << 20 };
    for (origin, fold) in [
        (generated(), Fold::Modulo),
        (recorded(folder.path()), Fold::Modulo),
        (recorded(folder.path()), dense),
    ] {
        let make = |schemes: &[&str], threads| {
            let out = tempfile::tempdir().unwrap();
            tables(&comparison(out.path(), schemes, origin.clone(), fold), threads)
        };
        // Each run by itself, which shares nothing and has no other thread.
        let expected = make(&["baseline", "raid0"], None);
        assert!(expected.iter().all(|(_, tables)| tables.len() >= 7), "{:?}", expected[0].1.keys());
        for threads in [1, 2, 4] {
            assert!(make(&["baseline", "raid0"], Some(threads)) == expected, "{threads} threads");
            assert!(make(&["baseline"], Some(threads)) == expected[..1], "{threads} threads, one run");
        }
    }
}

/// Stops a comparison permanently at its request number `at`.
struct StoppingAt {
    at: u64,
    stopped: AtomicBool,
    reports: AtomicUsize,
}

impl Observer for StoppingAt {
    fn may_continue(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    fn advanced(&self, _run: usize, progress: Progress) {
        self.reports.fetch_add(1, Ordering::Relaxed);
        if progress.requests >= self.at {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_study_with_more_threads_than_runs_is_stopped_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    for schemes in [&["baseline"][..], &["baseline", "raid0"]] {
        let comparison = comparison(&out, schemes, recorded(folder.path()), Fold::Modulo);
        let observer = StoppingAt { at: 1000, stopped: AtomicBool::new(false), reports: AtomicUsize::new(0) };
        for outcome in comparison.run(4, &observer) {
            assert!(matches!(outcome, Err(Error::Stopped)));
        }
        assert!(observer.reports.load(Ordering::Relaxed) > 0);
        assert_eq!(std::fs::read_dir(&out).map_or(0, Iterator::count), 0);
    }
}

#[test]
fn an_error_of_the_trace_reaches_every_run_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let Origin::Trace(path, _) = recorded(folder.path()) else { unreachable!("it is a trace") };
    for threads in [1, 2, 4] {
        let origin = Origin::Trace(path.clone(), OpenOptions::default());
        let comparison =
            comparison(&folder.path().join("results"), &["baseline", "raid0"], origin, Fold::Modulo);
        let outcomes = comparison.run(threads, &());
        assert_eq!(outcomes.len(), 2);
        for outcome in outcomes {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("trace.csv:11001:"), "{threads} threads: {message}");
        }
    }
}
