//! The closed forms and the recursion, compared in fractions with the chain solved by elimination; and the published
//! table.

use proptest::prelude::*;
use stripewise_reliability::{Model, Repair, chain, closed_forms};

use crate::common::{Fraction, solved};

fn fraction(limit: i128) -> impl Strategy<Value = Fraction> {
    (1..=limit, 1..=limit).prop_map(|(above, below)| Fraction::new(above, below))
}

fn repair() -> impl Strategy<Value = Repair> {
    prop::sample::select(Repair::ALL.to_vec())
}

proptest! {
    #[test]
    fn the_printed_formula_of_raid5_solves_the_chain_exactly(
        n in 2u32..=32, lambda in fraction(40), mu in fraction(10_000),
    ) {
        prop_assert_eq!(closed_forms::raid5(n, lambda, mu), solved(n, 1, Repair::Single, lambda, mu));
    }

    #[test]
    fn the_printed_formula_of_raid6_solves_the_chain_exactly(
        n in 3u32..=32, lambda in fraction(40), mu in fraction(10_000),
    ) {
        prop_assert_eq!(closed_forms::raid6(n, lambda, mu), solved(n, 2, Repair::Single, lambda, mu));
    }

    #[test]
    fn the_recursion_solves_the_chain_of_any_parity_and_repair_exactly(
        parity in 0u32..=4, data in 1u32..=8, repair in repair(), lambda in fraction(9), mu in fraction(30),
    ) {
        let n = parity + data;
        prop_assert_eq!(
            chain::mean_time_to_loss(n, parity, repair, lambda, mu),
            solved(n, parity, repair, lambda, mu)
        );
    }

    #[test]
    fn floats_lose_nothing_that_counts_however_fast_repairs_are(
        parity in 0u32..=2, data in 1u32..=8, repair in repair(), lambda in 1u32..=9, exponent in 0u32..=9,
    ) {
        let (n, mu) = (parity + data, 10u32.pow(exponent));
        let exact = chain::mean_time_to_loss(n, parity, repair, Fraction::from(lambda), Fraction::from(mu));
        let float = chain::mean_time_to_loss(n, parity, repair, f64::from(lambda), f64::from(mu));
        let relative = (exact.to_f64() - float).abs() / float;
        prop_assert!(relative < 1e-14, "{relative}");
    }
}

#[test]
fn without_parity_the_first_failure_loses_data() {
    let (lambda, mu) = (Fraction::new(1, 4), Fraction::from(10_000));
    for repair in Repair::ALL {
        assert_eq!(chain::mean_time_to_loss(8, 0, repair, lambda, mu), Fraction::new(1, 2));
    }
}

#[test]
fn the_oracle_knows_a_chain_solved_by_hand() {
    // Two members, one parity, λ = 1, μ = 2: t0 = 1/2 + t1 and t1 = 1/3 + 2/3 t0, so t0 = 5/2.
    assert_eq!(solved(2, 1, Repair::Single, Fraction::from(1), Fraction::from(2)), Fraction::new(5, 2));
}

/// A number with `digits` digits.
fn digits(value: f64, digits: usize) -> String {
    format!("{value:.*e}", digits - 1)
}

/// Source: paper 001, section V-E and Fig. 11: n = 8, λ = 0.25 a year, μ = 10,000 a year.
#[test]
fn the_published_setting_gives_the_published_gains() {
    let of = |parity, alpha| Model { parity, ..Model::PAPER001 }.aged(alpha).mttdl_years();
    let table = [
        (1.0, ["2.8582e3", "1.000e0", "1.9054e7", "1.000e0"]),
        (0.37, ["2.0873e4", "7.303e0", "3.7609e8", "1.974e1"]),
        (0.50, ["1.1431e4", "3.999e0", "1.5241e8", "7.999e0"]),
        (0.77, ["4.8203e3", "1.686e0", "4.1734e7", "2.190e0"]),
    ];
    for (alpha, [raid5, over5, raid6, over6]) in table {
        assert_eq!(digits(of(1, alpha), 5), raid5);
        assert_eq!(digits(of(1, alpha) / of(1, 1.0), 4), over5);
        assert_eq!(digits(of(2, alpha), 5), raid6);
        assert_eq!(digits(of(2, alpha) / of(2, 1.0), 4), over6);
        let Model { members, failures_per_year, repairs_per_year, .. } = Model::PAPER001.aged(alpha);
        let printed5 = closed_forms::raid5(members, failures_per_year, repairs_per_year);
        let printed6 = closed_forms::raid6(members, failures_per_year, repairs_per_year);
        assert_eq!((digits(printed5, 5).as_str(), digits(printed6, 5).as_str()), (raid5, raid6));
    }
}

#[test]
fn repairs_side_by_side_double_raid6_and_repairs_at_once_hardly_change_it() {
    let of = |repair| Model { parity: 2, repair, ..Model::PAPER001 }.mttdl_years();
    let single = of(Repair::Single);
    assert!((of(Repair::Parallel) / single - 2.0).abs() < 0.001);
    let together = of(Repair::Together) / single - 1.0;
    assert!(together != 0.0 && together.abs() < 0.0002, "{together}");
}

#[test]
fn groups_divide_the_time_and_slower_ageing_stretches_it() {
    let model = Model::PAPER001;
    assert_eq!(Model { groups: 4, ..model }.mttdl_years(), model.mttdl_years() / 4.0);
    let (before, after) = (model.mttdl_years(), model.aged(0.5).mttdl_years());
    assert!(after > 3.9 * before, "with one parity time goes with the square of the rate");
}

#[test]
fn an_array_that_cannot_be_is_refused_with_its_reason() {
    let model = Model::PAPER001;
    for (bad, says) in [
        (Model { parity: 8, ..model }, "at least 9 members"),
        (Model { members: 0, parity: 0, ..model }, "0 members"),
        (Model { groups: 0, ..model }, "0 groups"),
        (Model { members: 5000, ..model }, "1 to 4096"),
        (model.aged(0.0), "rate of failures is 0 a year"),
        (Model { repairs_per_year: f64::NAN, ..model }, "rate of repairs"),
    ] {
        let error = bad.check().expect_err(says).to_string();
        assert!(error.contains(says), "`{error}` should contain `{says}`");
    }
    assert_eq!(model.check(), Ok(()));
}
