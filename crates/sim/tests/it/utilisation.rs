//! The utilisation of the busiest member: of its cells, or of its buses if these work longer.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, Totals, run};

use crate::support::{Collections, Mixed};

fn totals(members: &str, read_percent: u64) -> Totals {
    let device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    let scheme = Scheme::preset("raid0").expect("a preset");
    let config = RunConfig {
        precondition: "sequential:70%".parse().expect("a state"),
        ..RunConfig::new(scheme, device, members.parse().expect("a layout"))
    };
    let prng = stripewise_base::prng::Prng::new(5);
    let mut source = Mixed { prng, count: 4_000, every_ns: 100_000, read_percent, span: 1 << 30, sent: 0 };
    run(&config, &mut source, &mut Collections::default(), &mut |_| true).expect("a run")
}

#[test]
fn members_with_busier_buses_than_cells_have_the_share_of_their_buses() {
    // A transfer of a page takes longer than a read of the cells, and one bus serves four dies.
    let reads = totals("channel", 100);
    let of = |ns: u64, count: u64| ns as f64 / reads.simulated_ns as f64 / count as f64;
    let cells = reads.members.iter().map(|row| of(row.cell_busy_ns, row.dies.into())).fold(0.0, f64::max);
    let buses = reads.members.iter().map(|row| of(row.bus_busy_ns, 1)).fold(0.0, f64::max);
    assert!(buses > 2.0 * cells, "{buses} {cells}");
    assert!((reads.busiest_member_utilisation() - buses).abs() < 1e-12);
    // An SSD has all six buses.
    let ssd = totals("ssd:1", 100);
    let sum: u64 = ssd.members.iter().map(|row| row.bus_busy_ns).sum();
    let expected = sum as f64 / ssd.simulated_ns as f64 / 6.0;
    assert!((ssd.busiest_member_utilisation() - expected).abs() < 1e-12);
    // The four chips of a channel share its bus.
    let chips = totals("chip", 100);
    let of_bus =
        |rows: &[stripewise_sim::tables::MemberRow]| rows.iter().map(|row| row.bus_busy_ns).sum::<u64>();
    let busiest = chips.members.chunks(4).map(of_bus).max().expect("buses");
    let expected = busiest as f64 / chips.simulated_ns as f64;
    assert!((chips.busiest_member_utilisation() - expected).abs() < 1e-12);
}

#[test]
fn members_with_busier_cells_have_the_share_of_their_cells() {
    let writes = totals("ssd:1", 0);
    let row = &writes.members[0];
    let cells = row.cell_busy_ns as f64 / writes.simulated_ns as f64 / f64::from(row.dies);
    let found = writes.busiest_member_utilisation();
    assert!(
        found > 0.0
            && (found - cells.max(row.bus_busy_ns as f64 / writes.simulated_ns as f64 / 6.0)).abs() < 1e-12
    );
}
