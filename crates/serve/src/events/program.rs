//! The operator's program (`serve --on-event`), started once for each event: one at a time, in a thread of its own,
//! with a time limit. The model is mdadm's PROGRAM.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Event;

/// The time limit of a program.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Time between two checks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Checks that `path` can be started, so that a missing program is reported when the server starts, not at the first
/// event.
///
/// # Errors
/// Why it cannot be started, and the remedy.
pub fn check_program(path: &Path) -> Result<(), String> {
    // A bare name is searched for in PATH.
    let is_bare = path.components().count() == 1 && !path.starts_with("/");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = match is_bare {
        true => std::env::split_paths(&folders).map(|folder| folder.join(path)).collect(),
        false => vec![path.to_owned()],
    };
    let runs = |place: &PathBuf| {
        place.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    match places.iter().any(runs) {
        true => Ok(()),
        false => {
            Err(format!("`{}` is no program that can be started; name an executable file", path.display()))
        }
    }
}

/// Starts `program` for each event until the queue closes.
pub(super) fn run(program: &Path, limit: Duration, events: &Receiver<Event>) {
    for event in events {
        let kind = event.what.kind();
        match start(program, &event).and_then(|child| wait(child, limit)) {
            Ok(None) => {}
            Ok(Some(why)) => {
                tracing::warn!(program = %program.display(), event = kind, "the program for events failed: {why}");
            }
            Err(error) => {
                tracing::warn!(program = %program.display(), event = kind, %error, "the program for events was not started");
            }
        }
    }
}

fn start(program: &Path, event: &Event) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.arg(event.what.kind()).arg(&event.array);
    // Without a member there is no third argument, as with mdadm.
    command.args(event.what.member().and_then(|member| member.path.as_ref()));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    command.env_remove(crate::DETACHED);
    let mut child = command.spawn()?;
    if let Some(mut to) = child.stdin.take() {
        // A line fits into the pipe, so a program that does not read it blocks nothing.
        let _ = to.write_all(&event.line());
    }
    Ok(child)
}

/// Waits until the program ends, and kills it at the time limit. Returns the error, if any.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<String>> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!status.success()).then(|| status.to_string()));
        }
        if Instant::now() >= until {
            // With all processes that it started.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Ok(Some(format!("it took longer than {} s and was killed", limit.as_secs_f32())));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use stripewise_array::MemberNo;

    use std::fs;
    use std::sync::mpsc::sync_channel;

    use super::super::{Member, What};
    use super::*;

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn failed() -> Event {
        let member = Member { member: MemberNo::new(2), path: Some("/dev/sd x".into()) };
        Event::now(&"pool".into(), What::MemberFailed { member, reason: "why".into() })
    }

    fn run_all(program: &Path, limit: Duration, events: impl IntoIterator<Item = Event>) {
        let (sender, receiver) = sync_channel(8);
        events.into_iter().for_each(|event| sender.send(event).unwrap());
        drop(sender);
        run(program, limit, &receiver);
    }

    #[test]
    fn a_program_gets_kind_array_and_path_and_the_event_on_its_input() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        let program =
            script(folder.path(), &format!("{{ printf '%s|' \"$#\" \"$@\"; cat; }} >> {}", said.display()));
        let (first, second) = (failed(), Event::now(&"pool".into(), What::SpaceReturned {}));
        run_all(&program, TIME_LIMIT, [first.clone(), second.clone()]);
        let expected = [
            b"3|member-failed|pool|/dev/sd x|".to_vec(),
            first.line(),
            b"2|space-returned|pool|".to_vec(),
            second.line(),
        ];
        assert_eq!(fs::read(said).unwrap(), expected.concat(), "one after the other");
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let done = folder.path().join("done");
        let program = script(
            folder.path(),
            &format!("case $1 in member-failed) sleep 600 & wait;; *) touch {};; esac", done.display()),
        );
        let begun = Instant::now();
        run_all(
            &program,
            Duration::from_millis(100),
            [failed(), Event::now(&"pool".into(), What::SpaceReturned {})],
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not waited for");
        assert!(done.exists(), "the next event has its turn");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let program = script(folder.path(), "exit 0");
        assert_eq!(check_program(&program), Ok(()));
        assert_eq!(check_program(Path::new("sh")), Ok(()));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
        for wrong in [&program, folder.path(), Path::new("no-such-program"), Path::new("/no/such/program")] {
            let why = check_program(wrong).unwrap_err();
            assert!(why.contains(&*wrong.to_string_lossy()) && why.contains("executable"), "{why}");
        }
    }
}
