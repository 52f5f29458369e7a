//! Verifies that a table reads back as it was written: the digest of its rows is computed again during reading.
//!
//! Rows are packed as the writer packed them ([`crate::parquet`]), because the digest covers packed pages. So it
//! verifies the rows that the reader returns, whatever damage in pages, headers or the footer changed them.

use crate::digest::{Digest, TableDigest, TableHasher};
use crate::error::Error;
use crate::figures::Figures;
use crate::pack::{BLOCK, LANE, Lane, PackedPage};
use crate::parquet::PAGE_LANES;
use crate::schema::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

/// Computes the digest of a table during reading.
pub(crate) struct Verifier {
    expected: TableDigest,
    rows: u64,
    content: Content,
}

enum Content {
    /// Totals have a column each, and one row.
    Totals(Option<Digest>),
    Rows(Box<Packer>),
}

impl Verifier {
    /// A table of this schema that should have this digest.
    ///
    /// # Errors
    /// When a column is of a type that no table has.
    pub(crate) fn new(expected: TableDigest, schema: &SchemaRef) -> Result<Self, String> {
        let content = match expected.table {
            Table::Totals => Content::Totals(None),
            table => Content::Rows(Box::new(Packer::new(table, schema)?)),
        };
        Ok(Self { expected, rows: 0, content })
    }

    /// Adds the next rows.
    ///
    /// # Errors
    /// When they cannot be rows of such a table.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<(), String> {
        self.rows += batch.num_rows() as u64;
        match &mut self.content {
            Content::Totals(digest) => {
                let totals = Figures::from_batch(batch, "totals").map_err(|error| match error {
                    Error::Read { message, .. } => message,
                    other => other.to_string(),
                })?;
                *digest = Some(totals.digest().digest);
                Ok(())
            }
            Content::Rows(packer) => packer.add(batch),
        }
    }

    /// Ends the table.
    ///
    /// # Errors
    /// When it is not the one that was written.
    pub(crate) fn finish(self) -> Result<(), String> {
        let TableDigest { rows, digest, .. } = self.expected;
        let found = match self.content {
            Content::Totals(found) => found,
            Content::Rows(packer) => Some(packer.finish()),
        };
        match found {
            _ if self.rows != rows => {
                Err(format!("it holds {} rows, but run.toml says {rows}: it is damaged", self.rows))
            }
            Some(found) if found != digest => {
                Err(format!("its digest is {found}, but run.toml says {digest}: it is damaged"))
            }
            _ => Ok(()),
        }
    }
}

/// Packs columns as the writer of tables does, only for the digest.
struct Packer {
    hasher: TableHasher,
    lanes: Vec<Lane>,
    filled: usize,
    packed_lanes: usize,
    pages: Vec<PackedPage>,
    page: Vec<u8>,
}

impl Packer {
    fn new(table: Table, schema: &SchemaRef) -> Result<Self, String> {
        let page = |kind: &DataType| match kind {
            DataType::UInt8 | DataType::UInt32 => Some(PackedPage::new(32)),
            DataType::UInt64 => Some(PackedPage::new(64)),
            _ => None,
        };
        let wrong = |name: &str| format!("column `{name}` has a type that no table has: it is damaged");
        let fields = schema.fields();
        let pages = fields.iter().map(|field| page(field.data_type()).ok_or_else(|| wrong(field.name())));
        let pages = pages.collect::<Result<Vec<_>, String>>()?;
        let names = fields.iter().map(|field| (field.name().as_str(), field.data_type().to_string()));
        let hasher = TableHasher::new(table, names);
        let lanes = vec![[0; LANE]; pages.len()];
        Ok(Self { hasher, lanes, filled: 0, packed_lanes: 0, pages, page: Vec::new() })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), String> {
        if batch.num_columns() != self.lanes.len()
            || batch.columns().iter().any(|column| column.null_count() > 0)
        {
            return Err("it has values that are missing: it is damaged".to_owned());
        }
        let mut at = 0;
        while at < batch.num_rows() {
            let count = (LANE - self.filled).min(batch.num_rows() - at);
            for (lane, column) in self.lanes.iter_mut().zip(batch.columns()) {
                copy(column, at, &mut lane[self.filled..self.filled + count]);
            }
            self.filled += count;
            at += count;
            if self.filled == LANE {
                self.pack();
            }
        }
        Ok(())
    }

    fn pack(&mut self) {
        for (page, lane) in self.pages.iter_mut().zip(&mut self.lanes) {
            page.add(lane, self.filled);
            lane[0] = lane[BLOCK];
        }
        self.filled = 1;
        self.packed_lanes += 1;
        if self.packed_lanes == PAGE_LANES {
            self.end_page();
        }
    }

    fn end_page(&mut self) {
        (self.filled, self.packed_lanes) = (0, 0);
        for page in &mut self.pages {
            self.page.clear();
            page.take(&mut self.page);
            self.hasher.page(&self.page);
        }
    }

    fn finish(mut self) -> Digest {
        if self.filled > usize::from(self.packed_lanes > 0) {
            self.pack();
        }
        if self.packed_lanes > 0 {
            self.end_page();
        }
        self.hasher.finish()
    }
}

/// Copies values of a column, from index `at`, into all of `out`.
fn copy(column: &ArrayRef, at: usize, out: &mut [u64]) {
    let range = at..at + out.len();
    if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
        out.copy_from_slice(&column.values()[range]);
    } else if let Some(column) = column.as_primitive_opt::<UInt32Type>() {
        out.iter_mut().zip(&column.values()[range]).for_each(|(out, &value)| *out = u64::from(value));
    } else if let Some(column) = column.as_primitive_opt::<UInt8Type>() {
        out.iter_mut().zip(&column.values()[range]).for_each(|(out, &value)| *out = u64::from(value));
    }
}
