//! Small cases, all of them: one row, every set of its chunks written in whole or in part, every element lost
//! before every event of the run, every read failed in turn, under each update policy. Nothing is drawn at
//! random.

use stripewise_array::WindowSize;
use stripewise_array::placement::FirstWrites;
use stripewise_array::update::{Tie, Update};
use stripewise_base::units::Span;
use stripewise_check::{Ask, Case, Loss, Manner, Options, Summary, What, run};

/// Four pages an element, two sectors a page: a row of an array of `n` elements has `2 (n - 1)` sectors.
const SMALL: &str = r#"
seed = 1
elements = "ssd:4"
depth = 64
fail_each = false
losses = []
requests = []
[faults]
[scheme]
name = "small"
[scheme.parity]
xor = "5us"
[device]
name = "small"
[device.geometry]
channels = 1
chips = 1
dies = 1
planes = 1
blocks = 5
pages = 2
page_bytes = "1KiB"
[device.timing]
read = "25us"
program = "200us"
erase = "1ms"
bus = "25ns/B"
[device.ftl]
over_provisioning = "60%"
[device.gc]
victim = "greedy"
low_watermark = { block-count = 1 }
blocking = "plane"
"#;
const PAGE: u64 = 2;

const POLICIES: [Update; 4] = [
    Update::Baseline { tie: Tie::Rmw },
    Update::Baseline { tie: Tie::Rcw },
    Update::AlwaysRmw {},
    Update::AlwaysRcw {},
];

/// What the row holds before the writes that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// Nothing, and first writes are gathered.
    Gathering,
    AFullStripe,
}

fn case(elements: u32, update: Update, before: Before) -> Case {
    let mut case = Case::from_toml("small", SMALL).unwrap_or_else(|error| panic!("{error}"));
    case.elements.devices = elements;
    case.scheme.update = update;
    if before == Before::Gathering {
        case.scheme.placement.first_writes = FirstWrites::Gather;
        case.scheme.placement.gather_wait = Span(100_000);
    }
    case
}

fn ask(what: What, sector: u64, sectors: u64) -> Ask {
    Ask { gap_ns: 0, what, sector, sectors }
}

/// The requests: each chunk of the row is left alone, written in its first sector, or written as a whole, all
/// at once; and everything is read while that goes on.
fn requests(before: Before, data: u64, mut pattern: u64) -> Vec<Ask> {
    let row = data * PAGE;
    let mut requests = Vec::new();
    let mut writes = Vec::new();
    for chunk in 0..data {
        match pattern % 3 {
            1 => writes.push(ask(What::Write, chunk * PAGE, 1)),
            2 => writes.push(ask(What::Write, chunk * PAGE, PAGE)),
            _ => {}
        }
        pattern /= 3;
    }
    if before == Before::AFullStripe {
        requests.push(ask(What::Write, 0, row));
        writes[0].gap_ns = 10_000_000;
    }
    requests.extend(writes);
    requests.push(ask(What::Read, 0, row));
    requests
}

fn patterns(data: u64) -> std::ops::Range<u64> {
    1..3u64.pow(data as u32)
}

fn check(case: &Case) -> Summary {
    run(case, Options::default()).unwrap_or_else(|failure| panic!("{failure}\n{}", case.to_toml()))
}

/// Every element lost before every event, for every set of chunks.
fn lose_each_before_each(elements: u32, update: Update, before: Before, manner: Manner) -> u64 {
    let data = u64::from(elements) - 1;
    let mut runs = 0;
    for pattern in patterns(data) {
        let mut case = case(elements, update, before);
        case.requests = requests(before, data, pattern);
        case.fail_each = true;
        let whole = check(&case);
        assert_eq!(whole.seen.failed, 0);
        case.fail_each = false;
        for element in 0..elements as u16 {
            for event in 0..=whole.played {
                case.losses = vec![Loss { event, element, manner }];
                let summary = check(&case);
                assert_eq!(summary.seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                runs += 1;
            }
        }
    }
    runs
}

#[test]
fn any_element_may_be_lost_at_any_event_of_an_update_of_three() {
    for before in [Before::Nothing, Before::Gathering, Before::AFullStripe] {
        for update in POLICIES {
            for manner in [Manner::Gone, Manner::Silent, Manner::FailedWrite] {
                assert!(lose_each_before_each(3, update, before, manner) > 100);
            }
        }
    }
}

#[test]
fn any_element_may_be_lost_at_any_event_of_an_update_of_four() {
    for update in POLICIES {
        assert!(lose_each_before_each(4, update, Before::AFullStripe, Manner::Gone) > 1_000);
    }
    for before in [Before::Nothing, Before::Gathering] {
        assert!(lose_each_before_each(4, POLICIES[0], before, Manner::Gone) > 1_000);
    }
}

#[test]
fn any_element_may_be_lost_at_any_event_of_an_update_of_five() {
    for update in [Update::AlwaysRmw {}, Update::AlwaysRcw {}] {
        assert!(lose_each_before_each(5, update, Before::AFullStripe, Manner::Gone) > 5_000);
    }
}

#[test]
fn any_element_may_be_lost_at_any_event_while_parity_is_late() {
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
                for element in 0..3 {
                    for event in 0..=whole.played {
                        case.losses = vec![Loss { event, element, manner: Manner::Gone }];
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
fn any_read_may_fail_and_the_row_bears_it_as_long_as_no_element_is_lost() {
    let mut failed_twice = 0;
    for elements in [3, 4] {
        let data = u64::from(elements) - 1;
        for update in POLICIES {
            for pattern in patterns(data) {
                let mut case = case(elements, update, Before::AFullStripe);
                case.requests = requests(Before::AFullStripe, data, pattern);
                let reads: u64 = check(&case).operations.iter().sum();
                for failed_read in 0..reads {
                    case.faults.failed_read = Some(failed_read);
                    case.losses = Vec::new();
                    assert_eq!(check(&case).seen.failed, 0, "{}", case.to_toml());
                    // With an element lost as well some requests must fail; which of them may, the checker
                    // knows.
                    let element = (failed_read % u64::from(elements)) as u16;
                    case.losses = vec![Loss { event: 0, element, manner: Manner::Gone }];
                    failed_twice += check(&case).seen.failed;
                }
            }
        }
    }
    assert!(failed_twice > 100, "{failed_twice} requests failed");
}
