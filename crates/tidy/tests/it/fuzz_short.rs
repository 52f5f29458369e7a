//! `fuzz/short.sh`, with a compiler and test programs that only pretend.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stripewise_tidy::tree;

/// The listing of targets, and a target that notes when it begins and ends. `red` fails, `still` checks nothing.
const PROGRAM: &str = r#"#!/bin/sh
# mutated_inputs_hold
here=$(dirname "$0")
if [ -n "${STRIPEWISE_FUZZ_LIST:-}" ]; then
    printf 'one\nred\ntwo\nstill\nthree\n' >>"$STRIPEWISE_FUZZ_LIST"
    exit 0
fi
[ "$1" = mutated_inputs_hold ] || exit 9
if ! mkdir "$here/first" 2>/dev/null; then
    mkdir "$here/second" && echo "two at a time" >>"$here/pair" || echo "three at a time" >>"$here/crowd"
fi
sleep "$STRIPEWISE_FUZZ_SECONDS"
rmdir "$here/second" 2>/dev/null || rmdir "$here/first"
case $STRIPEWISE_FUZZ_TARGET in
red) echo "the property is violated"; exit 101 ;;
still) ;;
*) echo "fuzz $STRIPEWISE_FUZZ_TARGET 12 inputs in 1.0 s, seed 3" >>"$STRIPEWISE_FUZZ_COUNTS" ;;
esac
"#;

/// One test at a time: a program cannot start while another thread, which starts one of its own, has it open for writing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tree with the script, the given targets and the test program.
fn tree_with(name: &str, targets: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("fuzz")).expect("a folder");
    fs::copy(tree::root().join("fuzz/short.sh"), folder.join("fuzz/short.sh")).expect("the script");
    let lines: String = targets
        .iter()
        .map(|target| format!("    {{ name = \"{target}\", path = \"targets/x.rs\" }},\n"))
        .collect();
    fs::write(folder.join("fuzz/Cargo.toml"), format!("bin = [\n{lines}]\n")).expect("the list of targets");
    let program = folder.join("program");
    let cargo = format!("#!/bin/sh\necho '  Executable tests/it/main.rs ({})' >&2\n", program.display());
    // Two processors, whatever this machine has.
    let nproc = "#!/bin/sh\necho 2\n".to_owned();
    for (file, text) in [("program", PROGRAM.to_owned()), ("cargo", cargo), ("nproc", nproc)] {
        fs::write(folder.join(file), text).expect("a script");
        fs::set_permissions(folder.join(file), Permissions::from_mode(0o755)).expect("a script can be run");
    }
    folder
}

fn short(folder: &Path, arguments: &[&str]) -> (Output, String) {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new(folder.join("fuzz/short.sh"))
        .args(arguments)
        .env("PATH", path)
        .env("CARGO", folder.join("cargo"))
        .output()
        .expect("the script runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[test]
fn as_many_targets_run_at_a_time_as_there_are_processors() {
    let _alone = alone();
    let folder = tree_with("fuzz-short-many", &["one", "two", "three"]);
    let (output, text) = short(&folder, &["1"]);
    assert!(output.status.success(), "{text}");
    for target in ["one", "two", "three"] {
        assert!(text.contains(&format!("fuzz {target} 12 inputs in 1.0 s, seed 3\n")), "{text}");
    }
    assert!(folder.join("pair").exists(), "they ran one after another");
    assert!(!folder.join("crowd").exists(), "three ran at a time");
}

#[test]
fn a_red_target_stops_no_other_and_fails_the_run_by_name() {
    let _alone = alone();
    let folder = tree_with("fuzz-short-red", &["red", "one", "still", "two"]);
    let (output, text) = short(&folder, &["0"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for target in ["one", "two"] {
        assert!(text.contains(&format!("fuzz {target} 12 inputs")), "{text}");
    }
    assert!(text.contains("---- output of red\nthe property is violated\n"), "{text}");
    assert!(text.ends_with("targets that failed: red still\n"), "{text}");
}

#[test]
fn a_target_that_no_test_has_fails_the_run() {
    let _alone = alone();
    let folder = tree_with("fuzz-short-missing", &["one", "missing"]);
    let (output, text) = short(&folder, &["0"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("the target missing has not run: add it to the test mutated_inputs_hold"),
        "{text}"
    );
    assert!(text.contains("fuzz one 12 inputs"), "{text}");
    // Only what is named runs, where targets are named.
    let (output, text) = short(&folder, &["0", "two"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(text, "fuzz two 12 inputs in 1.0 s, seed 3\n");
}

/// The check of the whole tree, in which all programs pretend: `make fuzz-short` ends with `code`.
fn last_line_of_the_check(name: &str, code: i32) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("tree/.ci")).expect("a folder");
    let check = folder.join("tree/.ci/run");
    fs::copy(tree::root().join(".ci/run"), &check).expect("the check");
    let make = format!(
        "#!/bin/sh
case $1 in
test) echo 'test result: ok. 3 passed; 0 failed; 1 ignored' ;;
fuzz-short) exit {code} ;;
esac
"
    );
    fs::write(folder.join("make"), make).expect("a script");
    for program in ["apt-get", "sudo", "cargo", "rustup", "cc"] {
        fs::write(folder.join(program), "#!/bin/sh\n").expect("a script");
    }
    for program in ["make", "apt-get", "sudo", "cargo", "rustup", "cc"] {
        fs::set_permissions(folder.join(program), Permissions::from_mode(0o755))
            .expect("a script can be run");
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new(check)
        .env("PATH", path)
        .env("STRIPEWISE_GUEST_KERNEL", "none")
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .expect("the check runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn a_red_target_fails_the_whole_check() {
    let _alone = alone();
    let (code, last) = last_line_of_the_check("check-green", 0);
    assert_eq!(
        (code, last.as_str()),
        (Some(0), "test result: ok. 3 passed; 0 failed; 1 ignored; 1 test programs")
    );
    let (code, last) = last_line_of_the_check("check-red", 2);
    assert_eq!(code, Some(1));
    assert_eq!(last, "test result: FAILED. 3 passed; 0 failed; 1 ignored; 1 test programs");
}
