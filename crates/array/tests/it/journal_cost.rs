//! The cost of the redo journal: pages written for each page that a host writes.
//!
//! `cargo test -p stripewise-array --test it journal_cost -- --nocapture` prints the figures.

use stripewise_array::{Class, OperationKind, RequestKind};
use stripewise_base::prng::Prng;

use crate::support::Rig;

/// Pages written per page of the host, by purpose.
#[derive(Debug)]
struct Cost {
    data: f64,
    parity: f64,
    metadata: f64,
    flushes: f64,
    slots: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { data, parity, metadata, flushes, slots } = self;
        let share = metadata / (data + parity + metadata) * 100.0;
        write!(f, "{data:.2} of data, {parity:.2} of parity, {metadata:.2} of metadata ({share:.0} %); ")?;
        write!(f, "{flushes:.2} flushes of a member, {slots:.2} slots of time")
    }
}

/// Random writes of one page each, `together` at once, followed by a flush.
fn cost(lines: &str, together: u64) -> Cost {
    cost_of(lines, together, |random, _, pages| random.below(pages))
}

/// Writes of one page each at the pages that `page` returns, `together` at once, followed by a flush.
fn cost_of(lines: &str, together: u64, page: impl Fn(&mut Prng, u64, u64) -> u64) -> Cost {
    let scheme = format!("name = \"cost\"\n{lines}");
    let mut rig = Rig::new(&scheme, 5, 16_384);
    let pages = rig.array.capacity() / crate::support::PAGE;
    let mut random = Prng::stream(7, together);
    let count = 8192;
    for batch in 0..count / together {
        for nth in 0..together {
            let page = page(&mut random, batch * together + nth, pages);
            assert!(rig.submit(RequestKind::Write, page, 1).is_some());
        }
        rig.run();
        assert!(rig.submit(RequestKind::Flush, 0, 0).is_some());
        rig.run();
    }
    let of = |kind, class: Option<Class>| {
        let is_it = |one: &stripewise_array::Operation| {
            one.kind == kind && (class == Some(one.class) || class.is_none())
        };
        rig.started().filter(is_it).count() as f64 / count as f64
    };
    Cost {
        data: of(OperationKind::Write, Some(Class::HostWrite)),
        parity: of(OperationKind::Write, Some(Class::Parity)),
        metadata: of(OperationKind::Write, Some(Class::Metadata)),
        flushes: of(OperationKind::Flush, None),
        slots: rig.now() as f64 / count as f64,
    }
}

#[test]
fn the_journal_writes_each_page_twice_and_little_else_when_writes_come_together() {
    for level in ["raid5", "raid6"] {
        let copies = if level == "raid5" { 2.0 } else { 3.0 };
        for together in [1, 32] {
            let off = cost(&format!("[geometry]\nlevel = \"{level}\""), together);
            let on = cost(&format!("metadata = \"on\"\n[geometry]\nlevel = \"{level}\""), together);
            println!("{level}, a flush after {together}, without metadata: {off}");
            println!("{level}, a flush after {together}, with the journal: {on}");
            assert!((on.data, on.parity) == (off.data, off.parity), "in place the same is written");
            let images = copies * (on.data + on.parity);
            assert!(on.metadata >= images, "{on:?}");
            let most = if together == 1 { 2.0 * copies + 0.2 } else { copies + 0.7 };
            assert!(
                on.metadata < images + most,
                "beside images a header for each record, and pages of the table: {on:?}"
            );
        }
    }
}

#[test]
fn deferred_parity_is_written_once_for_several_writes_of_its_row_and_costs_an_image_of_each_chunk() {
    type Page = fn(&mut Prng, u64, u64) -> u64;
    let ways: [(&str, Page); 3] = [
        ("random", |random, _, pages| random.below(pages)),
        ("sequential", |_, nth, pages| nth % pages),
        ("among 32 pages", |random, _, _| random.below(32)),
    ];
    for level in ["raid5", "raid6"] {
        let copies = if level == "raid5" { 2.0 } else { 3.0 };
        for ((how, page), together) in ways.iter().flat_map(|way| [(way, 1), (way, 32)]) {
            let [at_once, late] = [0, 64].map(|window| {
                let parity = format!("[parity]\nidle = \"0s\"\nwindow = {window}");
                let lines = format!("metadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n{parity}");
                cost_of(&lines, together, page)
            });
            println!("{level}, {how}, a flush after {together}, no window: {at_once}");
            println!("{level}, {how}, a flush after {together}, window of 64: {late}");
            assert!(late.parity <= at_once.parity, "{late:?}");
            // Each write and its parity have images; the content that the parity covers has one if the chunk is the first
            // of its row.
            assert!(late.metadata >= copies * (late.data + late.parity), "{late:?}");
            if *how == "among 32 pages" && together == 1 {
                assert!(late.parity < at_once.parity / 2.0 && late.metadata < at_once.metadata, "{late:?}");
            }
        }
    }
}
