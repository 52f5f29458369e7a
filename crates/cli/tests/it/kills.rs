//! The server of an array is killed (-9) at random times, and its members lose some of the writes that no flush
//! covered, as docs/evidence/checking.md describes. `stripewise-check kill` does so hundreds of times.

use std::time::Duration;

use stripewise_check::kill::{Broken, Settings, run};

fn settings(folder: &std::path::Path) -> Settings {
    Settings {
        program: env!("CARGO_BIN_EXE_stripewise").into(),
        folder: folder.into(),
        scheme: "durable-was".into(),
        members: 5,
        size: "8MiB".into(),
        connections: 3,
        depth: 16,
        kills: 12,
        longest: Duration::from_millis(150),
        trims: true,
        losses: false,
        drops: true,
        deaf: None,
        seed: 1,
    }
}

#[track_caller]
fn holds(change: impl FnOnce(&mut Settings)) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path());
    change(&mut settings);
    let counts =
        run(&settings, &mut |_| {}).unwrap_or_else(|error| panic!("seed {}: {error:#}", settings.seed));
    println!("seed {}: everything held\n{counts}", settings.seed);
    assert!(counts.writes > 50 && counts.flushes > 0 && counts.cut_short > 0, "{counts}");
    assert!(counts.dropped > 100 && counts.dropped < counts.unflushed, "{counts}");
}

#[test]
fn a_killed_server_loses_nothing_that_was_flushed() {
    holds(|_| {});
}

#[test]
fn nor_while_members_are_lost_and_replaced() {
    holds(|settings| (settings.losses, settings.kills) = (true, 16));
}

#[test]
fn nor_does_that_of_an_array_that_tolerates_two_losses() {
    holds(|settings| (settings.scheme, settings.members) = ("durable-raid6-was".into(), 6));
}

#[test]
fn nor_does_that_of_an_array_whose_stripes_are_as_deep_as_they_are_wide() {
    holds(|settings| (settings.scheme, settings.losses) = ("raid6-was-xcode".into(), true));
}

#[test]
fn nor_does_that_of_an_array_in_place() {
    holds(|settings| (settings.scheme, settings.trims) = ("durable-raid5".into(), false));
}

/// Within 24 kills. Only for an array without checksums: any other decodes data that only one member has lost.
#[test]
fn a_member_that_does_not_get_its_flushes_is_found() {
    let found = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let scheme = folder.path().join("bitmap.toml");
        let text = "name = \"bitmap\"\nmetadata = \"on\"\n[journal]\npolicy = \"intent-bitmap\"\n";
        std::fs::write(&scheme, text).unwrap();
        let scheme = scheme.to_str().unwrap().into();
        let settings = Settings { scheme, trims: false, deaf: Some(1), seed, ..settings(folder.path()) };
        let broken = run(&settings, &mut |_| {}).err()?;
        Some(broken.downcast::<Broken>().unwrap_or_else(|error| panic!("{error:#}")).0)
    };
    let said = (1..=2).find_map(found).expect("it is found");
    assert!(said.contains("admissible: "), "{said}");
}
