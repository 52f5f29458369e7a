//! Records the writes of members, so that a test can remove those that no flush covered. A killed process loses
//! nothing that it passed to the system; a loss of power does.
//!
//! Each member has a file of its own name in one folder. A record is appended before an operation is submitted, and
//! another when it has succeeded. A record is 13 bytes, little-endian, followed by the written bytes: one of `w` (a
//! page is written), `t` (a page is trimmed), `f` (a flush begins) and `e` (the operation succeeded); the number of the
//! operation (32 bits), which is used again when the operation is over; the page (32 bits); the bytes of a page (32
//! bits), which follow if the page is written. `stripewise-check kill` reads these files.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stripewise_array::{MemberNo, OperationId, OperationKind};

/// The recordings of an array's members.
#[derive(Debug)]
pub(crate) struct Recording {
    folder: PathBuf,
    members: Vec<Option<File>>,
    page_bytes: u32,
    record: Vec<u8>,
}

impl Recording {
    /// Begins the recordings in `folder`, or appends to those that exist.
    ///
    /// # Errors
    /// The system's error for the folder or a file in it.
    pub(crate) fn new<'a>(
        folder: &Path,
        members: impl Iterator<Item = &'a Path>,
        page_bytes: u32,
    ) -> io::Result<Self> {
        let members = members.map(|path| open(folder, path).map(Some)).collect::<Result<_, _>>()?;
        Ok(Self { folder: folder.into(), members, page_bytes, record: Vec::new() })
    }

    /// Renumbers the members: `positions` holds the old number of each, or none if it is absent.
    pub(crate) fn renumbered(mut self, positions: &[Option<u16>]) -> Self {
        let member = |position: &Option<u16>| self.members[usize::from((*position)?)].take();
        self.members = positions.iter().map(member).collect();
        self
    }

    /// Begins the recording of a file that replaces a member.
    pub(crate) fn put(&mut self, member: MemberNo, path: &Path) {
        self.members[member.index()] = Some(open(&self.folder, path).unwrap_or_else(|error| fail(error)));
    }

    /// Records an operation before it is submitted, with the bytes that it writes.
    pub(crate) fn begins(
        &mut self,
        member: MemberNo,
        id: OperationId,
        (kind, page): (OperationKind, u32),
        content: &[u8],
    ) {
        let (kind, content) = match kind {
            OperationKind::Read => return,
            OperationKind::Write => (b'w', content),
            OperationKind::Trim => (b't', &[][..]),
            OperationKind::Flush => (b'f', &[][..]),
        };
        self.append(member, kind, id, page, content);
    }

    /// Records that an operation succeeded.
    pub(crate) fn succeeded(&mut self, member: MemberNo, id: OperationId, kind: OperationKind) {
        if kind != OperationKind::Read {
            self.append(member, b'e', id, 0, &[]);
        }
    }

    fn append(&mut self, member: MemberNo, kind: u8, id: OperationId, page: u32, content: &[u8]) {
        let Some(file) = &mut self.members[member.index()] else { return };
        self.record.clear();
        self.record.push(kind);
        for number in [id.number(), page, self.page_bytes] {
            self.record.extend(number.to_le_bytes());
        }
        self.record.extend(content);
        file.write_all(&self.record).unwrap_or_else(|error| fail(error));
    }
}

fn open(folder: &Path, member: &Path) -> io::Result<File> {
    let name = member.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    File::options().create(true).append(true).open(folder.join(name))
}

/// Ends the process: a recording with a gap would let a test remove durable data.
fn fail(error: io::Error) -> ! {
    panic!("what members are given cannot be recorded: {error}")
}
