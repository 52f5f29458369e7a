//! What the runs of a study measured, as far as the paper's results need it.

use stripewise_results::{Error, Figures};
use stripewise_study::Finished;
use stripewise_study::overhead::{Cost, Counter, Overhead, Stripe, StripeError};
use stripewise_trace::{Request, Source, TraceError};

use super::plan::{Cell, MEMBERS};
use super::variant::Variant;
use crate::text::total;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Host requests.
    pub requests: f64,
    /// Mean response times, in nanoseconds: of all requests, of writes.
    pub mean_ns: [f64; 2],
    /// The response time that 99.9 % of requests do not exceed.
    pub p999_ns: f64,
    /// Segments that array-level GC freed.
    pub gc_segments: f64,
    /// Valid data chunks that it rewrote: the paper's GC cost.
    pub gc_chunks: f64,
    /// Parity chunks of the stripes that it wrote.
    pub gc_parity_chunks: f64,
    /// Stripes written, and those of them with fewer data chunks than the array has room for.
    pub stripes: f64,
    /// Those with fewer data chunks than the array has room for.
    pub short_stripes: f64,
    /// Data chunks of hosts written in stripes.
    pub data_chunks: f64,
    /// All parity chunks written.
    pub parity_chunks: f64,
    /// Chunks overwritten in the buffer, and so never written.
    pub absorbed_chunks: f64,
    /// Blocks erased by all SSDs; by the one that erased least and most.
    pub erases: f64,
    /// By the SSDs that erased least and most.
    pub erases_between: [f64; 2],
    /// Pages programmed by the SSDs for each that the array wrote.
    pub programs_per_member_page: f64,
    /// Memory that hot data identification holds.
    pub hotness_bytes: f64,
}

impl Run {
    /// The run whose totals are `totals`.
    pub fn of(totals: &Figures) -> Self {
        let value = |name: &str| total(totals, name);
        Self {
            requests: value("requests"),
            mean_ns: ["response_mean_ns", "write_mean_ns"].map(value),
            p999_ns: value("response_p999_ns"),
            gc_segments: value("array_gc_segments"),
            gc_chunks: value("array_gc_moved_chunks"),
            gc_parity_chunks: value("array_gc_parity_chunks"),
            stripes: value("stripes"),
            short_stripes: value("short_stripes"),
            data_chunks: value("stripe_data_chunks"),
            parity_chunks: value("stripe_parity_chunks"),
            absorbed_chunks: value("buffer_absorbed_chunks"),
            erases: value("erase_blocks"),
            erases_between: ["least_erase_blocks", "most_erase_blocks"].map(value),
            programs_per_member_page: value("programs_per_member_page"),
            hotness_bytes: value("hotness_bytes"),
        }
    }

    /// What the paper's Fig. 12 calls overhead, in chunks: data moved by GC, and parity written.
    pub fn overhead(&self) -> [f64; 2] {
        [self.gc_chunks, self.parity_chunks]
    }
}

/// The runs of one study.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The study.
    pub cell: Cell,
    /// Its runs, in the order of the cell's variants.
    pub runs: Vec<Run>,
    /// What parity logging would cost over the same requests, by the model of section V-F.
    pub overhead: Overhead,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured, beside the model's `overhead`.
    ///
    /// # Errors
    /// When their totals cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished], overhead: Overhead) -> Result<Self, Error> {
        let runs = finished.iter().map(|run| Ok(Run::of(&run.run.totals()?)));
        Ok(Self { cell: cell.clone(), runs: runs.collect::<Result<_, Error>>()?, overhead })
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

    /// Whether array-level GC ran in each scheme that has it.
    pub fn in_steady_state(&self) -> bool {
        self.each().all(|(variant, run)| variant == Variant::InPlace || run.gc_segments > 0.0)
    }

    /// What parity logging would cost.
    pub fn parity_logging(&self) -> Cost {
        self.overhead.parity_logging
    }
}

impl Cell {
    /// What the model of parity logging counts over `requests`, folded onto one array, to their end.
    ///
    /// # Errors
    /// When the requests cannot be read.
    pub fn overhead(&self, requests: &mut dyn Source, chunk_bytes: u64) -> Result<Overhead, TraceError> {
        let parity = self.level.parity();
        let stripe = Stripe { data: MEMBERS - parity, parity, chunk_bytes };
        let refuse = |error: StripeError| TraceError::Setting(error.to_string());
        // As the array is before the first request: empty, or holding a slice's data.
        let filled = self.traces == crate::Traces::Slice;
        let mut counter = Counter::new(stripe, filled).map_err(refuse)?;
        let mut batch: Vec<Request> = Vec::with_capacity(4096);
        loop {
            requests.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(*counter.overhead());
            }
            batch.iter().for_each(|request| counter.add(&Request { volume: 0, ..*request }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Options;
    use crate::paper001::{Row, cells};
    use stripewise_trace::generate::Generator;

    #[test]
    fn parity_logging_is_counted_for_the_stripes_of_the_level() {
        let options = Options {
            requests: None,
            quick: false,
            traces: None,
            rows: vec![Row::A, Row::C],
            seed: 1,
            out: "x".into(),
        };
        let cells = cells(&options);
        let count = |cell: &Cell| {
            // 24 KiB each, one after the other: six chunks, a whole stripe of RAID-6 and none of RAID-5.
            let writes: Generator =
                "sequential:size=24KiB,write=1,span=1MiB,requests=7".parse().expect("a generator");
            cell.overhead(writes.source(1).as_mut(), 4096).expect("generated")
        };
        let (raid5, raid6) = (count(&cells[0]), count(&cells[1]));
        assert_eq!((raid5.full_stripes, raid5.chunks), (0, 42));
        assert_eq!((raid6.full_stripes, raid6.parity_logging.parity_writes), (7, 14));
        assert_eq!(raid6.parity_logging.log_writes, 0);
    }
}
