//! A sink that computes the digests of a run's tables, and keeps no table.

use stripewise_sim::tables::{
    GcRow, GcSliceRow, LatencyRow, MemberRow, RequestRow, SampleRow, Sink, UpdateRow,
};

use crate::digest::{Digest, TableDigest, results_digest};
use crate::figures::Figures;
use crate::parquet::Pages;
use crate::schema::Row;

/// The digests of the tables of a run in progress: those of a run on disk without optional tables. It costs a small part of
/// writing the tables, most of which would be headers and metadata where runs are short.
pub struct DigestSink {
    members: Pages<MemberRow>,
    latencies: Pages<LatencyRow>,
    gc_slices: Pages<GcSliceRow>,
    samples: Pages<SampleRow>,
    gcs: Pages<GcRow>,
}

/// A finished run without its tables.
#[derive(Clone, Debug)]
pub struct DigestedRun {
    totals: Figures,
    tables: Vec<TableDigest>,
}

impl DigestedRun {
    /// The totals.
    pub fn totals(&self) -> &Figures {
        &self.totals
    }

    /// The digest of all results.
    pub fn results_digest(&self) -> Digest {
        results_digest(&self.tables)
    }
}

impl Default for DigestSink {
    fn default() -> Self {
        Self {
            members: Pages::new(),
            latencies: Pages::new(),
            gc_slices: Pages::new(),
            samples: Pages::new(),
            gcs: Pages::new(),
        }
    }
}

impl DigestSink {
    /// Adds the rows that are known only at the end of a run, and completes the digests.
    pub fn finish(mut self, members: &[MemberRow], totals: &Figures) -> DigestedRun {
        members.iter().for_each(|row| add(&mut self.members, row));
        let tables = vec![
            totals.digest(),
            finished(self.members),
            finished(self.latencies),
            finished(self.gc_slices),
            finished(self.samples),
            finished(self.gcs),
        ];
        DigestedRun { totals: totals.clone(), tables }
    }
}

#[inline]
fn add<R: Row>(pages: &mut Pages<R>, row: &R) {
    if pages.push(row) && pages.pack() {
        pages.end_page(&mut |_, _, _| ());
    }
}

fn finished<R: Row>(mut pages: Pages<R>) -> TableDigest {
    if pages.pack_rest() {
        pages.end_page(&mut |_, _, _| ());
    }
    pages.digest()
}

impl Sink for DigestSink {
    #[inline]
    fn request(&mut self, _: &RequestRow) {}

    #[inline]
    fn update(&mut self, _: &UpdateRow) {}

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        add(&mut self.samples, row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        add(&mut self.gcs, row);
    }

    #[inline]
    fn latency(&mut self, row: &LatencyRow) {
        add(&mut self.latencies, row);
    }

    #[inline]
    fn gc_slice(&mut self, row: &GcSliceRow) {
        add(&mut self.gc_slices, row);
    }
}
