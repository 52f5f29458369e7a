//! Runs of studies: on one thread or several, killed and resumed, they are the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stripewise_results::paired::Kind;
use stripewise_results::replicate::Why;
use stripewise_study::{
    Counts, Moment, Options, Outcome, Plan, StudyFile, StudyStore, Watch, index, run, status, visit,
};

/// Runs of a few milliseconds. The figure varies so much that points end at different looks.
pub(crate) const QUICK: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 60
precondition = "fresh"
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:2", "closed:4", "closed:8"]
[replicate]
least = 3
batch = 2
most = 9
until = { figure = "response_mean_ns", relative = 0.04, paired_with = "baseline" }
"#;

pub(crate) fn plan(folder: &Path, text: &str) -> Arc<Plan> {
    let file = StudyFile::parse(&folder.join("study.toml"), text).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(Plan::new(file, &()).unwrap_or_else(|error| panic!("{error}")))
}

pub(crate) fn store(plan: &Plan) -> StudyStore {
    StudyStore::new(&plan.file().store)
}

/// Options with small batches, so that there are many.
pub(crate) fn options(workers: usize) -> Options {
    Options { workers, batch: Duration::from_millis(20), ..Options::default() }
}

#[track_caller]
pub(crate) fn made(plan: &Arc<Plan>, threads: usize) -> Outcome {
    run(plan, &store(plan), &options(threads), &()).unwrap_or_else(|error| panic!("{error}"))
}

/// The digests of all runs and of their results.
pub(crate) fn pairs(plan: &Plan) -> BTreeSet<(String, String)> {
    let known = store(plan).load(&[]).unwrap();
    let pairs: BTreeSet<_> =
        known.iter().map(|(_, row)| (row.run.to_string(), row.results.to_string())).collect();
    assert_eq!(pairs.len(), known.len(), "no run is there twice");
    pairs
}

/// Seeds and reason of each point.
pub(crate) fn ends(plan: &Plan) -> Vec<(u32, Option<Why>)> {
    let mut ends = Vec::new();
    visit(plan, &store(plan), &[], &(), &mut |point, _, _| {
        ends.push((point.seeds(), point.why()));
        Ok(())
    })
    .unwrap();
    ends
}

#[test]
fn threads_limits_and_one_thread_make_the_same_runs() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [serial, threads, limited] = folders.each_ref().map(|folder| plan(folder.path(), QUICK));
    let outcome = made(&serial, 1);
    let counts = outcome.counts;
    assert_eq!((counts.points_done, counts.points_left, counts.failed, counts.found), (3, 0, 0, 0));
    assert_eq!(counts.made as usize, pairs(&serial).len());
    // The points end at different looks, or this test shows nothing.
    let seeds: BTreeSet<u32> = ends(&serial).iter().map(|(seeds, _)| *seeds).collect();
    assert!(seeds.len() > 1, "{:?}", ends(&serial));

    made(&threads, 4);
    assert_eq!((pairs(&threads), ends(&threads)), (pairs(&serial), ends(&serial)));

    let mut total = 0;
    for round in 0.. {
        let options = Options { limit: Some(5), ..options(2) };
        let counts = run(&limited, &store(&limited), &options, &()).unwrap().counts;
        assert!(counts.made <= 5 && round < 20);
        total += counts.made;
        if counts.made == 0 {
            break;
        }
    }
    assert_eq!((pairs(&limited), ends(&limited)), (pairs(&serial), ends(&serial)));
    assert_eq!(total as usize, pairs(&serial).len(), "no run is made twice");
    let again = made(&serial, 2).counts;
    assert_eq!((again.made, again.found), (0, counts.made));
}

/// A command that was killed, or another study, may leave runs of later seeds without those of earlier ones.
#[test]
fn runs_behind_a_gap_in_the_seeds_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let text = QUICK.split("[replicate]").next().unwrap().to_owned();
    let seeds = |first: u32, seeds: u32| {
        plan(folder.path(), &format!("{text}[replicate]\nfirst = {first}\nseeds = {seeds}\n"))
    };
    // Seeds 2 and 4 to 6 of seeds 1 to 7, of three points with two schemes.
    assert_eq!((made(&seeds(2, 1), 2).counts.made, made(&seeds(4, 3), 2).counts.made), (6, 18));
    let whole = seeds(1, 7);
    // The first look at a point needs two seeds.
    let before = status(&whole, &store(&whole), &()).unwrap();
    assert_eq!((before.runs, before.begun, before.runs_left), (6, 3, 6));
    let counts = made(&whole, 2).counts;
    assert_eq!((counts.found, counts.made, counts.points_done), (24, 18, 3));
    let again = made(&whole, 2).counts;
    assert_eq!((again.found, again.made), (42, 0));
}

/// What `stripewise compare` makes of one point.
#[test]
fn a_run_of_a_study_has_the_results_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), QUICK);
    made(&plan, 2);
    let pairs = pairs(&plan);
    let cell = plan.cells().next().unwrap();
    let out = folder.path().join("compared");
    for (scheme, name) in ["baseline", "bpu"].into_iter().enumerate() {
        let mut spec =
            stripewise_runs::ComparisonSpec::new(vec![stripewise_runs::SchemeSpec::parse(name).unwrap()])
                .unwrap();
        spec.workload.origin =
            stripewise_runs::Origin::generated("uniform:size=8KiB,write=0.5,span=16MiB").unwrap();
        spec.workload.requests = Some(60);
        spec.precondition = "fresh".parse().unwrap();
        spec.pacing = Some("closed:2".parse().unwrap());
        spec.seeds = 3.try_into().unwrap();
        spec.out.clone_from(&out);
        let compared = stripewise_runs::Comparison::new(spec, &()).unwrap();
        for finished in compared.run(1, &()) {
            let finished = finished.unwrap();
            let pair =
                (finished.run.inputs().digest().to_string(), finished.run.results_digest().to_string());
            assert!(pairs.contains(&pair), "{name}, seed {}", finished.seed);
            let known = store(&plan).load(&["response_mean_ns".to_owned()]).unwrap();
            let (_, values) = known.get(&plan.key(&cell, scheme, finished.seed)).unwrap();
            let entry = finished.entry().unwrap();
            let mean = match entry.totals.get("response_mean_ns").unwrap() {
                stripewise_results::Figure::Count(count) => count as f64,
                stripewise_results::Figure::Real(real) => real,
            };
            assert_eq!(values, [mean]);
        }
    }
}

/// Kills the process at a moment of its n-th commit.
struct Killer {
    moment: Moment,
    commits: AtomicU32,
}

impl Watch for Killer {
    fn commit(&self, moment: Moment) {
        if moment == self.moment && self.commits.fetch_sub(1, Ordering::Relaxed) == 1 {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
            // The signal may take a moment.
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

const FOLDER: &str = "STRIPEWISE_KILLED_FOLDER";
const MOMENTS: [Moment; 4] = [Moment::Made, Moment::Written, Moment::Renamed, Moment::Committed];

/// The process that the test below kills.
#[test]
#[ignore = "a part of another test, which starts and kills it"]
fn killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u32>().unwrap();
    let moment = MOMENTS[number("STRIPEWISE_KILLED_MOMENT") as usize];
    let commits = AtomicU32::new(number("STRIPEWISE_KILLED_COMMITS"));
    let plan = plan(Path::new(&folder), QUICK);
    run(&plan, &store(&plan), &options(2), &Killer { moment, commits }).unwrap();
}

#[test]
fn a_study_that_is_killed_at_any_moment_of_a_commit_is_resumed_to_the_same_runs() {
    let whole = tempfile::tempdir().unwrap();
    let serial = plan(whole.path(), QUICK);
    made(&serial, 1);
    let expected = (pairs(&serial), ends(&serial));
    for (moment, name) in MOMENTS.iter().enumerate() {
        for commits in [1, 2, 4] {
            let folder = tempfile::tempdir().unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--ignored", "--exact", "runs::killed"]).env(FOLDER, folder.path());
            child.env("STRIPEWISE_KILLED_MOMENT", moment.to_string());
            child.env("STRIPEWISE_KILLED_COMMITS", commits.to_string());
            let ended = child.output().unwrap();
            assert_eq!(ended.status.code(), None, "{name:?}, commit {commits}: it was killed: {ended:?}");
            let plan = plan(folder.path(), QUICK);
            let before = pairs(&plan);
            // With two threads, the second commit may reach this moment before the first one has passed it.
            let is_kept = matches!(name, Moment::Renamed | Moment::Committed);
            if commits != 2 || is_kept {
                assert_eq!(!before.is_empty(), is_kept || commits > 2, "{name:?}, commit {commits}");
            }
            assert!(
                before.is_subset(&expected.0) && before.len() < expected.0.len(),
                "{name:?}, commit {commits}"
            );
            let counts = made(&plan, 2).counts;
            assert_eq!((pairs(&plan), ends(&plan)), expected, "{name:?}, commit {commits}");
            assert_eq!(
                counts.made as usize,
                expected.0.len() - before.len(),
                "nothing that was kept is made again"
            );
        }
    }
}

#[test]
fn a_study_without_randomness_ends_after_two_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        |n: u64| format!("{},hm,0,Write,{},8192,100\n", 128_166_372_003_061_629 + n * 10_000, n * 8192);
    std::fs::write(folder.path().join("t.csv"), (0..50).map(line).collect::<String>()).unwrap();
    let text = QUICK
        .replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"t.csv\" }")
        .replace("requests = 60", "");
    let plan = plan(folder.path(), &text);
    assert_eq!(made(&plan, 2).counts.made, 3 * 2 * 2);
    assert_eq!(ends(&plan), [(2, Some(Why::Exact)); 3]);
    visit(&plan, &store(&plan), &[], &(), &mut |point, _, _| {
        let rows = point.rows(&plan, &point.values, Kind::Ratio);
        assert!(rows.iter().all(|row| row.margin == Some(0.0)), "{rows:?}");
        Ok(())
    })
    .unwrap();
}

/// The first line of the trace is read when the study is planned, a later one only by a run.
fn with_a_bad_trace(folder: &Path, fail: &str) -> Arc<Plan> {
    let line =
        |n: u64| format!("{},hm,0,Write,{},8192,100\n", 128_166_372_003_061_629 + n * 10_000, n * 8192);
    let good: String = (0..6000).map(line).collect();
    std::fs::write(folder.join("bad.csv"), format!("{good}nonsense\n{good}")).unwrap();
    let text = QUICK
        .replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"bad.csv\" }")
        .replace("requests = 60\n", "")
        .replace("pacing = [\"closed:2\", \"closed:4\", \"closed:8\"]", "requests = [60, 7000]");
    plan(folder, &format!("{text}[fail]\n{fail}\n"))
}

#[test]
fn a_run_that_fails_is_tried_again_and_reported_and_the_others_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let plan = with_a_bad_trace(folder.path(), "retries = 2");
    let counts = made(&plan, 2).counts;
    assert_eq!((counts.points_done, counts.points_failed, counts.failed), (1, 1, 4));
    let failures = store(&plan).failures().unwrap();
    assert_eq!(failures.len(), 4);
    for failed in failures.values() {
        assert!(failed.attempts == 3 && !failed.is_refused, "{failed:?}");
        assert!(
            failed.message.contains("bad.csv:6001:") && failed.run.contains("requests = 7000"),
            "{failed:?}"
        );
    }
    assert_eq!(status(&plan, &store(&plan), &()).unwrap().failed, 4);
    // Three attempts are enough, for later commands too.
    let again = made(&plan, 2).counts;
    assert_eq!((again.made, again.failed), (0, 4));
    assert_eq!(store(&plan).failures().unwrap(), failures);
}

#[test]
fn a_study_in_which_nothing_fits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &QUICK.replace("[compare]", "members = \"ssd:2\"\n[compare]"));
    let error = run(&plan, &store(&plan), &options(2), &()).unwrap_err().to_string();
    assert!(error.contains("no combination is left"), "{error}");
}

#[test]
fn too_many_failures_stop_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let plan = with_a_bad_trace(folder.path(), "retries = 0\non_error = \"stop\"");
    let outcome = made(&plan, 1);
    assert!(outcome.is_stopped && (1..4).contains(&outcome.counts.failed), "{outcome:?}");
}

#[test]
fn a_run_that_succeeds_at_last_is_no_failure_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let hurried = plan(folder.path(), &format!("{QUICK}[fail]\nretries = 0\nrun_limit = \"1ns\"\n"));
    let counts = made(&hurried, 2).counts;
    assert_eq!((counts.made, counts.points_failed), (0, 3));
    let failures = store(&hurried).failures().unwrap();
    assert!(failures.values().all(|failed| failed.message.contains("took longer")), "{failures:?}");
    // The treatment of failures decides no run.
    let patient = plan(folder.path(), &format!("{QUICK}[fail]\nretries = 5\n"));
    let counts = made(&patient, 2).counts;
    assert_eq!((counts.failed, counts.points_done), (0, 3));
    assert!(store(&patient).failures().unwrap().is_empty());
}

#[test]
fn a_trace_that_changes_under_a_study_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let plan = with_a_bad_trace(folder.path(), "retries = 0");
    std::fs::write(folder.path().join("bad.csv"), "128166372003061629,hm,0,Write,0,8192,100\n".repeat(9000))
        .unwrap();
    let error = run(&plan, &store(&plan), &options(2), &()).unwrap_err().to_string();
    assert!(error.contains("bad.csv") && error.contains("changed"), "{error}");
    assert!(store(&plan).load(&[]).unwrap().is_empty());
}

/// Stops after the first commit.
#[derive(Default)]
struct Impatient(std::sync::atomic::AtomicBool);

impl Watch for Impatient {
    fn may_continue(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    fn advanced(&self, _: &Counts) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_study_that_is_interrupted_keeps_what_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), QUICK);
    let error = run(&plan, &store(&plan), &options(2), &Impatient::default()).unwrap_err();
    assert!(matches!(error, stripewise_study::Error::Runs(stripewise_runs::Error::Stopped)), "{error}");
    let kept = pairs(&plan).len();
    assert!(kept > 0);
    let counts = made(&plan, 2).counts;
    assert_eq!((counts.points_done, counts.made as usize + kept), (3, pairs(&plan).len()));
}

#[test]
fn status_counts_what_is_there_and_a_run_takes_little_space() {
    let folder = tempfile::tempdir().unwrap();
    let text = QUICK.replace(
        "[\"closed:2\", \"closed:4\", \"closed:8\"]",
        "{ from = \"closed:1\", to = \"closed:8\", step = 1 }",
    );
    let plan = plan(folder.path(), &text);
    let nothing = status(&plan, &store(&plan), &()).unwrap();
    assert_eq!((nothing.points, nothing.runs, nothing.runs_left), (8, 0, 8 * 2 * 2));
    let counts = made(&plan, 2).counts;
    let found = status(&plan, &store(&plan), &()).unwrap();
    assert_eq!((found.points, found.done(), found.runs_left, found.begun), (8, 8, 0, 0));
    assert_eq!((found.runs, found.stored), (counts.made, counts.made));
    let (narrowest, widest) = found.widths.unwrap();
    // With one request at a time both schemes do the same.
    assert!(narrowest == 0.0 && widest > 0.0 && counts.widest == Some(widest), "{found:?} {counts:?}");

    let bytes = |folder: &str| -> u64 {
        let files = std::fs::read_dir(plan.file().store.join(folder)).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let (path, rows) = index(&plan, &store(&plan), &()).unwrap();
    assert_eq!(rows, counts.made);
    assert_eq!(path.metadata().unwrap().len(), bytes("catalogue"));
    let a_run = (bytes("runs") / counts.made, bytes("catalogue") / counts.made);
    println!("{} runs of {a_run:?} bytes", counts.made);
    assert!(a_run.0 + a_run.1 < 5000, "{a_run:?}");
    assert_eq!(std::fs::read_dir(plan.file().store.join("runs")).unwrap().count(), 1, "packs are joined");
}
