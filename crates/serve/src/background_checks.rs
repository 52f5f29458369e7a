//! Runs the checks that the serving thread must not wait for: whether the paths of members still lead to them, whether their
//! superblocks are intact, and the SMART verdict of devices. Each member has threads of its own, because its file
//! system may hang, and the other members must be checked all the same.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use stripewise_array::MemberNo;
use stripewise_array::format::{Superblock, Uuid};
use stripewise_engine::superblocks_of;

use crate::smart;

/// Time between two checks of paths and superblocks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time between two SMART queries, the same as smartd's.
const SMART_EVERY: Duration = Duration::from_secs(1800);
/// Consecutive checks that must find superblocks damaged before that is reported: one check may coincide with a write.
const DAMAGED_LOOKS: u32 = 2;

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// A block device, by its number: udev may recreate its node.
    Device(u64),
    /// A file, by file system and inode.
    File(u64, u64),
}

impl Identity {
    fn of(path: &Path) -> Result<Self, String> {
        let found = fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("its path `{}` was deleted", path.display()),
            _ => format!("its path `{}` cannot be looked at: {error}", path.display()),
        })?;
        Ok(Self::from(&found))
    }
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        match found.file_type().is_block_device() {
            true => Self::Device(found.rdev()),
            false => Self::File(found.dev(), found.ino()),
        }
    }
}

/// A member to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The path of the member.
    pub(crate) path: PathBuf,
    /// The expected content of its superblocks: the array, the member, and the bytes of a page. None if the array has
    /// no metadata.
    pub(crate) superblock: Option<(Uuid, Uuid, u32)>,
}

/// A finding about a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) number: MemberNo,
    pub(crate) generation: u64,
    pub(crate) what: Noticed,
}

/// The content of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// Why its path does not lead to it. None if it does again.
    Unlinked(Option<String>),
    /// Number of its two superblocks that are damaged.
    Superblocks(u64),
    /// The SMART verdict. None if there is none.
    Smart(Option<bool>),
}

/// Receives findings, and returns whether the checks continue.
type Report = Box<dyn Fn(Notice) -> bool + Send + Sync>;

struct Shared {
    report: Report,
    state: Mutex<State>,
    rung: Condvar,
    period: Duration,
    program: PathBuf,
}

#[derive(Debug, Default)]
struct State {
    /// The current generation of each member. A replacement gets another one, which makes earlier findings void.
    members: BTreeMap<MemberNo, u64>,
    is_over: bool,
    /// Grows with each member that is added.
    generation: u64,
    /// Members whose paths were checked for the first time.
    identified: u64,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid even after a panic: threads change one entry at a time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One member and its threads.
#[derive(Clone, Debug)]
struct Post {
    shared: Arc<Shared>,
    number: MemberNo,
    generation: u64,
    subject: Subject,
}

impl Post {
    fn is_wanted(&self, state: &State) -> bool {
        !state.is_over && state.members.get(&self.number) == Some(&self.generation)
    }

    /// Waits for `time`. Returns whether the checks continue.
    fn rest(&self, time: Duration) -> bool {
        let state = self.shared.state();
        let waited = self.shared.rung.wait_timeout_while(state, time, |state| self.is_wanted(state));
        self.is_wanted(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Reports a finding. Returns whether the checks continue.
    fn report(&self, what: Noticed) -> bool {
        let is_wanted = self.is_wanted(&self.shared.state());
        is_wanted && (self.shared.report)(Notice { number: self.number, generation: self.generation, what })
    }

    /// Checks path and superblocks until the member leaves.
    fn look_after(self) {
        let mut seen = Seen::default();
        loop {
            // This may never return.
            let is_first = seen.identity.is_none();
            let findings = seen.look(&self.subject);
            if is_first && seen.identity.is_some() {
                self.shared.state().identified += 1;
                if matches!(seen.identity, Some(Identity::Device(_))) {
                    let post = self.clone();
                    // If no thread can be started, the device counts as one without a SMART verdict.
                    let _ = Builder::new().name("smart".into()).spawn(move || post.read_smart());
                }
            }
            if !findings.into_iter().all(|what| self.report(what)) || !self.rest(self.shared.period) {
                return;
            }
        }
    }

    /// Queries SMART until the member leaves.
    fn read_smart(self) {
        let mut reported = None;
        loop {
            let said = smart::verdict(&self.shared.program, &self.subject.path);
            // A device that sleeps, or does not answer this time, keeps its verdict.
            if said.is_some() && said != reported {
                reported = said;
                if !self.report(Noticed::Smart(said)) {
                    return;
                }
            }
            if !self.rest(SMART_EVERY) {
                return;
            }
        }
    }
}

/// The state of a member at the last check.
#[derive(Debug, Default)]
struct Seen {
    /// The target of its path at the first check.
    identity: Option<Identity>,
    unlinked: Option<String>,
    /// Whether its superblocks were intact once: those of a replacement are written after it has been accepted.
    was_whole: bool,
    damaged_looks: u32,
    damaged: u64,
    /// The size that its superblocks recorded last. A member that grows keeps its back copy where its end was.
    own_bytes: u64,
}

impl Seen {
    /// Checks once. Returns the findings.
    fn look(&mut self, subject: &Subject) -> Vec<Noticed> {
        let mut findings = Vec::new();
        let unlinked = match (Identity::of(&subject.path), self.identity) {
            (Err(why), _) => Some(why),
            (Ok(found), None) => {
                self.identity = Some(found);
                None
            }
            (Ok(found), Some(own)) if found == own => None,
            (Ok(_), Some(_)) => Some(format!("another file has its path `{}`", subject.path.display())),
        };
        if unlinked != self.unlinked {
            self.unlinked.clone_from(&unlinked);
            findings.push(Noticed::Unlinked(unlinked));
        }
        if self.unlinked.is_none()
            && let Some(damaged) = self.damaged_superblocks(subject)
        {
            self.damaged_looks = if damaged == 0 { 0 } else { self.damaged_looks + 1 };
            self.was_whole |= damaged == 0;
            let is_sure = damaged == 0 || self.damaged_looks >= DAMAGED_LOOKS;
            if self.was_whole && is_sure && self.damaged != damaged {
                self.damaged = damaged;
                findings.push(Noticed::Superblocks(damaged));
            }
        }
        findings
    }

    /// Number of damaged superblocks. None if that cannot be determined.
    fn damaged_superblocks(&mut self, subject: &Subject) -> Option<u64> {
        let (array, member, page_bytes) = subject.superblock?;
        let file = File::open(&subject.path).ok()?;
        // The path may lead elsewhere by now.
        file.metadata().ok().filter(|found| Some(Identity::from(found)) == self.identity)?;
        let is_its = |block: &Option<Superblock>| {
            block.as_ref().is_some_and(|it| (it.array, it.uuid) == (array, member))
        };
        let copies = superblocks_of(&file, page_bytes, self.own_bytes).ok()?;
        if let Some(block) = copies.iter().find(|block| is_its(block)).and_then(Option::as_ref) {
            self.own_bytes = block.own_bytes;
        }
        Some(copies.iter().filter(|block| !is_its(block)).count() as u64)
    }
}

/// The threads. After the drop they end as soon as the system lets them; the drop does not wait for them.
#[derive(Debug)]
pub(crate) struct BackgroundChecks {
    shared: Arc<Shared>,
}

impl Drop for BackgroundChecks {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.rung.notify_all();
    }
}

impl BackgroundChecks {
    /// Passes findings to `report`, which returns whether the checks continue.
    pub(crate) fn new(report: impl Fn(Notice) -> bool + Send + Sync + 'static) -> Self {
        Self::every(LOOK_EVERY, Path::new("smartctl"), Box::new(report))
    }

    fn every(period: Duration, program: &Path, report: Report) -> Self {
        let (state, rung) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { report, state, rung, period, program: program.to_owned() }) }
    }

    /// Checks the member `number` from now on. Returns the generation in its findings.
    pub(crate) fn watch(&self, number: MemberNo, subject: Option<Subject>) -> u64 {
        let mut state = self.shared.state();
        state.generation += 1;
        let generation = state.generation;
        state.members.insert(number, generation);
        drop(state);
        self.shared.rung.notify_all();
        if let Some(subject) = subject {
            let post = Post { shared: self.shared.clone(), number, generation, subject };
            let spawned = Builder::new().name(format!("lookout {number}")).spawn(move || post.look_after());
            if let Err(error) = spawned {
                tracing::warn!(%number, %error, "no thread looks after the path and the superblocks of a member");
            }
        }
        generation
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    const SOON: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_path_that_no_longer_leads_to_its_member_is_noticed_and_one_that_does_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("member"), folder.path().join("aside"));
        fs::write(&path, "a").unwrap();
        let (sender, receiver) = sync_channel(8);
        let background_checks = BackgroundChecks::every(
            SOON,
            Path::new("/none"),
            Box::new(move |notice| sender.send(notice).is_ok()),
        );
        let generation =
            background_checks.watch(MemberNo::new(3), Some(Subject { path: path.clone(), superblock: None }));
        while background_checks.shared.state().identified == 0 {
            std::thread::sleep(SOON);
        }
        let next = || receiver.recv_timeout(LONG).unwrap();
        let notice = |why: Option<&str>| {
            let Notice { number, generation: of, what: Noticed::Unlinked(found) } = next() else { panic!() };
            assert_eq!(number, MemberNo::new(3));
            assert_eq!(of, generation);
            assert_eq!(found.is_some(), why.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(why.unwrap_or_default()));
        };
        fs::rename(&path, &aside).unwrap();
        notice(Some("was deleted"));
        fs::write(&path, "b").unwrap();
        notice(Some("another file has its path"));
        fs::rename(&aside, &path).unwrap();
        notice(None);
        // A replacement is checked on its own.
        fs::remove_file(&path).unwrap();
        notice(Some("was deleted"));
        assert!(background_checks.watch(MemberNo::new(3), None) > generation);
        assert!(receiver.recv_timeout(SOON * 10).is_err(), "there is nothing to be looked after");
    }

    /// Opening a pipe waits for a writer, as a file system that hangs does.
    #[test]
    fn a_member_that_hangs_does_not_keep_others_from_being_looked_after() {
        let folder = tempfile::tempdir().unwrap();
        let (hangs, other) = (folder.path().join("hangs"), folder.path().join("other"));
        let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &hangs, fifo, mode, 0).unwrap();
        fs::write(&other, "b").unwrap();
        let (sender, receiver) = sync_channel(8);
        let background_checks = BackgroundChecks::every(
            SOON,
            Path::new("/none"),
            Box::new(move |notice| sender.send(notice).is_ok()),
        );
        let superblock = Some((Uuid([1; 16]), Uuid([2; 16]), 4096));
        background_checks.watch(MemberNo::new(0), Some(Subject { path: hangs.clone(), superblock }));
        std::thread::sleep(SOON);
        background_checks.watch(MemberNo::new(1), Some(Subject { path: other.clone(), superblock: None }));
        while background_checks.shared.state().identified == 0 {
            std::thread::sleep(SOON);
        }
        std::thread::sleep(SOON * 10);
        fs::remove_file(&other).unwrap();
        assert_eq!(receiver.recv_timeout(LONG).unwrap().number, MemberNo::new(1));
        // Lets the thread end.
        drop(background_checks);
        fs::OpenOptions::new().read(true).write(true).open(&hangs).unwrap();
    }

    #[test]
    fn smart_is_read_of_a_device_and_not_of_a_file() {
        use std::os::unix::fs::PermissionsExt;
        let is_device =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
        let Some(device) = fs::read_dir("/dev").unwrap().flatten().map(|entry| entry.path()).find(is_device)
        else {
            eprintln!("skipped: this machine has no block device");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (program, file) = (folder.path().join("smartctl"), folder.path().join("file"));
        fs::write(&program, "#!/bin/sh\necho '{\"smart_status\":{\"passed\":false}}'\nexit 8\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&file, "a").unwrap();
        let (sender, receiver) = sync_channel(8);
        let background_checks =
            BackgroundChecks::every(SOON, &program, Box::new(move |notice| sender.send(notice).is_ok()));
        background_checks.watch(MemberNo::new(0), Some(Subject { path: file, superblock: None }));
        let generation =
            background_checks.watch(MemberNo::new(1), Some(Subject { path: device, superblock: None }));
        let notice = receiver.recv_timeout(LONG).unwrap();
        assert_eq!(
            notice,
            Notice { number: MemberNo::new(1), generation, what: Noticed::Smart(Some(false)) }
        );
        assert!(receiver.recv_timeout(SOON * 10).is_err(), "it is said once");
    }
}
