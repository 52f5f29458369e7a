//! What the runs of a study measured, as far as the paper's results need it.

use stripewise_results::{Error, Figures};
use stripewise_study::Finished;

use super::plan::Cell;
use super::variant::Variant;
use crate::text::total;

/// One run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// Host requests, and reads among them.
    pub requests: f64,
    /// Reads among them.
    pub reads: f64,
    /// Bytes read and written by hosts.
    pub bytes: f64,
    /// Mean response times of reads and of writes, in nanoseconds.
    pub mean_ns: [f64; 2],
    /// Mean waiting of reads and of writes: T_w.
    pub wait_ns: [f64; 2],
    /// Mean transfers of reads: T_b.
    pub read_bus_ns: f64,
    /// Mean cell time of reads: T_c.
    pub read_cell_ns: f64,
    /// Response time that 99.9 % of reads do not exceed.
    pub read_p999_ns: f64,
    /// Share of the chips that are busy when a request arrives: before and after its own operations are queued.
    pub busy: [f64; 2],
    /// Pages read for hosts.
    pub host_read_pages: f64,
    /// Chunks that were decoded by choice.
    pub redirected: f64,
    /// Pages read to decode others.
    pub decode_pages: f64,
    /// Blocks that the chips collected.
    pub erases: f64,
}

impl Run {
    /// The run whose totals are `totals`.
    pub fn of(totals: &Figures) -> Self {
        let value = |name: &str| total(totals, name);
        Self {
            requests: value("requests"),
            reads: value("read_requests"),
            bytes: value("read_bytes") + value("written_bytes"),
            mean_ns: ["read_mean_ns", "write_mean_ns"].map(value),
            wait_ns: ["read_wait_mean_ns", "write_wait_mean_ns"].map(value),
            read_bus_ns: value("read_bus_mean_ns"),
            read_cell_ns: value("read_cell_mean_ns"),
            read_p999_ns: value("read_p999_ns"),
            busy: ["busy_share_before", "busy_share_after"].map(value),
            host_read_pages: value("host_read_pages"),
            redirected: value("redirected_chunks"),
            decode_pages: value("decode_read_pages"),
            erases: value("erase_blocks"),
        }
    }

    /// Share of the chunks that hosts read which were decoded by choice.
    pub fn redirected_share(&self) -> f64 {
        self.redirected / (self.host_read_pages + self.redirected).max(1.0)
    }
}

/// The runs of one study.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The study.
    pub cell: Cell,
    /// Its runs, in the order of the cell's variants.
    pub runs: Vec<Run>,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured.
    ///
    /// # Errors
    /// When their totals cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished]) -> Result<Self, Error> {
        let runs = finished.iter().map(|run| Ok(Run::of(&run.run.totals()?)));
        Ok(Self { cell: cell.clone(), runs: runs.collect::<Result<_, Error>>()? })
    }

    /// The run of a scheme.
    pub fn run(&self, variant: Variant) -> Option<&Run> {
        let place = self.cell.variants.iter().position(|other| *other == variant)?;
        self.runs.get(place)
    }

    /// The schemes with their runs.
    pub fn each(&self) -> impl Iterator<Item = (Variant, &Run)> {
        self.cell.variants.iter().copied().zip(&self.runs)
    }

    /// How much less `ours` has of a value than `theirs`; none where they have none of it.
    pub fn gain(&self, ours: Variant, theirs: Variant, value: &dyn Fn(&Run) -> f64) -> Option<f64> {
        let (ours, theirs) = (value(self.run(ours)?), value(self.run(theirs)?));
        (theirs > 0.0).then(|| 1.0 - ours / theirs)
    }
}
