//! Write amplification of garbage collection under uniform writes, through the whole simulator.

use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{Geometry, Timing, Victim};
use stripewise_flash::{DeviceSpec, Share};
use stripewise_trace::Kind;

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::{self, Rig};
use crate::theory;
use crate::workload::{Made, pages};

pub(crate) const CLOSED_FORM: Check = Check {
    name: "write-amplification",
    title: "Write amplification, closed forms",
    about: "Uniform writes of single pages over a whole device of one plane. Collecting the block written longest ago \
            amplifies by A(α) = α / (α + W₀(-α e^-α)) (Desnoyers, SYSTOR 2012), collecting any block by 1 / (1 - 1/α); \
            greedy collection and d-choices amplify as the mean field of Van Houdt (SIGMETRICS 2013) predicts for blocks \
            of 64 pages. Measured and computed values must be within 1 % (2 % in the quick form). α is the space for \
            data over the exported space: all blocks except the one in reserve and the one being written, and for FIFO \
            except the half of a victim that, in the mean, is younger than the page in question.",
    bends: &[Bend::IdleSpare, Bend::AnyVictim],
    run: closed_forms,
};

pub(crate) const ORDER: Check = Check {
    name: "write-amplification-order",
    title: "Write amplification, order of policies",
    about: "Same device and writes, 25 % over-provisioning: in the order random, 2-choices, 3-choices, FIFO, 10-choices \
            and greedy collection, each amplifies less than the one before, by 0.2 % at least (Van Houdt, SIGMETRICS \
            2013; FIFO is between few and many choices).",
    bends: &[Bend::AnyVictim],
    run: order,
};

pub(crate) const PEER: Check = Check {
    name: "write-amplification-2gib",
    title: "Write amplification beside MQSim",
    about: "Preset `mqsim-gc-2gib`, 3 M uniform writes of 8 KiB over 90 % of the logical space, 16 at a time, from a \
            fresh device: over the last 2 M writes MQSim amplifies by 2.99, a correct greedy model by 3.08; our value \
            must be between 2.95 and 3.12.",
    bends: &[Bend::AnyVictim],
    run: beside_mqsim,
};

const PAGES: u32 = 64;
/// As many choices as this include all blocks.
const GREEDY: u32 = 1 << 20;
/// Blocks that are still free when collection starts.
const RESERVE: u32 = 1;

fn device(blocks: u32, spare: f64, victim: Victim) -> DeviceSpec {
    let one_us = Span(1_000);
    let timing = Timing { read: one_us, program: one_us, erase: one_us, ..rig::NO_TIME };
    let mut device = rig::device(Geometry { blocks, pages: PAGES, ..rig::ONE_DIE }, timing);
    // Of 1 + spare parts, the spare ones are not exported.
    device.ftl.over_provisioning = Share((spare / (1.0 + spare) * 1e6).round() as u32);
    device.gc.victim = victim;
    device
}

/// Pages that hold data, for each exported page, when a block is collected; `young` blocks' worth do not count.
fn alpha(device: &DeviceSpec, young: f64) -> f64 {
    let full = f64::from(device.geometry.blocks) - f64::from(RESERVE) - 1.0;
    (full - young) * f64::from(PAGES) / f64::from(device.logical_per_plane())
}

/// Write amplification over `measured` uniform writes of a page, 16 in flight, after `warmup` of them and one write
/// of each of the `filled` first pages.
fn measure(rig: Rig, seed: u64, span: u64, filled: u64, warmup: u64, measured: u64) -> anyhow::Result<f64> {
    let page_bytes = rig.config.device.geometry.page_bytes.0;
    let mut prng = Prng::stream(seed, 1);
    let make = |index| {
        let page = if index < filled { index } else { prng.below(span) };
        pages(Kind::Write, 0, page, 1, page_bytes)
    };
    let warmup = filled + warmup;
    let totals = rig.closed(16).warm(warmup).run(&mut Made::new(warmup + measured, make), &mut ())?;
    Ok(totals.programs_per_member_page())
}

/// The steady-state write amplification over the whole `device`.
fn steady(lab: &Lab, device: &DeviceSpec) -> anyhow::Result<f64> {
    let rig = Rig::new(lab, device.clone(), "ssd:1", rig::ALONE)?;
    let span = u64::from(device.logical_per_plane());
    let raw = u64::from(device.geometry.blocks * PAGES);
    measure(rig, lab.seed, span, span, 4 * raw, lab.pick(4, 10) * raw)
}

fn closed_forms(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let blocks = lab.pick(1024, 2048);
    let mut rows = Vec::new();
    let quick: &[f64] = &[0.15, 0.28, 0.5];
    for &spare in lab.pick(quick, &[0.07, 0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.5, 1.0]) {
        let mut compare = |policy: &str, victim: Victim, young: f64, theory: &dyn Fn(f64) -> f64| {
            let device = device(blocks, spare, victim);
            let case = format!("{policy}, {} % over-provisioned", (spare * 100.0).round());
            let expected = theory(alpha(&device, young));
            let measured = steady(lab, &device)?;
            rows.push(ResultRow::within(case, Unit::Ratio, expected, lab.pick(0.02, 0.01), measured));
            anyhow::Ok(())
        };
        compare("FIFO", Victim::Fifo, 0.5, &theory::amplification_of_fifo)?;
        compare("greedy", Victim::Greedy, 0.0, &|alpha| {
            theory::amplification_of_choices(GREEDY, alpha, PAGES)
        })?;
        compare("random", Victim::Random, 0.0, &theory::amplification_of_random)?;
        if spare == 0.28 {
            for choices in [2, 3, 10] {
                let theory = |alpha| theory::amplification_of_choices(choices, alpha, PAGES);
                compare(&format!("{choices}-choices"), Victim::DChoices(choices), 0.0, &theory)?;
            }
        }
    }
    Ok(rows)
}

fn order(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    const LESS: f64 = 0.998;
    let blocks = lab.pick(1024, 2048);
    // From the worst to the best.
    let policies = [
        ("random", Victim::Random),
        ("2-choices", Victim::DChoices(2)),
        ("3-choices", Victim::DChoices(3)),
        ("FIFO", Victim::Fifo),
        ("10-choices", Victim::DChoices(10)),
        ("greedy", Victim::Greedy),
    ];
    let mut rows = Vec::new();
    let mut before: Option<(&str, f64)> = None;
    for (name, victim) in policies {
        let measured = steady(lab, &device(blocks, 0.25, victim))?;
        if let Some((worse, bound)) = before {
            rows.push(ResultRow::at_most(format!("{name} < {worse}"), Unit::Ratio, bound * LESS, measured));
        }
        before = Some((name, measured));
    }
    Ok(rows)
}

fn beside_mqsim(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let device = DeviceSpec::preset("mqsim-gc-2gib")?;
    let rig = Rig::new(lab, device, "ssd:1", rig::ALONE)?;
    let page_bytes = rig.config.device.geometry.page_bytes.0;
    let span = rig.capacity()? / page_bytes * 9 / 10;
    let (warmup, measured) = (1_000_000, lab.pick(500_000, 2_000_000));
    let found = measure(rig, lab.seed, span, 0, warmup, measured)?;
    Ok(vec![ResultRow::between(
        format!("after {warmup} writes, over {measured}"),
        Unit::Ratio,
        2.95,
        3.12,
        found,
    )])
}
