//! The state of a trace's files, by which a digest that was computed once is known again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::format::members;

/// The state of the files of a trace: names, sizes, times, inodes. It changes when a file is written, replaced, added or
/// removed. A file that is written twice within the resolution of its file system's clock may keep its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp(Vec<FileState>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    bytes: u64,
    /// When its content was written, and when its content or its inode was. A program can set the first.
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    device: u64,
}

impl Stamp {
    /// The state of a trace now.
    ///
    /// # Errors
    /// The operating system's.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let io = |source| TraceError::Io { path: path.to_owned(), source };
        let state = |file: PathBuf| -> Result<FileState, TraceError> {
            let metadata = fs::metadata(&file).map_err(io)?;
            let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
            Ok(FileState {
                path: std::path::absolute(&file).map_err(io)?,
                bytes: metadata.len(),
                modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
                changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
                inode: metadata.ino(),
                device: metadata.dev(),
            })
        };
        members(path)?.into_iter().map(state).collect::<Result<_, _>>().map(Self)
    }

    /// When any of the files was written last, in nanoseconds since 1970.
    pub fn newest_ns(&self) -> i128 {
        self.0.iter().map(|file| file.modified_ns.max(file.changed_ns)).max().unwrap_or(i128::MAX)
    }

    /// A name for the place of the trace, which other states of the trace may share.
    pub fn name(&self) -> String {
        self.0.first().map_or_else(String::new, |file| format!("{:x}-{:x}", file.device, file.inode))
    }

    /// The state as a text, a line for each file. Equal states have equal texts.
    pub fn text(&self) -> String {
        let line = |file: &FileState| {
            let FileState { path, bytes, modified_ns, changed_ns, inode, device } = file;
            format!("{bytes} {modified_ns} {changed_ns} {inode} {device} {path:?}\n")
        };
        self.0.iter().map(line).collect()
    }
}
