//! Looks after what the serving thread must not wait for: whether the paths of members still lead to them, and what SMART says of
//! devices. Two threads, because a path may be on a file system that hangs.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::error::ServeError;
use crate::smart;

/// How often paths are looked at.
const PATHS_EVERY: Duration = Duration::from_secs(1);
/// How often SMART is asked, as often as smartd does.
const SMART_EVERY: Duration = Duration::from_secs(1800);

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// A block device, by its number: udev may make its node again.
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
        Ok(match found.file_type().is_block_device() {
            true => Self::Device(found.rdev()),
            false => Self::File(found.dev(), found.ino()),
        })
    }
}

/// A member that is looked after.
#[derive(Clone, Debug)]
struct Watched {
    number: u16,
    /// Grows when another takes its place: what is found out of the one before is void.
    generation: u64,
    path: PathBuf,
    /// What its path led to when it was put there.
    identity: Option<Identity>,
    /// What was said last.
    told: Option<String>,
    smart: Option<bool>,
}

/// What was found out of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) number: u16,
    pub(crate) generation: u64,
    pub(crate) what: Noticed,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// Why its path does not lead to it; none if it does again.
    Unlinked(Option<String>),
    /// What SMART says; none where it says nothing.
    Smart(Option<bool>),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    members: Vec<Watched>,
    is_over: bool,
    /// Grows with each member that comes.
    generation: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // What a thread that panicked left is whole: it changes an entry at a time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, at most so long. Whether it goes on.
    fn rest(&self, at_most: Duration, until: impl Fn(&State) -> bool) -> bool {
        let state =
            self.rung.wait_timeout_while(self.state(), at_most, |state| !state.is_over && !until(state));
        !state.unwrap_or_else(PoisonError::into_inner).0.is_over
    }
}

/// The threads. Dropped, they end as soon as the system lets them; they are not waited for.
#[derive(Debug)]
pub(crate) struct Lookout {
    shared: Arc<Shared>,
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.rung.notify_all();
    }
}

impl Lookout {
    /// Looks after members, and hands what it finds to `tell`, which says whether it goes on.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(tell: impl Fn(Notice) -> bool + Clone + Send + 'static) -> Result<Self, ServeError> {
        Self::every(PATHS_EVERY, Path::new("smartctl"), tell)
    }

    fn every(
        period: Duration,
        program: &Path,
        tell: impl Fn(Notice) -> bool + Clone + Send + 'static,
    ) -> Result<Self, ServeError> {
        let shared = Arc::new(Shared::default());
        let (inner, told) = (shared.clone(), tell.clone());
        let paths = move || {
            let mut known = 0;
            loop {
                // What comes is identified at once.
                known = inner.state().generation.max(known);
                if !look_at_paths(&inner, &told) || !inner.rest(period, |state| state.generation > known) {
                    return;
                }
            }
        };
        Builder::new().name("lookout".into()).spawn(paths).map_err(ServeError::Thread)?;
        let (inner, program) = (shared.clone(), program.to_owned());
        let smart = move || {
            let mut known = 0;
            loop {
                // A device that comes is asked at once.
                known = inner.state().generation.max(known);
                if !ask_smart(&inner, &program, &tell)
                    || !inner.rest(SMART_EVERY, |state| state.generation > known)
                {
                    return;
                }
            }
        };
        Builder::new().name("smart".into()).spawn(smart).map_err(ServeError::Thread)?;
        Ok(Self { shared })
    }

    /// Looks after what serves as member `number` from now on. The number that notices of it have.
    pub(crate) fn watch(&self, number: u16, path: Option<&Path>) -> u64 {
        let mut state = self.shared.state();
        state.generation += 1;
        let generation = state.generation;
        state.members.retain(|member| member.number != number);
        if let Some(path) = path {
            let path = path.to_owned();
            state.members.push(Watched { number, generation, path, identity: None, told: None, smart: None });
        }
        drop(state);
        self.shared.rung.notify_all();
        generation
    }
}

/// Looks at all paths once. Whether it goes on.
fn look_at_paths(shared: &Shared, tell: &impl Fn(Notice) -> bool) -> bool {
    let members = shared.state().members.clone();
    members.into_iter().all(|member| {
        // Without the lock: this may take for ever.
        let found = Identity::of(&member.path);
        let mut state = shared.state();
        let is_it = |other: &&mut Watched| other.generation == member.generation;
        let Some(known) = state.members.iter_mut().find(is_it) else { return true };
        let trouble = match (found, known.identity) {
            (Err(why), _) => Some(why),
            (Ok(found), None) => {
                known.identity = Some(found);
                None
            }
            (Ok(found), Some(own)) if found == own => None,
            (Ok(_), Some(_)) => Some(format!("another file has its path `{}`", member.path.display())),
        };
        if known.told == trouble {
            return true;
        }
        known.told = trouble.clone();
        drop(state);
        tell(Notice {
            number: member.number,
            generation: member.generation,
            what: Noticed::Unlinked(trouble),
        })
    })
}

/// Asks SMART of all devices once. Whether it goes on.
fn ask_smart(shared: &Shared, program: &Path, tell: &impl Fn(Notice) -> bool) -> bool {
    let members = shared.state().members.clone();
    members.into_iter().all(|member| {
        let is_device = fs::metadata(&member.path).is_ok_and(|found| found.file_type().is_block_device());
        let said = if is_device { smart::verdict(program, &member.path) } else { None };
        let mut state = shared.state();
        let is_it = |other: &&mut Watched| other.generation == member.generation;
        // One that sleeps, or does not answer this time, is as it was.
        let Some(known) =
            state.members.iter_mut().find(is_it).filter(|known| said.is_some() && known.smart != said)
        else {
            return true;
        };
        known.smart = said;
        drop(state);
        tell(Notice { number: member.number, generation: member.generation, what: Noticed::Smart(said) })
    })
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
        let (tell, told) = sync_channel(8);
        let lookout =
            Lookout::every(SOON, Path::new("/none"), move |notice| tell.send(notice).is_ok()).unwrap();
        let generation = lookout.watch(3, Some(&path));
        while lookout.shared.state().members[0].identity.is_none() {
            std::thread::sleep(SOON);
        }
        let next = || told.recv_timeout(LONG).unwrap();
        let notice = |why: Option<&str>| {
            let Notice { number: 3, generation: of, what: Noticed::Unlinked(found) } = next() else {
                panic!()
            };
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
        // Another in its place is looked after by itself.
        fs::remove_file(&path).unwrap();
        notice(Some("was deleted"));
        assert!(lookout.watch(3, None) > generation);
        assert!(told.recv_timeout(SOON * 10).is_err(), "there is nothing to be looked after");
    }
}
