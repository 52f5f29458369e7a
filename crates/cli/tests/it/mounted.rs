//! The whole course of docs/tutorials/pulled-disk.md, with its own commands: a file system on a served array is made and filled,
//! the server is killed under load and started again, a member is lost, replaced and rebuilt, everything is scrubbed.
//! Needs root, FUSE and loop devices; a skipped test prints what is missing.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::support::Sandbox;

const PROGRAMS: [&str; 8] =
    ["bash", "nbdfuse", "nbdinfo", "fusermount3", "losetup", "mkfs.ext4", "fsck.ext4", "timeout"];

/// Runs before the guide's commands: it waits where a reader would, and cleans up at the end.
const BEFORE: &str = r#"
set -uE
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
loop= load= server=
clean_up() {
    trap - ERR
    {
        kill -9 $load $server
        unset -f umount losetup fusermount3
        umount --lazy files
        losetup --detach "$loop"
        fusermount3 -uz disk
    } 2>/dev/null
}
trap clean_up EXIT
patiently() { for _ in $(seq 500); do "$@" >/dev/null 2>&1 && return; sleep 0.02; done; echo "failed: $*" >&2; }
nbdfuse() { patiently nbdinfo --size 'nbd+unix:///pulled?socket=pulled.sock'; command nbdfuse "$@" || true; }
losetup() { [ "$1" = -d ] || patiently test -s disk/pulled; command losetup "$@"; }
umount() { [ -z "$load" ] || { kill $load; wait $load; load=; } 2>/dev/null || true; patiently command umount "$@"; }
fusermount3() { patiently command fusermount3 "$@"; }
fill() {
    for nth in $(seq $1 $2); do head -c $((nth * 20011)) /dev/urandom >files/$nth; done
    sync -f files
    (cd files && sha256sum $(seq $1 $2)) >>sums
}
verify() { (cd files && sha256sum --quiet --check ../sums) && echo "VERIFIED $(wc -l <sums)"; }
write_on() {
    while :; do
        for nth in $(seq 9000 9009); do head -c 300000 /dev/urandom >files/$nth; sync -d files/$nth; done
    done
}
"#;

/// The missing requirement that keeps the test from running.
fn missing() -> Option<String> {
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if let Err(error) = File::options().read(true).write(true).open(device) {
            return Some(format!("{device}: {error}"));
        }
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&paths).any(|folder| folder.join(program).exists());
    PROGRAMS.iter().find(|program| !is_there(program)).map(|program| format!("{program} is not installed"))
}

/// The commands of a section of the guide, by block.
fn blocks(guide: &str, section: &str) -> Vec<String> {
    let (_, text) = guide.split_once(&format!("\n## {section}\n")).expect("the guide has the section");
    let text = text.split("\n## ").next().expect("there is a first part");
    text.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

#[test]
fn a_file_system_outlives_a_killed_server_and_a_lost_member_as_the_guide_has_it() {
    if let Some(missing) = missing() {
        eprintln!("skipped: {missing}");
        return;
    }
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials/pulled-disk.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let [create, mount, kill, replace]: [String; 4] =
        blocks(&guide, "Walkthrough").try_into().expect("create, mount, kill, replace");
    let (fail, rest) = replace.split_once("stripewise replace").expect("it replaces a member");
    let (rebuild, end) = rest.split_once("umount").expect("it ends with nothing mounted");
    let script = [
        BEFORE,
        &create,
        &mount,
        "fill 1 40; write_on 2>/dev/null & load=$!; sleep 1\n",
        &kill,
        "verify\n",
        fail,
        "fill 41 50\n",
        &format!("stripewise replace{rebuild}"),
        "umount files; mount \"$loop\" files; verify\n",
        &format!("umount{end}"),
        "load= loop= server=\n",
    ]
    .concat();

    let sandbox = Sandbox::new();
    let program = Path::new(env!("CARGO_BIN_EXE_stripewise")).parent().expect("a folder");
    let paths = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("timeout")
        .args(["300", "bash", "-c", &script])
        .current_dir(sandbox.path())
        .env("PATH", format!("{}:{paths}", program.display()))
        .env("STRIPEWISE_STATE_DIR", sandbox.path().join("state"))
        .env("STRIPEWISE_RUNTIME_DIR", sandbox.path().join("run"))
        .output()
        .expect("bash is there");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}\n{errors}");
    assert!(output.status.success(), "{}", output.status);
    // The first failure reports that the array is degraded, the second that the file system was mounted when its
    // device vanished.
    let expected = ["failed: stripewise status pool", "failed: fsck.ext4 -f -p \"$loop\""];
    let failed: Vec<&str> =
        errors.lines().filter(|line| line.starts_with("failed: ") && !expected.contains(line)).collect();
    assert_eq!(failed, [""; 0]);
    for expected in ["VERIFIED 40\n", "DEGRADED", " 0 damaged, 0 repaired, 0 lost\n", "VERIFIED 50\n"] {
        assert!(said.contains(expected), "{expected}");
    }
    assert!(said.ends_with("\nclean\n"));
}
