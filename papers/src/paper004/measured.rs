//! What the runs of a study measured, as far as the paper's results need it.

use stripewise_results::Error;
use stripewise_study::Finished;

use super::plan::Cell;
use super::variant::Policy;
use crate::text::total;

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Host requests.
    pub requests: f64,
    /// Mean response times in nanoseconds: of all requests, of reads, of writes.
    pub mean_ns: [f64; 3],
    /// Standard deviation of the response times of all requests.
    pub deviation_ns: f64,
    /// Response time that 99.9 % of requests do not exceed.
    pub p999_ns: f64,
    /// Bytes that hosts read and wrote in a second.
    pub bytes_per_second: f64,
    /// Pages pre-read, and parity pages written, for each request.
    pub parity_work: [f64; 2],
    /// Blocks erased.
    pub erases: f64,
    /// Valid pages moved for each of them.
    pub moved_pages: f64,
    /// Pages programmed by the SSDs for each that the array wrote.
    pub programs_per_member_page: f64,
    /// Bytes of the map in controller memory.
    pub map_bytes: f64,
}

impl Run {
    fn of(finished: &Finished) -> Result<Self, Error> {
        let totals = finished.run.totals()?;
        let value = |name: &str| total(&totals, name);
        let requests = value("requests");
        let erases = value("erase_blocks");
        let bytes = value("read_bytes") + value("written_bytes");
        Ok(Self {
            requests,
            mean_ns: ["response_mean_ns", "read_mean_ns", "write_mean_ns"].map(value),
            deviation_ns: value("response_deviation_ns"),
            p999_ns: value("response_p999_ns"),
            bytes_per_second: bytes * 1e9 / value("simulated_ns").max(1.0),
            parity_work: ["pre_read_pages", "parity_write_pages"].map(|name| value(name) / requests.max(1.0)),
            erases,
            moved_pages: value("gc_move_pages") / erases.max(1.0),
            programs_per_member_page: value("programs_per_member_page"),
            map_bytes: value("map_bytes"),
        })
    }
}

/// The runs of one study.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The study.
    pub cell: Cell,
    /// Its runs, in the order of the cell's arrays.
    pub runs: Vec<Run>,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured.
    ///
    /// # Errors
    /// When their tables cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished]) -> Result<Self, Error> {
        let runs = finished.iter().map(Run::of).collect::<Result<_, Error>>()?;
        Ok(Self { cell: cell.clone(), runs })
    }

    /// The run of an array.
    pub fn run(&self, policy: Policy) -> Option<&Run> {
        let place = self.cell.policies.iter().position(|other| *other == policy)?;
        self.runs.get(place)
    }

    /// The arrays with their runs.
    pub fn each(&self) -> impl Iterator<Item = (Policy, &Run)> {
        self.cell.policies.iter().copied().zip(&self.runs)
    }

    /// How much lower some value of MC-RAIS is than that of the array with chunks of `kib`.
    pub(super) fn gain(&self, kib: u32, value: fn(&Run) -> f64) -> Option<f64> {
        let [ours, theirs] = [Policy::McRais, Policy::Chunk(kib)].map(|policy| self.run(policy).map(value));
        let theirs = theirs.filter(|theirs| *theirs > 0.0)?;
        Some(1.0 - ours? / theirs)
    }
}
