//! Runs of `compare` and `run` in a bucket of an object store: a folder for each run, as in a directory of results.
//!
//! Programs make and read runs in a directory of this machine, the mirror. A finished run is put in the bucket: first its
//! tables, each where there is none of its name, and last `run.toml`. So a run whose `run.toml` is in the bucket is whole,
//! whatever was killed meanwhile. A table that is there already stays if it has the rows of the run, and `run.toml` then has
//! its size.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use stripewise_results::digest::TableDigest;
use stripewise_results::{Digest, FinishedRun, RunRecord, Store, looks, shared, verify_file};
use stripewise_runs::{Remote, cache_folder};

use crate::error::Error;
use crate::folder::Folder;
use crate::media::Media;
use crate::row::hex;

/// The file that makes a run whole.
const RUN: &str = "run.toml";
/// Larger tables are not held in memory.
const LARGE_BYTES: u64 = 64 << 20;

type StudyError = stripewise_runs::Error;

/// Runs in a bucket, with the directory of this machine that mirrors it.
pub struct RunBucket {
    root: PathBuf,
    media: Arc<dyn Media>,
    mirror: PathBuf,
    /// Why the bucket cannot be used. Later runs then fail at once, and not each after a minute.
    failed: Mutex<Option<String>>,
    /// Whether the bucket is there. One that is not there has no run, as an empty one.
    is_there: OnceLock<()>,
}

impl fmt::Debug for RunBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RunBucket");
        debug.field("root", &self.root).field("mirror", &self.mirror).finish_non_exhaustive()
    }
}

/// Whether a place is that of a bucket, and not a path.
pub fn is_bucket(place: &Path) -> bool {
    place.to_str().is_some_and(|text| text.contains("://"))
}

impl RunBucket {
    /// The runs at `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. The mirror is in the cache of the
    /// user, and may be removed at any time.
    ///
    /// # Errors
    /// A place of unknown form; settings of an object store that are missing or wrong; a program without object stores.
    pub fn open(place: &Path) -> Result<Self, Error> {
        let (root, media) = crate::store::media_of(place)?;
        let Some(cache) = cache_folder() else {
            let remedy = "runs of a bucket need a cache on this machine; set HOME or STRIPEWISE_CACHE_DIR";
            return Err(Error::Spec(format!("{}: {remedy}", root.display())));
        };
        let name = hex(&blake3::hash(root.as_os_str().as_encoded_bytes()).as_bytes()[..8]);
        Ok(Self::over(root, media, cache.join("buckets").join(name)))
    }

    fn over(root: PathBuf, media: Arc<dyn Media>, mirror: PathBuf) -> Self {
        Self { root, media, mirror, failed: Mutex::new(None), is_there: OnceLock::new() }
    }

    /// The directory of this machine that mirrors the bucket.
    pub fn mirror(&self) -> &Path {
        &self.mirror
    }

    /// The place of the bucket.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place in the bucket of a file or directory of the mirror.
    pub fn place_of(&self, path: &Path) -> PathBuf {
        // Runs have paths without links.
        let real = fs::canonicalize(&self.mirror).ok();
        let mirrors = [Some(&self.mirror), real.as_ref()].into_iter().flatten();
        let inner = mirrors.filter_map(|mirror| path.strip_prefix(mirror).ok()).next();
        inner.map_or_else(|| path.to_owned(), |inner| self.root.join(inner))
    }

    /// Brings all runs of the bucket to the mirror, and what decided the number of their seeds. The runs, in the order of
    /// their digests.
    ///
    /// # Errors
    /// When the bucket cannot be read, or a run in it is damaged.
    pub fn fetch_all(&self) -> Result<Vec<FinishedRun>, Error> {
        let store = Store::new(&self.mirror);
        let mut runs = Vec::new();
        for path in self.media.list_below(&self.root, RUN)? {
            let name = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            let Some(run) = name.and_then(|name| name.parse().ok()) else { continue };
            if self.fetched(&store, run)?.is_some() {
                runs.extend(store.find(run).map_err(StudyError::from)?);
            }
        }
        for (path, _) in self.media.list(&self.root.join(looks::FOLDER), "toml")? {
            let name = path.file_name().unwrap_or_default();
            let bytes = self.media.read(&path)?;
            Folder.replace(&self.mirror.join(looks::FOLDER).join(name), bytes.to_vec())?;
        }
        Ok(runs)
    }

    /// Puts a file of the mirror in the bucket, in the place of the one that is there. Its place there.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn put(&self, path: &Path) -> Result<PathBuf, Error> {
        let bytes = fs::read(path).map_err(Error::io(path, "read the file"))?;
        let place = self.place_of(path);
        self.media.replace(&place, bytes)?;
        Ok(place)
    }

    fn folder(&self, run: Digest) -> PathBuf {
        self.root.join(run.to_string())
    }

    /// What the bucket says of a run; none if it has no such run.
    fn record(&self, run: Digest) -> Result<Option<RunRecord>, Error> {
        let path = self.folder(run).join(RUN);
        match self.media.read(&path) {
            Err(error) if error.is_gone() => Ok(None),
            read => parse(&read?, &path, run).map(Some),
        }
    }

    /// Brings a run to the mirror, if it lacks tables of it. What the bucket says of the run.
    fn fetched(&self, store: &Store, run: Digest) -> Result<Option<RunRecord>, Error> {
        let Some(record) = self.record(run)? else { return Ok(None) };
        let folder = self.folder(run);
        match store.find(run) {
            Ok(Some(there)) => {
                record.must_agree(&folder, there.record().tables()).map_err(StudyError::from)?;
                if record.tables().iter().all(|(digest, _)| there.has(digest.table)) {
                    return Ok(Some(record));
                }
            }
            Ok(None) => {}
            // A damaged run of the mirror is replaced.
            Err(error) if error.is_damage() => {}
            Err(error) => return Err(StudyError::from(error).into()),
        }
        let fill = |digest: TableDigest, size, file: &mut File| {
            self.download(&folder.join(digest.table.file()), digest, size, file)
        };
        store.import(&record, |digest, size, file| fill(digest, size, file).map_err(Imported))?;
        Ok(Some(record))
    }

    /// Writes a table of the bucket to a file.
    fn download(&self, path: &Path, digest: TableDigest, size: u64, file: &mut File) -> Result<(), Error> {
        let damaged = |found: String| Err(damage(path, found));
        match self.media.copy(path, size.saturating_add(1), file) {
            Err(error) if error.is_gone() => {
                return damaged(format!("{RUN} names this table, and it is not there"));
            }
            copied => copied?,
        }
        let found = file.metadata().map_err(Error::io(path, "see the size of the copy"))?.len();
        if found != size {
            let found = if found > size { "more".to_owned() } else { found.to_string() };
            return damaged(format!("{found} bytes, but {RUN} says {size}"));
        }
        checked(file, path, digest)
    }

    /// Puts a table of a run where there is none. The size of the table that is then there.
    fn upload(&self, run: &FinishedRun, digest: TableDigest, size: u64, force: bool) -> Result<u64, Error> {
        let local = run.path().join(digest.table.file());
        let path = self.folder(run.inputs().digest()).join(digest.table.file());
        if size > LARGE_BYTES {
            // These go in parts, without the condition. Their bytes depend on the run alone; totals, which have the time
            // that a run took, are small.
            let copy = |mut file: File| {
                let copied = shared::open(&local).and_then(|mut table| io::copy(&mut table, &mut file));
                copied.map_err(Error::io(&local, "read the table"))?;
                Ok(file)
            };
            return self.media.write(&path, Box::new(copy)).map(|()| size);
        }
        let bytes = shared::read(&local, LARGE_BYTES).map_err(Error::io(&local, "read the table"))?;
        let bytes = Bytes::from(bytes);
        let Some(there) = self.media.create(&path, &bytes)? else { return Ok(size) };
        let mut copy = tempfile::tempfile().map_err(Error::io(&path, "make a temporary file"))?;
        match verified(&mut copy, &there, &path, digest) {
            Ok(()) => Ok(there.len() as u64),
            Err(_) if force => self.media.replace(&path, bytes.to_vec()).map(|()| size),
            Err(error) => Err(error),
        }
    }

    fn put_run(&self, run: &FinishedRun, force: bool) -> Result<(), Error> {
        let (digest, ours) = (run.inputs().digest(), run.record());
        let path = self.folder(digest).join(RUN);
        let agreed = |theirs: RunRecord| {
            let agrees = theirs.must_agree(&self.folder(digest), ours.tables());
            agrees.map_err(|error| Error::from(StudyError::from(error))).map(|()| theirs)
        };
        let there = match self.record(digest) {
            Err(error) if force && is_damage(&error) => {
                self.media.remove(&path)?;
                None
            }
            there => there?.map(&agreed).transpose()?,
        };
        let mut tables = Vec::new();
        for &(table, size) in ours.tables() {
            let is_there = there.as_ref().is_some_and(|theirs| theirs.has(table.table));
            if force || !is_there {
                tables.push((table, self.upload(run, table, size, force)?));
            }
        }
        let theirs = match there {
            Some(theirs) => theirs,
            None => {
                let record = RunRecord::new(ours.inputs().clone(), tables.clone());
                match self.media.create(&path, &Bytes::from(record.text()))? {
                    None => return Ok(()),
                    // Another process was first.
                    Some(there) => agreed(parse(&there, &path, digest)?)?,
                }
            }
        };
        // Tables that were not asked for before, or that were damaged.
        let all = theirs.with(&tables);
        if all == theirs { Ok(()) } else { self.media.replace(&path, all.text().into_bytes()) }
    }

    fn must_be_there(&self) -> Result<(), Error> {
        if self.is_there.get().is_none() {
            self.media.list(&self.root.join(looks::FOLDER), "toml")?;
            self.is_there.get_or_init(|| ());
        }
        Ok(())
    }

    /// Does something with the bucket, unless it could not be used before.
    fn using<T>(&self, what: impl FnOnce() -> Result<T, Error>) -> Result<T, StudyError> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &*failed() {
            return Err(StudyError::Remote(why.clone()));
        }
        self.must_be_there().and_then(|()| what()).map_err(|error| match error {
            Error::Runs(error) => error,
            error => StudyError::Remote(failed().get_or_insert(error.to_string()).clone()),
        })
    }
}

impl Remote for RunBucket {
    fn fetch(&self, store: &Store, run: Digest) -> Result<bool, StudyError> {
        self.using(|| {
            let Some(record) = self.fetched(store, run)? else { return Ok(false) };
            let there = store.find(run).map_err(StudyError::from)?;
            Ok(there.is_some_and(|run| run.digests().iter().all(|digest| record.has(digest.table))))
        })
    }

    fn keep(&self, run: &FinishedRun, force: bool) -> Result<(), StudyError> {
        self.using(|| self.put_run(run, force))
    }
}

/// An error of an import.
struct Imported(Error);

impl From<stripewise_results::Error> for Imported {
    fn from(error: stripewise_results::Error) -> Self {
        Self(StudyError::from(error).into())
    }
}

impl From<Imported> for Error {
    fn from(Imported(error): Imported) -> Self {
        error
    }
}

fn parse(bytes: &[u8], path: &Path, run: Digest) -> Result<RunRecord, Error> {
    let record = RunRecord::parse(&String::from_utf8_lossy(bytes), path, run);
    record.map_err(|error| StudyError::from(error).into())
}

/// Writes the table at `path` to an empty file, and checks that it is the one of this digest.
fn verified(file: &mut File, bytes: &[u8], path: &Path, digest: TableDigest) -> Result<(), Error> {
    file.write_all(bytes).map_err(Error::io(path, "keep a copy of the table"))?;
    checked(file, path, digest)
}

/// Checks that a copy of the table at `path` is the one of this digest.
fn checked(copy: &File, path: &Path, digest: TableDigest) -> Result<(), Error> {
    let copy = copy.try_clone().map_err(Error::io(path, "read a copy of the table"))?;
    let checked = verify_file(copy, &path.display().to_string(), digest);
    checked.map_err(|error| StudyError::from(error).into())
}

fn damage(path: &Path, found: String) -> Error {
    StudyError::from(stripewise_results::Error::Damaged { path: path.to_owned(), found }).into()
}

fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Runs(StudyError::Store(error)) if error.is_damage())
}

#[cfg(test)]
mod tests;
