//! Digests of traces, kept between commands and worker processes: a trace is read for its digest once, not by each of them.
//!
//! The cache of the user (`$STRIPEWISE_CACHE_DIR`, `$XDG_CACHE_HOME/stripewise` or `~/.cache/stripewise`) has a small file
//! for each trace, with the state of its files ([`Stamp`]) and its digest. As in the index of git, a digest is kept only if
//! the files were old enough when they were read: otherwise they could be written again without a change of their times.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use stripewise_results::shared;
use stripewise_trace::{Stamp, TraceError};

use crate::error::Error;
use crate::observer::Observer;

/// The age of a file at which a later write changes its times, on the file system with the coarsest clock.
const SETTLED: Duration = Duration::from_secs(2);
/// Most bytes of an entry: it names each file of a trace.
const ENTRY_BYTES: u64 = 16 << 20;
/// The first line of the files.
const FORMAT: &str = "stripewise digest of a trace, form 1";

/// The BLAKE3 digest of a trace, in hexadecimal. Reads the trace unless the digest of its present state is known.
///
/// # Errors
/// A trace that cannot be read; [`Error::Stopped`].
pub fn trace_digest(path: &Path, observer: &dyn Observer) -> Result<String, Error> {
    digest(path, folder().as_deref(), SystemTime::now(), observer)
}

/// The folder of the digests; none where the user has no folder.
fn folder() -> Option<PathBuf> {
    Some(cache_folder()?.join("digests"))
}

/// The folder of what can be made again: `$STRIPEWISE_CACHE_DIR`, `$XDG_CACHE_HOME/stripewise` or `~/.cache/stripewise`; none
/// where the user has no folder.
pub fn cache_folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let cache = of("STRIPEWISE_CACHE_DIR").or_else(|| Some(user()?.join("stripewise")))?;
    cache.is_absolute().then_some(cache)
}

fn digest(
    path: &Path,
    folder: Option<&Path>,
    now: SystemTime,
    observer: &dyn Observer,
) -> Result<String, Error> {
    // After a file was replaced by a pipe: reading a pipe would wait, and take what its reader needs.
    crate::workload::check_rereadable(path)?;
    let read = || {
        let found = stripewise_trace::digest_while(path, &mut || observer.may_continue())?;
        found.ok_or(Error::Stopped)
    };
    let Some(folder) = folder else { return read() };
    let stamp = Stamp::of(path)?;
    let entry = folder.join(stamp.name());
    if let Some(known) = known(&entry, &stamp) {
        return Ok(known);
    }
    let found = read()?;
    let settled = now.checked_sub(SETTLED).and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let is_settled = settled.is_some_and(|settled| stamp.newest_ns() < settled.as_nanos() as i128);
    if is_settled && same_state(path, &stamp)? {
        keep(&entry, &text(&stamp, &found));
    }
    Ok(found)
}

fn same_state(path: &Path, stamp: &Stamp) -> Result<bool, TraceError> {
    Ok(Stamp::of(path)? == *stamp)
}

/// The content of an entry. The digest stands there twice, so that damage is noticed.
fn text(stamp: &Stamp, digest: &str) -> String {
    format!("{FORMAT}\n{}{digest}\n{digest}\n", stamp.text())
}

/// The digest of an entry; none if there is none of this state.
fn known(entry: &Path, stamp: &Stamp) -> Option<String> {
    let found = String::from_utf8(shared::read_own(entry, ENTRY_BYTES).ok()?).ok()?;
    let digest = found.lines().last()?;
    let is_whole = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_whole && found == text(stamp, digest)).then(|| digest.to_owned())
}

/// Writes an entry. Where that fails, the trace is read again next time.
fn keep(entry: &Path, text: &str) {
    let _ = shared::replace_own(entry, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Counts the pieces of files that are read.
    #[derive(Default)]
    struct Pieces(AtomicU32);

    impl Observer for Pieces {
        fn may_continue(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    struct Case {
        folder: tempfile::TempDir,
        trace: PathBuf,
    }

    impl Case {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let trace = folder.path().join("trace.csv");
            fs::write(&trace, "one").unwrap();
            Self { folder, trace }
        }

        fn cache(&self) -> PathBuf {
            self.folder.path().join("cache")
        }

        /// The digest at a time after the last write, and whether the trace was read for it.
        fn digest_after(&self, seconds: u64) -> (String, bool) {
            let now = SystemTime::now() + Duration::from_secs(seconds);
            let pieces = Pieces::default();
            let found = digest(&self.trace, Some(&self.cache()), now, &pieces).unwrap();
            assert_eq!(found, stripewise_trace::digest(&self.trace).unwrap());
            (found, pieces.0.into_inner() > 0)
        }

        fn is_read(&self) -> bool {
            self.digest_after(60).1
        }

        /// Longer than a step of the clock of a file system.
        fn wait(&self) {
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[test]
    fn a_trace_is_read_once() {
        let case = Case::new();
        assert!(case.is_read());
        assert!(!case.is_read() && !case.is_read());
        // Without a folder each time.
        let pieces = Pieces::default();
        digest(&case.trace, None, SystemTime::now(), &pieces).unwrap();
        assert!(pieces.0.into_inner() > 0);
    }

    #[test]
    fn a_trace_that_changes_is_read_again_even_if_size_and_time_stay() {
        let case = Case::new();
        let modified = fs::metadata(&case.trace).unwrap().modified().unwrap();
        assert!(case.is_read());
        case.wait();
        fs::write(&case.trace, "two").unwrap();
        File::options().write(true).open(&case.trace).unwrap().set_modified(modified).unwrap();
        assert!(case.is_read() && !case.is_read());
        let other = case.folder.path().join("other.csv");
        fs::write(&other, "six").unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(&other, &case.trace).unwrap();
        assert!(case.is_read() && !case.is_read());
        fs::write(&case.trace, "longer").unwrap();
        assert!(case.is_read());
    }

    #[test]
    fn a_trace_that_may_be_written_again_at_the_same_time_is_not_kept() {
        let case = Case::new();
        assert!(case.digest_after(0).1 && case.digest_after(0).1);
        assert!(case.digest_after(3).1 && !case.digest_after(0).1);
    }

    #[test]
    fn a_trace_of_several_files_is_read_again_when_one_of_them_changes() {
        let mut case = Case::new();
        let parts = case.folder.path().join("parts");
        fs::create_dir(&parts).unwrap();
        for name in ["a.parquet", "b.parquet"] {
            fs::write(parts.join(name), name).unwrap();
        }
        case.trace.clone_from(&parts);
        assert!(case.is_read() && !case.is_read());
        case.wait();
        fs::write(parts.join("b.parquet"), "c.parquet").unwrap();
        assert!(case.is_read() && !case.is_read());
        fs::write(parts.join("c.parquet"), "d").unwrap();
        assert!(case.is_read());
    }

    #[test]
    fn a_damaged_entry_is_not_used() {
        let case = Case::new();
        assert!(case.is_read());
        let entry = fs::read_dir(case.cache()).unwrap().next().unwrap().unwrap().path();
        let text = fs::read(&entry).unwrap();
        for at in 0..text.len() {
            let mut wrong = text.clone();
            wrong[at] ^= 1;
            fs::write(&entry, &wrong).unwrap();
            assert!(case.is_read(), "{at}");
            fs::write(&entry, &text[..at]).unwrap();
            assert!(case.is_read(), "{at}");
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_costs_only_time() {
        let case = Case::new();
        fs::write(case.cache(), "a file").unwrap();
        assert!(case.is_read() && case.is_read());
    }
}
