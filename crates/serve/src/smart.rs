//! The SMART verdict of a drive, from `smartctl` if it is installed. It is queried rarely, by a thread of its own, and
//! never required.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// The time limit: drives that sleep wake up first.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of its answer that are read; a typical answer has a few thousand.
const ANSWER_MAX: u64 = 256 << 10;

/// Whether `device` passes its own test, according to `program -H -j`. None if that is unknown.
pub(crate) fn verdict(program: &Path, device: &Path) -> Option<bool> {
    let mut command = Command::new(program);
    // A sleeping drive is not woken.
    command.args(["-H", "-j", "-n", "standby"]).arg(device).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).env_remove(crate::DETACHED);
    let mut child = command.spawn().ok()?;
    let answer = child.stdout.take()?;
    let reading = std::thread::Builder::new().name("smart-answer".into()).spawn(move || {
        let mut text = Vec::new();
        answer.take(ANSWER_MAX).read_to_end(&mut text).map(|_| text)
    });
    let until = Instant::now() + TIME_LIMIT;
    // Its exit code repeats parts of the answer, and is not zero for a failing drive.
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= until {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    passed(&reading.ok()?.join().ok()?.ok()?)
}

/// The verdict in an answer of `smartctl -j`.
fn passed(answer: &[u8]) -> Option<bool> {
    serde_json::from_slice::<Value>(answer).ok()?.pointer("/smart_status/passed")?.as_bool()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The output of smartctl 7.4.
    const FAILING: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,4],"exit_status":8},
        "device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},"smart_status":{"passed":false}}"#;

    #[test]
    fn the_verdict_is_that_of_the_program_whatever_its_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("smartctl");
        let log = folder.path().join("asked");
        let verdict_of = |answer: &str, code: u8| {
            fs::write(folder.path().join("answer"), answer).unwrap();
            let text = format!(
                "#!/bin/sh\necho \"$@\" > {}\ncat {}\nexit {code}\n",
                log.display(),
                folder.path().join("answer").display()
            );
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            verdict(&program, Path::new("/dev/sda"))
        };
        assert_eq!(verdict_of(FAILING, 8), Some(false));
        assert_eq!(fs::read_to_string(&log).unwrap(), "-H -j -n standby /dev/sda\n");
        assert_eq!(verdict_of(&FAILING.replace("false", "true"), 0), Some(true));
        // A device without SMART, one that sleeps, and nonsense.
        assert_eq!(verdict_of(r#"{"smartctl":{"exit_status":2}}"#, 2), None);
        assert_eq!(verdict_of("smartctl: what?", 1), None);
        assert_eq!(verdict(Path::new("/no/such/smartctl"), Path::new("/dev/sda")), None);
    }
}
