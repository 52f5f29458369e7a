//! Runs that were damaged after they were finished: reading returns the written rows, or an error that names file and
//! remedy. Directories of dead processes are removed; those of living ones stay.

use std::fs;
use std::path::{Path, PathBuf};
use stripewise_base::prng::Prng;
use stripewise_results::{Error, Figure, Figures, FinishedRun, Optional, Store, Table};
use stripewise_sim::tables::{MemberRow, Sink};

use crate::common::{gc, inputs, latency, request};

/// A separate directory for each test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stripewise-damage-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Store {
        Store::new(&self.0)
    }

    fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
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

fn run(store: &Store, seed: u64, rows: u64) -> Result<FinishedRun, Error> {
    let mut writer = store.begin(&inputs(seed), Optional { requests: true, updates: false })?;
    let mut prng = Prng::new(seed);
    for _ in 0..rows {
        writer.request(&request(&mut prng));
        writer.latency(&latency(&mut prng));
        writer.gc(&gc(&mut prng));
    }
    let totals = [("requests", Figure::Count(rows)), ("mean_ns", Figure::Real(0.5))];
    writer.finish(&[MemberRow { member: 3, ..Default::default() }], &Figures::from_list(&totals)?)
}

fn file(run: &FinishedRun, table: Table) -> PathBuf {
    run.path().join(table.file())
}

/// Changes bits of one byte, without a change of the file's size.
fn flip(path: &Path, at: usize, bits: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= bits;
    fs::write(path, bytes).unwrap();
}

#[test]
fn no_byte_of_a_table_can_change_without_an_error_or_with_other_rows() {
    let scratch = Scratch::new("bytes");
    let run = run(&scratch.store(), 1, 20).unwrap();
    // The library also reports its panics, which this test does not need.
    std::panic::set_hook(Box::new(|_| ()));
    for table in [Table::Latencies, Table::Totals] {
        let path = file(&run, table);
        let whole = fs::read(&path).unwrap();
        let read = || match table {
            Table::Latencies => run.columns(table).map(|columns| format!("{columns:?}")),
            _ => run.totals().map(|totals| format!("{totals:?}")),
        };
        let truth = read().unwrap();
        // Most of the text between the pages and the end is the run's settings, so a few bytes of it suffice.
        let (pages, end) = ((0..600).step_by(2), (whole.len() - 200..whole.len()).step_by(2));
        let mut noticed = 0;
        for at in pages.chain((600..whole.len() - 200).step_by(41)).chain(end) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            fs::write(&path, &bytes).unwrap();
            match read() {
                Ok(found) => assert_eq!(found, truth, "byte {at} of {table} was changed"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains(&path.display().to_string()), "{text}");
                    assert!(text.contains("delete the run's directory"), "{text}");
                    noticed += 1;
                }
            }
        }
        assert!(noticed > 100, "{noticed} changes were noticed");
        fs::write(&path, &whole).unwrap();
    }
    let _ = std::panic::take_hook();
    run.verify().unwrap();
}

#[test]
fn four_bytes_of_each_table_are_noticed_by_a_look_at_the_whole_run() {
    let scratch = Scratch::new("tables");
    let run = run(&scratch.store(), 1, 500).unwrap();
    for digest in run.digests().iter().filter(|digest| digest.rows > 0) {
        let path = file(&run, digest.table);
        let whole = fs::read(&path).unwrap();
        (40..44).for_each(|at| flip(&path, at, 0x5A));
        let error = run.verify().unwrap_err();
        assert!(error.is_damage() && error.to_string().contains(&path.display().to_string()), "{error}");
        assert!(error.to_string().contains("--force"), "{error}");
        fs::write(&path, whole).unwrap();
    }
    run.verify().unwrap();
}

#[test]
fn a_whole_table_of_another_run_is_reported_by_its_digest() {
    let scratch = Scratch::new("other");
    let (ours, other) = (run(&scratch.store(), 1, 200).unwrap(), run(&scratch.store(), 2, 200).unwrap());
    for (table, rows) in [(Table::Latencies, 200), (Table::Requests, 200), (Table::Totals, 1)] {
        let whole = fs::read(file(&ours, table)).unwrap();
        fs::copy(file(&other, table), file(&ours, table)).unwrap();
        let of_ours = ours.digests().iter().find(|digest| digest.table == table).unwrap();
        let of_other = other.digests().iter().find(|digest| digest.table == table).unwrap();
        assert_eq!((of_ours.rows, of_other.rows), (rows, rows));
        let outcome = ours.verify_table(table);
        if of_ours == of_other {
            outcome.unwrap();
        } else {
            assert!(outcome.unwrap_err().to_string().contains("its digest is"), "{table}");
        }
        fs::write(file(&ours, table), whole).unwrap();
    }
}

#[test]
fn rows_beyond_a_page_have_the_digest_that_was_written() {
    let scratch = Scratch::new("pages");
    for rows in [65_536, 65_537, 65_538] {
        let mut writer = scratch.store().begin(&inputs(rows), Optional::NONE).unwrap();
        let mut prng = Prng::new(rows);
        (0..rows).for_each(|_| writer.gc(&gc(&mut prng)));
        let run =
            writer.finish(&[], &Figures::from_list(&[("requests", Figure::Count(0))]).unwrap()).unwrap();
        assert!(run.digests().iter().any(|digest| digest.table == Table::Gcs && digest.rows == rows));
        run.verify().unwrap();
    }
}

#[test]
fn a_damaged_run_gives_way_when_it_is_made_again() {
    let scratch = Scratch::new("again");
    let store = scratch.store();
    let made = run(&store, 1, 100).unwrap();
    for harm in [
        |run: &FinishedRun| flip(&file(run, Table::Gcs), 60, 1),
        |run: &FinishedRun| fs::remove_file(file(run, Table::Gcs)).unwrap(),
        |run: &FinishedRun| fs::write(run.path().join("run.toml"), "seed = ").unwrap(),
    ] {
        harm(&made);
        run(&store, 1, 100).unwrap().verify().unwrap();
        assert_eq!(scratch.entries(), [inputs(1).digest().to_string()], "nothing else is left");
    }
}

/// A directory that a process of `host` left of the run of `seed`, with a number of its own.
fn leave(scratch: &Scratch, seed: u64, number: u32, host: &str) -> PathBuf {
    let path = scratch.0.join(format!(".partial-{}-4000000000-{number}", inputs(seed).digest()));
    fs::create_dir(&path).unwrap();
    fs::write(path.join("lock"), host).unwrap();
    fs::write(path.join("gcs.parquet"), "PAR1").unwrap();
    path
}

#[test]
fn what_dead_processes_of_this_host_left_of_any_run_goes_and_nothing_else() {
    let scratch = Scratch::new("sweep");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let dead = [leave(&scratch, 7, 0, &host), leave(&scratch, 1, 1, &host), leave(&scratch, 1, 2, "")];
    let alive = leave(&scratch, 7, 3, &host);
    let lock = fs::File::open(alive.join("lock")).unwrap();
    lock.lock().unwrap();
    let elsewhere = leave(&scratch, 7, 4, "another host");
    let unknown = leave(&scratch, 7, 5, "");
    let ours = scratch.0.join(".partial-of-my-own");
    fs::create_dir(&ours).unwrap();
    fs::write(ours.join("lock"), &host).unwrap();
    // A finished run that was put aside: needed while its successor is being written, and not afterwards.
    let aside = alive.with_extension("old");
    let left_aside = dead[0].with_extension("old");
    [&aside, &left_aside].into_iter().for_each(|path| fs::create_dir(path).unwrap());

    run(&scratch.store(), 1, 10).unwrap();
    run(&scratch.store(), 2, 10).unwrap();
    for path in dead.iter().chain([&left_aside]) {
        assert!(!path.exists(), "{} stayed", path.display());
    }
    for path in [&alive, &elsewhere, &unknown, &ours, &aside] {
        assert!(path.exists(), "{} is gone", path.display());
    }
    drop(lock);
    run(&scratch.store(), 3, 10).unwrap();
    run(&scratch.store(), 4, 10).unwrap();
    assert!(!alive.exists() && !aside.exists(), "their process has ended");
}
