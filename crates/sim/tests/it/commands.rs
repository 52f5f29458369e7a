//! Requests of one instant over a device that receives commands, computed by hand.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::LinkUnit;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u32 = 4096;

/// Writes at time 0: the page and the number of pages of each.
struct Writes(Vec<(u64, u32)>);

impl Source for Writes {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.0.drain(..).map(|(page, pages)| Request {
            time_ns: 0,
            offset: page * u64::from(PAGE),
            bytes: pages * PAGE,
            volume: 0,
            kind: Kind::Write,
        }));
        Ok(())
    }
}

/// The mean response time of writes on DiskSim's device, which has a separate die for each of eight consecutive
/// pages. A page takes 8 x 238.4 ns = 1,907 ns on the host link (rounded down for the whole page), 25 ns x (4096 +
/// 128) = 105,600 ns on its bus and 200 us in the cells.
fn mean_ns(unit: LinkUnit, writes: &[(u64, u32)]) -> u64 {
    let mut device = DeviceSpec::preset("disksim-suite").expect("a preset");
    device.geometry.blocks = 64;
    device.timing.host_link_unit = unit;
    let scheme = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[dispatch]\norder = 'arrival'\n";
    let config = RunConfig {
        precondition: "fresh".parse().expect("a state"),
        pacing: "open".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("lone", scheme).expect("a scheme"),
            device,
            "ssd:1".parse().expect("a layout"),
        )
    };
    let totals = run(&config, &mut Writes(writes.to_vec()), &mut (), &mut |_| true).expect("a run");
    assert_eq!(totals.requests.writes.count, writes.len() as u64);
    totals.requests.writes.mean_ns()
}

#[test]
fn two_requests_of_one_instant_cross_the_host_link_as_two_commands_and_one_request_as_one() {
    const LINK: u64 = 1_907;
    const PAGE_NS: u64 = 105_600 + 200_000;
    let (page, command) = (LinkUnit::Page, LinkUnit::Command);
    assert_eq!(mean_ns(command, &[(0, 1)]), LINK + PAGE_NS);
    // One request of two pages: neither starts before both have crossed.
    assert_eq!(mean_ns(command, &[(0, 2)]), 2 * LINK + PAGE_NS);
    // Two requests: the first starts after its own page, so the mean is half a page less.
    let two = LINK + PAGE_NS + LINK / 2;
    assert!(mean_ns(command, &[(0, 1), (1, 1)]).abs_diff(two) <= 1);
    assert_eq!(mean_ns(command, &[(0, 1), (1, 1)]), mean_ns(page, &[(0, 1), (1, 1)]));
}
