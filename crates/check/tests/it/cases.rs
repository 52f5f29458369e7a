//! Cases that once failed and must never fail again. Each file states the bug. A new case is the output of
//! `stripewise-check --seed N --shrink`.

use std::fs;
use std::path::Path;

use stripewise_array::{Bug, MemberNo};
use stripewise_check::{Case, Options, Planted, crash, run};

/// The files of a folder of cases, at least `count`: the name and the text of each.
fn files(folder: &str, count: usize) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(files.len() >= count, "{files:?}");
    let read = |file: std::path::PathBuf| {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.starts_with("# "), "{name}: say in its first line what was wrong");
        (name, text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn what_a_loss_of_power_broke_once_holds() {
    for (name, text) in files("tests/crashes", 7) {
        let case = crash::CrashCase::from_toml(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        if let Err(what) = crash::Checker::new(None).case(&case) {
            panic!("{name} fails again: {what}");
        }
    }
}

/// Whether the case `name` holds with a planted bug.
#[cfg(debug_assertions)]
fn holds_with(bug: Bug, name: &str) -> bool {
    let found = |folder| files(folder, 7).into_iter().find(|(file, _)| file.contains(name));
    if let Some((file, text)) = found("tests/crashes") {
        let case = crash::CrashCase::from_toml(&file, &text).unwrap_or_else(|error| panic!("{error}"));
        return crash::Checker::new(Some(bug)).case(&case).is_ok();
    }
    let (file, text) = found("tests/cases").expect("its case");
    let case = Case::from_toml(&file, &text).unwrap_or_else(|error| panic!("{error}"));
    run(&case, Options { bug: Some(Planted::Array(bug)), ..Options::default() }).is_ok()
}

#[cfg(debug_assertions)]
#[test]
fn a_rare_bug_that_is_planted_again_breaks_its_case_again() {
    std::panic::set_hook(Box::new(|_| {}));
    let unbroken: Vec<Bug> = Bug::RARE
        .iter()
        .copied()
        .filter(|&bug| {
            let case = match bug {
                Bug::HeldRecordWritten => "records_that_stated_nothing_took_the_room_of_the_one_that_frees",
                Bug::TargetsShift => "the_rest_of_a_version_was_counted_over_the_members_that_were_left",
                Bug::AbandonedParityTrusted => "parity-of-an-abandoned-update-beside-blank-columns",
                _ => return true,
            };
            holds_with(bug, case)
        })
        .collect();
    let _ = std::panic::take_hook();
    assert!(unbroken.is_empty(), "these break nothing: {unbroken:?}");
}

#[test]
fn what_failed_once_passes() {
    for (name, text) in files("tests/cases", 7) {
        let case = Case::from_toml(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        if let Err(failure) = run(&case, Options::default()) {
            panic!("{name} fails again: {failure}");
        }
    }
}

#[test]
fn a_case_survives_its_file() {
    for seed in 0..50 {
        let case = stripewise_check::stress::case(seed);
        let text = case.to_toml();
        let again = Case::from_toml("case", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.to_toml(), text);
    }
}

#[test]
fn a_case_that_cannot_be_run_says_why() {
    let mut case = stripewise_check::stress::case(0);
    let message = |case: &Case| run(case, Options::default()).expect_err("a failure").what;
    case.requests[0].sector = 1 << 40;
    assert!(message(&case).contains("extends past the array's"), "{}", message(&case));
    case.losses = vec![stripewise_check::Loss {
        event: 0,
        member: MemberNo::new(99),
        manner: stripewise_check::Manner::Gone,
    }];
    assert!(message(&case).contains("there is no member 99"), "{}", message(&case));
    let error = Case::from_toml("case", "sed = 1").expect_err("an unknown key").to_string();
    assert!(error.contains("seed"), "{error}");
}
