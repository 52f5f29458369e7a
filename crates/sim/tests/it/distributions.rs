//! Queue and latency figures of a run, in cases that can be computed by hand.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::{LatencyKind, LatencyRow, Sink};
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests of one page, repeatedly to the same sixty pages.
struct Pages {
    kind: Kind,
    left: u64,
}

impl Source for Pages {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let offset = self.left % 60 * 8192;
            batch.push(Request { time_ns: 0, offset, bytes: 8192, volume: 0, kind: self.kind });
        }
        Ok(())
    }
}

#[derive(Default)]
struct Points(Vec<LatencyRow>);

impl Sink for Points {
    fn latency(&mut self, row: &LatencyRow) {
        self.0.push(*row);
    }
}

fn replay(kind: Kind, pacing: &str, level: &str, warmup: u64) -> (Totals, Vec<LatencyRow>) {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 32;
    let scheme = format!("name = 'test'\n[geometry]\nlevel = '{level}'\n");
    let config = RunConfig {
        precondition: "sequential:70%".parse().expect("a state"),
        pacing: pacing.parse().expect("a pacing"),
        warmup_requests: warmup,
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device,
            "channel:1".parse().expect("a layout"),
        )
    };
    let mut points = Points::default();
    let totals = run(&config, &mut Pages { kind, left: 1200 }, &mut points, &mut |_| true).expect("a run");
    (totals, points.0)
}

#[test]
fn one_read_at_a_time_waits_for_nothing_and_leaves_nothing_behind() {
    let (totals, points) = replay(Kind::Read, "closed:1", "raid0", 0);
    for row in &totals.members {
        // 45 us of cell and 8192 · 5 ns of bus, plus the device's command times.
        let exact = totals.requests.reads.mean_ns();
        assert_eq!(row.operation_mean_ns, exact, "every read is as long as the other");
        assert_eq!((row.operation_p99_ns, row.operation_p999_ns), (exact, exact));
        assert_eq!(row.blocked_sum, 200, "an arriving read finds itself, on its own member");
        assert_eq!(row.blocked_sum_served, 0);
    }
    let whole = |kind: LatencyKind| points.iter().filter(|row| row.kind == kind as u8).collect::<Vec<_>>();
    let counts = |kind: LatencyKind| whole(kind).iter().map(|row| row.count).collect::<Vec<_>>();
    assert_eq!(counts(LatencyKind::Read), [1200]);
    assert_eq!(counts(LatencyKind::Both), [1200]);
    assert!(whole(LatencyKind::Write).is_empty());
    assert_eq!(counts(LatencyKind::Operation), [200; 6]);
}

#[test]
fn deep_queues_leave_something_behind_on_every_member() {
    let (totals, _) = replay(Kind::Write, "closed:16", "raid5", 0);
    for row in &totals.members {
        assert!(0 < row.blocked_sum_served && row.blocked_sum_served < row.blocked_sum, "{row:?}");
        assert!(row.operation_mean_ns <= row.operation_p999_ns);
    }
}

#[test]
fn every_page_operation_is_in_its_members_distribution() {
    for warmup in [0, 600] {
        let (totals, points) = replay(Kind::Write, "closed:1", "raid5", warmup);
        for row in &totals.members {
            let pages =
                row.host_read_pages + row.host_write_pages + row.pre_read_pages + row.parity_write_pages;
            let is_ours = |point: &&LatencyRow| {
                point.kind == LatencyKind::Operation as u8 && point.member == row.member
            };
            let last = points.iter().rfind(is_ours);
            assert_eq!(last.map(|point| point.count), Some(pages), "{row:?}");
        }
        let writes = points.iter().rfind(|row| row.kind == LatencyKind::Write as u8);
        assert_eq!(writes.map(|row| row.count), Some(1200 - warmup));
    }
}
