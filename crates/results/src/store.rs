//! The directory of results: one directory a finished run, named by its run digest.
//!
//! A run is written under a temporary name and renamed when all of it has reached the disk. So a directory with a
//! digest as its name is complete, whatever process was killed or lost power meanwhile; and a run that exists need
//! not be computed again.

use crate::digest::{Digest, RunInputs, TableDigest};
use crate::error::Error;
use crate::figures::Figures;
use crate::partial::{LOCK, Partial, remove_dead};
use crate::read::{Batches, Columns};
use crate::record::RunRecord;
use crate::schema::Table;
use crate::shared;
use crate::sink::{Optional, Output, TableSink};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use stripewise_sim::tables::{
    GcRow, GcSliceRow, LatencyRow, MemberRow, RequestRow, SampleRow, Sink, UpdateRow,
};

/// The file with the inputs of the run and the digests of its results.
const RUN: &str = "run.toml";
/// Most bytes of that file: it has a configuration of some kilobytes.
pub const RUN_BYTES: u64 = 4 << 20;

/// A directory of results.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The results under `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory of the results of a run, whether it exists or not.
    pub fn path(&self, run: Digest) -> PathBuf {
        self.root.join(run.to_string())
    }

    /// The finished run of that digest, or nothing when there is none.
    ///
    /// # Errors
    /// When a file or directory of that name exists and is not a complete finished run.
    pub fn find(&self, run: Digest) -> Result<Option<FinishedRun>, Error> {
        let path = self.path(run);
        match fs::symlink_metadata(&path) {
            Ok(_) => FinishedRun::open(&path, run).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(&path, "look for the run")(error)),
        }
    }

    /// Every finished run, in the order of their digests.
    ///
    /// # Errors
    /// When the directory cannot be listed, or it has an entry that is named by a digest and is not a complete
    /// finished run.
    pub fn runs(&self) -> Result<Vec<FinishedRun>, Error> {
        self.digests()?.into_iter().map(|run| FinishedRun::open(&self.path(run), run)).collect()
    }

    /// The finished run whose digest begins with `prefix`.
    ///
    /// # Errors
    /// When there is none, or several: the error then has their digests. When the directory cannot be listed, or the
    /// run is damaged.
    pub fn find_prefix(&self, prefix: &str) -> Result<FinishedRun, Error> {
        let digests = self.digests()?;
        let found: Vec<Digest> =
            digests.iter().copied().filter(|run| run.to_string().starts_with(prefix)).collect();
        match found[..] {
            [run] => FinishedRun::open(&self.path(run), run),
            [] => Err(Error::UnknownRun {
                root: self.root.clone(),
                prefix: prefix.to_owned(),
                runs: digests.len(),
            }),
            _ => Err(Error::AmbiguousRun {
                root: self.root.clone(),
                prefix: prefix.to_owned(),
                candidates: found,
            }),
        }
    }

    /// The digests of the finished runs, in order.
    fn digests(&self) -> Result<Vec<Digest>, Error> {
        let list = Error::io(&self.root, "list the directory");
        let entries = fs::read_dir(&self.root).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let names = entries.map_err(list)?.into_iter().map(|entry| entry.file_name());
        let mut digests: Vec<Digest> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        digests.sort_unstable();
        Ok(digests)
    }

    /// Starts writing a run, with its requested `optional` tables. Removes the directories that dead writers of any
    /// run left behind.
    ///
    /// # Errors
    /// When the directory or a file in it cannot be created.
    pub fn begin(&self, inputs: &RunInputs, optional: Optional) -> Result<RunWriter, Error> {
        let partial = self.partial(inputs.digest())?;
        let sink = TableSink::new(inputs, optional, |table| {
            let path = partial.path.join(table.file());
            let out = File::create_new(&path).map_err(Error::io(&path, "make the file"))?;
            Ok(Output { out, name: path.display().to_string() })
        })?;
        Ok(RunWriter { sink, partial, inputs: inputs.clone(), store: self.clone() })
    }

    /// Copies a run from elsewhere. `fill` writes the file of a table, whose digest and size it gets, and checks it. As with
    /// [`RunWriter::finish`], the run that exists stays unless it lacks an optional table.
    ///
    /// # Errors
    /// Those of `fill`, and as [`RunWriter::finish`].
    pub fn import<E: From<Error>>(
        &self,
        record: &RunRecord,
        mut fill: impl FnMut(TableDigest, u64, &mut File) -> Result<(), E>,
    ) -> Result<FinishedRun, E> {
        let partial = self.partial(record.inputs().digest())?;
        for &(digest, bytes) in record.tables() {
            let path = partial.path.join(digest.table.file());
            let made = File::options().read(true).write(true).create_new(true).open(&path);
            let mut file = made.map_err(Error::io(&path, "make the file"))?;
            fill(digest, bytes, &mut file)?;
            file.sync_all().map_err(Error::io(&path, "bring the file to the disk"))?;
        }
        Ok(self.commit(partial, record)?)
    }

    /// A directory for a run that is being written.
    fn partial(&self, run: Digest) -> Result<Partial, Error> {
        fs::create_dir_all(&self.root).map_err(Error::io(&self.root, "make the directory of results"))?;
        remove_dead(&self.root, run)?;
        Partial::make(&self.root, run)
    }

    /// Completes the run whose tables are in `partial` and on the disk: from now on it can be found.
    fn commit(&self, mut partial: Partial, record: &RunRecord) -> Result<FinishedRun, Error> {
        let run = record.inputs().digest();
        let file = partial.path.join(RUN);
        let written = File::create_new(&file).and_then(|mut out| out.write_all(record.text().as_bytes()));
        written.map_err(Error::io(&file, "write the file"))?;
        sync(&file)?;
        sync(&partial.path)?;

        let path = self.path(run);
        let is_there = match self.find(run) {
            Ok(None) => false,
            Ok(Some(there)) => {
                there.record.must_agree(&there.path, record.tables())?;
                match there.verify() {
                    Ok(()) if record.optional().all(|table| there.has(table)) => return Ok(there),
                    Err(error) if !error.is_damage() => return Err(error),
                    // The existing run has fewer tables, or is damaged.
                    _ => true,
                }
            }
            Err(error) if error.is_damage() => true,
            Err(error) => return Err(error),
        };
        let mut aside = None;
        if is_there {
            // Two steps, since a rename does not replace a directory. A program that is killed here makes the run
            // again.
            aside = Some(partial.put_aside(&path)?);
        }
        match partial.move_to(&path) {
            // Another process finished the same run first: its results are as good.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
                ) => {}
            Err(error) => return Err(Error::io(&path, "give the finished run its name")(error)),
            Ok(()) => {
                let lock = path.join(LOCK);
                fs::remove_file(&lock).map_err(Error::io(&lock, "remove the file"))?;
                sync(&self.root)?;
            }
        }
        drop(aside);
        let finished = FinishedRun::open(&path, run)?;
        finished.record.must_agree(&finished.path, record.tables())?;
        Ok(finished)
    }
}

/// A run that is being written. Dropped before it is finished, it leaves no files.
pub struct RunWriter {
    sink: TableSink<File>,
    partial: Partial,
    inputs: RunInputs,
    store: Store,
}

impl RunWriter {
    /// Completes the run: from now on it can be found. When the same run exists already, the existing one stays, and
    /// this one is dropped unless it has an optional table that the existing one lacks.
    ///
    /// # Errors
    /// When any part could not be written; the run is then not found. When the same run exists with other results.
    pub fn finish(self, members: &[MemberRow], totals: &Figures) -> Result<FinishedRun, Error> {
        let mut files = Vec::new();
        for table in self.sink.finish(members, totals)? {
            let path = self.partial.path.join(table.digest.table.file());
            table.out.sync_all().map_err(Error::io(&path, "bring the file to the disk"))?;
            let size = table.out.metadata().map_err(Error::io(&path, "see the file's size"))?.len();
            files.push((table.digest, size));
        }
        self.store.commit(self.partial, &RunRecord::new(self.inputs, files))
    }

    /// Bytes of memory held for rows that are not written yet.
    pub fn memory_bytes(&self) -> usize {
        self.sink.memory_bytes()
    }
}

impl Sink for RunWriter {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        self.sink.request(row);
    }

    #[inline]
    fn update(&mut self, row: &UpdateRow) {
        self.sink.update(row);
    }

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        self.sink.sample(row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        self.sink.gc(row);
    }

    #[inline]
    fn latency(&mut self, row: &LatencyRow) {
        self.sink.latency(row);
    }

    #[inline]
    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.sink.gc_slice(row);
    }
}

/// The file of a table in the directory of a finished run: under its former name if the run has it so.
fn file_of(table: Table, run: &Path) -> PathBuf {
    let former = table.former_name().map(|name| run.join(format!("{name}.parquet")));
    former.filter(|path| path.exists()).unwrap_or_else(|| run.join(table.file()))
}

/// Flushes a file or directory to the disk.
fn sync(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|file| file.sync_all()).map_err(Error::io(path, "bring it to the disk"))
}

/// A finished run on disk.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    path: PathBuf,
    record: RunRecord,
    tables: Vec<TableDigest>,
}

impl FinishedRun {
    /// The finished run in the directory `path`, which has the run digest as its name.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let path = fs::canonicalize(path).map_err(Error::io(path, "look for the run"))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let run = name.parse().map_err(|_| Error::Damaged {
            path: path.clone(),
            found: "a run's directory has the run digest as its name".to_owned(),
        })?;
        Self::open(&path, run)
    }

    /// Opens the run in the directory `path`, whose digest must be `run`. Every file must exist in its full size.
    fn open(path: &Path, run: Digest) -> Result<Self, Error> {
        let record_path = path.join(RUN);
        let damaged = |path: &Path, found: String| Error::Damaged { path: path.to_owned(), found };
        let text = shared::read_text(&record_path, RUN_BYTES)
            .map_err(|error| damaged(&record_path, format!("a finished run has this file, but: {error}")))?;
        let record = RunRecord::parse(&text, &record_path, run)?;
        for (digest, bytes) in record.tables() {
            let file = file_of(digest.table, path);
            match fs::metadata(&file) {
                Ok(metadata) if !metadata.is_file() => {
                    return Err(damaged(&file, "it is not a regular file; remove it".to_owned()));
                }
                Ok(metadata) if metadata.len() == *bytes => {}
                Ok(metadata) => {
                    return Err(damaged(&file, format!("{} bytes, but {RUN} says {bytes}", metadata.len())));
                }
                Err(error) => return Err(damaged(&file, format!("{RUN} names this file, but: {error}"))),
            }
        }
        let tables = record.tables().iter().map(|(digest, _)| *digest).collect();
        Ok(Self { path: path.to_owned(), record, tables })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The inputs of the run.
    pub fn inputs(&self) -> &RunInputs {
        self.record.inputs()
    }

    /// The digest of all results.
    pub fn results_digest(&self) -> Digest {
        self.record.results_digest()
    }

    /// What its `run.toml` says.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Rows and digest of each table.
    pub fn digests(&self) -> &[TableDigest] {
        &self.tables
    }

    /// Whether the run has that table.
    pub fn has(&self, table: Table) -> bool {
        self.tables.iter().any(|digest| digest.table == table)
    }

    /// A table as Arrow record batches, read one at a time; none when the run left out that table. Its digest is
    /// verified during reading, and the last item is an error when the table is not the one that the run left.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a Parquet file.
    pub fn batches(&self, table: Table) -> Result<Option<Batches>, Error> {
        let Some(expected) = self.tables.iter().find(|digest| digest.table == table) else { return Ok(None) };
        let path = file_of(table, &self.path);
        let file = shared::open(&path).map_err(Error::io(&path, "open the file"))?;
        Batches::of_file(file, &path.display().to_string(), *expected).map(Some)
    }

    /// Reads a table and checks that it is the one that the run left.
    ///
    /// # Errors
    /// When it is not, or cannot be read.
    pub fn verify_table(&self, table: Table) -> Result<(), Error> {
        self.batches(table)?.map_or(Ok(()), Batches::drain)
    }

    /// [`Self::verify_table`] of every table.
    ///
    /// # Errors
    /// As those of one table.
    pub fn verify(&self) -> Result<(), Error> {
        self.tables.iter().try_for_each(|digest| self.verify_table(digest.table))
    }

    /// A whole table of fixed columns; none when the run left out that table.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a Parquet file.
    pub fn columns(&self, table: Table) -> Result<Option<Columns>, Error> {
        self.batches(table)?.map(Batches::columns).transpose()
    }

    /// A column of whole numbers of a table of fixed columns.
    ///
    /// # Errors
    /// When the run left out that table, the file cannot be read, or there is no such column.
    pub fn numbers(&self, table: Table, column: &str) -> Result<Vec<u64>, Error> {
        let name = file_of(table, &self.path).display().to_string();
        let wrong = |message: &str| Error::Read { table: name.clone(), message: message.to_owned() };
        let mut columns = self.columns(table)?.ok_or_else(|| wrong("the run left out this table"))?;
        columns.remove(column).ok_or_else(|| wrong(&format!("there is no column `{column}`")))
    }

    /// Passes columns of whole numbers to `each`, some rows at a time and in the order of `names`; tables of any size
    /// take little memory. False when the run left out that table.
    ///
    /// # Errors
    /// When the file cannot be read, or there is no such column.
    pub fn scan(&self, table: Table, names: &[&str], each: impl FnMut(&[Vec<u64>])) -> Result<bool, Error> {
        let Some(batches) = self.batches(table)? else { return Ok(false) };
        batches.scan(names, each)?;
        Ok(true)
    }

    /// The time at which the run was finished, by its files.
    ///
    /// # Errors
    /// When the file system does not report it.
    pub fn finished_at(&self) -> Result<SystemTime, Error> {
        let path = self.path.join(RUN);
        let time = fs::metadata(&path).and_then(|metadata| metadata.modified());
        time.map_err(Error::io(&path, "see when the run was finished"))
    }

    /// The totals.
    ///
    /// # Errors
    /// When their file cannot be read, or differs from the digest in `run.toml`.
    pub fn totals(&self) -> Result<Figures, Error> {
        let name = self.path.join(Table::Totals.file()).display().to_string();
        let wrong = |message: String| Error::Read { table: name.clone(), message };
        let none = || wrong("there is no row".to_owned());
        let mut batches = self.batches(Table::Totals)?.ok_or_else(none)?;
        let batch = batches.next().ok_or_else(none)?.map_err(|error| batches.explain(error))?;
        let totals = Figures::from_batch(&batch, &name)?;
        if !self.tables.contains(&totals.digest()) {
            return Err(wrong(format!("its digest is {}, not the one in {RUN}", totals.digest().digest)));
        }
        Ok(totals)
    }
}
