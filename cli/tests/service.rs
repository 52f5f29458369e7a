//! The unit for systemd, as systemd reads it.

use std::path::Path;
use std::process::Command;

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/stripewise@.service");
    let unit = std::fs::read_to_string(path).unwrap();
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
