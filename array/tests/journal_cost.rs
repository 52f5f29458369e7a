//! What the redo journal costs: pages that are written for each page that a host writes.
//!
//! `cargo test -p stripewise-array --test journal_cost -- --nocapture` prints the figures.

mod support;

use stripewise_array::{Class, OperationKind, RequestKind};
use stripewise_base::prng::Prng;
use support::Rig;

/// Pages written, by what for, per page of the host.
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
        write!(f, "{flushes:.2} flushes of an element, {slots:.2} slots of time")
    }
}

/// Random writes of a page each, `together` at once and then a flush.
fn cost(lines: &str, together: u64) -> Cost {
    let scheme = format!("name = \"cost\"\n{lines}");
    let mut rig = Rig::new(&scheme, 5, 16_384);
    let pages = rig.array.capacity() / support::PAGE;
    let mut random = Prng::stream(7, together);
    let count = 8192;
    for _ in 0..count / together {
        for _ in 0..together {
            assert!(rig.submit(RequestKind::Write, random.below(pages), 1).is_some());
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
