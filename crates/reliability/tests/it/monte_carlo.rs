//! The simulations compared with the chain: they agree within their confidence intervals, as often as the intervals
//! promise, and disagree with a wrong model.

use stripewise_reliability::monte_carlo::{Estimate, NoEstimate, biased, direct};
use stripewise_reliability::{Model, Repair};

type Simulation = fn(&Model, u64, u64, &mut dyn FnMut() -> bool) -> Result<Estimate, NoEstimate>;

fn estimate(simulation: Simulation, model: &Model, samples: u64, seed: u64) -> Estimate {
    simulation(model, samples, seed, &mut || true).expect("enough samples, and nobody stops")
}

/// Arrays whose losses are frequent enough to simulate whole lives.
fn frail() -> impl Iterator<Item = Model> {
    let sizes = [(1, 0), (5, 0), (2, 1), (8, 1), (3, 2), (6, 2), (6, 3)];
    sizes.into_iter().flat_map(|(members, parity)| {
        Repair::ALL.map(|repair| Model {
            members,
            parity,
            groups: 1,
            failures_per_year: 0.5,
            repairs_per_year: 6.0,
            repair,
        })
    })
}

/// The number of `seeds` estimates whose interval contained `years`.
fn held(simulation: Simulation, model: &Model, samples: u64, seeds: u64, years: f64) -> u64 {
    (0..seeds).filter(|&seed| estimate(simulation, model, samples, seed).holds(years)).count() as u64
}

#[test]
fn lives_played_in_full_agree_with_the_chain() {
    for model in frail() {
        let found = estimate(direct, &model, 20_000, 1);
        assert!(found.holds(model.mttdl_years()), "{model:?}: {found:?}, {}", model.mttdl_years());
        assert!(found.standard_error_years < 0.01 * found.mean_years, "{found:?}");
    }
}

#[test]
fn biased_cycles_agree_with_the_chain() {
    for model in frail() {
        let found = estimate(biased, &model, 40_000, 2);
        assert!(found.holds(model.mttdl_years()), "{model:?}: {found:?}, {}", model.mttdl_years());
        assert!(found.standard_error_years < 0.02 * found.mean_years, "{found:?}");
    }
}

/// Source: paper 001, section V-E: a loss in some 40 million repairs, too many to simulate directly.
#[test]
fn biased_cycles_reach_the_published_setting() {
    for parity in 0..=3 {
        for repair in Repair::ALL {
            for alpha in [1.0, 0.37] {
                let model = Model { parity, repair, ..Model::PAPER001 }.aged(alpha);
                let found = estimate(biased, &model, 100_000, 7);
                assert!(found.holds(model.mttdl_years()), "{model:?}: {found:?}, {}", model.mttdl_years());
                assert!(found.standard_error_years < 0.02 * found.mean_years, "{found:?}");
            }
        }
    }
}

#[test]
fn intervals_hold_the_truth_at_their_stated_rate_and_seldom_a_wrong_value() {
    const SEEDS: u64 = 1000;
    let frail = Model {
        members: 4,
        parity: 1,
        groups: 1,
        failures_per_year: 0.25,
        repairs_per_year: 5.0,
        repair: Repair::Single,
    };
    let rare = Model { parity: 2, ..Model::PAPER001 };
    let cases: [(Simulation, Model, u64); 2] = [(direct, frail, 1000), (biased, rare, 2000)];
    for (simulation, model, samples) in cases {
        // Of 1000 intervals of 99 %, ten miss on average; fewer than 2 or more than 22 miss in one of 1300 such
        // tests.
        let missed = SEEDS - held(simulation, &model, samples, SEEDS, model.mttdl_years());
        assert!((2..=22).contains(&missed), "{model:?}: {missed} of {SEEDS} missed");
        // The planted mistake: failures occur a fifth more often in the chain than in the simulation.
        let wrong = held(simulation, &model, samples, SEEDS, model.aged(1.2).mttdl_years());
        assert!(wrong < SEEDS / 10, "{model:?}: {wrong} of {SEEDS}");
    }
}

#[test]
fn a_wrong_rate_of_repair_or_the_wrong_way_of_repair_is_noticed() {
    let model = Model { parity: 2, ..Model::PAPER001 };
    let found = estimate(biased, &model, 100_000, 1);
    let slower = Model { repairs_per_year: 0.95 * model.repairs_per_year, ..model };
    assert!(!found.holds(slower.mttdl_years()));
    assert!(!found.holds(Model { repair: Repair::Parallel, ..model }.mttdl_years()));
}

#[test]
fn losses_of_groups_add_where_repairs_are_short_and_do_not_quite_where_they_are_long() {
    let model = Model { members: 4, groups: 6, ..Model::PAPER001 };
    let short = estimate(biased, &model, 200_000, 3);
    assert!(short.holds(model.mttdl_years()), "{short:?}, {}", model.mttdl_years());
    let long = Model { failures_per_year: 1.0, repairs_per_year: 2.0, ..model };
    let (lives, cycles) = (estimate(direct, &long, 40_000, 3), estimate(biased, &long, 100_000, 3));
    assert!(cycles.holds(lives.mean_years), "the simulations agree: {lives:?}, {cycles:?}");
    assert!(!lives.holds(long.mttdl_years()), "{lives:?}, {}", long.mttdl_years());
}

#[test]
fn a_seed_replays_and_another_does_not() {
    let model = Model::PAPER001;
    let of = |seed| estimate(biased, &model, 1000, seed);
    assert_eq!(of(5), of(5));
    assert_ne!(of(5), of(6));
}

#[test]
fn what_gives_no_estimate_says_why() {
    let model = Model { parity: 3, ..Model::PAPER001 };
    assert_eq!(direct(&model, 29, 1, &mut || true), Err(NoEstimate::FewLosses { losses: 29, samples: 29 }));
    assert_eq!(biased(&model, 0, 1, &mut || true), Err(NoEstimate::FewLosses { losses: 0, samples: 0 }));
    // One cycle in seven ends in a loss: it needs three failures, each as likely as a repair before it.
    match biased(&model, 100, 1, &mut || true) {
        Err(NoEstimate::FewLosses { losses, samples: 100 }) => assert!((5..30).contains(&losses), "{losses}"),
        other => panic!("{other:?}"),
    }
    // A life that takes too long ends when the caller stops it.
    assert_eq!(direct(&model, 30, 1, &mut || false), Err(NoEstimate::Stopped));
}
