//! Exhaustive small cases: one row, every set of its chunks written in whole or in part, power lost before every
//! event of the run, and a second time during the recovery of parity; over complete arrays and degraded ones.

use stripewise_array::Acknowledge;
use stripewise_array::MemberNo;
use stripewise_array::geometry::Level;
use stripewise_array::update::Update;
use stripewise_check::{Case, Loss, Manner, Seen, What};

use crate::small::{Before, POLICIES, ask, case, check, patterns, requests};

/// Loses power before each event, and additionally a second time each of `again` events later. Returns the totals.
fn lose_power_before_each(case: &mut Case, again: &[u64]) -> Seen {
    let mut sum = Seen::default();
    case.power_losses.clear();
    let whole = check(case);
    for event in 0..=whole.played {
        // The seed decides which operations in flight survive; it differs for each event.
        case.seed = event;
        case.power_losses = vec![event];
        add(&mut sum, &check(case).seen);
        for later in again {
            case.power_losses = vec![event, event + later];
            add(&mut sum, &check(case).seen);
        }
    }
    sum
}

fn add(sum: &mut Seen, seen: &Seen) {
    sum.power_losses += seen.power_losses;
    sum.failed += seen.failed;
    sum.holes += seen.holes;
    sum.resyncs += seen.resyncs;
}

/// A full stripe, a flush, writes according to `pattern`, a flush, and a read.
fn flushed(members: u32, update: Update, pattern: u64, data: u64) -> Case {
    let mut case = case(members, update, Before::AFullStripe);
    case.requests = requests(Before::AFullStripe, data, pattern);
    case.requests.insert(1, ask(What::Flush, 0, 0));
    let read = case.requests.len() - 1;
    case.requests.insert(read, ask(What::Flush, 0, 0));
    case
}

#[test]
fn power_may_be_lost_at_any_event_of_an_update() {
    for update in POLICIES {
        for volatile in [false, true] {
            for pattern in patterns(2) {
                let mut case = flushed(3, update, pattern, 2);
                case.volatile_members = volatile;
                let seen = lose_power_before_each(&mut case, &[3, 9]);
                assert_eq!((seen.failed, seen.holes), (0, 0), "no member is lost:\n{}", case.to_toml());
                assert!(seen.power_losses > 50 && seen.resyncs > 200, "{seen:?}");
            }
        }
    }
}

#[test]
fn power_may_be_lost_at_any_event_of_an_update_of_raid6() {
    for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
        for pattern in patterns(2) {
            let mut case = flushed(4, update, pattern, 2);
            case.scheme.geometry.level = Level::Raid6;
            let seen = lose_power_before_each(&mut case, &[5]);
            assert_eq!((seen.failed, seen.holes), (0, 0), "no member is lost:\n{}", case.to_toml());
        }
    }
}

#[test]
fn a_degraded_row_under_update_may_lose_its_lost_chunk_and_nothing_else() {
    let mut holes = 0;
    for (acknowledge, update) in
        [(Acknowledge::AfterParity, POLICIES[0]), (Acknowledge::AfterData, Update::AlwaysRmw {})]
    {
        for member in 0..3 {
            for pattern in patterns(2) {
                let mut case = flushed(3, update, pattern, 2);
                case.scheme.parity.acknowledge = acknowledge;
                case.losses = vec![Loss { event: 0, member: MemberNo::new(member), manner: Manner::Gone }];
                let seen = lose_power_before_each(&mut case, &[]);
                assert_eq!(seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                holes += seen.holes;
            }
        }
    }
    assert!(holes > 20, "{holes} chunks were lost: a checker that sees no write hole does not look");
}

#[test]
fn without_parity_written_data_is_there() {
    for volatile in [false, true] {
        for pattern in patterns(2) {
            let mut case = flushed(2, POLICIES[0], pattern, 2);
            case.scheme.geometry.level = Level::Raid0;
            case.volatile_members = volatile;
            let seen = lose_power_before_each(&mut case, &[2]);
            assert_eq!((seen.failed, seen.resyncs), (0, 0));
        }
    }
}
