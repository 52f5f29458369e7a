//! The oracle of redundancy: what arrays say about their redundancy is true. After each new
//! fault this holds on all kinds of arrays.

use stripewise_check::crash::{Broken, Checker, Counts, Fault, Kind};

/// Seeds of each fault and kind; `stripewise-check crashes --fault NAME` tries more.
const SEEDS: u64 = 12;

/// Runs seeds that end with `fault`.
fn strikes(kind: Kind, fault: Fault) -> Counts {
    let mut checker = Checker::new(None).strikes(&[fault]);
    let mut all = Counts::default();
    for seed in 0..SEEDS {
        match checker.seed(seed, &[kind]) {
            Ok(counts) => all.add(&counts),
            Err(Broken { case, what }) => {
                panic!("{} {}, seed {seed}: {what}\n{}", kind.name(), fault.name(), case.to_toml())
            }
        }
    }
    all
}

#[test]
fn an_array_is_as_redundant_as_it_says_after_each_new_fault() {
    for fault in Fault::ALL {
        let mut played = 0;
        for kind in Kind::ALL {
            let counts = strikes(kind, fault);
            played += counts.played;
            assert!(counts.played == 0 || counts.judged > 0, "{} is not judged: {counts}", fault.name());
        }
        assert!(played > SEEDS, "{} only {played} times", fault.name());
    }
}

#[test]
fn while_an_array_is_clean_members_are_removed_from_copies_of_it() {
    let mut all = Counts::default();
    for kind in Kind::ALL {
        let mut checker = Checker::new(None).strikes(&[]);
        for seed in 0..40 {
            match checker.seed(seed, &[kind]) {
                Ok(counts) => all.add(&counts),
                Err(Broken { case, what }) => {
                    panic!("{}, seed {seed}: {what}\n{}", kind.name(), case.to_toml())
                }
            }
        }
    }
    assert!(all.judged > 100, "only {} points were judged", all.judged);
    assert!(all.restarts > 10, "only {} restarts were judged", all.restarts);
}
