//! The event file: lines of JSON, bounded by rotation to one previous file, and readable while it is written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Most bytes of a file before it is rotated.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// The paths of an array's events: the current file and the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFile {
    /// The current file.
    pub current: PathBuf,
    /// The previous file.
    pub previous: PathBuf,
}

impl EventFile {
    /// The event files of the array called `name` in the state directory.
    pub fn of(state: &Path, name: &str) -> Self {
        Self::named(state, name, "events", "jsonl")
    }

    /// The log files of a server without a terminal, beside its events.
    pub fn log_of(state: &Path, name: &str) -> Self {
        Self::named(state, name, "server", "log")
    }

    fn named(state: &Path, name: &str, what: &str, ending: &str) -> Self {
        Self {
            current: state.join(format!("{name}.{what}.{ending}")),
            previous: state.join(format!("{name}.{what}.1.{ending}")),
        }
    }

    /// All complete lines, the oldest first. Empty if there are no events.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn lines(&self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        for path in [&self.previous, &self.current] {
            if let Some(file) = found(path)? {
                collect(&mut BufReader::new(file), &mut lines)?;
            }
        }
        Ok(lines)
    }
}

/// Opens a file, if it exists.
fn found(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the complete lines. An incomplete line is left for later: the reader is positioned before it.
fn collect(from: &mut (impl BufRead + Seek), lines: &mut Vec<String>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = from.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            from.seek_relative(-(read as i64))?;
            return Ok(());
        }
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
}

/// A file that lines are appended to, and that is rotated when it is full.
#[derive(Debug)]
pub struct RotatingFile {
    at: EventFile,
    limit: u64,
    file: File,
    bytes: u64,
}

impl RotatingFile {
    /// Opens or creates the current file; only its user may access it.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn open(at: EventFile) -> io::Result<Self> {
        Self::bounded(at, FILE_BYTES_MAX)
    }

    pub(super) fn bounded(at: EventFile, limit: u64) -> io::Result<Self> {
        let mut file = append_to(&at.current)?;
        let mut bytes = file.metadata()?.len();
        // A line that a crash truncated must not run into the next one.
        let mut last = [b'\n'];
        if bytes > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
            bytes += 1;
        }
        Ok(Self { at, limit, file, bytes })
    }

    /// Appends `line`, which includes its line end.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.limit {
            std::fs::rename(&self.at.current, &self.at.previous)?;
            self.file = append_to(&self.at.current)?;
            self.bytes = 0;
        }
        // One call, so that readers see complete lines.
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    // Links are not followed: other users may guess the name.
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new().create(true).append(true).read(true).mode(0o600).custom_flags(no_follow).open(path)
}

/// Reads events as they are written, across rotations.
#[derive(Debug)]
pub struct Follower {
    at: EventFile,
    open: Option<BufReader<File>>,
    /// The UUID of the array whose events are read; the others in the file are of earlier arrays of its name.
    array: Option<String>,
}

/// The part of an event that names its array.
#[derive(Deserialize)]
struct Origin {
    uuid: Option<String>,
    kind: Option<String>,
}

/// `lines` without events of other arrays than `array`: those with another UUID, and all before the creation of `array`.
/// Programs that did not write UUIDs may have served it since. Lines that are no events are kept.
fn of_array(mut lines: Vec<String>, array: &str) -> Vec<String> {
    let origin = |line: &String| serde_json::from_str::<Origin>(line).ok();
    let is_its = |its: &Origin| its.uuid.as_ref().is_none_or(|uuid| uuid == array);
    let creates =
        |its: Origin| its.uuid.is_some() && is_its(&its) && its.kind.as_deref() == Some("array-created");
    if let Some(created) = lines.iter().rposition(|line| origin(line).is_some_and(creates)) {
        lines.drain(..created);
    }
    lines.retain(|line| origin(line).is_none_or(|its| is_its(&its)));
    lines
}

impl Follower {
    /// Starts at the first existing line. With the UUID of an array, events of other arrays are left out; without, only
    /// those of the last array of the name remain, if events name it.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn new(at: EventFile, array: Option<String>) -> io::Result<Self> {
        let last = |line: &String| serde_json::from_str::<Origin>(line).ok().and_then(|its| its.uuid);
        let array = match array {
            None => at.lines()?.iter().rev().find_map(last),
            named => named,
        };
        Ok(Self { at, open: None, array })
    }

    /// The lines since the last call.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn lines(&mut self) -> io::Result<Vec<String>> {
        let lines = self.all_lines()?;
        Ok(match &self.array {
            Some(array) => of_array(lines, array),
            None => lines,
        })
    }

    fn all_lines(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        if self.open.is_none() {
            if let Some(file) = found(&self.at.previous)? {
                collect(&mut BufReader::new(file), &mut lines)?;
            }
            self.open = found(&self.at.current)?.map(BufReader::new);
        }
        loop {
            let Some(open) = &mut self.open else { return Ok(lines) };
            // The file is identified before it is read, so that lines written later are not missed.
            let own = open.get_ref().metadata()?;
            let current = found(&self.at.current)?;
            collect(open, &mut lines)?;
            let Some(current) = current else { return Ok(lines) };
            let other = current.metadata()?;
            if (own.dev(), own.ino()) == (other.dev(), other.ino()) {
                return Ok(lines);
            }
            // The file was rotated: it has been read to its end, and the other lines are in the next one.
            self.open = Some(BufReader::new(current));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> Vec<u8> {
        format!("{{\"event\":{number}}}\n").into_bytes()
    }

    #[test]
    fn the_file_is_bounded_and_keeps_the_latest_lines() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let mut file = RotatingFile::bounded(at.clone(), 200).unwrap();
        for number in 100..200 {
            file.append(&line(number)).unwrap();
            for path in [&at.current, &at.previous] {
                assert!(std::fs::metadata(path).map_or(0, |found| found.len()) <= 200, "{number}");
            }
        }
        let lines = at.lines().unwrap();
        assert!(lines.len() > 10 && lines.len() < 30, "{}", lines.len());
        assert_eq!(lines.last().unwrap(), "{\"event\":199}");
        assert_eq!(lines[0], format!("{{\"event\":{}}}", 200 - lines.len()), "nothing between is missing");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&at.current).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_line_that_was_cut_short_is_no_part_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        std::fs::write(&at.current, "{\"event\":1}\n{\"eve").unwrap();
        assert_eq!(at.lines().unwrap(), ["{\"event\":1}"], "it may be on its way");
        RotatingFile::open(at.clone()).unwrap().append(&line(2)).unwrap();
        assert_eq!(at.lines().unwrap(), ["{\"event\":1}", "{\"eve", "{\"event\":2}"]);
    }

    #[test]
    fn a_follower_misses_nothing_over_rotations() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let mut follower = Follower::new(at.clone(), None).unwrap();
        assert!(follower.lines().unwrap().is_empty());
        let mut file = RotatingFile::bounded(at.clone(), 100).unwrap();
        let mut seen = Vec::new();
        for number in 100..150 {
            file.append(&line(number)).unwrap();
            seen.extend(follower.lines().unwrap());
        }
        assert_eq!(seen.len(), 50, "{seen:?}");
        assert_eq!(seen.last().unwrap(), "{\"event\":149}");
    }

    #[test]
    fn a_new_array_of_an_old_name_starts_without_the_events_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let event = |uuid: &str, kind: &str| format!("{{\"uuid\":\"{uuid}\",\"kind\":\"{kind}\"}}");
        let bare = |kind: &str| format!("{{\"kind\":\"{kind}\"}}");
        let old = [bare("1"), event("a", "array-created"), event("a", "2"), bare("3"), "{\"cut".to_owned()];
        let new = [event("b", "array-created"), event("b", "4"), bare("5"), "{\"cut".to_owned()];
        // The old array is served once more, by other paths.
        let late = [event("a", "6")];
        let write = |lines: &[String]| {
            let mut file = RotatingFile::open(at.clone()).unwrap();
            lines.iter().for_each(|line| file.append(format!("{line}\n").as_bytes()).unwrap());
        };
        let read = |array: Option<&str>| {
            Follower::new(at.clone(), array.map(str::to_owned)).unwrap().lines().unwrap()
        };
        write(&old);
        assert_eq!(read(Some("a")), old[1..]);
        assert_eq!(read(Some("b")), [old[0].clone(), old[3].clone(), old[4].clone()], "they name no array");
        write(&new);
        assert_eq!(read(Some("b")), new);
        assert_eq!(read(None), new, "the last array has the name");
        let mut follower = Follower::new(at.clone(), Some("b".into())).unwrap();
        follower.lines().unwrap();
        write(&late);
        assert_eq!(follower.lines().unwrap(), [""; 0]);
        write(&new[1..2]);
        assert_eq!(follower.lines().unwrap(), new[1..2]);
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let other = folder.path().join("other");
        std::fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, &at.current).unwrap();
        assert!(RotatingFile::open(at).is_err());
        assert_eq!(std::fs::read(other).unwrap(), b"precious");
    }
}
