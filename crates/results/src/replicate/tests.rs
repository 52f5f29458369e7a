use super::*;
use proptest::prelude::*;
use stripewise_base::prng::Prng;

fn never(_: u32) -> bool {
    false
}

fn relative(width: f64) -> Rule {
    Rule::until(Narrow::Relative(width), 0.95, 5, 5, 60).unwrap()
}

/// A normal value, by Box and Muller.
fn normal(random: &mut Prng) -> f64 {
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let (one, other) = (1.0 - uniform(), uniform());
    libm::sqrt(-2.0 * libm::log(one)) * libm::cos(std::f64::consts::TAU * other)
}

/// 2,000 studies of two schemes, whose difference is 1. Returns the share of intervals that cover it, the mean width beside
/// Student's of the same number of seeds, and the mean number of seeds.
fn coverage(rule: &Rule, deviation: f64, seed: u64) -> (f64, f64, f64) {
    const STUDIES: usize = 2000;
    let mut random = Prng::new(seed);
    let (mut covered, mut width, mut seeds) = (0, 0.0, 0);
    let most = rule.range().1 as usize;
    for _ in 0..STUDIES {
        // Requests make both schemes slow together: the paired difference varies less than either.
        let requests: Vec<f64> = (0..most).map(|_| 10.0 + normal(&mut random)).collect();
        let others: Vec<f64> =
            requests.iter().map(|value| value + 1.0 + deviation * normal(&mut random)).collect();
        let Decision::Ends(Ended { seeds: n, .. }) =
            rule.decide(Of::DifferencesFrom(0), Kind::Difference, &[&requests, &others], never)
        else {
            panic!("all seeds are there")
        };
        let taken = [&requests[..n as usize], &others[..n as usize]];
        let found = rule.differences(0, &taken, Kind::Difference)[1].unwrap();
        let fixed = Rule::fixed(n, 0.95).unwrap().differences(0, &taken, Kind::Difference)[1].unwrap();
        covered += usize::from((found.mean - 1.0).abs() <= found.margin);
        width += found.margin / fixed.margin / STUDIES as f64;
        seeds += n;
    }
    (covered as f64 / STUDIES as f64, width, f64::from(seeds) / STUDIES as f64)
}

/// The limits that the design promises. Deviations are such that the seeds end at any look, the first and the last included.
#[test]
fn intervals_cover_as_often_as_they_say_and_are_little_wider_than_those_of_fixed_seeds() {
    let absolute = |least, batch, most| Rule::until(Narrow::Absolute(0.4), 0.95, least, batch, most).unwrap();
    let rules = [relative(0.04), absolute(5, 5, 60), absolute(5, 1, 100), absolute(10, 10, 40)];
    for (at, rule) in rules.iter().enumerate() {
        for (of, deviation) in [0.2, 0.5, 0.7, 1.0, 1.5, 2.5].into_iter().enumerate() {
            let (covered, width, seeds) = coverage(rule, deviation, (at * 10 + of) as u64);
            let what = format!(
                "{rule:?}, deviation {deviation}: {covered} of intervals, {width} as wide, {seeds} seeds"
            );
            assert!(covered >= 0.94 && width <= 1.3 + 1e-9, "{what}");
            assert!(deviation != 0.2 || seeds < 12.0, "{what}");
        }
    }
}

/// The test above must be able to fail: without spending, intervals cover too seldom.
#[test]
fn intervals_that_ignore_their_looks_cover_too_seldom() {
    let rule = Rule::until(Narrow::Absolute(0.4), 0.95, 3, 1, 60).unwrap();
    let mut random = Prng::new(3);
    let covered = (0..2000).filter(|_| {
        let values: Vec<f64> = (0..60).map(|_| normal(&mut random)).collect();
        let plain = |n: &usize| margin_at(&values[..*n], Rate::FIXED, 1).unwrap();
        let n = (3..60).find(|n| plain(n) <= 0.4).unwrap_or(60);
        mean(&values[..n]).abs() <= plain(&n)
    });
    let ignoring = covered.count();
    assert!(ignoring < 1880, "{ignoring} of 2000");
    let (covered, ..) = coverage(&rule, 1.0, 3);
    assert!(covered >= 0.94, "{covered}");
}

/// By hand: 1 to 5 have the mean 3 and the standard error sqrt(2.5 / 5) = 0.7071; t(0.975, 4) = 2.7764.
#[test]
fn fixed_seeds_have_the_interval_of_student() {
    let rule = Rule::fixed(5, 0.95).unwrap();
    let values = [1.0, 2.0, 3.0, 4.0, 5.0];
    assert!((rule.margin(&values).unwrap() - 2.7764 * 0.5f64.sqrt()).abs() < 1e-3);
    assert_eq!(rule.decide(Of::Means, Kind::Difference, &[&values[..4]], never), Decision::Needs(5));
    let ends = Decision::Ends(Ended { seeds: 5, why: Why::Fixed });
    assert_eq!(rule.decide(Of::Means, Kind::Difference, &[&values], never), ends);
}

/// t(0.99, 4) = 3.7469 would be 1.35 times t(0.975, 4): with few seeds the limit of 1.3 counts. With 12 looks and 59 degrees
/// of freedom the rate is 0.05 / (1 + ln(12) / 2) = 0.0223, and t(0.98885, 59) = 2.3455.
#[test]
fn several_looks_widen_an_interval_by_a_known_factor() {
    let rule = relative(0.05);
    let values: Vec<f64> = (0..60).map(f64::from).collect();
    let widened =
        |n: usize| rule.margin(&values[..n]).unwrap() / margin_at(&values[..n], Rate::FIXED, 1).unwrap();
    assert!((widened(5) - 1.3).abs() < 0.02, "{}", widened(5));
    assert!((widened(60) - 2.3455 / 2.0010).abs() < 0.005, "{}", widened(60));
}

#[test]
fn a_relative_width_refers_to_the_mean_of_the_scheme_that_is_compared_with() {
    let large = [1000.0, 1001.0, 999.0, 1000.5, 999.5];
    let small = [10.0, 12.0, 8.0, 11.0, 9.0];
    let why = |base, width| match relative(width).decide(
        Of::DifferencesFrom(base),
        Kind::Difference,
        &[&large, &small],
        never,
    ) {
        Decision::Ends(Ended { why, .. }) => Some(why),
        Decision::Needs(_) => None,
    };
    // The interval of the difference is about ±2: one in 500 of the large mean, a fifth of the small one.
    assert_eq!((why(0, 0.01), why(1, 0.01)), (Some(Why::Narrow), None));
    assert_eq!(why(1, 0.5), Some(Why::Narrow));
}

#[test]
fn where_no_seed_changes_anything_two_are_enough() {
    let value: &[f64] = &[7.0, 7.0];
    let ends = |rule: Rule, exact: fn(u32) -> bool| {
        rule.decide(Of::DifferencesFrom(0), Kind::Difference, &[value, value], exact)
    };
    let exact = Decision::Ends(Ended { seeds: 2, why: Why::Exact });
    assert_eq!(ends(relative(0.05), |seeds| seeds == 2), exact);
    assert_eq!(ends(Rule::fixed(9, 0.95).unwrap(), |seeds| seeds == 2), exact);
    // Equal values of one figure are chance as long as other results differ.
    assert_eq!(ends(relative(0.05), never), Decision::Needs(5));
    let one = Rule::fixed(1, 0.95).unwrap().decide(Of::Means, Kind::Difference, &[&value[..1]], |_| true);
    assert_eq!(one, Decision::Ends(Ended { seeds: 1, why: Why::Fixed }));
}

#[test]
fn rules_that_contradict_themselves_are_refused() {
    let until = |least, batch, most| Rule::until(Narrow::Relative(0.05), 0.95, least, batch, most);
    assert!(until(2, 5, 60).unwrap_err().contains("3 or more"));
    assert!(until(5, 0, 60).is_err() && until(5, 5, 4).is_err());
    assert!(Rule::until(Narrow::Relative(0.0), 0.95, 5, 5, 60).is_err());
    assert!(Rule::fixed(5, 95.0).unwrap_err().contains("0.95"));
    assert!(Rule::fixed(0, 0.95).is_err());
    assert_eq!(until(5, 25, 60).unwrap().looks().collect::<Vec<_>>(), [5, 30, 55, 60]);
    assert_eq!(until(5, 5, 5).unwrap().looks().collect::<Vec<_>>(), [5]);
    for (least, batch, most) in [(5, 25, 60), (5, 5, 5), (3, 1, 60), (5, 5, 60)] {
        let rule = until(least, batch, most).unwrap();
        assert_eq!(rule.rate().looks as usize, rule.looks().count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Seeds arrive in any order, and more of them than needed: the decision is that of a study that makes one after the
    /// other.
    #[test]
    fn a_study_ends_at_the_same_seed_however_many_are_known(
        seed in any::<u64>(),
        deviation in 0.01f64..3.0,
        ahead in 0usize..30,
    ) {
        let rule = relative(0.05);
        let mut random = Prng::new(seed);
        let schemes: Vec<Vec<f64>> =
            (0..3).map(|_| (0..60).map(|_| 20.0 + deviation * normal(&mut random)).collect()).collect();
        let decide = |known: usize| {
            let taken: Vec<&[f64]> = schemes.iter().map(|values| &values[..known.min(60)]).collect();
            rule.decide(Of::DifferencesFrom(1), Kind::Difference, &taken, never)
        };
        let mut known = 0;
        let serial = loop {
            match decide(known) {
                Decision::Needs(more) => { prop_assert!(more as usize > known); known = more as usize }
                Decision::Ends(ended) => break ended,
            }
        };
        prop_assert_eq!(serial.seeds as usize, known);
        prop_assert_eq!(decide(known + ahead), Decision::Ends(serial.clone()));
        prop_assert_eq!(decide(60), Decision::Ends(serial));
    }
}
