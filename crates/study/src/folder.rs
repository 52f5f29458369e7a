//! A store in a folder, which several machines may share.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use stripewise_results::shared;

use crate::error::Error;
use crate::media::{Media, Moment, Partial, Write};

/// The ending of files that are being written.
pub(crate) const PARTIAL: &str = "partial";

/// A folder. A file is written under another name and renamed when all of it is on the disk.
#[derive(Debug)]
pub(crate) struct Folder;

impl Media for Folder {
    fn place(&self, root: &Path) -> String {
        std::path::absolute(root).unwrap_or_else(|_| root.to_owned()).display().to_string()
    }

    fn list(&self, folder: &Path, ending: &str) -> Result<Vec<(PathBuf, u64)>, Error> {
        let mut found = Vec::new();
        for path in names(folder, ending)? {
            match fs::metadata(&path) {
                Ok(metadata) => found.push((path, metadata.len())),
                // Another command has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&path, "see the file's size")(error)),
            }
        }
        Ok(found)
    }

    fn list_below(&self, root: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
        let found = entries(root)?.into_iter().map(|folder| folder.join(name));
        let mut found: Vec<PathBuf> = found.filter(|path| path.is_file()).collect();
        found.sort();
        Ok(found)
    }

    fn read_at_most(&self, path: &Path, most: u64) -> Result<Bytes, Error> {
        shared::read(path, most).map(Bytes::from).map_err(Error::io(path, "read the file"))
    }

    fn copy(&self, path: &Path, most: u64, to: &mut File) -> Result<(), Error> {
        let copied = shared::open(path).and_then(|from| io::copy(&mut from.take(most), to));
        copied.map(drop).map_err(Error::io(path, "copy the file"))
    }

    fn create(&self, path: &Path, bytes: &Bytes) -> Result<Option<Bytes>, Error> {
        let aside = partial(path)?.1;
        let made = File::create_new(&aside).map_err(Error::io(&aside, "make the file"));
        let linked = made.and_then(|file| all(file, path, bytes)).and_then(|file| {
            file.sync_all().map_err(Error::io(&aside, "bring the file to the disk"))?;
            match fs::hard_link(&aside, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                linked => linked.map(|()| true).map_err(Error::io(path, "give the file its name")),
            }
        });
        // A file that cannot be removed is swept later.
        let _ = fs::remove_file(&aside);
        if linked? {
            return Ok(None);
        }
        self.read(path).map(|there| (there != *bytes).then_some(there))
    }

    fn put_pack(&self, path: &Path, bytes: Vec<u8>, at: &dyn Fn(Moment)) -> Result<(), Error> {
        put(path, at, |file| all(file, path, &bytes))
    }

    fn replace(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        put(path, &|_| (), |file| all(file, path, &bytes))
    }

    fn write(&self, path: &Path, write: Write<'_>) -> Result<(), Error> {
        put(path, &|_| (), write)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(path, "remove the file")(error))
            }
            _ => Ok(()),
        }
    }

    fn partials(&self, root: &Path, age: Duration) -> Result<Vec<Partial>, Error> {
        let mut partials = Vec::new();
        for folder in ["runs", "errors", "catalogue"] {
            for path in names(&root.join(folder), PARTIAL)? {
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
}

fn all(mut file: File, path: &Path, bytes: &[u8]) -> Result<File, Error> {
    file.write_all(bytes).map_err(Error::io(path, "write the file"))?;
    Ok(file)
}

/// Writes a file under another name, brings it to the disk, and gives it its name.
fn put(
    path: &Path,
    at: &dyn Fn(Moment),
    write: impl FnOnce(File) -> Result<File, Error>,
) -> Result<(), Error> {
    let (folder, partial) = partial(path)?;
    let file = File::create_new(&partial).map_err(Error::io(&partial, "make the file"))?;
    let named = write(file).and_then(|file| {
        file.sync_all().map_err(Error::io(&partial, "bring the file to the disk"))?;
        at(Moment::Written);
        fs::rename(&partial, path).map_err(Error::io(path, "give the file its name"))
    });
    if named.is_err() {
        // The error is reported; a file that cannot be removed is swept later.
        let _ = fs::remove_file(&partial);
    }
    named?;
    at(Moment::Renamed);
    let sync = File::open(&folder).and_then(|folder| folder.sync_all());
    sync.map_err(Error::io(&folder, "bring the folder to the disk"))?;
    at(Moment::Committed);
    Ok(())
}

/// The folder of a file, which exists from now on, and the name under which the file is written.
fn partial(path: &Path) -> Result<(PathBuf, PathBuf), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    fs::create_dir_all(&folder).map_err(Error::io(&folder, "make the folder"))?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The time keeps apart processes of equal number on several hosts that share the folder.
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("{time:x}-{}-{number}.{PARTIAL}", std::process::id());
    Ok((folder.clone(), folder.join(name)))
}

/// The files of a folder with this ending, in the order of their names; none if there is no folder.
fn names(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|it| it == ending));
    paths.sort();
    Ok(paths)
}

/// All entries of a folder; none if there is no folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let entries = entries.map_err(Error::io(folder, "list the folder"))?;
    Ok(entries.into_iter().map(|entry| entry.path()).collect())
}
