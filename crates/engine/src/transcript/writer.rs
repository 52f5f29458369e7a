//! Whether a server still writes a transcript: it holds a lock of the file from its creation until it ends.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use stripewise_base::text::visible;

/// Locks a file for as long as it is open. Where a file system has no locks, replays do not know the writer.
pub(super) fn hold(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// The process that still writes a file, as `process 812 (stripewise)`; none if no process does.
pub(super) fn of(file: &File) -> Option<String> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Some(process(file).map_or_else(|| "a server".to_owned(), named)),
        _ => {
            let _ = flock(file, FlockOperation::Unlock);
            None
        }
    }
}

/// What to do about a transcript that a process still writes.
pub(super) fn remedy(writer: &str) -> String {
    format!(
        "{writer} still writes it, and has its last events in memory; end that server (`stripewise stop NAME`), then replay"
    )
}

/// The process that holds an exclusive lock of a file, as far as this one may know.
fn process(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holder(line, &inode))
}

/// The process of a line such as `1: FLOCK  ADVISORY  WRITE 812 08:01:1573 0 EOF`, if the file is that with the inode.
fn holder(line: &str, inode: &str) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, "WRITE", process, place, ..] = words[..] else { return None };
    // A process in another container has no number here.
    process.parse().ok().filter(|&process| process > 0 && place.rsplit(':').next() == Some(inode))
}

fn named(process: u32) -> String {
    match fs::read_to_string(format!("/proc/{process}/comm")) {
        Ok(name) => format!("process {process} ({})", visible(name.trim_end())),
        Err(_) => format!("process {process}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_inode() {
        let of = |line| holder(line, "1573");
        assert_eq!(of("1: FLOCK  ADVISORY  WRITE 812 08:01:1573 0 EOF"), Some(812));
        assert_eq!(of("1: FLOCK  ADVISORY  WRITE 812 08:01:11573 0 EOF"), None);
        assert_eq!(of("1: FLOCK  ADVISORY  READ 812 08:01:1573 0 EOF"), None);
        assert_eq!(of("1: -> FLOCK  ADVISORY  WRITE 812 08:01:1573 0 EOF"), None, "it waits for the lock");
        assert_eq!(of("1: POSIX  ADVISORY  WRITE 812 08:01:1573 0 EOF"), None);
        assert_eq!(of("1: FLOCK  ADVISORY  WRITE 0 08:01:1573 0 EOF"), None);
        assert_eq!(of(""), None);
    }
}
