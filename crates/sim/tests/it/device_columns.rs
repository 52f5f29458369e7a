//! Counters of read levels, suspension and wear appear in the member's row.

use stripewise_array::Scheme;
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{SuspendSpec, WearSpec};
use stripewise_sim::tables::MemberRow;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Small writes and reads at random places, half a millisecond apart.
struct Mixed {
    prng: stripewise_base::prng::Prng,
    left: u32,
    span: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let offset = self.prng.below(self.span / 8192) * 8192;
            let kind = if self.prng.chance(1, 2) { Kind::Read } else { Kind::Write };
            let time_ns = u64::from(8_000 - self.left) * 500_000;
            batch.push(Request { time_ns, offset, bytes: 8192, volume: 0, kind });
        }
        Ok(())
    }
}

fn members(preset: &str, switches: bool) -> Vec<MemberRow> {
    let mut device = DeviceSpec::preset(preset).expect("a preset");
    device.geometry.blocks = 32;
    if switches {
        let (overhead, resume) = (Span(5_000), Span(5_000));
        device.suspend =
            Some(SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 });
        device.wear = Some(WearSpec { static_gap: Some(0), ..WearSpec::default() });
    }
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'baseline'\n").expect("a scheme"),
            device,
            "channel:1".parse().expect("a layout"),
        )
    };
    let span = stripewise_sim::capacity(&config).expect("a device") / 10 * 7;
    let mut source = Mixed { prng: stripewise_base::prng::Prng::new(1), left: 8_000, span };
    run(&config, &mut source, &mut (), &mut |_| true).expect("a run").members
}

#[test]
fn columns_of_switches_are_zero_without_them_and_filled_with_them() {
    let sums = |rows: &[MemberRow]| {
        let sum = |column: fn(&MemberRow) -> u64| rows.iter().map(column).sum::<u64>();
        [sum(|row| row.read_retries), sum(|row| row.suspends), sum(|row| row.wear_move_pages)]
    };
    let plain = members("ssdsim-5+1", false);
    assert_eq!(sums(&plain), [0; 3]);
    let filled = members("ssdsim-5+1-ldpc", true);
    assert!(sums(&filled).iter().all(|&sum| sum > 0), "{:?}", sums(&filled));
    assert!(filled.iter().all(|row| row.wear_move_pages <= row.gc_move_pages));
}
