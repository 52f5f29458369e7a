//! Small devices of every kind: their planes have a few blocks of a few pages, so that garbage is collected
//! constantly.

use std::str::FromStr;

use stripewise_base::units::{Bytes, Span};
use stripewise_flash::spec::{
    Choice, Domain, FtlSpec, GcSpan, GcSpec, GcStart, Geometry, Isolation, LinkUnit, Moves, Pool, Preemption,
    Scheduling, Timing, Victim, Watermark,
};
use stripewise_flash::{DeviceSpec, Level, Order, Rate, Share};
use stripewise_sim::Layout;

use crate::stress::Draw;

/// A device; `layout.devices` of them have `members` members. `None` if the drawn values are invalid.
pub(crate) fn device(draw: &mut Draw, layout: Layout, members: u32) -> Option<DeviceSpec> {
    let each = members / layout.devices;
    let (channels, chips) = match layout.level {
        Level::Ssd => (draw.one_of(&[1, 1, 2]), draw.one_of(&[1, 1, 2])),
        Level::Channel => (each, draw.one_of(&[1, 2])),
        Level::Chip => {
            let chips = draw.one_of(&[1, 2, 3]);
            (each / chips, chips)
        }
    };
    let geometry = Geometry {
        channels,
        chips,
        dies: draw.one_of(&[1, 1, 2]),
        planes: draw.one_of(&[1, 1, 2]),
        blocks: draw.between(4, 8) as u32,
        pages: draw.between(2, 6) as u32,
        page_bytes: Bytes(512 * draw.one_of(&[1, 2, 4, 8])),
        spare_bytes: Bytes(draw.one_of(&[0, 0, 16])),
    };
    let spec = DeviceSpec {
        name: "storm".into(),
        geometry,
        timing: timing(draw),
        ftl: FtlSpec {
            over_provisioning: Share(draw.one_of(&[300_000, 450_000, 600_000])),
            order: order(draw),
            pool: draw.one_of(&[Pool::Plane, Pool::Die, Pool::Chip, Pool::Channel, Pool::Member]),
            choice: draw.one_of(&[Choice::RoundRobin, Choice::MostFree]),
            summary_page: draw.one_of(&[None, None, Some(Bytes(528))]),
            streams: 1,
            isolation: Isolation::Initial,
        },
        scheduling: Scheduling {
            read_priority: draw.percent(60),
            window: draw.one_of(&[1, 2, 8, 64]),
            ..Scheduling::default()
        },
        gc: gc(draw),
        ldpc: None,
        wear: None,
        age: None,
        suspend: None,
    };
    let is_right = match layout.level {
        Level::Ssd => true,
        Level::Channel => spec.geometry.channels == each,
        Level::Chip => spec.geometry.channels * spec.geometry.chips == each,
    };
    (is_right && spec.validate().is_ok()).then_some(spec)
}

fn timing(draw: &mut Draw) -> Timing {
    let rates = [
        Rate::INSTANT,
        Rate { femtoseconds: 1_000_000, bytes: 1 },
        Rate { femtoseconds: 25_000_000, bytes: 1 },
    ];
    let drawn = Timing {
        read: Span(draw.one_of(&[0, 1_000, 25_000, 60_000])),
        program: Span(draw.one_of(&[0, 5_000, 200_000, 700_000])),
        erase: Span(draw.one_of(&[0, 20_000, 1_500_000])),
        bus: draw.one_of(&rates),
        read_command: Span(draw.one_of(&[0, 35, 1_000])),
        program_command: Span(draw.one_of(&[0, 35])),
        erase_command: Span(draw.one_of(&[0, 25])),
        host_link: draw.one_of(&rates),
        host_link_command: Span(draw.one_of(&[0, 500])),
        host_link_unit: draw.one_of(&[LinkUnit::Page, LinkUnit::Command]),
        host_link_per_command: Span(0),
    };
    // A further draw would give every seed another case.
    let is_per_command = drawn.host_link_unit == LinkUnit::Command && drawn.host_link_command == Span(0);
    Timing { host_link_per_command: Span(if is_per_command { 700 } else { 0 }), ..drawn }
}

fn gc(draw: &mut Draw) -> GcSpec {
    let (low_watermark, high_watermark) = draw.one_of(&[
        (Watermark::BlockCount(1), None),
        (Watermark::BlockCount(1), Some(Watermark::BlockCount(2))),
        (Watermark::Blocks(Share(200_000)), None),
        (Watermark::Pages(Share(250_000)), None),
        (Watermark::Pages(Share(200_000)), Some(Watermark::Pages(Share(300_000)))),
    ]);
    let domains = [Domain::Plane, Domain::Die, Domain::Channel, Domain::Device];
    let blocking = draw.one_of(&domains);
    let erase_blocking = draw.one_of(&domains);
    let victims = [Victim::Greedy, Victim::DChoices(2), Victim::DChoices(4), Victim::Fifo, Victim::Random];
    let victim = draw.one_of(&victims);
    let erase_blocking = (erase_blocking <= blocking && draw.percent(50)).then_some(erase_blocking);
    let span = draw.one_of(&[GcSpan::Steps, GcSpan::Steps, GcSpan::Busy]);
    let start = draw.one_of(&[GcStart::AtOnce, GcStart::OnDemand]);
    // A further draw would give every seed another case.
    let has_meaning = blocking.min(erase_blocking.unwrap_or(blocking)) >= Domain::Die;
    let on_write = has_meaning && matches!(victim, Victim::DChoices(2) | Victim::Random);
    GcSpec {
        victim,
        low_watermark,
        high_watermark,
        soft_watermark: None,
        hard_watermark: None,
        preemption: Preemption::Never,
        preemption_batch: 1,
        moves: Moves::Shared,
        copy_back: false,
        blocking,
        erase_blocking,
        span,
        start: if on_write { GcStart::OnWrite } else { start },
    }
}

/// A random one of the 24 orders.
fn order(draw: &mut Draw) -> Order {
    let mut letters = ['C', 'W', 'D', 'P'];
    for place in (1..4).rev() {
        letters.swap(place, draw.between(0, place as u64) as usize);
    }
    let text: String = letters.iter().collect();
    Order::from_str(&text).expect("each letter once")
}
