//! Waiting, transfers and cell time as separate parts, and busy members at arrivals: computed by hand for small
//! chips.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{Figure, RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u32 = 4096;
/// From the preset `paper002`: cells 25 and 200 us, 4224 bytes at 2.5 ns.
const READ: u64 = 25_000;
const PROGRAM: u64 = 200_000;
const BUS: u64 = 10_560;

struct List(Vec<Request>);

impl Source for List {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        batch.append(&mut self.0);
        Ok(())
    }
}

/// Runs requests of one page at the given times, in microseconds, to the given pages.
fn totals(requests: &[(u64, Kind, u64)], scheme: &str, warmup: u64) -> Totals {
    let mut device = DeviceSpec::preset("paper002").expect("a preset");
    device.geometry.blocks = 32;
    let scheme = format!("name = 'test'\n{scheme}[geometry]\nlevel = 'raid5'\ngroups = 8\n");
    let config = RunConfig {
        precondition: "sequential:100%".parse().expect("a state"),
        warmup_requests: warmup,
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device,
            "chip".parse().expect("a layout"),
        )
    };
    let list = requests.iter().map(|&(us, kind, page)| Request {
        time_ns: us * 1_000,
        offset: page * u64::from(PAGE),
        bytes: PAGE,
        volume: 0,
        kind,
    });
    run(&config, &mut List(list.collect()), &mut (), &mut |_| true).expect("a run")
}

fn of<const N: usize>(totals: &Totals, names: [&str; N]) -> [u64; N] {
    let figures = totals.figures();
    names.map(|name| match figures.iter().find(|figure| figure.0 == name) {
        Some((_, Figure::Count(count))) => *count,
        other => panic!("{name} is {other:?}"),
    })
}

fn share(totals: &Totals, name: &str) -> f64 {
    match totals.figures().iter().find(|figure| figure.0 == name) {
        Some((_, Figure::Real(share))) => *share,
        other => panic!("{name} is {other:?}"),
    }
}

const READS: [&str; 4] = ["read_mean_ns", "read_wait_mean_ns", "read_bus_mean_ns", "read_cell_mean_ns"];
const WRITES: [&str; 4] = ["write_mean_ns", "write_wait_mean_ns", "write_bus_mean_ns", "write_cell_mean_ns"];

#[test]
fn a_read_behind_another_of_its_chip_waits_as_long_as_that_one_takes() {
    let both = totals(&[(0, Kind::Read, 0), (0, Kind::Read, 0)], "", 0);
    let alone = READ + BUS;
    assert_eq!(of(&both, READS), [alone + alone / 2, alone / 2, BUS, READ]);
    assert_eq!(of(&both, WRITES), [0; 4]);
    // The first request finds no busy chip and leaves one; the second finds that chip and adds none.
    assert_eq!(share(&both, "busy_share_before"), 1.0 / 128.0);
    assert_eq!(share(&both, "busy_share_after"), 1.0 / 64.0);
}

#[test]
fn the_pre_reads_of_an_update_are_no_waiting_but_their_wait_is() {
    let alone = totals(&[(0, Kind::Write, 0)], "", 0);
    let [mean, wait, bus, cell] = of(&alone, WRITES);
    // Old data and old parity are read, then both are written. Both chips belong to one channel and share its bus:
    // the pre-read that ends last waits for the other one's transfer, and so does the write.
    assert_eq!((bus, cell), (2 * BUS, READ + PROGRAM));
    assert_eq!((mean, wait), (bus + cell + 2 * BUS, 2 * BUS));
    assert_eq!(share(&alone, "busy_share_after"), 2.0 / 64.0, "the pre-reads of data and parity");

    // Behind a read of its chip, the pre-read of data waits until that read is done; the pre-read of parity ends
    // earlier.
    let behind = totals(&[(0, Kind::Read, 0), (0, Kind::Write, 0)], "", 0);
    let [mean, wait, bus, cell] = of(&behind, WRITES);
    assert_eq!((bus, cell), (2 * BUS, READ + PROGRAM));
    assert_eq!((mean, wait), (bus + cell + READ + BUS + BUS, READ + BUS + BUS));
}

#[test]
fn an_update_of_a_row_that_is_updated_waits_for_all_of_it_and_warm_up_counts_for_nothing() {
    let alone = of(&totals(&[(0, Kind::Write, 0)], "", 0), WRITES);
    let second = totals(&[(0, Kind::Write, 0), (0, Kind::Write, 1)], "", 1);
    let [mean, wait, bus, cell] = of(&second, WRITES);
    assert_eq!((bus, cell), (2 * BUS, READ + PROGRAM));
    assert_eq!(wait, alone[0] + alone[1], "for the first update's end, then what the first waited itself");
    assert_eq!(mean, wait + bus + cell);
    assert_eq!(share(&second, "busy_share_before"), 2.0 / 64.0, "of the second arrival alone");
}
