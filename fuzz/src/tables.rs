//! Reading a damaged table of results returns the written rows, or an error.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

use stripewise_results::{Error, Figure, Figures, FinishedRun, Optional, RunInputs, Store, Table};
use stripewise_sim::tables::{GcRow, LatencyRow, MemberRow, RequestRow, Sink};

thread_local! {
    /// A valid run, created once per thread; each check restores it.
    static RUN: OnceCell<FuzzedRun> = const { OnceCell::new() };
}

/// Damages a table of a valid run, and reads it. The first byte selects the table and the kind of damage, the other
/// bytes determine the changes.
pub fn check(bytes: &[u8]) {
    RUN.with(|run| run.get_or_init(FuzzedRun::new).check(bytes));
}

struct FuzzedRun {
    folder: PathBuf,
    path: PathBuf,
    /// The tables, with the bytes of their files and their rows as text.
    tables: Vec<(Table, Vec<u8>, String)>,
}

impl FuzzedRun {
    fn new() -> Self {
        let name = format!("stripewise-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        let run = made(&folder).expect("a sound run");
        let tables = Table::ALL.into_iter().filter(|&table| run.has(table));
        let tables = tables.map(|table| {
            let whole = fs::read(run.path().join(table.file())).expect("the table's file");
            (table, whole, read(&run, table).expect("a sound table"))
        });
        Self { folder, path: run.path().to_owned(), tables: tables.collect() }
    }

    fn check(&self, bytes: &[u8]) {
        let Some((&choice, changes)) = bytes.split_first() else { return };
        let (table, whole, truth) = &self.tables[usize::from(choice >> 2) % self.tables.len()];
        let path = self.path.join(table.file());
        fs::write(&path, damaged(whole, choice & 3, changes)).expect("the table's file");
        match FinishedRun::at(&self.path).and_then(|run| read(&run, *table)) {
            Ok(rows) => assert!(rows == *truth, "{table} was changed, and nothing noticed it"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        fs::write(&path, whole).expect("the table's file");
    }
}

impl Drop for FuzzedRun {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A run with rows in several tables.
fn made(folder: &PathBuf) -> Result<FinishedRun, Error> {
    let inputs = RunInputs::new("[array]\nlevel = \"raid-5\"\n", "mode = \"open\"\n", "trace", 1, "0.1.0")?;
    let mut writer = Store::new(folder).begin(&inputs, Optional { requests: true, updates: false })?;
    for number in 0..20 {
        let latency_ns = number * number * 977;
        writer.request(&RequestRow {
            request: number,
            latency_ns,
            size_bytes: 4096,
            ..RequestRow::default()
        });
        writer.latency(&LatencyRow { latency_ns, count: 1 + number, ..LatencyRow::default() });
        writer.gc(&GcRow { start_ns: number, end_ns: number + latency_ns, ..GcRow::default() });
    }
    let totals = Figures::from_list(&[("requests", Figure::Count(20)), ("mean_ns", Figure::Real(0.5))])?;
    writer.finish(&[MemberRow { member: 3, ..MemberRow::default() }], &totals)
}

/// All rows of a table, as text.
fn read(run: &FinishedRun, table: Table) -> Result<String, Error> {
    run.verify_table(table)?;
    let batches = run.batches(table)?.into_iter().flatten();
    // The rows were just verified and are read again. The text beside the rows is that of `run.toml`, which takes
    // precedence.
    let columns = batches.map(|batch| {
        let batch = batch.expect("a verified table");
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        format!("{names:?} {:?}\n", batch.columns())
    });
    Ok(columns.collect())
}

/// `whole` with bits of some bytes changed, each by three bytes of `changes`; or with `changes` written over its
/// beginning or its end; or truncated, with `changes` as its new end.
fn damaged(whole: &[u8], kind: u8, changes: &[u8]) -> Vec<u8> {
    let mut file = whole.to_vec();
    let length = changes.len().min(file.len());
    let end = file.len() - length;
    match kind {
        0 => {
            for change in changes.as_chunks::<3>().0 {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
                file[at] ^= change[2];
            }
        }
        1 => file[..length].copy_from_slice(&changes[..length]),
        2 => file[end..].copy_from_slice(&changes[..length]),
        _ => {
            file.truncate(end);
            file.extend_from_slice(&changes[..length / 2]);
        }
    }
    file
}
