//! Batches: what a coordinator hands out, workers elsewhere make, and reports bring back.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stripewise_base::prng::Prng;
use stripewise_runs::{Document, What};
use stripewise_study::{
    Batch, Coordinator, Counts, Error, Next, Options, Plan, Shard, Worker, index, run, status,
};

use crate::runs::{QUICK, ends, made, options, pairs, plan, store};

/// Makes a batch in a worker, and returns its reports.
fn executed(worker: &Worker, batch: &Batch) -> Result<Vec<Vec<u8>>, Error> {
    let mut reports = Vec::new();
    worker.execute(&batch.to_bytes(), &(), &mut |report| {
        reports.push(report);
        Ok(())
    })?;
    Ok(reports)
}

fn coordinator(plan: &Arc<Plan>, options: Options) -> Coordinator {
    Coordinator::new(plan, &store(plan), options).unwrap()
}

/// Runs a plan with workers that get batches as bytes and end in an order that the seed decides.
fn by_workers(plan: &Arc<Plan>, seed: u64) -> Counts {
    let mut random = Prng::new(seed);
    let workers = [(); 3].map(|()| Worker::new("a worker"));
    let mut coordinator = coordinator(plan, options(3));
    let mut waiting: VecDeque<Vec<Vec<u8>>> = VecDeque::new();
    loop {
        let next = coordinator.next(&());
        if matches!(next, Next::Done) && waiting.is_empty() {
            return coordinator.finish().unwrap().counts;
        }
        if let Next::Batch(batch) = next {
            assert!(batch.runs() > 0);
            let worker = &workers[random.next_u64() as usize % workers.len()];
            waiting.push_back(executed(worker, &batch).unwrap());
            if waiting.len() < 3 && !random.next_u64().is_multiple_of(3) {
                continue;
            }
        }
        let at = random.next_u64() as usize % waiting.len();
        for report in waiting.remove(at).unwrap() {
            coordinator.report(&report).unwrap();
            // Engines may deliver a result twice.
            coordinator.report(&report).unwrap();
        }
    }
}

#[test]
fn workers_elsewhere_make_the_same_runs_in_any_order() {
    let serial_folder = tempfile::tempdir().unwrap();
    let serial = plan(serial_folder.path(), QUICK);
    let counts = made(&serial, 1).counts;
    for seed in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), QUICK);
        let found = by_workers(&plan, seed);
        assert_eq!((pairs(&plan), ends(&plan)), (pairs(&serial), ends(&serial)), "seed {seed}");
        assert_eq!((found.made, found.points_done), (counts.made, counts.points_done), "seed {seed}");
    }
}

#[test]
fn shards_make_the_same_runs_as_one_command() {
    let serial_folder = tempfile::tempdir().unwrap();
    let text = QUICK.replace("\"closed:8\"", "\"closed:8\", \"closed:16\", \"closed:32\"");
    let serial = plan(serial_folder.path(), &text);
    made(&serial, 1);
    for of in [1, 2, 5] {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &text);
        let mut total = 0;
        for at in 1..=of {
            let shard: Shard = format!("{at}/{of}").parse().unwrap();
            let outcome = run(&plan, &store(&plan), &Options { shard, ..options(2) }, &()).unwrap();
            total += outcome.counts.made;
        }
        assert_eq!((pairs(&plan), ends(&plan)), (pairs(&serial), ends(&serial)), "{of} shards");
        assert_eq!(total as usize, pairs(&serial).len(), "{of} shards: no run is made twice");
        // The command that gathers them finds everything.
        assert_eq!(made(&plan, 1).counts.made, 0);
        assert_eq!(index(&plan, &store(&plan), &()).unwrap().1, total);
    }
}

/// A batch with another value of one key.
fn altered(batch: &Batch, key: &str, value: serde_json::Value) -> Vec<u8> {
    let mut parsed: serde_json::Value = serde_json::from_slice(&batch.to_bytes()).unwrap();
    parsed[key] = value;
    parsed.to_string().into_bytes()
}

fn batch(plan: &Arc<Plan>) -> Batch {
    match coordinator(plan, options(1)).next(&()) {
        Next::Batch(batch) => batch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_of_another_build_is_refused_before_any_run_and_both_builds_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), QUICK);
    let bytes = altered(&batch(&plan), "build", "0.0.9+0123abcd".into());
    let error = Worker::new("h12").execute(&bytes, &(), &mut |_| Ok(())).unwrap_err();
    assert!(matches!(error, Error::OtherBuild { .. }), "{error}");
    let text = error.to_string();
    for part in ["worker h12", "0.0.9+0123abcd", plan.version()] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(store(&plan).load(&[]).unwrap().is_empty());
}

#[test]
fn a_worker_that_resolves_another_plan_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), QUICK);
    let other = altered(&batch(&plan), "plan", "00".repeat(32).into());
    let error = Worker::new("h12").execute(&other, &(), &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("h12") && error.contains(&plan.digest().to_string()), "{error}");
    let nowhere = altered(&batch(&plan), "runs", serde_json::json!([[99, 0, 1]]));
    let error = Worker::new("h12").execute(&nowhere, &(), &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("no point 99"), "{error}");
}

/// A device, a scheme and a profile of the study's own travel with its batches.
#[test]
fn a_batch_needs_no_file_beside_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let preset = |what, name: &str| Document::find(what, name).unwrap().text;
    write("device.toml", &preset(What::Device, "ssdsim-5+1"));
    write("scheme.toml", &preset(What::Scheme, "bpu"));
    let profile = stripewise_runs::builtin_profile("paper000/lun1").unwrap().profile.unwrap();
    write("profile.toml", &profile.to_toml());
    let text = QUICK
        .replace("[base]", "[base]\ndevice = \"device.toml\"")
        .replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "\"profile.toml\"")
        .replace("\"bpu\"", "\"scheme.toml\"");
    let plan = plan(folder.path(), &text);
    let batch = batch(&plan);
    for name in ["device.toml", "profile.toml", "scheme.toml"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    executed(&Worker::new("elsewhere"), &batch).unwrap();
    assert_eq!(pairs(&plan).len(), batch.runs());
}

/// Writes a trace, and returns a study of it.
fn trace(folder: &Path, lines: u64) -> String {
    let line =
        |n: u64| format!("{},hm,0,Write,{},8192,100\n", 128_166_372_003_061_629 + n * 10_000, n * 8192);
    std::fs::write(folder.join("t.csv"), (0..lines).map(line).collect::<String>()).unwrap();
    QUICK
        .replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"t.csv\" }")
        .replace("requests = 60\n", "")
}

#[test]
fn a_worker_whose_trace_differs_is_refused_and_both_digests_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &trace(folder.path(), 50));
    let batch = batch(&plan);
    let digest = |folder: &Path| stripewise_trace::digest(&folder.join("t.csv")).unwrap();
    let was = digest(folder.path());
    executed(&Worker::new("here"), &batch).unwrap();
    let before = pairs(&plan).len();
    trace(folder.path(), 51);
    let error = executed(&Worker::new("here"), &batch).unwrap_err();
    assert!(matches!(error, Error::OtherTrace { .. }), "{error}");
    let text = error.to_string();
    for part in ["t.csv", &was, &digest(folder.path())] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(pairs(&plan).len(), before);
}

/// A worker that dies as soon as it comes to one of some runs.
struct Dying {
    poison: BTreeSet<(u64, u64, u64)>,
    worker: Worker,
}

impl Dying {
    /// The report of the runs before the first poison, and whether the worker lives.
    fn make(&self, batch: &Batch) -> (Vec<Vec<u8>>, bool) {
        let mut parsed: serde_json::Value = serde_json::from_slice(&batch.to_bytes()).unwrap();
        let runs: Vec<(u64, u64, u64)> = serde_json::from_value(parsed["runs"].clone()).unwrap();
        let dies = runs.iter().position(|run| self.poison.contains(run));
        parsed["runs"] = serde_json::json!(runs[..dies.unwrap_or(runs.len())]);
        let mut reports = Vec::new();
        let bytes = parsed.to_string().into_bytes();
        self.worker
            .execute(&bytes, &(), &mut |report| {
                reports.push(report);
                Ok(())
            })
            .unwrap();
        (reports, dies.is_none())
    }
}

/// Engines without reports before the end of a batch lose all its runs with its worker; others lose the rest.
#[test]
fn poison_runs_are_isolated_and_all_others_are_made() {
    let whole_folder = tempfile::tempdir().unwrap();
    let text = QUICK.split("[replicate]").next().unwrap().to_owned() + "[replicate]\nseeds = 8\n";
    let whole = plan(whole_folder.path(), &text);
    made(&whole, 2);
    for seed in 0..8u64 {
        let mut random = Prng::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let retries = seed as u32 % 3;
        let plan = plan(folder.path(), &format!("{text}[fail]\nretries = {retries}\n"));
        // The first two seeds decide whether a point is exact; without them, it gets no others.
        let mut any = || (random.next_u64() % 3, random.next_u64() % 2, 3 + random.next_u64() % 6);
        let poison: BTreeSet<_> = (0..seed % 4).map(|_| any()).collect();
        let streams = seed % 2 == 0;
        let dying = Dying { poison: poison.clone(), worker: Worker::new("mortal") };
        let large = Options { batch: Duration::from_secs(30), ..options(1) };
        let mut coordinator = coordinator(&plan, large);
        let mut deaths = 0;
        while let Next::Batch(batch) = coordinator.next(&()) {
            let (reports, lives) = dying.make(&batch);
            if lives || streams {
                reports.iter().for_each(|report| _ = coordinator.report(report).unwrap());
            }
            if !lives {
                deaths += 1;
                coordinator.lost(batch.id(), "killed by signal 9").unwrap();
            }
            assert!(deaths < 100, "seed {seed}: it does not end");
        }
        let counts = coordinator.finish().unwrap().counts;
        let expected = pairs(&whole).len() - poison.len();
        assert_eq!((counts.made as usize, counts.failed as usize), (expected, poison.len()), "seed {seed}");
        assert!(pairs(&plan).is_subset(&pairs(&whole)) && pairs(&plan).len() == expected, "seed {seed}");
        let failures = store(&plan).failures().unwrap();
        assert_eq!(failures.len(), poison.len(), "seed {seed}");
        for failed in failures.values() {
            let tried_alone = failed.attempts == retries + 1 && failed.message.contains("signal 9");
            assert!(tried_alone && failed.run.contains("seed"), "seed {seed}: {failed:?}");
        }
        assert_eq!(status(&plan, &store(&plan), &()).unwrap().failed as usize, poison.len());
    }
}
