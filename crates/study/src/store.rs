//! The results of a study, in a folder or in a bucket of an object store.
//!
//! - `runs/NAME.parquet`: packs of finished runs. The name is the digest of the file's bytes, which every reader verifies. In a
//!   folder, a pack is written under another name and renamed when all of it is on the disk; in a bucket, it is put where there
//!   is none of its name. So a pack is complete, whatever was killed meanwhile.
//! - `errors/KEY.json`: the last failure of a run that has no result.
//! - `catalogue/PLAN.parquet`: the runs of a plan with its axes. A cache; it is made from the packs.
//!
//! There are no locks. Two commands that make the same runs at the same time write two packs with equal results.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_writer::ArrowWriter;
use stripewise_results::Digest;

use crate::error::Error;
use crate::folder::Folder;
use crate::media::{Media, Moment, Partial};
use crate::pack;
use crate::row::{Row, unhex};

/// The age at which such a file belongs to a dead process: writing one takes less than a second.
const DEAD: Duration = Duration::from_secs(3600);

/// The results of a study.
#[derive(Clone, Debug)]
pub struct StudyStore {
    root: PathBuf,
    media: Arc<dyn Media>,
}

/// The place of a store without a slash at its end, and what it is kept in.
pub(crate) fn media_of(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    match place.to_str().and_then(|text| text.split_once("://")) {
        None => Ok((place.to_owned(), Arc::new(Folder))),
        Some(("file", path)) => Ok((path.into(), Arc::new(Folder))),
        Some(_) => objects(place),
    }
}

#[cfg(feature = "object-stores")]
fn objects(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    let text = place.to_string_lossy();
    let text = text.trim_end_matches('/');
    Ok((text.into(), Arc::new(crate::objects::Objects::open(text)?)))
}

#[cfg(not(feature = "object-stores"))]
fn objects(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    Err(Error::Spec(format!(
        "{}: this program was built without object stores; give a folder, or build it with `--features object-stores`",
        place.display()
    )))
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
    /// The results in the folder `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), media: Arc::new(Folder) }
    }

    /// The results at a place: a folder, or `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`.
    ///
    /// # Errors
    /// A place of unknown form; settings of an object store that are missing or wrong; a program without object stores.
    pub fn open(place: &Path) -> Result<Self, Error> {
        let (root, media) = media_of(place)?;
        Ok(Self { root, media })
    }

    /// The place of the store, for other processes.
    pub fn place(&self) -> String {
        self.media.place(&self.root)
    }

    /// The place of the store, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The packs, in the order of their names.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(crate) fn packs(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.sized_packs()?.into_iter().map(|(path, _)| path).collect())
    }

    fn sized_packs(&self) -> Result<Vec<(PathBuf, u64)>, Error> {
        self.media.list(&self.root.join("runs"), "parquet")
    }

    /// The failures, one file each.
    pub(crate) fn failure_files(&self) -> Result<Vec<PathBuf>, Error> {
        let files = self.media.list(&self.root.join("errors"), "json")?;
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }

    /// The bytes of a file.
    pub(crate) fn read(&self, path: &Path) -> Result<Bytes, Error> {
        self.media.read(path)
    }

    /// The bytes of a pack.
    pub(crate) fn read_pack(&self, path: &Path) -> Result<Bytes, Error> {
        self.media.read_pack(path)
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
        self.media.prefetch(&packs)?;
        let mut names = vec!["key", "run_digest", "results_digest", "steady", CPU_NS];
        names.extend(figures.iter().map(String::as_str));
        for (number, path) in packs.iter().enumerate() {
            pack::read(path, self.read_pack(path)?, Some(&names), &mut |batch| {
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
        self.media.put_pack(&path, bytes, at)?;
        Ok(path)
    }

    /// Writes a Parquet file in the place of the one that is there.
    pub(crate) fn put(
        &self,
        path: &Path,
        write: impl FnOnce(File) -> Result<ArrowWriter<File>, Error>,
    ) -> Result<(), Error> {
        self.media.write(path, Box::new(|file| Ok(write(file)?.into_inner()?)))
    }

    /// Writes a small file in the same way.
    pub(crate) fn put_bytes(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        self.media.replace(path, bytes)
    }

    /// Keeps a text under a name in a folder of the store; an earlier text stays, and is returned.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn kept(&self, folder: &str, name: &str, text: &str) -> Result<Option<String>, Error> {
        let path = self.root.join(folder).join(name);
        match self.read(&path) {
            Ok(there) => Ok(Some(String::from_utf8_lossy(&there).into_owned())),
            Err(error) if error.is_gone() => {
                self.put_bytes(&path, text.as_bytes().to_vec())?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The texts in a folder of the store whose names begin with `prefix`, in the order of the names.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn texts(&self, folder: &str, prefix: &str) -> Result<Vec<String>, Error> {
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
        };
        let files = self.media.list(&self.root.join(folder), "json")?;
        let paths = files.into_iter().map(|(path, _)| path).filter(named);
        paths.map(|path| Ok(String::from_utf8_lossy(&self.read(&path)?).into_owned())).collect()
    }

    /// Removes a file, which another command may have removed.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<(), Error> {
        self.media.remove(path)
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
        self.media.partials(&self.root, age)
    }

    /// Removes half written files.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn remove(&self, partials: &[Partial]) -> Result<(), Error> {
        partials.iter().try_for_each(|partial| self.media.remove(&partial.path))
    }

    /// Joins small packs to larger ones. A command that is killed meanwhile leaves some runs in two packs, which is harmless.
    ///
    /// # Errors
    /// When a pack cannot be read or written.
    pub fn join(&self) -> Result<(), Error> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        for (path, size) in self.sized_packs()? {
            if size >= SMALL_BYTES {
                continue;
            }
            group.push(path);
            bytes += size;
            if bytes >= JOINED_BYTES || group.len() >= JOINED_PACKS {
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
            let read = self.read_pack(path).and_then(|bytes| {
                pack::read(path, bytes, None, &mut |table| {
                    tables.push(table.clone());
                    Ok(())
                })
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
        packs.iter().filter(|(old, _)| **old != path).try_for_each(|(old, _)| self.media.remove(old))
    }
}

/// Packs below this size are joined.
const SMALL_BYTES: u64 = 1 << 20;
/// Bytes of packs that are joined to one: they are in memory at a time.
const JOINED_BYTES: u64 = 16 << 20;
/// Most packs that are joined to one.
const JOINED_PACKS: usize = 256;

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

#[cfg(test)]
mod tests;
