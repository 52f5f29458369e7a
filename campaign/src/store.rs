//! The folder with the results of a study.
//!
//! - `runs/NAME.parquet`: packs of finished runs. The name is the digest of the file's bytes, which every reader verifies. A
//!   pack is written under another name and renamed when all of it is on the disk, so a pack is complete, whatever was killed
//!   meanwhile.
//! - `errors/KEY.json`: the last failure of a run that has no result.
//! - `catalogue/PLAN.parquet`: the runs of a plan with its axes. A cache; it is made from the packs.
//!
//! There are no locks. Two commands that make the same runs at the same time write two packs with equal results.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arrow_array::RecordBatch;
use parquet::arrow::arrow_writer::ArrowWriter;
use stripewise_results::Digest;

use crate::error::Error;
use crate::pack;
use crate::row::{Row, unhex};

/// The ending of files that are being written.
const PARTIAL: &str = "partial";
/// The age at which such a file belongs to a dead process: writing one takes less than a second.
const DEAD: Duration = Duration::from_secs(3600);

/// A file that a process has not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The time since it was written to.
    pub age: Duration,
}

/// The moments of a commit. A test ends the process at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// All runs of a batch are made.
    Made,
    /// The pack is written under its first name.
    Written,
    /// The pack has its name.
    Renamed,
    /// The folder is on the disk too.
    Committed,
}

/// The folder of a study.
#[derive(Clone, Debug)]
pub struct StudyStore {
    root: PathBuf,
}

/// All finished runs, without their tables.
#[derive(Clone, Debug)]
pub struct Known {
    figures: Vec<String>,
    by_key: BTreeMap<[u8; 16], u32>,
    rows: Vec<KnownRow>,
    values: Vec<f64>,
}

/// A finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRow {
    /// The digest of its inputs.
    pub run: Digest,
    /// The digest of its results.
    pub results: Digest,
    /// Whether its warm-up was not over.
    pub is_drifting: bool,
    /// Its processor time.
    pub cpu_ns: u64,
}

impl Known {
    fn new(figures: &[String]) -> Self {
        Self { figures: figures.to_vec(), by_key: BTreeMap::new(), rows: Vec::new(), values: Vec::new() }
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The run of a key, with the values of all figures.
    pub fn get(&self, key: &[u8; 16]) -> Option<(&KnownRow, &[f64])> {
        let at = *self.by_key.get(key)? as usize;
        let width = self.figures.len();
        Some((&self.rows[at], &self.values[at * width..(at + 1) * width]))
    }

    /// All runs, by their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8; 16], &KnownRow)> {
        self.by_key.iter().map(|(key, &at)| (key, &self.rows[at as usize]))
    }

    /// Adds a run with the values of all figures.
    pub(crate) fn insert(&mut self, key: [u8; 16], row: KnownRow, values: &[f64]) {
        self.by_key.insert(key, self.rows.len() as u32);
        self.rows.push(row);
        self.values.extend_from_slice(values);
    }
}

const CPU_NS: &str = stripewise_results::summary::CPU_NS;

/// What is known of a run that was made now, and the values of `figures`.
pub(crate) fn figures_of(row: &Row, figures: &[String]) -> (KnownRow, Vec<f64>) {
    let values = figures.iter().map(|name| figure(row, name)).collect();
    let is_drifting = row.steady == stripewise_results::steady::Steady::NotYet;
    let cpu_ns = figure(row, CPU_NS) as u64;
    (KnownRow { run: row.run, results: row.results, is_drifting, cpu_ns }, values)
}

fn figure(row: &Row, name: &str) -> f64 {
    match row.totals.get(name) {
        Some(stripewise_results::Figure::Count(count)) => count as f64,
        Some(stripewise_results::Figure::Real(real)) => real,
        None => f64::NAN,
    }
}

impl StudyStore {
    /// The results under `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The store at a place, as [`Self::place`] names it.
    ///
    /// # Errors
    /// A place of unknown form.
    pub(crate) fn open(place: &str) -> Result<Self, Error> {
        Ok(Self::new(place))
    }

    /// The place of the store, for other processes.
    pub(crate) fn place(&self) -> String {
        std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone()).display().to_string()
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The packs, in the order of their names.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(crate) fn packs(&self) -> Result<Vec<PathBuf>, Error> {
        list(&self.root.join("runs"), "parquet")
    }

    /// Reads all finished runs, with the values of `figures`.
    ///
    /// # Errors
    /// When a pack cannot be read; [`Error::NotReproduced`].
    pub fn load(&self, figures: &[String]) -> Result<Known, Error> {
        retried(&mut || self.load_listed(figures))
    }

    fn load_listed(&self, figures: &[String]) -> Result<Known, Error> {
        let mut known = Known::new(figures);
        // The first result of each run, and the pack that has it.
        let mut results: BTreeMap<Digest, (Digest, u32)> = BTreeMap::new();
        let packs = self.packs()?;
        let mut names = vec!["key", "run_digest", "results_digest", "steady", CPU_NS];
        names.extend(figures.iter().map(String::as_str));
        for (number, path) in packs.iter().enumerate() {
            pack::read(path, Some(&names), &mut |batch| {
                let wrong = |message: &str| Error::Pack { path: path.clone(), message: message.to_owned() };
                let text = |name| {
                    pack::text_column(batch, name).ok_or_else(|| wrong("it has not the columns of runs"))
                };
                let (keys, runs, found) = (text("key")?, text("run_digest")?, text("results_digest")?);
                let steady = text("steady")?;
                let nothing = || vec![f64::NAN; batch.num_rows()];
                let cpu = pack::real_column(batch, CPU_NS).unwrap_or_else(nothing);
                let columns: Vec<Vec<f64>> = figures
                    .iter()
                    .map(|name| pack::real_column(batch, name).unwrap_or_else(nothing))
                    .collect();
                for at in 0..batch.num_rows() {
                    let digest =
                        |text: &str| unhex(text).map(Digest).ok_or_else(|| wrong("a digest is damaged"));
                    let key = unhex(keys.value(at)).ok_or_else(|| wrong("a key is damaged"))?;
                    let (run, result) = (digest(runs.value(at))?, digest(found.value(at))?);
                    let (first, first_pack) = *results.entry(run).or_insert((result, number as u32));
                    if first != result {
                        let one = packs[first_pack as usize].clone();
                        return Err(Error::NotReproduced { run, one, other: path.clone() });
                    }
                    if known.by_key.contains_key(&key) {
                        continue;
                    }
                    let is_drifting = steady.value(at) == "not yet";
                    let row = KnownRow { run, results: result, is_drifting, cpu_ns: cpu[at] as u64 };
                    let values: Vec<f64> = columns.iter().map(|column| column[at]).collect();
                    known.insert(key, row, &values);
                }
                Ok(())
            })?;
        }
        Ok(known)
    }

    /// Commits runs: from now on they are found. Calls `at` at each moment of the commit.
    ///
    /// # Errors
    /// When any part could not be written; none of the runs is then found.
    pub(crate) fn commit(&self, rows: &[Row], at: &dyn Fn(Moment)) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        at(Moment::Made);
        self.put_pack(&[pack::table(rows)], at).map(|_| ())
    }

    /// Writes a pack of tables, and returns its path.
    fn put_pack(&self, tables: &[RecordBatch], at: &dyn Fn(Moment)) -> Result<PathBuf, Error> {
        let bytes = pack::bytes(tables)?;
        let path = self.root.join("runs").join(format!("{}.parquet", pack::name(&bytes)));
        self.put_bytes(&path, &bytes, at)?;
        Ok(path)
    }

    /// Writes a Parquet file under another name, brings it to the disk, and gives it its name.
    pub(crate) fn put(
        &self,
        path: &Path,
        at: &dyn Fn(Moment),
        write: impl FnOnce(File) -> Result<ArrowWriter<File>, Error>,
    ) -> Result<(), Error> {
        let (folder, partial) = self.partial(path)?;
        let file = File::create_new(&partial).map_err(Error::io(&partial, "make the file"))?;
        let written = write(file).and_then(|writer| Ok(writer.into_inner()?));
        finish(written, &partial, path, &folder, at)
    }

    /// Writes a small file in the same way.
    pub(crate) fn put_bytes(&self, path: &Path, bytes: &[u8], at: &dyn Fn(Moment)) -> Result<(), Error> {
        let (folder, partial) = self.partial(path)?;
        let mut file = File::create_new(&partial).map_err(Error::io(&partial, "make the file"))?;
        let written = file.write_all(bytes).map_err(Error::io(&partial, "write the file"));
        finish(written.map(|()| file), &partial, path, &folder, at)
    }

    /// The folder of a file, which exists from now on, and the name under which the file is written.
    fn partial(&self, path: &Path) -> Result<(PathBuf, PathBuf), Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        fs::create_dir_all(&folder).map_err(Error::io(&folder, "make the folder"))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // The time keeps apart processes of equal number on several hosts that share the folder.
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{time:x}-{}-{number}.{PARTIAL}", std::process::id());
        Ok((folder.clone(), folder.join(name)))
    }

    /// Removes files that dead processes left half written, an hour ago or earlier.
    ///
    /// # Errors
    /// When a folder cannot be listed, or a file cannot be removed.
    pub fn sweep(&self) -> Result<(), Error> {
        self.remove(&self.partials(DEAD)?)
    }

    /// The half written files that nothing was written to for longer than `age`.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn partials(&self, age: Duration) -> Result<Vec<Partial>, Error> {
        let mut partials = Vec::new();
        for folder in ["runs", "errors", "catalogue"] {
            for path in list(&self.root.join(folder), PARTIAL)? {
                // A file that is gone now was finished by its process.
                let Ok(metadata) = fs::metadata(&path) else { continue };
                let written = metadata.modified().ok().and_then(|time| time.elapsed().ok());
                if let Some(found) = written.filter(|found| *found > age) {
                    partials.push(Partial { path, bytes: metadata.len(), age: found });
                }
            }
        }
        Ok(partials)
    }

    /// Removes half written files.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn remove(&self, partials: &[Partial]) -> Result<(), Error> {
        partials.iter().try_for_each(|partial| remove(&partial.path))
    }

    /// Joins small packs to larger ones. A command that is killed meanwhile leaves some runs in two packs, which is harmless.
    ///
    /// # Errors
    /// When a pack cannot be read or written.
    pub fn join(&self) -> Result<(), Error> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        for path in self.packs()? {
            let size = match fs::metadata(&path) {
                Ok(metadata) => metadata.len(),
                // Another command has joined it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io(&path, "see the file's size")(error)),
            };
            if size >= SMALL_BYTES {
                continue;
            }
            group.push(path);
            bytes += size;
            if bytes >= JOINED_BYTES {
                self.join_group(&std::mem::take(&mut group))?;
                bytes = 0;
            }
        }
        self.join_group(&group)
    }

    /// Joins some packs to one.
    fn join_group(&self, paths: &[PathBuf]) -> Result<(), Error> {
        let mut packs: Vec<(&PathBuf, Vec<RecordBatch>)> = Vec::new();
        for path in paths {
            let mut tables = Vec::new();
            let read = pack::read(path, None, &mut |table| {
                tables.push(table.clone());
                Ok(())
            });
            match read {
                // Another command joins the same packs.
                Err(error) if error.is_gone() => return Ok(()),
                read => read?,
            }
            packs.push((path, tables));
        }
        // Other versions have other totals.
        let schema = packs.last().and_then(|(_, tables)| tables.first()).map(RecordBatch::schema);
        packs.retain(|(_, tables)| tables.iter().all(|table| Some(table.schema()) == schema));
        if packs.len() < 2 {
            return Ok(());
        }
        let tables: Vec<RecordBatch> = packs.iter().flat_map(|(_, tables)| tables).cloned().collect();
        let path = self.put_pack(&tables, &|_| ())?;
        packs.iter().filter(|(old, _)| **old != path).try_for_each(|(old, _)| remove(old))
    }
}

/// Packs below this size are joined.
const SMALL_BYTES: u64 = 1 << 20;
/// Bytes of packs that are joined to one: they are in memory at a time.
const JOINED_BYTES: u64 = 16 << 20;

/// Does again what needs a file that is gone: another command may join packs meanwhile, and the joined pack is in the next
/// list.
pub(crate) fn retried<T>(what: &mut dyn FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..10 {
        match what() {
            Err(error) if error.is_gone() => {}
            done => return done,
        }
    }
    what()
}

/// The files of a folder with this ending, in the order of their names; none if there is no folder.
pub(crate) fn list(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let entries = entries.map_err(Error::io(folder, "list the folder"))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    paths.sort();
    Ok(paths)
}

/// Removes a file, which another command may have removed.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(path, "remove the file")(error))
        }
        _ => Ok(()),
    }
}

/// Brings a written file to the disk and gives it its name.
fn finish(
    written: Result<File, Error>,
    partial: &Path,
    path: &Path,
    folder: &Path,
    at: &dyn Fn(Moment),
) -> Result<(), Error> {
    let named = written.and_then(|file| {
        file.sync_all().map_err(Error::io(partial, "bring the file to the disk"))?;
        at(Moment::Written);
        fs::rename(partial, path).map_err(Error::io(path, "give the file its name"))
    });
    if named.is_err() {
        // The error is reported; a file that cannot be removed is swept later.
        let _ = fs::remove_file(partial);
    }
    named?;
    at(Moment::Renamed);
    let sync = File::open(folder).and_then(|folder| folder.sync_all());
    sync.map_err(Error::io(folder, "bring the folder to the disk"))?;
    at(Moment::Committed);
    Ok(())
}

#[cfg(test)]
mod tests;
