//! Writes the transcript of an engine while it serves.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use stripewise_array::format::crc32c;
use stripewise_array::{
    At, Found, Media, MemberNo, Operation, OperationId, OperationKind, Outcome, Rejoining,
};
use stripewise_base::Nanos;

use super::blocks::Blocks;
use super::event::{Came, Event};
use super::head::Head;
use super::versions::Versions;
use super::writer;
use crate::error::EngineError;
use crate::files::create_private;

/// The writer of a transcript. [`crate::Engine::resume_transcribed`] starts it.
///
/// Each operation costs a checksum of its page and some 20 bytes of the file, written by the thread that serves. It
/// uses 4 bytes of memory for each page of the members.
#[derive(Debug)]
pub struct Scribe {
    path: PathBuf,
    blocks: Blocks<BufWriter<File>>,
    /// For each member and page, the checksum of the content that the run wrote or read there; [`UNKNOWN`] if it did
    /// neither.
    known: Vec<Vec<u32>>,
    /// Checksums of the content of pages before writes and trims that reads may have overtaken.
    versions: Versions<u32>,
    zeros: u32,
    /// Whether no event happened since operations were last offered, so that offering them again changes nothing.
    has_dispatched: bool,
    /// The first write error. Nothing is written after it.
    failed: Option<io::Error>,
}

const UNKNOWN: u32 = 0;

/// The checksum of a page, which is never [`UNKNOWN`].
fn mark(page: &[u8]) -> u32 {
    crc32c(page) | 1
}

impl Scribe {
    /// Creates the file `path`. Only its user may read it: it has content of the array.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, EngineError> {
        let made = create_private(path).and_then(|file| {
            writer::hold(&file);
            Blocks::new(BufWriter::new(file))
        });
        Ok(Self {
            path: path.into(),
            blocks: made.map_err(|error| EngineError::Transcript { path: path.into(), error })?,
            known: Vec::new(),
            versions: Versions::default(),
            zeros: UNKNOWN,
            has_dispatched: false,
            failed: None,
        })
    }

    /// Writes the head.
    pub(crate) fn begin(&mut self, head: &Head) {
        let (pages, page_bytes) = head.pages;
        self.known = vec![vec![UNKNOWN; pages as usize]; head.members as usize];
        self.zeros = mark(&vec![0; page_bytes as usize]);
        self.keep(|blocks| blocks.push(head));
    }

    /// Appends an event.
    pub(crate) fn note(&mut self, event: &Event) {
        self.has_dispatched = *event == Event::Dispatched;
        self.keep(|blocks| blocks.push(event));
    }

    /// Notes that operations are about to be offered to members.
    pub(crate) fn dispatch(&mut self) {
        if !self.has_dispatched {
            self.note(&Event::Dispatched);
        }
    }

    /// Notes that an operation begins. `page` is the data of a write.
    pub(crate) fn start(&mut self, id: OperationId, operation: &Operation, page: &[u8]) {
        self.note(&Event::Started { id, operation: *operation });
        let place = (operation.member, operation.page);
        let becomes = match operation.kind {
            OperationKind::Write => mark(page),
            OperationKind::Trim => self.zeros,
            OperationKind::Read => return self.versions.read(place),
            OperationKind::Flush => return,
        };
        let known = std::mem::replace(self.known(place), becomes);
        self.versions.change(place, known);
    }

    /// What is known of a page. Copies of superblocks may lie behind the pages that the array uses.
    fn known(&mut self, (member, page): (MemberNo, u32)) -> &mut u32 {
        let pages = &mut self.known[member.index()];
        if page as usize >= pages.len() {
            pages.resize(page as usize + 1, UNKNOWN);
        }
        &mut pages[page as usize]
    }

    /// Notes a page that was read: if its content is unknown, it is recorded before anything follows from it. A read
    /// that overtook a write returned the earlier content, or a mixture; then the known content of the page stays.
    pub(crate) fn read(&mut self, operation: &Operation, page: &[u8]) {
        let Operation { member, page: number, .. } = *operation;
        let found = mark(page);
        if *self.known((member, number)) == found {
            return;
        }
        let before = self.versions.before((member, number));
        // The bytes are not recorded: the replay makes its own data for the run's writes.
        if let Some(nth) = before.iter().rposition(|&mark| mark == found) {
            let nth = nth as u32;
            return self.note(&Event::Earlier { member, page: number, nth });
        }
        if before.is_empty() {
            *self.known((member, number)) = found;
        }
        self.note(&Event::Content { member, page: number, bytes: page.into() });
    }

    /// Notes that an operation is over, whatever its result.
    pub(crate) fn over(&mut self, operation: &Operation) {
        if operation.kind != OperationKind::Flush {
            self.versions.over((operation.member, operation.page));
        }
    }

    /// Notes that a member returned, or another replaced it: its content is unknown.
    pub(crate) fn rejoin(&mut self, now: Nanos, member: MemberNo, how: Rejoining) {
        self.known[member.index()].fill(UNKNOWN);
        self.note(&match how {
            Rejoining::Returned { pages, stamp } => Event::Returned { now, member, pages, stamp },
            Rejoining::Replacement { uuid, pages } => {
                Event::Rejoined { now, member, how: Came::Replacement { uuid, pages } }
            }
        });
    }

    /// Writes the remaining events.
    ///
    /// # Errors
    /// The first write error.
    pub(crate) fn finish(mut self) -> Result<(), EngineError> {
        self.keep(Blocks::flush);
        let path = self.path;
        self.failed.map_or(Ok(()), |error| Err(EngineError::Transcript { path, error }))
    }

    /// Write errors are reported at the end: the array continues to serve.
    fn keep(&mut self, write: impl FnOnce(&mut Blocks<BufWriter<File>>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.blocks).err();
        }
    }
}

/// Members that are recorded while an array is assembled from them.
pub(crate) struct WatchedMedia<'a, M> {
    pub(crate) media: &'a mut M,
    pub(crate) scribe: &'a mut Scribe,
}

impl<M: Media> WatchedMedia<'_, M> {
    fn done(&mut self, outcomes: Vec<Outcome>) -> Vec<Outcome> {
        outcomes.iter().for_each(|&outcome| self.scribe.note(&Event::MediaDone(outcome)));
        outcomes
    }
}

impl<M: Media> Media for WatchedMedia<'_, M> {
    fn count(&self) -> u16 {
        self.media.count()
    }

    fn size(&self, member: u16) -> (u32, u32) {
        self.media.size(member)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        let scribe = &mut *self.scribe;
        self.media.read(at, &mut |nth, page| {
            scribe.note(&Event::MediaRead { nth: nth as u32, found: page.map(Into::into) });
            found(nth, page);
        });
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        let outcomes = self.media.write(at, pages);
        self.done(outcomes)
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        let outcomes = self.media.flush(members);
        self.done(outcomes)
    }
}
