//! Arrays of 3 to 32 whole SSDs, and the effect of their internal structure on the array.

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::MemberRow;
use stripewise_sim::{RunConfig, Totals, capacity, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u64 = 4096;

/// Single pages at random places of the first `span` bytes.
struct Pages {
    prng: Prng,
    left: u64,
    span: u64,
    writes: u64,
    time_ns: u64,
    gap_ns: u64,
}

impl Source for Pages {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            self.time_ns += self.gap_ns;
            let offset = self.prng.below(self.span / PAGE) * PAGE;
            let kind = if self.prng.chance(self.writes, 10) { Kind::Write } else { Kind::Read };
            batch.push(Request { time_ns: self.time_ns, offset, bytes: PAGE as u32, volume: 0, kind });
        }
        Ok(())
    }
}

/// A small SSD after that of paper 003: 640 blocks in `packages` packages of 4 planes.
fn ssd(packages: u32) -> DeviceSpec {
    let mut device = DeviceSpec::preset("paper003").expect("a preset");
    device.geometry.channels = packages;
    device.geometry.blocks = 160 / packages;
    device
}

fn config(ssds: u32, device: DeviceSpec, state: &str, geometry: &str) -> RunConfig {
    let scheme = format!("name = 'test'\n[geometry]\nlevel = 'raid5'\n{geometry}");
    RunConfig {
        precondition: state.parse().expect("a state"),
        pacing: "open".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device,
            format!("ssd:{ssds}").parse().expect("a layout"),
        )
    }
}

/// `count` requests, `writes` of every ten of them writes, `gap_ns` apart, on `tenths` of the array.
fn totals(config: &RunConfig, count: u64, writes: u64, gap_ns: u64, tenths: u64) -> Totals {
    let span = capacity(config).expect("a device") / 10 * tenths;
    let mut source = Pages { prng: Prng::new(7), left: count, span, writes, time_ns: 0, gap_ns };
    run(config, &mut source, &mut (), &mut |_| true).expect("a run")
}

fn array_writes(row: &MemberRow) -> u64 {
    row.host_write_pages + row.parity_write_pages
}

#[test]
fn from_3_to_32_ssds_share_the_work_evenly_and_each_has_its_row() {
    for ssds in [3, 4, 8, 9, 16, 32] {
        let config = config(ssds, ssd(4), "steady:70%", "");
        let spec = &config.device;
        let of_one =
            u64::from(spec.logical_per_plane() * spec.geometry.planes * spec.geometry.channels) * PAGE;
        assert_eq!(capacity(&config).expect("a device"), of_one * u64::from(ssds - 1), "{ssds} SSDs");

        let count = 1_000 * u64::from(ssds);
        let totals = totals(&config, count, 10, 400_000 / u64::from(ssds), 7);
        let numbers: Vec<u32> = totals.members.iter().map(|row| row.member).collect();
        assert_eq!(numbers, (0..ssds).collect::<Vec<u32>>());
        assert_eq!(totals.requests.writes.count, count);
        // Concurrent writes to one row share its parity; concurrent writes to one page share the page.
        for pages in [totals.sum(|row| row.host_write_pages), totals.sum(|row| row.parity_write_pages)] {
            assert!(pages <= count && pages > count - count / 100, "{ssds} SSDs: {pages} pages");
        }
        for row in &totals.members {
            // 2000 are expected; the deviation of the binomial count is 45.
            assert!(array_writes(row).abs_diff(2_000) < 225, "{ssds} SSDs: {row:?}");
            assert!(row.erase_blocks > 10 && row.gc_busy_ns > 0, "{ssds} SSDs: {row:?}");
            assert_eq!(row.dies, 4);
            assert!(row.busiest_die_ns >= row.cell_busy_ns / 4 && row.busiest_die_ns <= row.cell_busy_ns);
        }
    }
}

/// Five SSDs whose load would keep a single package busy about half of the time: with more packages, less work waits.
#[test]
fn packages_inside_an_ssd_work_at_the_same_time() {
    let means: Vec<u64> = [1, 2, 4, 8]
        .map(|packages| {
            let config = config(5, ssd(packages), "steady:70%", "");
            totals(&config, 5_000, 5, 300_000, 7).requests.writes.mean_ns()
        })
        .to_vec();
    assert!(means.windows(2).all(|pair| pair[1] < pair[0]), "{means:?}");
    // Without concurrent requests there is no waiting: only pre-reads and writes, each with its transfer over the
    // host link.
    let alone = config(5, ssd(8), "fresh", "");
    let alone = totals(&alone, 1_000, 10, 10_000_000, 7).requests.writes.mean_ns();
    assert!(means[3] > alone, "{means:?}, alone {alone}");
}

/// Consecutive pages of an SSD go to consecutive packages, and the parity of consecutive rows to consecutive SSDs.
/// Over 4 SSDs of 4 packages, the parity of an SSD, half of its writes, is all on one of its packages. Rotating every
/// 4 rows spreads it.
#[test]
fn parity_that_turns_in_step_with_the_packages_lies_on_one_of_them() {
    let share = |rotate_every: u32| {
        let config = config(4, ssd(4), "fresh", &format!("rotate_every = {rotate_every}\n"));
        let totals = totals(&config, 4_000, 10, 1_000_000, 5);
        let busiest = totals.members.iter().map(|row| row.busiest_die_ns).max().expect("members");
        (busiest * 4) as f64 / totals.sum(|row| row.cell_busy_ns) as f64 * totals.members.len() as f64 / 4.0
    };
    let (in_step, spread) = (share(1), share(4));
    assert!((in_step - 0.5).abs() < 0.05, "half of the work is on one package: {in_step}");
    assert!((spread - 0.25).abs() < 0.03, "a quarter is on each: {spread}");
}
