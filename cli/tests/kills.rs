//! The server of an array is killed (-9) at random moments, as docs/checking.md tells. `stripewise-check kill` does so
//! hundreds of times.

use std::time::Duration;

use stripewise_check::kill::{Settings, run};

fn settings(folder: &std::path::Path) -> Settings {
    Settings {
        program: env!("CARGO_BIN_EXE_stripewise").into(),
        folder: folder.into(),
        scheme: "durable-was".into(),
        elements: 5,
        size: "8MiB".into(),
        connections: 3,
        depth: 16,
        kills: 12,
        longest: Duration::from_millis(150),
        trims: true,
        losses: false,
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
    assert!(counts.writes > 100 && counts.flushes > 0 && counts.cut_short > 0, "{counts}");
}

#[test]
fn a_killed_server_loses_nothing_that_was_flushed() {
    holds(|_| {});
}

#[test]
fn nor_while_elements_are_lost_and_replaced() {
    holds(|settings| (settings.losses, settings.kills) = (true, 16));
}

#[test]
fn nor_does_that_of_an_array_that_bears_two_losses() {
    holds(|settings| (settings.scheme, settings.elements) = ("durable-raid6-was".into(), 6));
}
