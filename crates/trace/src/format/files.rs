//! The files of one trace. Of a blktrace: `X.blktrace.0`, `X.blktrace.1` and so on, one for each CPU, optionally
//! compressed. Of a Parquet trace with several files: all files in a folder, one after the other by their names.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{TraceError, without_compression};

/// The files of the trace at `path`, at least one, in the order of their numbers or names; gaps are allowed. `path`
/// may be a single file; a file of a blktrace, its name before `.blktrace`, or the folder that holds its files; or a
/// folder of Parquet files.
///
/// # Errors
/// If a folder cannot be read, or holds the files of several traces or of none.
pub(crate) fn members(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let one = || vec![path.to_owned()];
    if path.is_dir() {
        let mut traces = traces(path, |_| true)?;
        let parquet = parquet_files(path)?;
        if !parquet.is_empty() {
            traces.insert("*.parquet".to_owned(), parquet);
        }
        let names: Vec<&String> = traces.keys().collect();
        let reason = match names.as_slice() {
            [_] => return Ok(traces.into_values().flatten().collect()),
            [] => "is a folder and holds neither Parquet files (*.parquet) nor those of a blktrace \
                   (NAME.blktrace.0 ...); give a file"
                .to_owned(),
            [first, second, ..] => format!(
                "is a folder and holds {} traces; give a file of one, such as {first} or {second}",
                names.len()
            ),
        };
        return Err(TraceError::NotATrace { path: path.to_owned(), reason });
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(one()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_file = path.exists();
    let wanted = match key(name) {
        Some((key, _)) if is_file => key,
        None if !is_file => format!("{name}.blktrace.*"),
        _ => return Ok(one()),
    };
    match traces(folder, |key| key == wanted) {
        Ok(traces) if !traces.is_empty() => Ok(traces.into_values().flatten().collect()),
        // The file itself causes the error, or is the only file.
        _ => Ok(one()),
    }
}

/// Whether a file's name is that of a file of a blktrace.
pub(crate) fn is_blktrace_member(name: &str) -> bool {
    key(name).is_some()
}

/// The common name of the files of one trace, and the number of this file: `sdb.blktrace.17.zst` is 17 of
/// `sdb.blktrace.*.zst`.
fn key(name: &str) -> Option<(String, u32)> {
    let bare = without_compression(name);
    let ending = &name[bare.len()..];
    let (base, number) = bare.rsplit_once(".blktrace.")?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| digits)?;
    Some((format!("{base}.blktrace.*{ending}"), number))
}

/// The files of each blktrace in a folder, in the order of their numbers.
fn traces(
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Vec<PathBuf>>, TraceError> {
    let io = |source: io::Error| TraceError::Io { path: folder.to_owned(), source };
    let mut found: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        if let Some((key, number)) = name.to_str().and_then(key)
            && wanted(&key)
        {
            found.entry(key).or_default().insert(number, entry.path());
        }
    }
    Ok(found.into_iter().map(|(key, files)| (key, files.into_values().collect())).collect())
}

/// The Parquet files of a folder, by their names.
fn parquet_files(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let io = |source: io::Error| TraceError::Io { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>().map_err(io)?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    paths.sort_unstable();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_trace_share_all_but_their_number() {
        let pair = |name: &str| key(name);
        assert_eq!(pair("sdb.blktrace.17"), Some(("sdb.blktrace.*".to_owned(), 17)));
        assert_eq!(pair("a.b.blktrace.0.zst"), Some(("a.b.blktrace.*.zst".to_owned(), 0)));
        for other in ["sdb.blktrace", "sdb.blktrace.x", "sdb.blktrace.+1", "sdb.blktrace.", "trace.csv"] {
            assert_eq!(pair(other), None, "{other}");
        }
    }
}
