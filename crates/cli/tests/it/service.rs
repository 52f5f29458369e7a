//! The systemd unit, as systemd reads it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Sandbox;
use crate::support::served::Served;

fn path() -> PathBuf {
    packaged("stripewise@.service")
}

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// The output of `systemd-analyze verify` for the unit, with lines of an administrator beside it; none without
/// systemd.
fn said(unit: &str, dropped_in: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stripewise@pool.service");
    // The command that the unit starts must exist.
    std::fs::write(&path, unit.replace("/usr/bin/stripewise", env!("CARGO_BIN_EXE_stripewise"))).unwrap();
    let beside = folder.path().join("stripewise@pool.service.d");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("override.conf"), dropped_in).unwrap();
    // Manual pages are not installed, and the other units of the machine do not matter.
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).arg(&path);
    let output = verify.output().ok()?;
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit_and_the_options_that_it_suggests() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let suggested: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    assert!(suggested.iter().any(|line| line.contains("STRIPEWISE_OPTIONS=-")), "{suggested:?}");
    let Some(found) = said(&unit, &suggested.join("\n")) else {
        eprintln!("skipped: no systemd-analyze");
        return;
    };
    assert_eq!(found, (true, String::new()));
    let (is_right, said) = said(&unit.replace("RestartSec=", "RestartSex="), "").unwrap();
    assert!(!is_right && said.contains("RestartSex"), "{said}");
}

/// The output of `systemd-analyze verify` for the timer and the service of scrubs, with `dropped_in` for the timer;
/// none without systemd.
fn said_of_scrubs(service: &str, timer: &str, dropped_in: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let service = service.replace("/usr/bin/stripewise", env!("CARGO_BIN_EXE_stripewise"));
    std::fs::write(at("stripewise-scrub@pool.service"), service).unwrap();
    std::fs::write(at("stripewise-scrub@pool.timer"), timer).unwrap();
    std::fs::create_dir(at("stripewise-scrub@pool.timer.d")).unwrap();
    std::fs::write(at("stripewise-scrub@pool.timer.d/override.conf"), dropped_in).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]);
    verify.args([at("stripewise-scrub@pool.service"), at("stripewise-scrub@pool.timer")]);
    let output = verify.output().ok()?;
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn systemd_finds_nothing_wrong_with_the_timer_of_scrubs_and_its_service() {
    let read = |name: &str| std::fs::read_to_string(packaged(name)).unwrap();
    let (service, timer) = (read("stripewise-scrub@.service"), read("stripewise-scrub@.timer"));
    let suggested: Vec<&str> = timer.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    assert!(suggested.iter().any(|line| line.starts_with("OnCalendar=Sun")), "{suggested:?}");
    let Some(found) = said_of_scrubs(&service, &timer, &suggested.join("\n")) else {
        eprintln!("skipped: no systemd-analyze");
        return;
    };
    assert_eq!(found, (true, String::new()));
    let wrong = timer.replace("OnCalendar=monthly", "OnCalendar=sometimes");
    let (_, said) = said_of_scrubs(&service, &wrong, "").unwrap();
    assert!(said.contains("sometimes"), "{said}");
}

#[test]
fn the_service_of_scrubs_asks_the_server_and_fails_with_the_scrub() {
    let unit = std::fs::read_to_string(packaged("stripewise-scrub@.service")).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/stripewise ")).unwrap();
    let command = command.replace("%i", "pool");
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    sandbox.run(&command).failure(1);
    let _served = Served::start(&sandbox, "pool", "");
    assert!(sandbox.run(&command).success().contains("0 damaged"));
}

/// The values of a setting of the unit.
fn values(unit: &str, setting: &str) -> Vec<String> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

/// A target that only orders is part of a boot if a unit that it orders wants it: systemd.special(7).
#[test]
fn targets_that_only_order_are_requested() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let (before, wanted) = (values(&unit, "Before"), values(&unit, "Wants"));
    assert_eq!(before, ["remote-fs-pre.target"]);
    assert!(before.iter().all(|target| wanted.contains(target)), "{wanted:?}");
}

#[test]
fn a_command_line_that_is_not_understood_is_not_tried_again() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let ended = Sandbox::new().run("serve pool --wait 60s --no-such-option");
    assert_eq!(values(&unit, "RestartPreventExitStatus"), [ended.code.to_string()]);
}

/// The server with the rights of the unit, where rights can be dropped: on files of another user.
#[test]
fn the_capabilities_of_the_unit_suffice() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let kept = values(&unit, "CapabilityBoundingSet").join(",+").replace("CAP_", "").to_lowercase();
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let pool = sandbox.path().join("pool");
    for file in std::fs::read_dir(&pool).unwrap().map(|entry| entry.unwrap().path()).chain([pool]) {
        if let Err(error) = std::os::unix::fs::chown(file, Some(1000), None) {
            eprintln!("skipped: {error}");
            return;
        }
    }
    let mut serve = Command::new("setpriv");
    serve.arg(format!("--bounding-set=-all,+{kept}")).arg("--inh-caps=-all");
    serve.arg(env!("CARGO_BIN_EXE_stripewise"));
    let served = Served::start_by(sandbox.within(serve), &sandbox, "pool", "");
    served.disk().write(0, &[7; 4096]);
    assert_eq!(served.disk().read(0, 4096), [7; 4096]);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

#[test]
fn the_program_understands_the_command_of_the_unit() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/stripewise ")).unwrap();
    // An administrator's options come last and may override.
    let command = command.replace("%i", "pool").replace("$STRIPEWISE_OPTIONS", "--wait 5s");
    let sandbox = Sandbox::new();
    let said = sandbox.run(&command).failure(1);
    assert!(said.contains("no array called \"pool\" is remembered"), "{said}");
}

/// The exposure that `systemd-analyze security` finds in a unit, from 0 to 10; none without systemd.
fn exposure(name: &str) -> Option<f64> {
    let folder = tempfile::tempdir().unwrap();
    let unit = std::fs::read_to_string(packaged(name)).unwrap();
    let path = folder.path().join(name.replace('@', "@pool"));
    std::fs::write(&path, unit.replace("/usr/bin/stripewise", env!("CARGO_BIN_EXE_stripewise"))).unwrap();
    let mut security = Command::new("systemd-analyze");
    let output = security.args(["security", "--offline=true", "--no-pager"]).arg(&path).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, level) = text.rsplit_once("Overall exposure level for")?;
    level.split_once(": ")?.1.split_whitespace().next()?.parse().ok()
}

#[test]
fn the_units_are_exposed_as_little_as_they_can_be() {
    let Some(found) = exposure("stripewise@.service") else {
        eprintln!("skipped: no systemd-analyze that reads units offline");
        return;
    };
    assert!(found <= 2.5, "{found}");
    let scrub = exposure("stripewise-scrub@.service").unwrap();
    assert!(scrub <= 1.0, "{scrub}");
}

/// The system calls of sets and names, as in `SystemCallFilter=`; none without systemd.
fn system_calls(names: &[String]) -> Option<BTreeSet<String>> {
    let (mut calls, mut sets) = (BTreeSet::new(), Vec::new());
    let mut sort = |name: &str, sets: &mut Vec<String>| match name.starts_with('@') {
        true => sets.push(name.to_owned()),
        false => _ = calls.insert(name.to_owned()),
    };
    names.iter().for_each(|name| sort(name, &mut sets));
    while let Some(set) = sets.pop() {
        let mut command = Command::new("systemd-analyze");
        let output = command.args(["syscall-filter", "--no-pager", &set]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|text| !text.is_empty())?;
        let members = text.lines().skip(1).map(str::trim).filter(|line| !line.starts_with('#'));
        members.for_each(|name| sort(name, &mut sets));
    }
    Some(calls)
}

/// The nearest to a service where systemd is not the first process: the calls of a server that serves are those of the unit.
#[test]
fn the_system_calls_of_the_unit_suffice() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let (denied, allowed): (Vec<String>, Vec<String>) = unit
        .lines()
        .filter_map(|line| line.strip_prefix("SystemCallFilter="))
        .flat_map(|line| {
            let is_denied = line.starts_with('~');
            line.trim_start_matches('~').split_whitespace().map(move |name| (is_denied, name.to_owned()))
        })
        .fold((Vec::new(), Vec::new()), |(mut denied, mut allowed), (is_denied, name)| {
            if is_denied {
                denied.push(name)
            } else {
                allowed.push(name)
            }
            (denied, allowed)
        });
    assert!(allowed.iter().any(|name| name == "io_uring_setup"), "{allowed:?}");
    let (Some(allowed), Some(denied)) = (system_calls(&allowed), system_calls(&denied)) else {
        eprintln!("skipped: no systemd-analyze");
        return;
    };
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let log = sandbox.path().join("calls");
    let mut serve = Command::new("strace");
    serve.args(["-f", "-qq", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_stripewise"));
    let served = Served::start_by(sandbox.within(serve), &sandbox, "pool", "--metrics 127.0.0.1:0");
    for page in 0..64 {
        served.disk().write(page * 4096, &[7; 4096]);
    }
    assert_eq!(served.disk().read(0, 4096), [7; 4096]);
    sandbox.run("status pool").success();
    sandbox.run("scrub pool --wait").success();
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let text = std::fs::read_to_string(log).unwrap();
    // `PID NAME(ARGUMENTS…`; lines of signals and of calls that were resumed have other forms.
    let call = |line: &str| Some(line.split_once(' ')?.1.trim_start().split_once('(')?.0.to_owned());
    let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let made: BTreeSet<String> = text.lines().filter_map(call).filter(is_name).collect();
    assert!(made.contains("openat") && made.contains("accept4"), "{made:?}");
    // The first one is that of strace, before the filter is set.
    let beyond = |name: &&String| !allowed.contains(*name) || denied.contains(*name);
    let beyond: Vec<&String> = made.iter().filter(beyond).filter(|name| *name != "execve").collect();
    assert!(beyond.is_empty(), "the unit does not allow {beyond:?}");
}

/// systemd as the first process of a virtual machine, and the unit as it is shipped: an NBD client reads what it wrote, and the
/// unit stops cleanly. `STRIPEWISE_GUEST_KERNEL` is the folder of a kernel.
#[test]
fn arrays_are_served_under_systemd_with_the_limits_of_the_unit() {
    let mut script = Command::new(packaged("serve-under-systemd.sh"));
    let output = script.arg(env!("CARGO_BIN_EXE_stripewise")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(77) {
        eprintln!("{said}");
        return;
    }
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for name in ["pool", "disks"] {
        for line in ["read what was written", "success, 0", "read it after a restart"] {
            assert!(said.contains(&format!("{name}: {line}")), "{name}: {line}\n{said}");
        }
    }
    let counted = |line: &str| said.lines().filter(|said| *said == line).count();
    assert_eq!(
        (counted("Seccomp:\t2"), counted("NoNewPrivs:\t1"), counted("CapBnd:\t0000000000000002")),
        (2, 2, 2)
    );
}
