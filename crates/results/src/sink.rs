//! Receives a run's rows one by one and writes its tables: to any output, or to memory.

use crate::digest::{Digest, RunInputs, TableDigest, results_digest};
use crate::error::Error;
use crate::figures::Figures;
use crate::parquet::{TableWriter, write_totals};
use crate::read::Batches;
use crate::schema::Table;
use bytes::Bytes;
use std::io::Write;
use stripewise_sim::tables::{
    GcRow, GcSliceRow, LatencyRow, MemberRow, RequestRow, SampleRow, Sink, UpdateRow,
};

/// The optional tables of a run: those to which every request adds one row or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optional {
    /// [`Table::Requests`].
    pub requests: bool,
    /// [`Table::Updates`].
    pub updates: bool,
}

impl Optional {
    /// None of them.
    pub const NONE: Self = Self { requests: false, updates: false };
    /// All of them.
    pub const ALL: Self = Self { requests: true, updates: true };

    /// Whether `has` returns true for each of them.
    pub fn all(self, has: impl Fn(Table) -> bool) -> bool {
        (!self.requests || has(Table::Requests)) && (!self.updates || has(Table::Updates))
    }
}

/// The tables of one run in progress.
pub struct TableSink<W: Write + Send> {
    inputs: RunInputs,
    requests: Option<TableWriter<RequestRow, W>>,
    updates: Option<TableWriter<UpdateRow, W>>,
    members: TableWriter<MemberRow, W>,
    latencies: TableWriter<LatencyRow, W>,
    gc_slices: TableWriter<GcSliceRow, W>,
    samples: TableWriter<SampleRow, W>,
    gcs: TableWriter<GcRow, W>,
    totals: Output<W>,
}

/// The destination of a table, and its name in errors.
pub struct Output<W> {
    /// The writer of the table's bytes.
    pub out: W,
    /// The name, for example a path.
    pub name: String,
}

/// A complete table.
#[derive(Clone, Debug)]
pub struct FinishedTable<W> {
    /// The writer of the table's bytes.
    pub out: W,
    /// Its rows and digest.
    pub digest: TableDigest,
}

impl<W: Write + Send> TableSink<W> {
    /// Starts the tables of a run; `open` returns the output of each.
    ///
    /// # Errors
    /// When `open` fails or an output cannot be written.
    pub fn new(
        inputs: &RunInputs,
        optional: Optional,
        mut open: impl FnMut(Table) -> Result<Output<W>, Error>,
    ) -> Result<Self, Error> {
        Ok(Self {
            inputs: inputs.clone(),
            requests: optional.requests.then(|| start(inputs, open(Table::Requests)?)).transpose()?,
            updates: optional.updates.then(|| start(inputs, open(Table::Updates)?)).transpose()?,
            members: start(inputs, open(Table::Members)?)?,
            latencies: start(inputs, open(Table::Latencies)?)?,
            gc_slices: start(inputs, open(Table::GcSlices)?)?,
            samples: start(inputs, open(Table::Samples)?)?,
            gcs: start(inputs, open(Table::Gcs)?)?,
            totals: open(Table::Totals)?,
        })
    }

    /// Writes the rows that are known only at the end of a run, and completes every table. The tables are in the
    /// order of [`Table::ALL`].
    ///
    /// # Errors
    /// When any part of any table could not be written.
    pub fn finish(mut self, members: &[MemberRow], totals: &Figures) -> Result<Vec<FinishedTable<W>>, Error> {
        members.iter().for_each(|row| self.members.push(row));
        let table = |(out, digest)| FinishedTable { out, digest };
        let totals = write_totals(self.totals.out, &self.totals.name, &self.inputs, totals);
        let mut tables = vec![
            table(totals?),
            table(self.members.finish()?),
            table(self.latencies.finish()?),
            table(self.gc_slices.finish()?),
            table(self.samples.finish()?),
            table(self.gcs.finish()?),
        ];
        if let Some(updates) = self.updates {
            tables.push(table(updates.finish()?));
        }
        if let Some(requests) = self.requests {
            tables.push(table(requests.finish()?));
        }
        Ok(tables)
    }

    /// Bytes of memory held for rows that are not written yet.
    pub fn memory_bytes(&self) -> usize {
        self.requests.as_ref().map_or(0, TableWriter::memory_bytes)
            + self.updates.as_ref().map_or(0, TableWriter::memory_bytes)
            + self.members.memory_bytes()
            + self.latencies.memory_bytes()
            + self.gc_slices.memory_bytes()
            + self.samples.memory_bytes()
            + self.gcs.memory_bytes()
    }
}

fn start<R: crate::schema::Row, W: Write + Send>(
    inputs: &RunInputs,
    output: Output<W>,
) -> Result<TableWriter<R, W>, Error> {
    TableWriter::new(output.out, &output.name, inputs)
}

impl<W: Write + Send> Sink for TableSink<W> {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        if let Some(requests) = &mut self.requests {
            requests.push(row);
        }
    }

    #[inline]
    fn update(&mut self, row: &UpdateRow) {
        if let Some(updates) = &mut self.updates {
            updates.push(row);
        }
    }

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        self.samples.push(row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        self.gcs.push(row);
    }

    #[inline]
    fn latency(&mut self, row: &LatencyRow) {
        self.latencies.push(row);
    }

    #[inline]
    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.gc_slices.push(row);
    }
}

/// A sink that keeps the tables in memory, packed as on disk (a request takes 13 to 30 bytes).
pub type MemorySink = TableSink<Vec<u8>>;

impl MemorySink {
    /// Starts the tables of a run in memory.
    ///
    /// # Errors
    /// None for memory; the type is that of files.
    pub fn in_memory(inputs: &RunInputs, optional: Optional) -> Result<Self, Error> {
        Self::new(inputs, optional, |table| {
            Ok(Output { out: Vec::new(), name: format!("{table} (in memory)") })
        })
    }

    /// Completes the tables.
    ///
    /// # Errors
    /// As [`TableSink::finish`].
    pub fn finish_in_memory(self, members: &[MemberRow], totals: &Figures) -> Result<MemoryRun, Error> {
        let tables = self.finish(members, totals)?;
        let packed =
            |table: FinishedTable<Vec<u8>>| FinishedTable { out: table.out.into(), digest: table.digest };
        Ok(MemoryRun { totals: totals.clone(), tables: tables.into_iter().map(packed).collect() })
    }
}

/// A finished run in memory.
#[derive(Clone, Debug)]
pub struct MemoryRun {
    totals: Figures,
    tables: Vec<FinishedTable<Bytes>>,
}

impl MemoryRun {
    /// The totals.
    pub fn totals(&self) -> &Figures {
        &self.totals
    }

    /// The digest of all results.
    pub fn results_digest(&self) -> Digest {
        results_digest(&self.digests().collect::<Vec<_>>())
    }

    /// Rows and digest of each table.
    pub fn digests(&self) -> impl Iterator<Item = TableDigest> {
        self.tables.iter().map(|table| table.digest)
    }

    /// A table as Arrow record batches, unpacked one at a time; none when the run left out that table.
    ///
    /// # Errors
    /// None for memory; the type is that of files.
    pub fn batches(&self, table: Table) -> Result<Option<Batches>, Error> {
        let found = self.tables.iter().find(|finished| finished.digest.table == table);
        found.map(|found| Batches::new(found.out.clone(), &format!("{table} (in memory)"))).transpose()
    }
}
