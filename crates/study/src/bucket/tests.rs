use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stripewise_results::sink::Output;
use stripewise_results::{Error as ResultsError, Optional, Table, TableSink};
use stripewise_runs::{Comparison, ComparisonSpec, Observer, SchemeSpec, Tables};

use super::*;
use crate::media::{Moment, Partial, Write};

/// A bucket that answers N requests, and then fails.
#[derive(Debug)]
struct Failing {
    left: AtomicU32,
    requests: AtomicU32,
}

impl Failing {
    fn new(left: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(left), requests: AtomicU32::new(0) })
    }

    fn step(&self, path: &Path) -> Result<(), Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let failed = |_| Error::io(path, "reach the bucket")(io::Error::other("the cable is out"));
        left.map(drop).map_err(failed)
    }
}

impl Media for Failing {
    fn place(&self, root: &Path) -> String {
        Folder.place(root)
    }

    fn list(&self, folder: &Path, ending: &str) -> Result<Vec<(PathBuf, u64)>, Error> {
        self.step(folder)?;
        Folder.list(folder, ending)
    }

    fn list_below(&self, root: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
        self.step(root)?;
        Folder.list_below(root, name)
    }

    fn read_at_most(&self, path: &Path, most: u64) -> Result<Bytes, Error> {
        self.step(path)?;
        Folder.read_at_most(path, most)
    }

    fn copy(&self, path: &Path, most: u64, to: &mut File) -> Result<(), Error> {
        self.step(path)?;
        Folder.copy(path, most, to)
    }

    fn create(&self, path: &Path, bytes: &Bytes) -> Result<Option<Bytes>, Error> {
        self.step(path)?;
        Folder.create(path, bytes)
    }

    fn put_pack(&self, _: &Path, _: Vec<u8>, _: &dyn Fn(Moment)) -> Result<(), Error> {
        unreachable!("no packs here")
    }

    fn replace(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        self.step(path)?;
        Folder.replace(path, bytes)
    }

    fn write(&self, path: &Path, write: Write<'_>) -> Result<(), Error> {
        self.step(path)?;
        Folder.write(path, write)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.step(path)?;
        Folder.remove(path)
    }

    fn partials(&self, _: &Path, _: Duration) -> Result<Vec<Partial>, Error> {
        unreachable!("nothing is swept here")
    }
}

struct Patient;

impl Observer for Patient {
    fn may_continue(&self) -> bool {
        true
    }
}

/// A folder that plays the bucket, and mirrors of several machines.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("bucket")
    }

    fn bucket(&self, machine: &str, steps: u32) -> Arc<RunBucket> {
        self.over(machine, Failing::new(steps))
    }

    fn over(&self, machine: &str, media: Arc<Failing>) -> Arc<RunBucket> {
        Arc::new(RunBucket::over(self.root(), media, self.folder.path().join(machine)))
    }

    fn machine(&self, name: &str) -> Arc<RunBucket> {
        self.bucket(name, u32::MAX)
    }

    /// The runs of the bucket, each with all its tables.
    fn runs(&self) -> Vec<FinishedRun> {
        if !self.root().exists() {
            return Vec::new();
        }
        let is_whole = |entry: &fs::DirEntry| entry.path().join(RUN).exists();
        let entries = fs::read_dir(self.root()).unwrap().map(Result::unwrap).filter(is_whole);
        let runs = entries.map(|entry| FinishedRun::at(&entry.path()).unwrap());
        runs.inspect(|run| run.verify().unwrap()).collect()
    }

    fn file(&self, run: &FinishedRun, name: &str) -> PathBuf {
        self.root().join(run.inputs().digest().to_string()).join(name)
    }
}

/// Makes or finds one small run.
fn made(
    bucket: &Arc<RunBucket>,
    set: impl FnOnce(&mut ComparisonSpec),
) -> Result<(FinishedRun, bool), StudyError> {
    let mut spec = ComparisonSpec::new(vec![SchemeSpec::parse("baseline").unwrap()]).unwrap();
    spec.workload.requests = Some(200);
    spec.settings = vec!["geometry.blocks=64".parse().unwrap()];
    spec.out = bucket.mirror().to_owned();
    spec.remote = Some(Arc::clone(bucket) as Arc<dyn Remote>);
    set(&mut spec);
    let finished = Comparison::new(spec, &Patient)?.run_one(0, &Patient)?;
    Ok((finished.run, finished.cpu_ns.is_some()))
}

fn with_requests(spec: &mut ComparisonSpec) {
    spec.tables = Tables { requests: true, ..Tables::default() };
}

#[test]
fn a_run_of_one_machine_is_found_on_another_one() {
    let place = Place::new();
    let (ours, is_new) = made(&place.machine("one"), |_| ()).unwrap();
    assert!(is_new);
    let (theirs, is_new) = made(&place.machine("other"), |_| ()).unwrap();
    assert!(!is_new && theirs.results_digest() == ours.results_digest());
    assert_eq!(place.runs().len(), 1);
    assert_eq!(place.machine("other").place_of(theirs.path()), place.file(&ours, RUN).parent().unwrap());
}

#[test]
fn a_table_that_is_requested_later_is_added_and_those_that_are_there_stay() {
    let place = Place::new();
    let (first, _) = made(&place.machine("one"), |_| ()).unwrap();
    let totals = fs::read(place.file(&first, "totals.parquet")).unwrap();
    let (second, is_new) = made(&place.machine("other"), with_requests).unwrap();
    assert!(is_new && second.has(Table::Requests));
    let kept = &place.runs()[0];
    assert!(kept.has(Table::Requests));
    assert_eq!(fs::read(place.file(&first, "totals.parquet")).unwrap(), totals);
    let (third, is_new) = made(&place.machine("one"), with_requests).unwrap();
    assert!(!is_new && third.has(Table::Requests), "the first machine gets the table");
    // And a run with fewer tables finds the one with more.
    assert!(!made(&place.machine("new"), |_| ()).unwrap().1);
    assert_eq!(kept.results_digest(), second.results_digest());
}

/// The bucket fails at each step in turn, for a machine of its own each time, and once more at each step of the next try.
#[test]
fn an_upload_that_fails_at_any_step_leaves_nothing_that_looks_whole() {
    let place = Place::new();
    let mut results = BTreeSet::new();
    let mut steps = 0;
    loop {
        let outcome = made(&place.bucket("one", steps), |_| ());
        let runs = place.runs();
        match outcome {
            Ok((run, is_new)) => {
                results.insert(run.results_digest().to_string());
                assert!(!is_new, "it was made at the first try, and stayed in the mirror");
                assert_eq!(runs.len(), 1);
                break;
            }
            Err(error) => {
                assert!(error.to_string().contains("the cable is out"), "{error}");
                assert!(runs.is_empty(), "after {steps} steps");
            }
        }
        // Another machine has other totals: its time is another one.
        let _ = made(&place.bucket(&format!("machine-{steps}"), steps), |_| ());
        if !place.runs().is_empty() {
            panic!("a run is whole after {steps} steps");
        }
        steps += 1;
    }
    assert!(steps > 6, "each table is a step, and so is the record: {steps}");
    let (found, is_new) = made(&place.machine("last"), |_| ()).unwrap();
    results.insert(found.results_digest().to_string());
    assert!(!is_new && results.len() == 1);
}

#[test]
fn a_bucket_that_failed_once_is_not_tried_again() {
    let place = Place::new();
    let media = Failing::new(3);
    let bucket = place.over("one", Arc::clone(&media));
    let first = made(&bucket, |_| ()).unwrap_err().to_string();
    let requests = media.requests.load(Ordering::Relaxed);
    let second = made(&bucket, |spec| spec.seed = 2).unwrap_err().to_string();
    assert_eq!((first, media.requests.load(Ordering::Relaxed)), (second, requests));
}

/// The totals of a run as another machine writes them: with more that was measured, which is no result.
fn other_totals(run: &FinishedRun) -> Vec<u8> {
    let mut totals = run.totals().unwrap();
    totals.add_measured("idle_ns", stripewise_results::Figure::Count(u64::MAX)).unwrap();
    let output = |_: Table| Ok(Output { out: Vec::new(), name: String::new() });
    let tables = TableSink::new(run.inputs(), Optional::NONE, output).unwrap().finish(&[], &totals);
    tables.unwrap().swap_remove(0).out
}

#[test]
fn the_table_of_another_machine_stays_and_counts_with_its_size() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let (run, _) = made(&elsewhere.machine("one"), |_| ()).unwrap();
    let theirs = other_totals(&run);
    let file = place.file(&run, "totals.parquet");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, &theirs).unwrap();
    made(&place.machine("one"), |_| ()).unwrap();
    assert_eq!(place.runs()[0].results_digest(), run.results_digest());
    assert_eq!(fs::read(&file).unwrap(), theirs);
    // One that replaces it has another size.
    fs::write(&file, &theirs[..100]).unwrap();
    made(&place.machine("two"), |spec| spec.force = true).unwrap();
    assert_eq!(place.runs()[0].results_digest(), run.results_digest());
    assert!(fs::read(&file).unwrap().len() < theirs.len());
}

#[test]
fn damage_in_the_bucket_is_named_and_force_replaces_it() {
    let place = Place::new();
    let (run, _) = made(&place.machine("one"), |_| ()).unwrap();
    for (name, harm) in [
        ("totals.parquet", (|bytes| bytes.truncate(100)) as fn(&mut Vec<u8>)),
        ("members.parquet", |bytes| bytes[10] ^= 255),
        ("latencies.parquet", |bytes| bytes.clear()),
        (RUN, |bytes| bytes.truncate(20)),
    ] {
        let file = place.file(&run, name);
        let whole = fs::read(&file).unwrap();
        let mut bytes = whole.clone();
        harm(&mut bytes);
        fs::write(&file, bytes).unwrap();
        let error = made(&place.machine(&format!("two-{name}")), |_| ()).unwrap_err();
        let is_damage = matches!(&error, StudyError::Store(error) if error.is_damage());
        assert!(is_damage && error.to_string().contains(&file.display().to_string()), "{name}: {error}");
        made(&place.machine(&format!("three-{name}")), |spec| spec.force = true).unwrap();
        assert!(!made(&place.machine(&format!("four-{name}")), |_| ()).unwrap().1, "{name}");
        assert_eq!(place.runs()[0].results_digest(), run.results_digest(), "{name}");
    }
    fs::remove_file(place.file(&run, "members.parquet")).unwrap();
    let error = made(&place.machine("five"), |_| ()).unwrap_err().to_string();
    assert!(error.contains("members.parquet: run.toml names this table, and it is not there"), "{error}");
}

#[test]
fn other_results_of_the_same_run_are_an_error() {
    let place = Place::new();
    let (run, _) = made(&place.machine("one"), |_| ()).unwrap();
    let other = Place::new();
    // The tables of another run under the name of this one.
    let (else_, _) = made(&other.machine("one"), |spec| spec.seed = 2).unwrap();
    let mut tables = else_.record().tables().to_vec();
    tables.truncate(run.record().tables().len());
    let record = RunRecord::new(run.inputs().clone(), tables);
    fs::write(place.file(&run, RUN), record.text()).unwrap();
    let error = made(&place.machine("one"), |_| ()).unwrap_err();
    assert!(matches!(error, StudyError::Store(ResultsError::NotReproduced { .. })), "{error}");
    let error = made(&place.machine("two"), |spec| spec.force = true).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&place.root().display().to_string()), "{text}");
}

#[test]
fn all_runs_come_with_what_decided_their_seeds() {
    let place = Place::new();
    let bucket = place.machine("one");
    assert!(bucket.fetch_all().unwrap().is_empty());
    let runs: BTreeSet<Digest> =
        [1, 2].map(|seed| made(&bucket, |spec| spec.seed = seed).unwrap().0.inputs().digest()).into();
    let rate = stripewise_results::paired::Rate { looks: 7, ..stripewise_results::paired::Rate::FIXED };
    let record = looks::record(bucket.mirror(), "response_p99_ns", rate, &runs).unwrap();
    assert!(bucket.put(&record).unwrap().starts_with(place.root()));
    let other = place.machine("other");
    let found: BTreeSet<Digest> =
        other.fetch_all().unwrap().iter().map(|run| run.inputs().digest()).collect();
    assert_eq!(found, runs);
    assert_eq!(looks::rate_of(other.mirror(), &runs).unwrap().looks, 7);
}
