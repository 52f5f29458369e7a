//! Response times beside MQSim's, on the traces that come with it.
//!
//! Source: the traces `tpcc-small` and `wsrch-small` of MQSim (Tavakkol et al., FAST 2018), and what its revision of
//! October 2022 printed for them with its shipped configuration.

use anyhow::Context;
use stripewise_base::Nanos;
use stripewise_flash::spec::DieInterleaving;
use stripewise_flash::{DeviceSpec, Share, State};
use stripewise_sim::{Precondition, Totals};
use stripewise_trace::{OpenOptions, open};

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::Rig;

pub(crate) const TRACES: Check = Check {
    name: "mqsim-traces",
    title: "MQSim's traces",
    about: "Preset `mqsim`, filled in order, is the only member of a RAID-0 and runs MQSim's trace `tpcc-small`, if \
            STRIPEWISE_TRACES has it (`mqsim/`): a burst of 6,999 requests in 136 ms, most of which waits. The mean \
            response must be within 20 % of 3.31 ms, which MQSim's revision of October 2022 printed; the 20 % were chosen \
            when the figures below were known. Its exact settings \
            are not recorded; another run of it with its shipped configuration printed 3.46 ms. The mean is \
            decided by how the dies of a chip depend on each other. That revision takes one command a chip \
            (`scheduling.die_interleaving = off`). As published, the dies of a chip overlap (`one-kind`); the means of \
            that and of independent dies are noted for comparison. Two differences remain. MQSim transfers only the requested \
            sectors of a page, which are 54 % of the pages that these requests touch; here a page crosses the bus as a \
            whole. A second case has a bus that is faster by that share, and MQSim lies between the two. MQSim maps pages \
            when requests arrive, also those of reads, and programs the pages of a block in any order, so it finds more \
            pages at equal offsets for multi-plane commands. Both make MQSim faster than the first case. What makes it \
            slower than the second is likely its map: MQSim has 2 MiB of it in memory and reads the rest from flash; the \
            report of that revision counts 6,921 such reads of 14,934. Here the whole map is in memory. Nothing is tuned. In \
            `wsrch-small` hardly anything waits: MQSim prints 181 us end to end and 143 us in the device. How often it reads \
            the map there is not printed, so it has no verdict.",
    bends: &[Bend::SlowService],
    run: traces,
};

/// No limit in the controller, and no reads for writes of parts of pages: no page has other data in MQSim.
const LONE: &str = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[placement]\npartial_writes = 'round-up'\n\
                    [dispatch]\norder = 'arrival'\n[queues]\nrequests = 65536\nplans = 65536\n";

/// MQSim's mean response to `tpcc-small`.
const TPCC_NS: f64 = 3_310_000.0;

/// The bytes that `tpcc-small` requests, of 1000 bytes of the pages that it touches.
const REQUESTED: u64 = 544;

fn run(lab: &Lab, device: &DeviceSpec, name: &str) -> anyhow::Result<Option<Totals>> {
    let path = lab.traces.as_deref().map(|directory| directory.join("mqsim").join(name));
    let Some(path) = path.filter(|path| path.exists()) else { return Ok(None) };
    let options = OpenOptions { format: Some("mqsim".parse()?), ..OpenOptions::default() };
    let mut trace = open(&path, &options).with_context(|| format!("the trace {name}"))?;
    let mut rig = Rig::new(lab, device.clone(), "ssd:1", LONE)?;
    rig.config.precondition = Precondition::Filled(State::Sequential, Share::ALL);
    rig.run(&mut trace, &mut ()).map(Some)
}

fn mean_ns(totals: &Totals) -> Nanos {
    totals.requests.reads.with(&totals.requests.writes).mean_ns()
}

fn traces(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let (tpcc, wsrch) = ("tpcc-small.trace.zst", "wsrch-small.trace.zst");
    let device = DeviceSpec::preset("mqsim")?;
    let mut rows = Vec::new();
    match run(lab, &device, tpcc)? {
        Some(totals) => {
            let (reads, writes) = (totals.requests.reads.mean_ns(), totals.requests.writes.mean_ns());
            let note = format!("reads {} us, writes {} us", reads / 1000, writes / 1000);
            let mean = mean_ns(&totals) as f64;
            let case = "tpcc-small: mean response";
            rows.push(ResultRow::within(case, Unit::Ns, TPCC_NS, 0.2, mean).noting(note));
            let mut part = device.clone();
            part.timing.bus.femtoseconds = part.timing.bus.femtoseconds * REQUESTED / 1000;
            if let Some(totals) = run(lab, &part, tpcc)? {
                let case = "tpcc-small, the bus as fast as for the requested sectors";
                rows.push(ResultRow::within(case, Unit::Ns, TPCC_NS, 0.2, mean_ns(&totals) as f64));
            }
            for (name, die_interleaving) in
                [("one-kind", DieInterleaving::OneKind), ("free", DieInterleaving::Free)]
            {
                let mut other = device.clone();
                other.scheduling.die_interleaving = die_interleaving;
                if let Some(totals) = run(lab, &other, tpcc)? {
                    let note = format!("here: {} us", mean_ns(&totals) / 1000);
                    rows.push(ResultRow::skipped(format!("tpcc-small, die_interleaving = {name}"), note));
                }
            }
        }
        None => {
            rows.push(ResultRow::skipped("tpcc-small", format!("no `mqsim/{tpcc}` in STRIPEWISE_TRACES")))
        }
    }
    let note = match run(lab, &device, wsrch)? {
        Some(totals) => format!("MQSim 181 us and 143 us; here: {} us", mean_ns(&totals) / 1000),
        None => format!("no `mqsim/{wsrch}` in STRIPEWISE_TRACES"),
    };
    rows.push(ResultRow::skipped("wsrch-small", note));
    Ok(rows)
}
