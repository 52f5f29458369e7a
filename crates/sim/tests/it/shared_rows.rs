//! Writes that share a row wait in the queues of the members, not for the row.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{Figure, RunConfig, Totals, run};
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
fn one_hot_row(rows: &str) -> Totals {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 64;
    let page = device.geometry.page_bytes.0;
    let scheme = format!(
        "name = 'test'\n[update]\npolicy = 'baseline'\n[parity]\nwindow = 'members'\nacknowledge = 'after-data'\n\
         merge = 'off'\nrows = '{rows}'\n[queues]\nrequests = {HELD}\nplans = 4096\n"
    );
    let config = RunConfig {
        precondition: "sequential:50%".parse().expect("a state"),
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device,
            "channel".parse().expect("a layout"),
        )
    };
    let write = |nth: u64| Request {
        time_ns: 0,
        offset: nth % 5 * page,
        bytes: page as u32,
        volume: 0,
        kind: Kind::Write,
    };
    run(&config, &mut List((0..REQUESTS).map(write).collect()), &mut (), &mut |_| true).expect("a run")
}

/// Mean number of operations that are queued or in flight on all members when a request is served.
fn queued(totals: &Totals) -> u64 {
    totals.members.iter().map(|member| member.blocked_sum_served).sum::<u64>() / REQUESTS
}

fn row_wait(totals: &Totals) -> u64 {
    match totals.figures().iter().find(|figure| figure.0 == "row_wait_mean_ns") {
        Some((_, Figure::Count(wait))) => *wait,
        other => panic!("row_wait_mean_ns is {other:?}"),
    }
}

#[test]
fn of_the_writes_of_one_hot_row_four_fifths_stand_in_the_queues_of_members() {
    let (shared, alone) = (one_hot_row("shared"), one_hot_row("exclusive"));
    assert!(queued(&shared) * 5 >= HELD * 4, "{} of {HELD} are queued", queued(&shared));
    assert!(queued(&alone) * 10 < HELD, "{} of {HELD} are queued", queued(&alone));
    assert!(row_wait(&shared) * 10 < row_wait(&alone), "{} and {}", row_wait(&shared), row_wait(&alone));
}
