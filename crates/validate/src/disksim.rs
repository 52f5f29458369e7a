//! The validation suite of DiskSim's SSD extension: its workloads on its device, compared with its printed results.
//!
//! Source: the suite's parameter and output files (`ssdmodel/valid` of DiskSim 4.0 with the extension of Agrawal et
//! al., USENIX ATC 2008). They give more than the documented means: spread, largest number in the system, cleanings.

use anyhow::Context;
use stripewise_flash::{DeviceSpec, Share, State};
use stripewise_sim::{Precondition, Responses, Totals};
use stripewise_trace::fold::{Fold, Folded};
use stripewise_trace::generate::Generator;
use stripewise_trace::{OpenOptions, Source, open};

use crate::attribution::Attribution;
use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::Rig;

pub(crate) const SUITE: Check = Check {
    name: "disksim-suite",
    title: "DiskSim's validation suite",
    about: "Preset `disksim-suite`, filled in order as DiskSim fills its device, is the only member of a RAID-0. In the \
            six synthetic workloads (generator `disksim`) the mean response must be within 2 % of the documented one. \
            Other values of the suite's own output files are compared too: the deviation of responses within 3 % (10 ns \
            at least), blocks cleaned and pages moved within 2 %. Sizes and places are from another generator of random \
            numbers than DiskSim's. The quick form runs the two cases of 5 M requests on a quarter of the device \
            (blocks, requests and address space divided by four). There the blocks cleaned and pages moved must be \
            within 5 %, because watermarks and blocks being written are whole numbers and cannot be divided.",
    bends: &[Bend::SlowService],
    run: suite,
};

pub(crate) const TRACES: Check = Check {
    name: "disksim-traces",
    title: "DiskSim's validation suite, real traces",
    about: "The same device runs the suite's Postmark and IOzone traces, if STRIPEWISE_TRACES has them (`disksim/`): \
            mean response within 2 % of the documented one, blocks cleaned within 2 %. The means of reads and of writes \
            alone, from the output file, must be within 1 % if they are counted as DiskSim counts them: its statistics \
            look for a completed request by its first block and not by its direction, so a read and a write of the same \
            block that are outstanding together may be counted for each other. The trace has 1,647 such pairs. Counted by \
            their own direction, reads are 3 % shorter and writes 3 % longer than in DiskSim's output, with the same sum. \
            DiskSim reports a completed write when the link is free, which is the 0.08 % that the total is short here. \
            DiskSim's driver, controller and bus arbitration have no counterpart here. \
            Slices of Financial1 and WebSearch2 run too, as far as the trace goes, and their means are noted: DiskSim's \
            figures for them are not available, so they have no verdict. The same applies to a trace of PCMark, which is \
            not available.",
    bends: &[Bend::SlowService],
    run: traces,
};

/// A queue of pages for each member and no effective limit, as in DiskSim.
const LONE: &str = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[dispatch]\norder = 'arrival'\n\
                    [queues]\nrequests = 65536\nplans = 65536\n";

/// A workload, and the results in the suite's output file.
struct PeerComparison {
    name: &'static str,
    mean_ns: f64,
    deviation_ns: f64,
    /// Blocks cleaned and pages moved by cleaning, as means over the members; none where no block was cleaned.
    cleaned: Option<(f64, f64)>,
}

const CASES: [PeerComparison; 6] = [
    PeerComparison { name: "sr250k", mean_ns: 132_511.0, deviation_ns: 72.0, cleaned: None },
    PeerComparison { name: "sw250k", mean_ns: 310_895.0, deviation_ns: 26_646.0, cleaned: None },
    PeerComparison { name: "rr250k", mean_ns: 136_118.0, deviation_ns: 15_205.0, cleaned: None },
    PeerComparison { name: "rw250k", mean_ns: 329_458.0, deviation_ns: 68_898.0, cleaned: None },
    PeerComparison {
        name: "sw5m",
        mean_ns: 334_365.0,
        deviation_ns: 184_392.0,
        cleaned: Some((9_686.6, 0.0)),
    },
    PeerComparison {
        name: "rw5m",
        mean_ns: 593_438.0,
        deviation_ns: 970_446.0,
        cleaned: Some((17_898.3, 241_199.3)),
    },
];

fn run(lab: &Lab, device: DeviceSpec, source: &mut dyn Source) -> anyhow::Result<Totals> {
    rig(lab, device)?.run(source, &mut ())
}

/// The device, filled in order, as the only member.
fn rig(lab: &Lab, device: DeviceSpec) -> anyhow::Result<Rig> {
    let mut rig = Rig::new(lab, device, "ssd:1", LONE)?;
    rig.config.precondition = Precondition::Filled(State::Sequential, Share::ALL);
    Ok(rig)
}

fn suite(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for case in CASES {
        let mut device = DeviceSpec::preset("disksim-suite")?;
        let mut workload = format!("disksim:case={}", case.name);
        // The large cases in the quick form: a quarter of all quantities.
        let part = if case.cleaned.is_some() { lab.pick(4, 1) } else { 1 };
        if part > 1 {
            device.geometry.blocks /= part;
            let span = 7_018_904 * 512 / u64::from(part) / 4096 * 4096;
            workload = format!("{workload},requests={},span={}B", 5_000_000 / part, span);
        }
        let generator: Generator = workload.parse()?;
        let members = f64::from(device.geometry.channels * device.geometry.chips);
        let totals = run(lab, device, &mut *generator.source(lab.seed))?;
        let all = totals.requests.reads.with(&totals.requests.writes);
        let name = |what: &str| format!("{}: {what}", case.name);
        rows.push(ResultRow::within(
            name("mean response"),
            Unit::Ns,
            case.mean_ns,
            0.02,
            all.mean_ns() as f64,
        ));
        let give = 0.03_f64.max(10.0 / case.deviation_ns);
        let deviation = all.deviation_ns() as f64;
        rows.push(ResultRow::within(name("deviation of it"), Unit::Ns, case.deviation_ns, give, deviation));
        if let Some((cleaned, moved)) = case.cleaned {
            let each = |count: u64| count as f64 / members * f64::from(part);
            let give = lab.pick(0.05, 0.02);
            let erased = each(totals.sum(|row| row.erase_blocks));
            rows.push(ResultRow::within(
                name("blocks cleaned, a member"),
                Unit::Count,
                cleaned,
                give,
                erased,
            ));
            let found = each(totals.sum(|row| row.gc_move_pages));
            rows.push(ResultRow::within(name("pages moved, a member"), Unit::Count, moved, give, found));
        }
    }
    Ok(rows)
}

/// A trace, its documented mean, and the further results in the output file: means of reads and of writes, blocks
/// cleaned on a member.
type Traced = (&'static str, &'static str, f64, Option<[f64; 3]>);

const TRACED: [Traced; 2] = [
    ("Postmark", "ssd-postmark-aligned2.trace.zst", 4_140_330.0, Some([2_416_786.0, 12_658_729.0, 2_697.5])),
    ("IOzone", "ssd-iozone-aligned2-100K.trace.zst", 6_394_276.0, None),
];

/// Traces without available figures of DiskSim: name, file, format. The measurements are noted for comparison with
/// DiskSim's once those are known. Of Financial1 one request in two has the same time as the one before.
const UNDOCUMENTED: [(&str, &str, &str); 3] = [
    ("Financial1, first 949", "spc/Financial1.first949.spc.zst", "spc"),
    ("Financial1, first 10,000", "ssdsim/Financial1.first10000.ascii.zst", "ssdsim"),
    ("WebSearch2, slice", "spc-noasu/WebSearch2.slice.csv.zst", "spc:noasu"),
];

/// Runs one of [`UNDOCUMENTED`] folded onto the device, and notes the means.
fn undocumented(lab: &Lab, (name, file, format): (&str, &str, &str)) -> anyhow::Result<ResultRow> {
    let path = lab.traces.as_deref().map(|directory| directory.join(file));
    let Some(path) = path.filter(|path| path.exists()) else {
        return Ok(ResultRow::skipped(name, format!("no `{file}` in STRIPEWISE_TRACES")));
    };
    let options = OpenOptions { format: Some(format.parse()?), ..OpenOptions::default() };
    let trace = open(&path, &options).with_context(|| format!("the trace of {name}"))?;
    let device = DeviceSpec::preset("disksim-suite")?;
    let span = Rig::new(lab, device.clone(), "ssd:1", LONE)?.capacity()?;
    let totals = run(lab, device, &mut Folded::new(trace, Fold::Modulo.onto(span, None)?))?;
    let mean = |responses: &Responses| match responses.count {
        0 => "none".to_owned(),
        count => format!("{count} of {:.3} us", responses.mean_ns() as f64 / 1e3),
    };
    let (reads, writes) = (mean(&totals.requests.reads), mean(&totals.requests.writes));
    let note = format!("DiskSim's figures are not at hand; here: reads {reads}, writes {writes}");
    Ok(ResultRow::skipped(format!("{name}: mean response"), note))
}

fn traces(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for (name, file, documented_ns, more) in TRACED {
        let path = lab.traces.as_deref().map(|directory| directory.join("disksim").join(file));
        let Some(path) = path.filter(|path| path.exists()) else {
            rows.push(ResultRow::skipped(name, format!("no `disksim/{file}` in STRIPEWISE_TRACES")));
            continue;
        };
        let device = DeviceSpec::preset("disksim-suite")?;
        let options = OpenOptions { format: Some("disksim".parse()?), ..OpenOptions::default() };
        let mut trace = open(&path, &options).with_context(|| format!("the trace of {name}"))?;
        let members = f64::from(device.geometry.channels);
        let mut attribution = Attribution::default();
        let mut rig = rig(lab, device)?;
        rig.config.request_rows = true;
        let totals = rig.run(&mut trace, &mut attribution)?;
        let (reads, writes) = (&totals.requests.reads, &totals.requests.writes);
        let mean = reads.with(writes).mean_ns() as f64;
        rows.push(ResultRow::within(format!("{name}: mean response"), Unit::Ns, documented_ns, 0.02, mean));
        if let Some([of_reads, of_writes, cleaned]) = more {
            let [as_reads, as_writes] = attribution.means_ns();
            let row = |what: &str, expected, mean, own: &Responses| {
                let note = format!("by their own direction {:.3} us", own.mean_ns() as f64 / 1e3);
                let case = format!("{name}: {what}, as DiskSim counts");
                ResultRow::within(case, Unit::Ns, expected, 0.01, mean).noting(note)
            };
            rows.push(row("reads alone", of_reads, as_reads, reads));
            rows.push(row("writes alone", of_writes, as_writes, writes));
            let erased = totals.sum(|row| row.erase_blocks) as f64 / members;
            let case = format!("{name}: blocks cleaned, a member");
            rows.push(ResultRow::within(case, Unit::Count, cleaned, 0.02, erased));
        }
    }
    for trace in UNDOCUMENTED {
        rows.push(undocumented(lab, trace)?);
    }
    rows.push(ResultRow::skipped("PCMark", "no trace of it, and DiskSim's figures are not at hand"));
    Ok(rows)
}
