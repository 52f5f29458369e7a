//! Composition: the axes match the array's settings, every refusal is due to two members and is reviewed, the
//! covering array covers all triples, and all its rows keep every promise.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use stripewise_array::{cache, coordination, dispatch, hotness, placement, read, update};
use stripewise_base::prng::Prng;
use stripewise_check::composition::axes::{AXES, COUNT, Sets};
use stripewise_check::composition::{
    At, Combination, Pairs, REVIEW, Space, case, covering, is_feasible, review, table,
};
use stripewise_check::{Options, Summary, run};

fn members() -> impl Iterator<Item = At> {
    AXES.iter()
        .enumerate()
        .flat_map(|(axis, of)| (0..of.members.len() as u8).map(move |member| (axis, member)))
}

#[test]
fn every_policy_of_the_array_is_a_member_of_an_axis() {
    let lists = [
        ("update", update::MEMBERS),
        ("placement", placement::MEMBERS),
        ("hotness", hotness::MEMBERS),
        ("read", read::MEMBERS),
        ("dispatch", dispatch::MEMBERS),
        ("cache", cache::MEMBERS),
        ("coordination", coordination::MEMBERS),
    ];
    let all: Vec<_> = AXES.iter().flat_map(|axis| axis.members).collect();
    for (section, policies) in lists {
        for (nth, (policy, _)) in policies.iter().enumerate() {
            let key = format!("{section}.policy = '{policy}'");
            let sets = |sets: Sets| matches!(sets, Sets::Keys(keys) if keys.lines().any(|line| line == key));
            let is_default = nth == 0 && all.iter().any(|member| member.name == *policy);
            assert!(is_default || all.iter().any(|member| sets(member.sets)), "no member sets {key}");
        }
    }
}

#[test]
fn a_combination_is_read_as_it_is_written() {
    let mut random = Prng::new(1);
    for _ in 0..1000 {
        let combination = any(&mut random);
        assert_eq!(Combination::parse(&combination.to_string()), Ok(combination));
    }
    assert_eq!(Combination::default().to_string(), "defaults");
    let message = |text| Combination::parse(text).expect_err("no combination");
    assert!(
        message("cash=wow").contains("`cash` is no axis; there are geometry, code"),
        "{}",
        message("cash=wow")
    );
    assert!(message("cache=vow").contains("`vow` is no member of cache; there are none, parity-caching"));
    assert!(message("wow").contains("expected AXIS=MEMBER"));
}

/// A random combination, accepted or not.
fn any(random: &mut Prng) -> Combination {
    let mut combination = Combination::default();
    for (axis, member) in combination.0.iter_mut().enumerate() {
        *member = random.below(AXES[axis].members.len() as u64) as u8;
    }
    combination
}

#[test]
fn every_refusal_is_one_of_two_members_and_what_no_pair_refuses_the_array_accepts() {
    let space = Space::new();
    let pairs = Pairs::new(&space);
    let mut accepted = 0_u64;
    pairs.each(|combination| {
        if let Some(why) = space.why(&combination) {
            panic!("no two members of {combination} refuse each other, and yet: {why}");
        }
        accepted += 1;
        true
    });
    assert!(accepted > 1_000_000, "{accepted}");
    // Conversely, combinations with a pair that never occurs together, with random other members.
    let mut random = Prng::new(2);
    let all: Vec<At> = members().collect();
    for (nth, &one) in all.iter().enumerate() {
        for &other in
            all[nth + 1..].iter().filter(|&&other| other.0 != one.0 && !pairs.go_together(one, other))
        {
            for _ in 0..300 {
                let combination = any(&mut random).with(one.0, one.1).with(other.0, other.1);
                assert!(space.resolve(&combination).is_err(), "{combination} is accepted");
                assert!(!pairs.accept(&combination));
            }
        }
    }
}

#[test]
fn any_three_members_that_ever_come_together_do_in_a_row_of_the_covering_array() {
    let space = Space::new();
    let pairs = Pairs::new(&space);
    let rows = covering(&pairs);
    let number = |at: At| AXES[..at.0].iter().map(|axis| axis.members.len()).sum::<usize>() + at.1 as usize;
    let count = members().count();
    let index = |[one, two, three]: [usize; 3]| (one * count + two) * count + three;
    let mut in_rows = vec![false; count.pow(3)];
    for row in &rows {
        assert_eq!(space.resolve(row), Ok(()), "{row}");
        let at: Vec<usize> = (0..COUNT).map(|axis| number((axis, row.0[axis]))).collect();
        triples(COUNT, |[one, two, three]| in_rows[index([at[one], at[two], at[three]])] = true);
    }
    // By trying all accepted combinations, one by one.
    let first: Vec<usize> = (0..COUNT).map(|axis| number((axis, 0))).collect();
    let mut ever = vec![false; count.pow(3)];
    pairs.each(|combination| {
        let at: [usize; COUNT] = std::array::from_fn(|axis| first[axis] + combination.0[axis] as usize);
        triples(COUNT, |[one, two, three]| ever[index([at[one], at[two], at[three]])] = true);
        true
    });
    let all: Vec<At> = members().collect();
    let mut feasible = 0;
    triples(count, |triple| {
        let [one, two, three] = triple.map(|nth| all[nth]);
        if one.0 == two.0 || two.0 == three.0 {
            return;
        }
        let has = ever[index(triple)];
        assert_eq!(has, is_feasible(&pairs, [one, two, three]), "{one:?}, {two:?}, {three:?}");
        assert_eq!(has, in_rows[index(triple)], "{one:?}, {two:?}, {three:?} are in no row");
        feasible += usize::from(has);
    });
    assert!(feasible > 20_000, "{feasible}");
    assert!(rows.len() < 1_000, "{} rows", rows.len());
    assert_eq!(rows, covering(&pairs), "it is the same each time");
}

/// All ascending triples of numbers below `count`.
fn triples(count: usize, mut f: impl FnMut([usize; 3])) {
    for one in 0..count {
        for two in one + 1..count {
            (two + 1..count).for_each(|three| f([one, two, three]));
        }
    }
}

#[test]
fn every_refusal_was_reviewed_and_every_review_is_of_a_refusal() {
    let pairs = Pairs::new(&Space::new());
    let mut is_used = vec![false; REVIEW.len()];
    for refusal in &pairs.refusals {
        let line = review(&refusal.why).unwrap_or_else(|| {
            panic!("review this in crates/check/src/composition/review.rs: {}", refusal.why)
        });
        is_used[line] = true;
    }
    let idle = is_used.iter().position(|used| !used);
    assert_eq!(idle.map(|line| REVIEW[line]), None, "nothing is refused for that any more");
}

#[test]
fn the_document_is_up_to_date() {
    let space = Space::new();
    let written = include_str!("../../../../docs/reference/composition.md");
    let made = table::document(&space, &Pairs::new(&space));
    let differ = written.lines().zip(made.lines()).find(|(written, made)| written != made);
    assert!(
        differ.is_none() && written.len() == made.len(),
        "{differ:?}; run `cargo run -p stripewise-check -- compose --table > docs/reference/composition.md`"
    );
}

/// The totals of a row's seeds.
fn row(space: &Space, row: &Combination) -> Summary {
    let mut sum = Summary::default();
    for seed in 0..4 {
        let case = case(space, row, seed).unwrap_or_else(|reason| panic!("{row}, seed {seed}: {reason}"));
        match run(&case, Options::default()) {
            Ok(summary) => sum.add(&summary),
            Err(failure) => {
                let replay =
                    format!("cargo run -p stripewise-check -- compose --of {row} --seed {seed} --verbose");
                panic!("{row}, seed {seed} fails at {failure}; replay: {replay}");
            }
        }
    }
    sum
}

#[test]
fn every_row_of_the_covering_array_keeps_every_promise() {
    let space = Space::new();
    let rows = covering(&Pairs::new(&space));
    let sums: Mutex<Vec<(Combination, Summary)>> = Mutex::default();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(combination) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sum = row(&space, combination);
            sums.lock().expect("nobody panicked with it").push((*combination, sum));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let sums = sums.into_inner().expect("nobody panicked with it");
    assert_eq!(sums.len(), rows.len());
    for (row, sum) in &sums {
        let has_parity = row.member(0).name != "raid0";
        assert!(!has_parity || sum.lost > 0, "{row} lost no member");
        let survives = space.scheme(row).check_restart().is_ok();
        assert_eq!(survives, sum.seen.power_losses > 0, "{row}: {:?}", sum.seen);
        assert!(sum.seen.succeeded > 100, "{row}: {:?}", sum.seen);
    }
    let collecting = sums.iter().filter(|(_, sum)| sum.erased > 0 && sum.moved > 0).count();
    assert!(collecting * 100 > 80 * sums.len(), "{collecting} of {} rows collected garbage", sums.len());
}
