//! The catalogue of a plan: one table of its runs with a column for each axis, for polars, DuckDB and others. It is a cache,
//! made from the packs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use stripewise_runs::Observer;

use crate::error::Error;
use crate::pack;
use crate::plan::{Cell, Plan};
use crate::row::{hex, unhex};
use crate::status::visit;
use crate::store::{StudyStore, retried};

/// What the names of the axes' columns begin with: a total may have the name of an axis.
const AXIS: &str = "axis.";

/// Writes the catalogue of a plan, with the runs that count: those of all seeds up to the end of each point. Returns its
/// place and the number of runs.
///
/// # Errors
/// When the store cannot be read or written.
pub fn index(plan: &Plan, store: &StudyStore, observer: &dyn Observer) -> Result<(PathBuf, u64), Error> {
    retried(&mut || index_listed(plan, store, observer))
}

fn index_listed(plan: &Plan, store: &StudyStore, observer: &dyn Observer) -> Result<(PathBuf, u64), Error> {
    let path = store.root().join("catalogue").join(format!("{}.parquet", hex(&plan.digest().0[..8])));
    let mut cells: Vec<Cell> = Vec::new();
    let mut wanted: BTreeMap<[u8; 16], u32> = BTreeMap::new();
    visit(plan, store, &[], observer, &mut |point, _, _| {
        let first = plan.file().replicate.first;
        for seed in 0..u64::from(point.seeds()) {
            for &scheme in &point.schemes {
                wanted.insert(plan.key(&point.cell, scheme, first.wrapping_add(seed)), cells.len() as u32);
            }
        }
        cells.push(point.cell.clone());
        Ok(())
    })?;
    let none = || {
        Error::Spec(format!(
            "{}: there are no runs of this study; make some with `stripewise study run {}`",
            store.root().display(),
            plan.file().path.display()
        ))
    };
    if wanted.is_empty() {
        return Err(none());
    }
    // Runs differ in their totals: in closed loop nothing is offered. The table has the columns of all.
    let mut fields: Vec<FieldRef> = Vec::new();
    let mut to_come = wanted.clone();
    for pack in store.packs()? {
        pack::read(&pack, store.read_pack(&pack)?, None, &mut |table| {
            for table in counted(plan, &pack, table, &cells, &mut to_come)? {
                for field in table.schema().fields() {
                    if fields.iter().all(|known| known.name() != field.name()) {
                        fields.push(field.clone());
                    }
                }
            }
            Ok(())
        })?;
    }
    if fields.is_empty() {
        return Err(none());
    }
    let schema = Arc::new(Schema::new(fields));
    let mut rows = 0;
    store.put(&path, |file| {
        let mut writer = pack::writer(file, schema.clone())?;
        for pack in store.packs()? {
            pack::read(&pack, store.read_pack(&pack)?, None, &mut |table| {
                for table in counted(plan, &pack, table, &cells, &mut wanted)? {
                    rows += table.num_rows() as u64;
                    writer.write(&pack::widened(&table, &schema))?;
                }
                Ok(())
            })?;
        }
        Ok(writer)
    })?;
    Ok((path, rows))
}

/// The runs of a table that are in `wanted`, with the values of the axes.
fn counted(
    plan: &Plan,
    pack: &Path,
    table: &RecordBatch,
    cells: &[Cell],
    wanted: &mut BTreeMap<[u8; 16], u32>,
) -> Result<Vec<RecordBatch>, Error> {
    let wrong = |message: &str| Error::Pack { path: pack.to_owned(), message: message.to_owned() };
    let keys = pack::text_column(table, "key").ok_or_else(|| wrong("it has not the columns of runs"))?;
    // A run that stands in two packs is taken once.
    let taken = |row| unhex(keys.value(row)).and_then(|key| wanted.remove(&key));
    let places: Vec<Option<u32>> = (0..table.num_rows()).map(taken).collect();
    let (mut tables, mut at) = (Vec::new(), 0);
    for chunk in places.chunk_by(|one, other| one.is_some() == other.is_some()) {
        let cells: Vec<&Cell> = chunk.iter().flatten().map(|&cell| &cells[cell as usize]).collect();
        if !cells.is_empty() {
            tables.push(with_axes(plan, &table.slice(at, chunk.len()), &cells));
        }
        at += chunk.len();
    }
    Ok(tables)
}

/// A table of runs with the values of the axes in front.
fn with_axes(plan: &Plan, table: &RecordBatch, cells: &[&Cell]) -> RecordBatch {
    let axes = &plan.file().axes;
    let names = axes.iter().map(|axis| Field::new(format!("{AXIS}{}", axis.key), DataType::Utf8, false));
    let fields = table.schema().fields().iter().map(|field| (**field).clone()).collect::<Vec<_>>();
    let columns = axes.iter().enumerate().map(|(at, axis)| -> ArrayRef {
        let values = cells.iter().map(|cell| axis.values[cell.at[at] as usize].shown.as_str());
        Arc::new(StringArray::from_iter_values(values))
    });
    let schema = Schema::new(names.chain(fields).collect::<Vec<_>>());
    let columns = columns.chain(table.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::new(schema), columns)
        .expect("each column has the type of its field and a value a row")
}
