//! The unit for systemd, as systemd reads it.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::Sandbox;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/stripewise@.service")
}

/// What `systemd-analyze verify` has to say of the unit, with lines of an administrator beside it; none without systemd.
fn said(unit: &str, dropped_in: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stripewise@pool.service");
    // The command that it starts has to be there.
    std::fs::write(&path, unit.replace("/usr/bin/stripewise", env!("CARGO_BIN_EXE_stripewise"))).unwrap();
    let beside = folder.path().join("stripewise@pool.service.d");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("override.conf"), dropped_in).unwrap();
    // Manual pages are not installed, and what else the machine has is none of our business.
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

#[test]
fn the_program_understands_the_command_of_the_unit() {
    let unit = std::fs::read_to_string(path()).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/stripewise ")).unwrap();
    // Options of an administrator come behind, and may say otherwise.
    let command = command.replace("%i", "pool").replace("$STRIPEWISE_OPTIONS", "--wait 5s");
    let sandbox = Sandbox::new();
    let said = sandbox.run(&command).failure(1);
    assert!(said.contains("no array called \"pool\" is remembered"), "{said}");
}
