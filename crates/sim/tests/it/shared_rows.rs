//! Writes that share a row wait in the queues of the members, not for the row.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{Figure, RunConfig, RunError, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

struct List(Vec<Request>);

impl Source for List {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        batch.append(&mut self.0);
        Ok(())
    }
}

const REQUESTS: u64 = 20_000;
/// Requests that the controller holds at once.
const HELD: u64 = 1_024;

/// Writes of single pages of one row of six channels, all at once.
fn one_hot_row(keys: &str) -> Totals {
    let page = device().geometry.page_bytes.0;
    let write = |nth: u64| request(Kind::Write, nth % 5 * page);
    replay(keys, (0..REQUESTS).map(write).collect()).expect("a run")
}

fn device() -> DeviceSpec {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 64;
    device
}

/// A request of one page.
fn request(kind: Kind, offset: u64) -> Request {
    let bytes = device().geometry.page_bytes.0 as u32;
    Request { time_ns: 0, offset, bytes, volume: 0, kind }
}

/// The requests under a scheme with these keys of `[parity]`.
fn replay(keys: &str, requests: Vec<Request>) -> Result<Totals, RunError> {
    let scheme = format!(
        "name = 'test'\n[update]\npolicy = 'baseline'\n[parity]\nwindow = 'members'\nacknowledge = 'after-data'\n\
         merge = 'off'\n{keys}\n[queues]\nrequests = {HELD}\nplans = 4096\n"
    );
    let config = RunConfig {
        precondition: "sequential:50%".parse().expect("a state"),
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device(),
            "channel".parse().expect("a layout"),
        )
    };
    run(&config, &mut List(requests), &mut (), &mut |_| true)
}

/// Mean number of operations that are queued or in flight on all members when a request is served.
fn queued(totals: &Totals) -> u64 {
    totals.members.iter().map(|member| member.blocked_sum_served).sum::<u64>() / REQUESTS
}

fn count(totals: &Totals, name: &str) -> u64 {
    match totals.figures().iter().find(|figure| figure.0 == name) {
        Some((_, Figure::Count(count))) => *count,
        other => panic!("{name} is {other:?}"),
    }
}

fn row_wait(totals: &Totals) -> u64 {
    count(totals, "row_wait_mean_ns")
}

#[test]
fn of_the_writes_of_one_hot_row_four_fifths_stand_in_the_queues_of_members() {
    let (shared, alone) = (one_hot_row("rows = 'shared'"), one_hot_row("rows = 'exclusive'"));
    assert!(queued(&shared) * 5 >= HELD * 4, "{} of {HELD} are queued", queued(&shared));
    assert!(queued(&alone) * 10 < HELD, "{} of {HELD} are queued", queued(&alone));
    assert!(row_wait(&shared) * 10 < row_wait(&alone), "{} and {}", row_wait(&shared), row_wait(&alone));
}

/// Updates of parity for 100 writes.
fn updates_of_100_writes(totals: &Totals) -> u64 {
    count(totals, "updates") * 100 / REQUESTS
}

/// Writes of single pages of eight rows in turn: each makes parity of another row due.
fn eight_hot_rows(keys: &str) -> Totals {
    let page = device().geometry.page_bytes.0;
    let write = |nth: u64| request(Kind::Write, (nth % 8 * 5 + nth / 8 % 5) * page);
    replay(keys, (0..REQUESTS).map(write).collect()).expect("a run")
}

#[test]
fn where_updates_overlap_no_plan_waits_for_its_row_and_each_write_has_its_update_of_parity() {
    let (each, row) =
        (eight_hot_rows("rows = 'shared'\nupdates = 'each'"), eight_hot_rows("rows = 'shared'"));
    assert_eq!(row_wait(&each), 0, "a plan waited for its row");
    assert!(row_wait(&row) > 0);
    let [of_each, of_row] = [&each, &row].map(updates_of_100_writes);
    assert!(of_each >= 95 && of_row * 3 < of_each * 2, "{of_each} and {of_row} updates for 100 writes");
}

#[test]
fn where_updates_overlap_a_trim_is_refused_by_name() {
    let trim = || vec![request(Kind::Write, 0), request(Kind::Trim, 0)];
    assert!(replay("rows = 'shared'", trim()).is_ok());
    let refused = replay("rows = 'shared'\nupdates = 'each'", trim()).expect_err("a trim").to_string();
    assert!(refused.contains("parity.updates = \"each\""), "{refused}");
}
