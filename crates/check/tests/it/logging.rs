//! Small cases of parity logging: any member lost before any event, any read failed, logs with one slot; and the
//! counts of its steps.

use stripewise_array::geometry::Level;
use stripewise_array::placement::{Commit, PlacementPolicy};
use stripewise_array::{Acknowledge, Class, MemberNo};
use stripewise_base::units::Bytes;
use stripewise_check::{Ask, Case, Loss, Manner, Summary, What};

use crate::small::{Before, PAGE, POLICIES, ask, case, check, patterns, requests};

const PAGE_BYTES: u64 = 1024;

/// `data` data chunks, parity, and a log member for each parity chunk. The row is written, then updated while the
/// host reads.
fn logging(level: Level, data: u32, pattern: u64) -> Case {
    let mut case = case(data + 2 * level.parity(), POLICIES[0], Before::AFullStripe);
    case.scheme.geometry.level = level;
    case.scheme.placement.policy = PlacementPolicy::ParityLogging;
    case.requests = requests(Before::AFullStripe, data.into(), pattern);
    case
}

fn of(summary: &Summary, class: Class) -> u64 {
    summary.operations[class as usize]
}

/// Variants of logs: slots (0 for all), deltas per row, commit policy, acknowledgement.
const LOGS: [(u64, u32, Commit, Acknowledge); 5] = [
    (0, 16, Commit::Watermark, Acknowledge::AfterParity),
    (0, 16, Commit::Never, Acknowledge::AfterParity),
    (1, 16, Commit::Watermark, Acknowledge::AfterParity),
    (0, 1, Commit::Never, Acknowledge::AfterParity),
    (0, 16, Commit::Watermark, Acknowledge::AfterData),
];

fn with_log(case: &mut Case, (slots, row_deltas, commit, acknowledge): (u64, u32, Commit, Acknowledge)) {
    case.scheme.parity_logging.capacity = (slots > 0).then_some(Bytes(slots * PAGE_BYTES));
    case.scheme.parity_logging.row_deltas = row_deltas;
    case.scheme.parity_logging.commit = commit;
    case.scheme.parity.acknowledge = acknowledge;
}

#[test]
fn any_member_may_be_lost_at_any_event_of_an_update_that_is_logged() {
    let (mut runs, mut logged) = (0, 0);
    for log in LOGS {
        for pattern in patterns(2) {
            let mut case = logging(Level::Raid5, 2, pattern);
            with_log(&mut case, log);
            case.fail_each = true;
            let whole = check(&case);
            logged += of(&whole, Class::Log);
            case.fail_each = false;
            for manner in [Manner::Gone, Manner::Silent, Manner::FailedWrite] {
                for member in 0..4 {
                    for event in 0..=whole.played {
                        case.losses = vec![Loss { event, member: MemberNo::new(member), manner }];
                        assert_eq!(check(&case).seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                        runs += 1;
                    }
                }
            }
        }
    }
    assert!(runs > 5_000 && logged > 40, "{runs} runs, {logged} deltas");
}

#[test]
fn any_two_members_may_be_lost_at_any_events_of_an_update_of_raid6_that_is_logged() {
    let mut runs = 0;
    for (nth, log) in LOGS.into_iter().enumerate() {
        let mut case = logging(Level::Raid6, 2, [5, 7, 1, 4, 6][nth]);
        with_log(&mut case, log);
        let whole = check(&case);
        let events = || (0..=whole.played).step_by(3);
        for (first, second) in (0..6).flat_map(|first| (0..6).map(move |second| (first, second))) {
            if first == second {
                continue;
            }
            for (event, later) in events().flat_map(|event| events().map(move |gap| (event, event + 2 * gap)))
            {
                let loss = |event, member| Loss { event, member, manner: Manner::Gone };
                case.losses = vec![loss(event, MemberNo::new(first)), loss(later, MemberNo::new(second))];
                assert_eq!(check(&case).seen.failed, 0, "two losses are bearable:\n{}", case.to_toml());
                runs += 1;
            }
        }
    }
    assert!(runs > 3_000, "{runs} runs");
}

#[test]
fn any_read_may_fail_also_of_a_delta() {
    let mut runs = 0;
    for log in LOGS {
        for pattern in patterns(2) {
            let mut case = logging(Level::Raid5, 2, pattern);
            with_log(&mut case, log);
            let reads = check(&case).operations.iter().sum();
            for failed_read in 0..reads {
                case.faults.failed_reads = vec![failed_read];
                case.losses = Vec::new();
                assert_eq!(check(&case).seen.failed, 0, "{}", case.to_toml());
                // If a member is lost as well, some requests must fail. The checker knows which ones may.
                let member = (failed_read % 4) as u16;
                case.losses =
                    vec![Loss { event: failed_read, member: MemberNo::new(member), manner: Manner::Gone }];
                check(&case);
                runs += 1;
            }
        }
    }
    assert!(runs > 300, "{runs} runs");
}

/// An array with 7 data chunks, first written as a whole, then given `requests`.
fn seven(requests: &[Ask]) -> Summary {
    let mut case = logging(Level::Raid5, 7, 1);
    case.scheme.parity_logging.commit = Commit::Never;
    let rows = 3;
    case.requests = vec![ask(What::Write, 0, rows * 7 * PAGE)];
    case.requests.extend(requests.iter().map(|&request| Ask { gap_ns: 10_000_000, ..request }));
    check(&case)
}

#[test]
fn a_request_of_ten_chunks_over_seven_has_an_overhead_of_five() {
    // Ten chunks from the beginning of a stripe: one whole stripe, whose parity is written, and three chunks of the
    // next, which are pre-read, plus one delta. (The checker's own reads pre-read nothing.)
    let (before, after) = (seven(&[]), seven(&[ask(What::Write, 0, 10 * PAGE)]));
    let count = |class| of(&after, class) - of(&before, class);
    assert_eq!([Class::Parity, Class::PreRead, Class::Log].map(count), [1, 3, 1]);
}

#[test]
fn a_chunk_that_was_never_written_is_not_read_for_its_delta() {
    let mut case = logging(Level::Raid5, 7, 1);
    case.scheme.parity_logging.commit = Commit::Never;
    let write = |sector, sectors| Ask { gap_ns: 10_000_000, ..ask(What::Write, sector, sectors) };
    case.requests = vec![write(0, PAGE), write(PAGE, 1)];
    let summary = check(&case);
    assert_eq!([Class::PreRead, Class::Log, Class::Parity].map(|class| of(&summary, class)), [0, 2, 0]);
    case.requests.push(write(0, 2 * PAGE));
    assert_eq!(of(&check(&case), Class::PreRead), 2, "now both were");
}

#[test]
fn the_update_behind_the_last_delta_of_a_row_takes_all_of_them_in() {
    let mut case = logging(Level::Raid5, 7, 1);
    case.scheme.parity_logging.commit = Commit::Never;
    case.scheme.parity_logging.row_deltas = 3;
    // Space for more slots than deltas of a row.
    case.device.geometry.blocks = 40;
    let write = Ask { gap_ns: 10_000_000, ..ask(What::Write, 0, PAGE) };
    case.requests = vec![write; 4];
    let summary = check(&case);
    // Three deltas: the first chunk was new; the second and third updates read its old content. The fourth reads old
    // data, parity and three deltas with RMW, or six chunks with RCW: the smaller number.
    assert_eq!([Class::Log, Class::Parity, Class::PreRead].map(|class| of(&summary, class)), [3, 1, 2 + 5]);
    case.scheme.parity_logging.row_deltas = 16;
    case.requests = vec![write; 17];
    let summary = check(&case);
    let reads = [Class::Log, Class::Parity, Class::PreRead].map(|class| of(&summary, class));
    assert_eq!(reads, [16, 1, 15 + 6], "sixteen deltas cost more than six chunks");
}

#[test]
fn the_background_commits_a_full_log_down_to_its_low_watermark() {
    let mut case = logging(Level::Raid5, 7, 1);
    case.scheme.parity_logging.capacity = Some(Bytes(2 * PAGE_BYTES));
    let write = |row: u64| Ask { gap_ns: 10_000_000, ..ask(What::Write, row * 7 * PAGE, PAGE) };
    case.requests = vec![write(0), write(1)];
    let summary = check(&case);
    // Three quarters of two slots are one, so the second delta starts a commit. The other commit follows at the end.
    assert_eq!([Class::Log, Class::Parity].map(|class| of(&summary, class)), [2, 2]);
    case.scheme.parity_logging.commit = Commit::Never;
    let summary = check(&case);
    assert_eq!(
        [Class::Log, Class::Parity].map(|class| of(&summary, class)),
        [2, 1],
        "a full log, and no end"
    );
}
