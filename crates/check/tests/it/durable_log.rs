//! Invariants of the durable log, tested with lives of arrays in which they could be violated. Invariants that are
//! not here are properties of the written structures, and are tested next to the code that writes them.

use stripewise_array::MemberNo;
use stripewise_check::crash::{Broken, Checker, Counts, CrashCase, Cut, Era, Kind, Strike, Survival, Wrong};

const KINDS: [Kind; 2] = [Kind::Log5, Kind::Log6];

/// Lives of both kinds: seeds without losses, modified by `change`.
fn lives(seeds: u64, change: impl Fn(u64, &mut CrashCase)) -> Counts {
    let mut checker = Checker::new(None);
    let mut all = Counts::default();
    for seed in 0..seeds {
        for kind in KINDS {
            let failure =
                |broken: &Broken| format!("seed {seed}: {}\n{}", broken.what, broken.case.to_toml());
            let mut case =
                checker.drawn(seed, &[kind]).unwrap_or_else(|broken| panic!("{}", failure(&broken)));
            for era in &mut case.eras {
                era.absent.clear();
                era.strikes.clear();
            }
            change(seed, &mut case);
            match checker.case(&case) {
                Ok(counts) => all.add(&counts),
                Err(what) => panic!("{}", failure(&Broken { case: case.into(), what })),
            }
        }
    }
    all
}

/// Three eras like the first one of `case`, each ended by a power loss in the middle.
fn three(case: &mut CrashCase) -> &mut [Era] {
    let era = Era { cuts: Vec::new(), ..case.eras[0].clone() };
    let of = |nth: u64| Era { crash: Some(20 + nth * 17), keep: Survival::Seed(nth), ..era.clone() };
    case.eras = (0..3).map(of).collect();
    &mut case.eras
}

#[test]
fn invariant_c_behind_the_durable_horizon_a_stripe_is_accepted_whole_or_dropped_whole() {
    let counts = lives(100, |seed, case| {
        for (nth, era) in (0..).zip(three(case)) {
            era.crash = Some(seed % 50 + nth);
            era.keep = Survival::Seed(seed * 3 + nth);
        }
    });
    assert!(counts.dropped > 20 && counts.replayed > 100 && counts.torn > 20, "{counts}");
}

#[test]
fn invariant_d_an_abandoned_tail_stays_abandoned_when_a_member_returns_that_was_absent() {
    let counts = lives(100, |seed, case| {
        let member = (seed % u64::from(case.shape.members)) as u16;
        three(case)[1].absent = vec![MemberNo::new(member)];
    });
    assert!(counts.returned > 100 && counts.dropped > 10, "{counts}");
}

#[test]
fn invariant_d_an_epoch_that_began_in_an_opening_that_was_cut_is_not_used_again() {
    let counts = lives(100, |seed, case| {
        for (nth, era) in (0..).zip(three(case)) {
            era.cuts = (0..3)
                .map(|cut| Cut {
                    is_whole: false,
                    after: (seed * 7 + cut * 31) % 100,
                    keep: Survival::Seed(seed + cut + nth),
                })
                .collect();
        }
    });
    assert!(counts.while_opening > 300, "{counts}");
}

#[test]
fn invariant_f_a_trim_that_a_flush_covered_is_one_after_the_checkpoint_and_without_any_member() {
    use stripewise_check::{Ask, What};
    let counts = lives(60, |seed, case| {
        let page = u64::from(case.shape.page_bytes) / 512;
        let ask =
            |what, at: u64, pages: u64| Ask { gap_ns: 0, what, sector: at * page, sectors: pages * page };
        let flush = Ask { gap_ns: 0, what: What::Flush, sector: 0, sectors: 0 };
        // Pages are written and trimmed, and all pages around them are written until the segment is collected.
        let mut asks = vec![ask(What::Write, 0, 6), flush, ask(What::Trim, 1, 1 + seed % 4), flush];
        asks.extend((0..120).flat_map(|nth| [ask(What::Write, 6 + (nth * 5 + seed) % 9, 1), flush]));
        let eras = three(case);
        eras[0] = Era { asks, depth: 1, crash: (seed % 3 > 0).then_some(seed * 40), ..eras[0].clone() };
    });
    assert!(counts.opened > 300, "{counts}");
}

#[test]
fn invariant_j_an_array_that_continued_without_a_member_never_reads_it_again() {
    let counts = lives(100, |seed, case| {
        let members = u64::from(case.shape.members);
        let parity = u64::from(case.shape.kind.parity());
        let gone: Vec<u16> = (0..parity).map(|nth| ((seed + nth * 2) % members) as u16).collect();
        three(case)[0].absent = gone.into_iter().map(MemberNo::new).collect();
    });
    assert!(counts.returned > 300, "{counts}");
}

#[test]
fn invariant_k_a_flush_that_failed_is_not_tried_again_and_trusted() {
    let counts = lives(100, |seed, case| {
        let members = u64::from(case.shape.members);
        let era = &mut three(case)[seed as usize % 2];
        let member = (seed % members) as u16;
        era.strikes = vec![Strike {
            event: seed % 40,
            member: MemberNo::new(member),
            wrong: Wrong::Unflushable,
            choice: seed,
        }];
    });
    assert!(counts.wrongs > 50, "{counts}");
}
