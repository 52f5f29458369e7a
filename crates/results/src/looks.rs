//! The record of comparisons whose seeds ended when an interval was narrow (`compare --until`). Their intervals are wider,
//! because several looks decided how many seeds there are, and every later report of the runs must know it.
//!
//! A file for each comparison in `until/` of the directory of results: the figure, the number of looks, and the runs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::error::Error;
use crate::paired::Rate;
use crate::shared;

/// The folder of the records in a directory of results.
pub const FOLDER: &str = "until";
/// Most bytes of a record: it has the digests of its runs.
pub const RECORD_BYTES: u64 = 64 << 20;

/// Records that the number of these runs was decided by `rate.looks` looks at a figure. The file of the record.
///
/// # Errors
/// When the file cannot be written.
pub fn record(root: &Path, figure: &str, rate: Rate, runs: &BTreeSet<Digest>) -> Result<PathBuf, Error> {
    let names: Vec<toml::Value> = runs.iter().map(|run| run.to_string().into()).collect();
    let mut entry = toml::Table::new();
    entry.insert("figure".to_owned(), figure.into());
    entry.insert("looks".to_owned(), i64::from(rate.looks).into());
    entry.insert("runs".to_owned(), names.into());
    let text = toml::to_string_pretty(&entry).expect("texts, integers and lists of them are TOML");
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(Error::io(&folder, "make the directory"))?;
    // Equal comparisons have one file, which the last of them writes.
    let path = folder.join(format!("{}.toml", blake3::hash(text.as_bytes()).to_hex()));
    shared::replace(&path, text.as_bytes()).map_err(Error::io(&path, "write the file"))?;
    Ok(path)
}

/// The error rate of intervals over `runs` of a directory of results: that of the comparison with the most looks that has
/// one of them.
///
/// # Errors
/// When a record cannot be read.
pub fn rate_of(root: &Path, runs: &BTreeSet<Digest>) -> Result<Rate, Error> {
    let folder = root.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Rate::FIXED),
        entries => entries.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let mut rate = Rate::FIXED;
    for path in
        entries.map_err(Error::io(&folder, "list the directory"))?.into_iter().map(|entry| entry.path())
    {
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = shared::read_text(&path, RECORD_BYTES).map_err(Error::io(&path, "read the file"))?;
        let entry: Option<toml::Table> = text.parse().ok();
        let looks = |entry: &toml::Table| u32::try_from(entry.get("looks")?.as_integer()?).ok();
        let damaged =
            || Error::Damaged { path: path.clone(), found: "it has no `looks` and `runs`".to_owned() };
        let (entry, looks) =
            entry.and_then(|entry| looks(&entry).map(|looks| (entry, looks))).ok_or_else(damaged)?;
        let listed = entry.get("runs").and_then(toml::Value::as_array).ok_or_else(damaged)?;
        let mut listed = listed.iter().filter_map(|run| run.as_str()?.parse().ok());
        if listed.any(|run: Digest| runs.contains(&run)) {
            rate.looks = rate.looks.max(looks);
        }
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_rate_of_the_comparison_with_the_most_looks() {
        let folder = tempfile::tempdir().unwrap();
        let rate = |runs: &[u8]| rate_of(folder.path(), &of(runs)).unwrap().looks;
        fn of(runs: &[u8]) -> BTreeSet<Digest> {
            runs.iter().map(|&run| Digest([run; 32])).collect()
        }
        assert_eq!(rate(&[1, 2]), 1);
        for (looks, runs) in [(12, &[1, 2][..]), (5, &[2, 3]), (5, &[2, 3])] {
            record(folder.path(), "response_p99_ns", Rate { looks, ..Rate::FIXED }, &of(runs)).unwrap();
        }
        assert_eq!([rate(&[1]), rate(&[3]), rate(&[2, 3]), rate(&[4])], [12, 5, 12, 1]);
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 2);
        fs::write(folder.path().join(FOLDER).join("x.toml"), "looks = 3").unwrap();
        assert!(matches!(rate_of(folder.path(), &of(&[1])), Err(Error::Damaged { .. })));
    }
}
