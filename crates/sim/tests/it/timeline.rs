//! A time line matches the run: the same operations, the same time on dies and buses, one activity at a time.

use stripewise_array::{Class, OperationKind, Scheme};
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{MultiPlane, SuspendSpec};
use stripewise_sim::tables::MemberRow;
use stripewise_sim::{RunConfig, Timeline, Totals, run, timeline};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Reads and writes of one to four pages, each at a different place, every 150 us.
struct Mixed {
    at: u64,
    end: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.at < self.end {
            let place = self.at * 7_919 % 4_000;
            let kind = if self.at.is_multiple_of(3) { Kind::Read } else { Kind::Write };
            let bytes = 8192 * (1 + self.at as u32 % 4);
            batch.push(Request { time_ns: self.at * 150_000, offset: place * 8192, bytes, volume: 0, kind });
            self.at += 1;
        }
        Ok(())
    }
}

const REQUESTS: u64 = 3_000;

fn config(level: &str) -> RunConfig {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 32;
    device.geometry.pages = 16;
    RunConfig {
        precondition: "steady:100%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'test'\n[parity]\nxor = '19us'\n").expect("a scheme"),
            device,
            level.parse().expect("a layout"),
        )
    }
}

fn both(config: &RunConfig) -> (Totals, Timeline) {
    let source = || Mixed { at: 0, end: REQUESTS };
    let totals = run(config, &mut source(), &mut (), &mut |_| true).expect("a run");
    let line = timeline(config, &mut source(), (0, REQUESTS), &mut |_| true).expect("a time line");
    (totals, line)
}

fn assert_apart(what: &str, mut spans: Vec<(u64, u64)>) {
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{what}: {:?} and {:?} overlap", pair[0], pair[1]);
    }
}

#[test]
fn a_time_line_holds_every_operation_once_and_the_time_that_the_counters_report() {
    let suspending = |mut config: RunConfig| {
        let (overhead, resume) = (Span(3_000), Span(2_000));
        config.device.suspend =
            Some(SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 });
        config
    };
    let mut together = suspending(config("ssd:3"));
    together.device.scheduling.multi_plane = MultiPlane::AnyPage;
    let plain = ["channel:1", "chip:1", "ssd:3"].map(config);
    for config in plain.into_iter().chain([suspending(config("channel:1")), together]) {
        let level = format!("{} suspend {}", config.members, config.device.suspend.is_some());
        let (totals, line) = both(&config);
        let rests = line.stretches.iter().filter(|span| span.stretch.is_rest).count();
        assert_eq!(
            rests > 10,
            config.device.suspend.is_some(),
            "{level}: {rests} went on after a suspension"
        );
        assert_eq!(
            line.joined.is_empty(),
            config.device.scheduling.multi_plane == MultiPlane::Off,
            "{level}"
        );
        assert!(totals.sum(|row| row.erase_blocks) > 50, "{level}: garbage is collected");

        let count =
            |class: Class| line.operations.iter().filter(|span| span.operation.class == class).count() as u64;
        let sum = |column: fn(&MemberRow) -> u64| totals.sum(column);
        assert_eq!(count(Class::HostRead), sum(|row| row.host_read_pages), "{level}");
        assert_eq!(count(Class::HostWrite), sum(|row| row.host_write_pages), "{level}");
        assert_eq!(count(Class::PreRead), sum(|row| row.pre_read_pages), "{level}");
        assert_eq!(count(Class::Parity), sum(|row| row.parity_write_pages), "{level}");

        let end = |at: usize| {
            let stretch = &line.stretches[at].stretch;
            stretch.start_ns + stretch.bus_ns + stretch.cell_ns
        };
        for die in 0..line.shape.dies {
            let of_die = (0..line.stretches.len()).filter(|&at| line.stretches[at].stretch.die == die);
            assert_apart("a die", of_die.map(|at| (line.stretches[at].stretch.start_ns, end(at))).collect());
        }
        let cell: u64 = line.stretches.iter().map(|span| span.stretch.cell_ns).sum();
        let bus: u64 = line.stretches.iter().map(|span| span.stretch.bus_ns).sum();
        assert_eq!((cell, bus), (sum(|row| row.cell_busy_ns), sum(|row| row.bus_busy_ns)), "{level}");

        // Every operation that moves a page has stretches, and their time equals its time in the member.
        let mut worked = vec![false; line.operations.len()];
        for at in 0..line.stretches.len() {
            let Some(place) = line.stretches[at].operation else { continue };
            let operation = &line.operations[place as usize];
            assert!(
                operation.started_ns <= line.stretches[at].stretch.start_ns && end(at) <= operation.ended_ns
            );
            worked[place as usize] = true;
        }
        for &(_, operation) in &line.joined {
            worked[operation as usize] = true;
        }
        let unworked = worked.iter().filter(|worked| !**worked).count() as u64;
        assert_eq!(unworked, sum(|row| row.unmapped_read_pages), "{level}");
        for span in &line.operations {
            assert!(span.queued_ns <= span.started_ns && span.started_ns <= span.ended_ns, "{span:?}");
            assert!(!span.requests.is_empty(), "{level}: every operation here serves a request: {span:?}");
        }
        assert_eq!(line.requests.len() as u64, REQUESTS);
        let mean =
            line.requests.iter().map(|request| request.acknowledged_ns - request.arrival_ns).sum::<u64>();
        assert_eq!(mean / REQUESTS, totals.requests.reads.with(&totals.requests.writes).mean_ns(), "{level}");
    }
}

#[test]
fn a_window_begins_with_its_first_request_and_ends_with_what_its_last_began() {
    let config = config("channel:1");
    let line = timeline(&config, &mut Mixed { at: 0, end: REQUESTS }, (1_000, 50), &mut |_| true);
    let line = line.expect("a time line");
    assert_eq!(
        line.requests.iter().map(|request| request.index).collect::<Vec<_>>(),
        (1_000..1_050).collect::<Vec<_>>()
    );
    assert_eq!(line.begin_ns, 150_000_000);
    assert!(
        line.operations.iter().all(|span| span.started_ns >= line.begin_ns && span.ended_ns <= line.end_ns)
    );
    let served: Vec<u32> = line.operations.iter().flat_map(|span| span.requests.clone()).collect();
    assert!((0..50).all(|place| served.contains(&place)), "every request of the window has operations");
    assert!(line.operations.iter().any(|span| span.operation.kind == OperationKind::Write));
    let nothing = timeline(&config, &mut Mixed { at: 0, end: 10 }, (100, 5), &mut |_| true).expect("empty");
    assert!(nothing.requests.is_empty() && nothing.operations.is_empty());
}
