//! RAID-5's arithmetic, counted by the simulator: pre-reads, writes, capacity, the position of parity, the cost.

use stripewise_array::Class;
use stripewise_array::MemberNo;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{Geometry, Timing};
use stripewise_trace::Kind;

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::{self, Rig};
use crate::workload::{Ends, Made, pages};

pub(crate) const COUNTS: Check = Check {
    name: "raid-counts",
    title: "Pages that a RAID-5 update moves",
    about: "k whole chunks of one stripe of d = n - 1 are written, after everything was written before. \
            Read-modify-write pre-reads k + 1 pages, read-construct-write d - k; both write k + 1. All d chunks together \
            need no pre-reads. Counted for every n, k and place in the stripe; each row counts the cases with exactly \
            these numbers.",
    bends: &[Bend::OtherRoutine],
    run: counts,
};

pub(crate) const SHARES: Check = Check {
    name: "raid-shares",
    title: "Capacity, degraded reads, where parity lies",
    about: "RAID-5 of n members offers the capacity of n - 1. With one member lost, one read of each page costs 2 (n - \
            1) / n member reads in the mean: a page of the lost member is decoded from the n - 1 others. One write of \
            each page writes parity equally often on each member, with every rotation. All exact.",
    bends: &[Bend::FixedParity],
    run: shares,
};

pub(crate) const SMALL_WRITES: Check = Check {
    name: "raid-small-writes",
    title: "Small writes of a saturated RAID-5",
    about: "A small write costs four operations (two reads, two writes), so n members that perform X operations a second \
            perform at most n X / 4 small writes a second, and if programs take longer than reads n / (2 read + 2 \
            program). With 32 requests in flight for each member they reach at least 96 % of that. The 0.3 % above it \
            allow for the edges of the window of time, and for the few updates that meet on a row and are merged.",
    bends: &[Bend::OtherRoutine, Bend::SlowService],
    run: small_writes,
};

const PAGE: u64 = 4096;

/// `n` channels of one die each.
fn device(n: u32, blocks: u32, read_us: u64, program_us: u64) -> DeviceSpec {
    let geometry = Geometry { channels: n, blocks, ..rig::ONE_DIE };
    let timing = Timing {
        read: Span(read_us * 1000),
        program: Span(program_us * 1000),
        erase: Span(1000),
        ..rig::NO_TIME
    };
    rig::device(geometry, timing)
}

fn scheme(geometry: &str, update: &str) -> String {
    format!("name = 'raid'\n[geometry]\nlevel = 'raid5'\n{geometry}\n[update]\npolicy = '{update}'\n")
}

/// Pre-reads and writes of one update of `k` chunks at chunk `first` of a stripe of `d` chunks of `chunk` pages.
fn update(lab: &Lab, n: u32, chunk: u64, policy: &str, k: u64, first: u64) -> anyhow::Result<(u64, u64)> {
    let geometry = format!("chunk = '{}KiB'", chunk * PAGE / 1024);
    let rig = Rig::new(lab, device(n, 64, 10, 20), "channel:1", &scheme(&geometry, policy))?;
    let stripe = u64::from(n - 1) * chunk;
    let stripes = rig.capacity()? / PAGE / stripe;
    let mut prng = Prng::stream(lab.seed, first);
    let make = |index| {
        // Every stripe is written, a second apart; then one of them is updated.
        let time = index * 1_000_000_000;
        if index < stripes {
            return pages(Kind::Write, time, index * stripe, stripe, PAGE);
        }
        pages(Kind::Write, time, prng.below(stripes) * stripe + first * chunk, k * chunk, PAGE)
    };
    let totals = rig.warm(stripes).run(&mut Made::new(stripes + 1, make), &mut ())?;
    let reads = totals.sum(|row| row.pre_read_pages);
    let writes = totals.sum(|row| row.host_write_pages + row.parity_write_pages);
    // The controller's counts must equal the flash's counts.
    anyhow::ensure!(reads == totals.sum(|row| row.flash_read_pages), "pre-reads are not the flash's reads");
    anyhow::ensure!(
        writes == totals.sum(|row| row.flash_program_pages),
        "writes are not the flash's programs"
    );
    Ok((reads, writes))
}

fn counts(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    let shapes = (3..=9).map(|n| (n, 1)).chain([(5, 4)]);
    for (n, chunk) in shapes {
        let d = u64::from(n - 1);
        for policy in ["always-rmw", "always-rcw", "baseline"] {
            let expected = |k: u64| match policy {
                _ if k == d => 0,
                "always-rmw" => k + 1,
                "always-rcw" => d - k,
                _ => (k + 1).min(d - k),
            };
            let (mut cases, mut right) = (0, 0);
            for k in 1..=d {
                for first in 0..=d - k {
                    cases += 1;
                    let found = update(lab, n, chunk, policy, k, first)?;
                    right += u64::from(found == (expected(k) * chunk, (k + 1) * chunk));
                }
            }
            let reads: Vec<String> = (1..=d).map(|k| (expected(k) * chunk).to_string()).collect();
            let case =
                format!("n = {n}, {policy}, chunk of {chunk} page{}", if chunk == 1 { "" } else { "s" });
            let note = format!("pre-reads for k = 1 … {d}: {}", reads.join(", "));
            rows.push(ResultRow::exact(case, Unit::Count, cases as f64, right as f64).noting(note));
        }
    }
    Ok(rows)
}

fn shares(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for n in [3, 5, 6, 9] {
        let rig = Rig::new(lab, device(n, 64, 10, 20), "channel:1", &scheme("", "always-rmw"))?;
        let member = u64::from(rig.config.device.logical_per_plane()) * PAGE;
        let expected = u64::from(n - 1) * member;
        rows.push(ResultRow::exact(
            format!("n = {n}, bytes offered"),
            Unit::Count,
            expected as f64,
            rig.capacity()? as f64,
        ));
        rows.push(degraded_reads(lab, n)?);
        let rotations = ["left-symmetric", "left-asymmetric", "right-symmetric", "right-asymmetric"];
        for rotation in if n == 5 { &rotations[..] } else { &rotations[..1] } {
            rows.push(parity_shares(lab, n, rotation)?);
        }
    }
    Ok(rows)
}

/// Stripes that every rotation passes through equally often: a multiple of 3, 5, 6 and 9.
const ROUND: u64 = 90;

fn degraded_reads(lab: &Lab, n: u32) -> anyhow::Result<ResultRow> {
    let rig = Rig::new(lab, device(n, 64, 10, 20), "channel:1", &scheme("", "baseline"))?;
    let d = u64::from(n - 1);
    let chunks = ROUND * d;
    let make = |index| {
        let time = index * 1_000_000;
        let (kind, page) = if index < chunks { (Kind::Write, index) } else { (Kind::Read, index - chunks) };
        pages(kind, time, page, 1, PAGE)
    };
    let lost_at = chunks * 1_000_000 - 1;
    let counts = rig.run_with_loss(&mut Made::new(2 * chunks, make), MemberNo::new(1), lost_at)?;
    let reads: u64 = counts.iter().map(|of| of[Class::HostRead as usize] + of[Class::Decode as usize]).sum();
    let expected = chunks * 2 * d / u64::from(n);
    let case = format!("n = {n}, one member lost: reads for {chunks} pages");
    Ok(ResultRow::exact(case, Unit::Count, expected as f64, reads as f64))
}

fn parity_shares(lab: &Lab, n: u32, rotation: &str) -> anyhow::Result<ResultRow> {
    let geometry = format!("rotation = '{rotation}'");
    let rig = Rig::new(lab, device(n, 64, 10, 20), "channel:1", &scheme(&geometry, "always-rmw"))?;
    let chunks = ROUND * u64::from(n - 1);
    let make = |index| pages(Kind::Write, index * 1_000_000, index, 1, PAGE);
    let totals = rig.run(&mut Made::new(chunks, make), &mut ())?;
    let most = totals.members.iter().map(|row| row.parity_write_pages).max().unwrap_or(0);
    let all = totals.sum(|row| row.parity_write_pages);
    let case = format!("n = {n}, {rotation}: most parity on one member, of its share");
    Ok(ResultRow::exact(case, Unit::Ratio, 1.0, most as f64 * f64::from(n) / all as f64))
}

fn small_writes(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    let equal = (3..=9).map(|n| (n, 100, 100));
    for (n, read, program) in equal.chain([(5, 50, 600), (8, 45, 700)]) {
        let (writes_each, stripes) = lab.pick((3_000, 65_536), (10_000, 131_072));
        // Room for the stripes and all their rewrites, so there is no collection.
        let blocks = (2 * (stripes + 2 * writes_each) / 64 + 16) as u32;
        let device = device(n, blocks, read, program);
        let mut rig = Rig::new(lab, device, "channel:1", &scheme("", "always-rmw"))?.closed(32 * n);
        rig.config.request_rows = true;
        let stripe = u64::from(n - 1);
        let (rig, count) = (rig.warm(stripes), writes_each * u64::from(n));
        let mut prng = Prng::stream(lab.seed, 1);
        let make = |index| {
            if index < stripes {
                return pages(Kind::Write, 0, index * stripe, stripe, PAGE);
            }
            pages(Kind::Write, 0, prng.below(stripes * stripe), 1, PAGE)
        };
        let mut ends = Ends::default();
        rig.run(&mut Made::new(stripes + count, make), &mut ends)?;
        let bound = f64::from(n) * 1e6 / (2 * (read + program)) as f64;
        let case = if read == program {
            format!("n = {n}, X = {}/s", 1_000_000 / read)
        } else {
            format!("n = {n}, read {read} us, program {program} us")
        };
        let note = format!("bound {bound:.0}/s");
        rows.push(
            ResultRow::between(case, Unit::PerSecond, 0.96 * bound, 1.003 * bound, ends.rate()).noting(note),
        );
    }
    Ok(rows)
}
