//! Exhaustive small cases: one row, every set of its chunks written in whole or in part, every member lost before
//! every event of the run, every read failed in turn, under each update policy. No choice is random.

use stripewise_array::MemberNo;
use stripewise_array::WindowSize;
use stripewise_array::update::Update;
use stripewise_base::units::Span;
use stripewise_check::{Loss, Manner};

use crate::small::{Before, POLICIES, case, check, patterns, requests};

/// Loses every member before every event, for every set of chunks.
fn lose_each_before_each(members: u32, update: Update, before: Before, manner: Manner) -> u64 {
    let data = u64::from(members) - 1;
    let mut runs = 0;
    for pattern in patterns(data) {
        let mut case = case(members, update, before);
        case.requests = requests(before, data, pattern);
        case.fail_each = true;
        let whole = check(&case);
        assert_eq!(whole.seen.failed, 0);
        case.fail_each = false;
        for member in 0..members as u16 {
            for event in 0..=whole.played {
                case.losses = vec![Loss { event, member: MemberNo::new(member), manner }];
                let summary = check(&case);
                assert_eq!(summary.seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                runs += 1;
            }
        }
    }
    runs
}

#[test]
fn any_member_may_be_lost_at_any_event_of_an_update_of_three() {
    for before in [Before::Nothing, Before::Gathering, Before::AFullStripe] {
        for update in POLICIES {
            for manner in [Manner::Gone, Manner::Silent, Manner::FailedWrite] {
                assert!(lose_each_before_each(3, update, before, manner) > 100);
            }
        }
    }
}

#[test]
fn any_member_may_be_lost_at_any_event_of_an_update_of_four() {
    for update in POLICIES {
        assert!(lose_each_before_each(4, update, Before::AFullStripe, Manner::Gone) > 1_000);
    }
    for before in [Before::Nothing, Before::Gathering] {
        assert!(lose_each_before_each(4, POLICIES[0], before, Manner::Gone) > 1_000);
    }
}

#[test]
fn any_member_may_be_lost_at_any_event_of_an_update_of_five() {
    for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
        assert!(lose_each_before_each(5, update, Before::AFullStripe, Manner::Gone) > 5_000);
    }
}

#[test]
fn any_member_may_be_lost_at_any_event_while_parity_is_late() {
    let mut runs = 0;
    for (window, hides) in [(1, false), (2, true), (16, false), (16, true)] {
        for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
            for pattern in patterns(2) {
                let mut case = case(3, update, Before::AFullStripe);
                case.scheme.parity.window = WindowSize::Chunks(window);
                case.scheme.parity.idle = Span(if window == 2 { 100_000 } else { 0 });
                case.hides_old_versions = hides;
                case.requests = requests(Before::AFullStripe, 2, pattern);
                let whole = check(&case);
                for member in 0..3 {
                    for event in 0..=whole.played {
                        case.losses =
                            vec![Loss { event, member: MemberNo::new(member), manner: Manner::Gone }];
                        assert_eq!(check(&case).seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                        runs += 1;
                    }
                }
            }
        }
    }
    assert!(runs > 1_000, "{runs} runs");
}

#[test]
fn any_read_may_fail_and_the_row_tolerates_it_as_long_as_no_member_is_lost() {
    let mut failed_twice = 0;
    for members in [3, 4] {
        let data = u64::from(members) - 1;
        for update in POLICIES {
            for pattern in patterns(data) {
                let mut case = case(members, update, Before::AFullStripe);
                case.requests = requests(Before::AFullStripe, data, pattern);
                let reads: u64 = check(&case).operations.iter().sum();
                for failed_read in 0..reads {
                    case.faults.failed_reads = vec![failed_read];
                    case.losses = Vec::new();
                    assert_eq!(check(&case).seen.failed, 0, "{}", case.to_toml());
                    // If a member is lost as well, some requests must fail. The checker knows which ones may.
                    let member = (failed_read % u64::from(members)) as u16;
                    case.losses =
                        vec![Loss { event: 0, member: MemberNo::new(member), manner: Manner::Gone }];
                    failed_twice += check(&case).seen.failed;
                }
            }
        }
    }
    assert!(failed_twice > 100, "{failed_twice} requests failed");
}
