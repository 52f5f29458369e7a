//! Exhaustive small cases of RAID-6: any two members lost before any two events of an update, any two reads failed.
//! By default every Nth case is run; with `-- --ignored`, all cases.

use stripewise_array::geometry::{Level, Rotation};
use stripewise_array::update::Update;
use stripewise_array::{Acknowledge, Class, MemberNo, WindowSize};
use stripewise_base::units::Span;
use stripewise_check::{Case, Loss, Manner};
use stripewise_code::Kind;

use crate::small::{Before, PAGE, POLICIES, case, check, patterns, requests};

const GONE: [Manner; 2] = [Manner::Gone, Manner::Gone];
const MANNERS: [Manner; 3] = [Manner::Gone, Manner::Silent, Manner::FailedWrite];
const EXTREMES: [Update; 2] = [Update::AlwaysRmw {}, Update::AlwaysRcw {}];

/// Runs one of every `each` cases of a set. The number is prime, so that it is in step with no other period.
struct Thin {
    each: u64,
    nth: u64,
    runs: u64,
}

impl Thin {
    fn one_in(each: u64) -> Self {
        Self { each, nth: 0, runs: 0 }
    }

    fn takes(&mut self) -> bool {
        self.nth += 1;
        let is_taken = self.nth.is_multiple_of(self.each);
        self.runs += u64::from(is_taken);
        is_taken
    }
}

fn raid6(members: u32, update: Update, before: Before) -> Case {
    let mut case = case(members, update, before);
    case.scheme.geometry.level = Level::Raid6;
    case
}

/// `case` in the row after `rows` others, with parity rotated left and data in ascending order, so that the third row
/// of five members begins with the code's second data column.
fn left_asymmetric(mut case: Case, rows: u64) -> Case {
    case.scheme.geometry.rotation = Rotation::LeftAsymmetric;
    let data = u64::from(case.members.devices) - 2;
    case.requests.iter_mut().for_each(|ask| ask.sector += rows * data * PAGE);
    case
}

fn losses(pairs: [(u64, u16); 2], manners: [Manner; 2]) -> Vec<Loss> {
    pairs
        .iter()
        .zip(manners)
        .map(|(&(event, member), manner)| Loss { event, member: MemberNo::new(member), manner })
        .collect()
}

/// Loses any two members of `case`, the first before any event, the second before any later event.
fn lose_any_two(case: &Case, manners: [Manner; 2], thin: &mut Thin) {
    let members = case.members.devices as u16;
    let whole = check(&Case { fail_each: true, ..case.clone() });
    assert_eq!(whole.seen.failed, 0);
    let mut case = case.clone();
    for first in 0..members {
        for event in 0..=whole.played {
            case.losses = vec![Loss { event, member: MemberNo::new(first), manner: manners[0] }];
            let degraded = check(&case);
            assert_eq!(degraded.seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
            for second in (0..members).filter(|&second| second != first) {
                for then in event..=degraded.played {
                    if thin.takes() {
                        case.losses = losses([(event, first), (then, second)], manners);
                        let summary = check(&case);
                        assert_eq!(summary.seen.failed, 0, "two losses are bearable:\n{}", case.to_toml());
                    }
                }
            }
        }
    }
}

/// Writes every set of chunks of the row, under each of `updates`.
fn update_and_lose_any_two(
    members: u32,
    updates: &[Update],
    before: Before,
    manners: [Manner; 2],
    thin: &mut Thin,
    change: impl Fn(Case) -> Case,
) {
    let data = u64::from(members) - 2;
    for &update in updates {
        for pattern in patterns(data) {
            let mut case = raid6(members, update, before);
            case.requests = requests(before, data, pattern);
            lose_any_two(&change(case), manners, thin);
        }
    }
}

fn of_four(mut thin: Thin) -> u64 {
    for before in [Before::AFullStripe, Before::Nothing, Before::Gathering] {
        update_and_lose_any_two(4, &POLICIES, before, GONE, &mut thin, |case| case);
    }
    thin.runs
}

fn of_four_in_any_manner(mut thin: Thin) -> u64 {
    for first in MANNERS {
        for second in MANNERS {
            let manners = [first, second];
            update_and_lose_any_two(4, &EXTREMES, Before::AFullStripe, manners, &mut thin, |case| case);
        }
    }
    thin.runs
}

fn of_five(mut thin: Thin) -> u64 {
    update_and_lose_any_two(5, &POLICIES, Before::AFullStripe, GONE, &mut thin, |case| {
        left_asymmetric(case, 2)
    });
    thin.runs
}

fn of_each_code(mut thin: Thin) -> u64 {
    for kind in [Kind::Rdp, Kind::Evenodd] {
        update_and_lose_any_two(5, &EXTREMES, Before::AFullStripe, GONE, &mut thin, |mut case| {
            case.scheme.code.kind = Some(kind);
            case
        });
    }
    thin.runs
}

fn while_parity_is_late(mut thin: Thin) -> u64 {
    for (window, hides) in [(1, false), (2, true), (16, false), (16, true)] {
        update_and_lose_any_two(4, &EXTREMES, Before::AFullStripe, GONE, &mut thin, |mut case| {
            case.scheme.parity.window = WindowSize::Chunks(window);
            case.scheme.parity.idle = Span(if window == 2 { 100_000 } else { 0 });
            case.hides_old_versions = hides;
            case
        });
    }
    thin.runs
}

fn with_parity_after_data(mut thin: Thin) -> u64 {
    update_and_lose_any_two(4, &EXTREMES, Before::AFullStripe, GONE, &mut thin, |mut case| {
        case.scheme.parity.acknowledge = Acknowledge::AfterData;
        case
    });
    thin.runs
}

/// Number of reads that a case makes before the final read of everything, or a few more.
fn reads(case: &Case) -> u64 {
    let made = check(case).operations;
    let reads = [Class::HostRead, Class::PreRead, Class::Decode].map(|class| made[class as usize]);
    let pages = case.geometry().unwrap_or_else(|error| panic!("{error}")).pages();
    reads.iter().sum::<u64>().saturating_sub(pages)
}

/// Fails any two reads of `case`, and checks each outcome with `look`.
fn fail_any_two_reads(case: &Case, thin: &mut Thin, mut look: impl FnMut(&Case)) {
    let mut case = case.clone();
    for first in 0..reads(&case) {
        case.faults.failed_reads = vec![first];
        for second in first + 1..reads(&case) {
            if thin.takes() {
                case.faults.failed_reads = vec![first, second];
                look(&case);
            }
        }
    }
}

fn tolerates(case: &Case) {
    assert_eq!(check(case).seen.failed, 0, "two losses are bearable:\n{}", case.to_toml());
}

fn any_two_reads_fail(members: u32, mut thin: Thin) -> u64 {
    let data = u64::from(members) - 2;
    for update in POLICIES {
        for pattern in patterns(data) {
            let mut case = raid6(members, update, Before::AFullStripe);
            case.requests = requests(Before::AFullStripe, data, pattern);
            fail_any_two_reads(&left_asymmetric(case, 2), &mut thin, tolerates);
        }
    }
    thin.runs
}

/// Loses a member before any event, and fails any read.
fn a_read_fails_beside_a_loss(members: u32, mut thin: Thin) -> u64 {
    let data = u64::from(members) - 2;
    for update in POLICIES {
        for pattern in patterns(data) {
            let mut case = raid6(members, update, Before::AFullStripe);
            case.requests = requests(Before::AFullStripe, data, pattern);
            let played = check(&case).played;
            for event in 0..=played {
                for member in 0..members as u16 {
                    case.losses = vec![Loss { event, member: MemberNo::new(member), manner: Manner::Gone }];
                    case.faults.failed_reads = Vec::new();
                    if !thin.takes() {
                        continue;
                    }
                    for failed in 0..reads(&case) {
                        case.faults.failed_reads = vec![failed];
                        tolerates(&case);
                    }
                }
            }
        }
    }
    thin.runs
}

/// Loses a member and fails two reads. The checker knows which requests may then fail. Returns the number that did.
fn two_reads_fail_beside_a_loss(mut thin: Thin) -> u64 {
    let mut failed = 0;
    for update in POLICIES {
        for pattern in patterns(2) {
            for member in 0..4 {
                let mut case = raid6(4, update, Before::AFullStripe);
                case.requests = requests(Before::AFullStripe, 2, pattern);
                case.losses = vec![Loss { event: 0, member: MemberNo::new(member), manner: Manner::Gone }];
                fail_any_two_reads(&case, &mut thin, |case| failed += check(case).seen.failed);
            }
        }
    }
    failed
}

#[test]
fn any_two_members_may_be_lost_at_any_two_events_of_an_update_of_four() {
    assert!(of_four(Thin::one_in(31)) > 4_000);
}

#[test]
fn two_members_may_be_lost_in_any_manner() {
    assert!(of_four_in_any_manner(Thin::one_in(97)) > 3_000);
}

#[test]
fn any_two_members_may_be_lost_at_any_two_events_of_an_update_of_five() {
    assert!(of_five(Thin::one_in(499)) > 1_000);
}

#[test]
fn rdp_and_evenodd_tolerate_the_loss_of_any_two_members_at_any_two_events() {
    assert!(of_each_code(Thin::one_in(499)) > 1_000);
}

#[test]
fn any_two_members_may_be_lost_at_any_two_events_while_parity_is_late() {
    assert!(while_parity_is_late(Thin::one_in(31)) > 3_000);
}

#[test]
fn any_two_members_may_be_lost_at_any_two_events_where_parity_follows_the_acknowledgement() {
    assert!(with_parity_after_data(Thin::one_in(31)) > 1_000);
}

#[test]
fn any_two_reads_may_fail_and_the_row_tolerates_it() {
    let runs = any_two_reads_fail(4, Thin::one_in(1));
    assert!(runs > 500, "{runs} runs");
    let runs = any_two_reads_fail(5, Thin::one_in(2));
    assert!(runs > 1_000, "{runs} runs");
}

#[test]
fn any_read_may_fail_and_the_row_tolerates_it_while_a_member_is_lost() {
    assert!(a_read_fails_beside_a_loss(4, Thin::one_in(7)) > 100);
    assert!(a_read_fails_beside_a_loss(5, Thin::one_in(61)) > 100);
}

#[test]
fn where_a_member_is_lost_and_two_reads_fail_only_what_may_fail_does() {
    let failed = two_reads_fail_beside_a_loss(Thin::one_in(1));
    assert!(failed > 100, "{failed} requests failed");
}

#[test]
#[ignore = "takes minutes; run it in release"]
fn all_of_them() {
    type Set = fn(Thin) -> u64;
    let sets = [
        ("four", of_four as Set),
        ("four, any manner", of_four_in_any_manner),
        ("five", of_five),
        ("codes", of_each_code),
        ("deferred parity", while_parity_is_late),
        ("parity after data", with_parity_after_data),
        ("two reads", |thin| any_two_reads_fail(5, thin)),
        ("a read beside a loss", |thin| a_read_fails_beside_a_loss(5, thin)),
    ];
    for (name, set) in sets {
        println!("{name}: {} runs", set(Thin::one_in(1)));
    }
}
