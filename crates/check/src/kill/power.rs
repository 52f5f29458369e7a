//! A power loss together with the server: each member keeps some sectors of its unflushed writes, also of those of earlier
//! servers that were killed while power stayed on. The server records its writes for this (`crates/engine/src/recording.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use stripewise_array::{MemberNo, Operation, OperationId, OperationKind};
use stripewise_base::prng::Prng;

use super::Counts;
use crate::durable::Durable;
use crate::stamp::SECTOR;

/// Bytes of a record without the written content.
const HEAD: usize = 13;

/// Members of a served array, in a folder of files, and their possible content after a power loss.
#[derive(Debug)]
pub(super) struct Power {
    members: PathBuf,
    recordings: PathBuf,
    /// The content of each member when power came on.
    before: BTreeMap<OsString, Vec<u8>>,
    /// What members may hold after a power loss, from the servers before this one. Empty if power was lost with the last.
    left: BTreeMap<OsString, Left>,
    /// A member, by the order of names, that ignores flushes: a planted flaw that the test must find.
    deaf: Option<usize>,
    random: Prng,
}

impl Power {
    pub(super) fn new(members: PathBuf, recordings: PathBuf, deaf: Option<usize>, random: Prng) -> Self {
        Self { members, recordings, before: BTreeMap::new(), left: BTreeMap::new(), deaf, random }
    }

    /// The folder for the server's recordings.
    pub(super) fn recordings(&self) -> &PathBuf {
        &self.recordings
    }

    /// Prepares for the start of a server.
    pub(super) fn on(&mut self) -> io::Result<()> {
        if self.recordings.exists() {
            fs::remove_dir_all(&self.recordings)?;
        }
        fs::create_dir(&self.recordings)?;
        if !self.left.is_empty() {
            return Ok(());
        }
        self.before.clear();
        for entry in fs::read_dir(&self.members)? {
            let entry = entry?;
            self.before.insert(entry.file_name(), fs::read(entry.path())?);
        }
        Ok(())
    }

    /// The server was killed: in a third of the cases power stays on, otherwise it is lost at the same time.
    pub(super) fn after_kill(&mut self, counts: &mut Counts) -> io::Result<()> {
        if !self.random.chance(1, 3) {
            return self.lose(counts);
        }
        self.read()?;
        for (name, left) in &mut self.left {
            // A file that was created and never used as a member is gone.
            if let Ok(file) = File::open(self.members.join(name)) {
                left.killed(&file)?;
            }
        }
        counts.kept += 1;
        Ok(())
    }

    /// The server has ended, and power is lost at the same time.
    pub(super) fn lose(&mut self, counts: &mut Counts) -> io::Result<()> {
        self.read()?;
        for (name, mut left) in std::mem::take(&mut self.left) {
            let file = match File::options().read(true).write(true).open(self.members.join(name)) {
                // A file that was created and never used as a member.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let (unflushed, dropped) = left.lose_power(&file, &mut self.random)?;
            counts.unflushed += unflushed;
            counts.dropped += dropped;
        }
        Ok(())
    }

    /// Reads the recordings of the server that has ended.
    fn read(&mut self) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.recordings)? {
            names.push(entry?.file_name());
        }
        names.sort();
        for (nth, name) in names.into_iter().enumerate() {
            let recording = fs::read(self.recordings.join(&name))?;
            let before = self.before.get(&name).map_or(&[][..], Vec::as_slice);
            let earlier = self.left.remove(&name);
            if let Some(left) = Left::after(earlier, &recording, before, self.deaf != Some(nth)) {
                self.left.insert(name, left);
            }
        }
        Ok(())
    }
}

/// The content of a member after a power loss.
#[derive(Debug)]
struct Left {
    durable: Durable,
    page_bytes: usize,
    /// Pages that were written.
    written: BTreeSet<u32>,
}

impl Left {
    /// Derived from the recording of a member that held `before`, and from what `earlier` servers left; `None` if nothing is
    /// recorded. The last record may be incomplete: then its operation was not done.
    fn after(earlier: Option<Self>, recording: &[u8], before: &[u8], hears_flushes: bool) -> Option<Self> {
        let mut left = earlier;
        let mut rest = recording;
        while let Some((head, behind)) = rest.split_at_checked(HEAD) {
            let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
            let (id, page, page_bytes) = (OperationId::new(number(1)), number(5), number(9) as usize);
            let kind = match head[0] {
                b'w' => OperationKind::Write,
                b't' => OperationKind::Trim,
                b'f' => OperationKind::Flush,
                // The end of an operation of any kind.
                _ => OperationKind::Read,
            };
            let bytes = if kind == OperationKind::Write { page_bytes } else { 0 };
            let Some((content, behind)) = behind.split_at_checked(bytes) else { break };
            rest = behind;
            let left = left.get_or_insert_with(|| Self {
                durable: Durable::new(page_bytes, true),
                page_bytes,
                written: BTreeSet::new(),
            });
            match kind {
                OperationKind::Read => left.durable.ended(id, false),
                OperationKind::Flush if !hears_flushes => {}
                _ => {
                    if kind != OperationKind::Flush && left.written.insert(page) {
                        let held = before.get(page as usize * page_bytes..).unwrap_or_default();
                        left.durable
                            .held((MemberNo::new(0), page), held.get(..page_bytes).unwrap_or_default());
                    }
                    let operation = Operation { kind, page, ..Operation::default() };
                    left.durable.started(id, operation, content);
                }
            }
        }
        left
    }

    /// The server was killed while power stayed on: `file` has the effect of its operations in flight.
    fn killed(&mut self, file: &File) -> io::Result<()> {
        let Self { durable, page_bytes, .. } = self;
        durable.killed(|(_, page)| {
            let mut found = vec![0; *page_bytes];
            file.read_exact_at(&mut found, u64::from(page) * *page_bytes as u64)?;
            Ok(found.into())
        })
    }

    /// Power is lost: writes to the file what the member keeps. Returns the number of undecided sectors, and of those the
    /// number that changed.
    fn lose_power(&mut self, file: &File, random: &mut Prng) -> io::Result<(u64, u64)> {
        let is_undecided = |page: &u32| self.durable.is_undecided((MemberNo::new(0), *page));
        let undecided: BTreeSet<u32> = self.written.iter().copied().filter(is_undecided).collect();
        self.durable.lose_power(random);
        let mut dropped = 0;
        let mut sector = [0; SECTOR];
        for ((_, page), content) in self.durable.pages().filter(|((_, page), _)| undecided.contains(page)) {
            for nth in 0..self.page_bytes / SECTOR {
                let at = u64::from(page) * self.page_bytes as u64 + (nth * SECTOR) as u64;
                let kept = content.sector(nth).expect("recorded content can be read");
                file.read_exact_at(&mut sector, at)?;
                if sector != kept {
                    file.write_all_at(kept, at)?;
                    dropped += 1;
                }
            }
        }
        Ok(((undecided.len() * (self.page_bytes / SECTOR)) as u64, dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 2 * SECTOR;

    fn record(kind: u8, id: u32, page: u32, content: &[u8]) -> Vec<u8> {
        let head = [id, page, PAGE as u32].map(u32::to_le_bytes).concat();
        [&[kind], &head[..], content].concat()
    }

    /// The contents of the sectors of three pages, initially 9, after many power losses.
    fn left(records: &[Vec<u8>], hears_flushes: bool) -> BTreeSet<Vec<u8>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("member");
        let before = [9; 3 * PAGE];
        let one = |seed| {
            fs::write(&path, [7; 3 * PAGE]).expect("it is written");
            let mut left =
                Left::after(None, &records.concat(), &before, hears_flushes).expect("something is recorded");
            let file = File::options().read(true).write(true).open(&path).expect("it is there");
            left.lose_power(&file, &mut Prng::stream(seed, 0)).expect("it is written");
            fs::read(&path).expect("it is read").chunks_exact(SECTOR).map(|sector| sector[0]).collect()
        };
        (0..200).map(one).collect()
    }

    #[test]
    fn what_was_answered_before_a_flush_stays_and_sectors_of_the_rest_are_what_they_were_or_became() {
        let records = [
            record(b'w', 1, 0, &[1; PAGE]),
            record(b'e', 1, 0, &[]),
            record(b'w', 2, 1, &[2; PAGE]),
            record(b'f', 3, 0, &[]),
            record(b'e', 2, 0, &[]),
            record(b'e', 3, 0, &[]),
            record(b't', 4, 2, &[]),
            record(b'w', 5, 0, &[3; PAGE])[..HEAD + 5].to_vec(),
        ];
        let kept = left(&records, true);
        // Page 0 is durable and unchanged. The flush began before the write of page 1 was answered; page 2 is in
        // flight.
        assert!(kept.iter().all(|sectors| sectors[..2] == [7, 7]), "{kept:?}");
        assert!(kept.iter().all(|sectors| sectors[2..4].iter().all(|sector| [9, 2].contains(sector))));
        assert!(kept.iter().all(|sectors| sectors[4..].iter().all(|sector| [9, 0].contains(sector))));
        assert_eq!(kept.len(), 16, "each sector by itself: {kept:?}");
        assert!(
            left(&records, false).iter().any(|sectors| sectors[0] == 9),
            "a deaf member keeps nothing for certain"
        );
    }
}
