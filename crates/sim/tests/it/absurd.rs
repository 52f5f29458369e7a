//! Traces and settings that exceed limits are refused at once, with the reason and the remedy.

use stripewise_array::Scheme;
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::{RequestRow, SampleRow, Sink};
use stripewise_sim::{ReplayError, RunConfig, RunError, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Reads of 8 KiB at these times.
struct Times(Vec<u64>);

impl Source for Times {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let request = |time_ns| Request { time_ns, offset: 0, bytes: 8192, volume: 0, kind: Kind::Read };
        batch.extend(self.0.drain(..).map(request));
        Ok(())
    }
}

#[derive(Default)]
struct Rows {
    requests: u64,
    samples: u64,
}

impl Sink for Rows {
    fn request(&mut self, _: &RequestRow) {
        self.requests += 1;
    }
    fn sample(&mut self, _: &SampleRow) {
        self.samples += 1;
    }
}

fn config(pacing: &str, sample_every: u64) -> RunConfig {
    let mut device = DeviceSpec::preset("mqsim-gc-2gib").expect("a preset");
    let g = &mut device.geometry;
    (g.channels, g.chips, g.blocks, g.pages) = (4, 1, 48, 16);
    RunConfig {
        pacing: pacing.parse().expect("a pacing"),
        sample_every: Span(sample_every),
        request_rows: true,
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'test'\n").expect("a scheme"),
            device,
            "chip:1".parse().expect("a layout"),
        )
    }
}

fn replay(times: &[u64], config: &RunConfig, reports: u64) -> (Result<Totals, RunError>, Rows) {
    let (mut rows, mut left) = (Rows::default(), reports);
    let outcome = run(config, &mut Times(times.to_vec()), &mut rows, &mut |_| {
        left = left.saturating_sub(1);
        left > 0
    });
    (outcome, rows)
}

/// The number of the request that is too late, after a check of the error message.
fn late(times: &[u64], pacing: &str) -> u64 {
    match replay(times, &config(pacing, 0), u64::MAX).0 {
        Err(RunError::Replay(error @ ReplayError::Late { request })) => {
            let text = error.to_string();
            assert!(text.contains("2^63 ns") && text.contains("--pacing open:N"), "{text}");
            request
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn simulated_time_ends_at_2_to_the_63_and_does_not_wrap() {
    let last = (1u64 << 63) - 1;
    // A thousandth of the speed turns 4e16 into 4e19 ns, which is 3.1e18 modulo 2^64.
    assert_eq!(late(&[0, 40_000_000_000_000_000], "open:1/1000"), 1);
    assert_eq!(late(&[0, 10, last / 1000 + 1], "open:1/1000"), 2);
    assert_eq!(late(&[0, last + 1], "open:1"), 1);
    assert_eq!(late(&[0, u64::MAX], "open:1"), 1);
    assert_eq!(late(&[0, 0, 0], "think:1,9223372036854775807ns"), 1);
    for (times, pacing) in
        [([0, last / 1000], "open:1/1000"), ([0, last], "open:1"), ([0, u64::MAX], "open:1000")]
    {
        let (outcome, rows) = replay(&times, &config(pacing, 0), u64::MAX);
        assert!(outcome.expect("it is in time").simulated_ns > last / 1000);
        assert_eq!(rows.requests, 2);
    }
}

#[test]
fn more_samples_than_a_thousand_million_rows_are_refused_before_one_of_a_gap_is_taken() {
    let (outcome, rows) = replay(&[0, 3_600_000_000_000], &config("open:1", 1), u64::MAX);
    let error = outcome.expect_err("an hour of samples every nanosecond");
    assert!(matches!(error, RunError::Samples { every_ns: 1, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("1000000000 rows") && text.contains("--sample-every"), "{text}");
    assert!(rows.samples < 10_000_000, "{} rows were taken", rows.samples);
    let (outcome, rows) = replay(&[0, 3_600_000_000_000], &config("open:1", 1_000_000_000), u64::MAX);
    outcome.expect("a sample a second");
    assert_eq!(rows.samples, 3601 * 4, "of four members");
}

#[test]
fn a_run_stops_within_a_gap_that_is_full_of_samples() {
    // 800 million rows, which would take longer than a stop may take.
    let (outcome, rows) = replay(&[0, 200_000_000_000], &config("open:1", 1_000), 6);
    assert!(matches!(outcome, Err(RunError::Stopped { .. })), "{outcome:?}");
    assert!(rows.samples < 10_000_000, "{} rows were taken", rows.samples);
}
