//! Redirected reads during an update of the same row: every time at which the read may arrive, and the loss of a
//! member at that time, under each read policy.

use stripewise_array::Class;
use stripewise_array::MemberNo;
use stripewise_array::read::{HedgeMode, ReadPolicy, ReadSection, StateSource};
use stripewise_array::update::Update;
use stripewise_base::units::Span;
use stripewise_check::{Case, Loss, Manner, What};

use crate::small::{Before, PAGE, ask, case, check};

/// An update of the four-member row takes half a millisecond; in each interval of this length, at most one of its
/// operations ends.
const STEP_NS: u64 = 12_000;
const STEPS: u64 = 60;

fn policies() -> Vec<ReadSection> {
    let of = |policy| ReadSection { policy, ..ReadSection::default() };
    let observed = |policy| ReadSection { policy, state: StateSource::Observed, ..ReadSection::default() };
    let hedged = |hedge| ReadSection { hedge, slow: 1, ..of(ReadPolicy::Hedged) };
    vec![
        of(ReadPolicy::Brr),
        observed(ReadPolicy::Brr),
        of(ReadPolicy::GcAvoiding),
        ReadSection { gain: Some(Span(0)), ..of(ReadPolicy::LeastFinish) },
        hedged(HedgeMode::Proactive),
        hedged(HedgeMode::Reactive),
    ]
}

/// A full row, then an update of chunk `written`, and after `gap_ns` a read of each single chunk.
fn race(read: ReadSection, update: Update, written: u64, gap_ns: u64) -> Case {
    let mut case = case(4, update, Before::AFullStripe);
    case.scheme.read = read;
    let mut update = ask(What::Write, written * PAGE, PAGE);
    update.gap_ns = 10_000_000;
    case.requests = vec![ask(What::Write, 0, 3 * PAGE), update];
    for chunk in 0..3 {
        let mut one = ask(What::Read, chunk * PAGE, PAGE);
        one.gap_ns = if chunk == 0 { gap_ns } else { 0 };
        case.requests.push(one);
    }
    case
}

#[test]
fn members_may_be_reported_slow_at_any_time_of_an_update_and_of_reads_beside_it() {
    let mut around = 0;
    for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
        for written in 0..3 {
            for step in 0..STEPS {
                let mut case = race(ReadSection::default(), update, written, step * STEP_NS);
                case.seed = step;
                case.faults.slow_ppm = 300_000;
                let summary = check(&case);
                assert_eq!(summary.seen.failed, 0);
                around += summary.operations[Class::Decode as usize];
            }
        }
    }
    assert!(around > 400, "{around} pages were read to decode others");
}

#[test]
fn a_read_may_come_at_any_time_of_an_update_and_is_redirected_or_hedged() {
    for read in policies() {
        for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
            for written in 0..3 {
                for step in 0..STEPS {
                    let summary = check(&race(read, update, written, step * STEP_NS));
                    assert_eq!(summary.seen.failed, 0);
                }
            }
        }
    }
}

#[test]
fn any_member_may_be_lost_while_a_read_is_redirected_or_hedged() {
    let mut runs = 0;
    for read in policies() {
        for step in (0..STEPS).step_by(7) {
            let mut case = race(read, Update::AlwaysRmw {}, 1, step * STEP_NS);
            let whole = check(&case);
            for member in 0..4 {
                for event in 0..=whole.played {
                    case.losses = vec![Loss { event, member: MemberNo::new(member), manner: Manner::Gone }];
                    assert_eq!(check(&case).seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 2_000, "{runs} runs");
}
