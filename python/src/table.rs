//! Tables that leave through the Arrow PyCapsule interface, without copying.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array as _, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use stripewise_results::{FinishedRun, Table as Name};
use stripewise_runs::{Stream, Workload};
use stripewise_trace::{Kind, Request, Source as _};

use crate::errors;

/// A table of a run or of a trace's requests. It is read again for each access, one batch of rows at a
/// time, and any Arrow consumer accepts it: `polars.DataFrame(table)`, `pyarrow.table(table)`,
/// `pandas.DataFrame.from_arrow(table)`, `duckdb`.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Table {
    name: String,
    origin: Origin,
    schema: SchemaRef,
}

enum Origin {
    Run(FinishedRun, Name),
    Requests(Workload),
    Batch(RecordBatch),
}

impl Table {
    pub(crate) fn of_run(py: Python<'_>, run: &FinishedRun, name: Name) -> PyResult<Option<Self>> {
        let Some(batches) = run.batches(name).map_err(|error| errors::store(py, error))? else {
            return Ok(None);
        };
        let origin = Origin::Run(run.clone(), name);
        Ok(Some(Self { name: name.name().to_owned(), origin, schema: batches.schema() }))
    }

    pub(crate) fn of_requests(workload: Workload) -> Self {
        Self { name: "requests".to_owned(), origin: Origin::Requests(workload), schema: request_schema() }
    }

    pub(crate) fn of_batch(name: &str, batch: RecordBatch) -> Self {
        Self { name: name.to_owned(), schema: batch.schema(), origin: Origin::Batch(batch) }
    }

    fn reader(&self, py: Python<'_>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
        match &self.origin {
            Origin::Run(run, name) => {
                // A small damaged table is an error of this package, since verifying it is cheap. A large one is
                // verified while it is read, and the reader raises the error.
                let is_small =
                    run.digests().iter().any(|digest| digest.table == *name && digest.rows <= MOST_CHECKED);
                if is_small {
                    py.detach(|| run.verify_table(*name)).map_err(|error| errors::store(py, error))?;
                }
                let batches = run.batches(*name).map_err(|error| errors::store(py, error))?;
                Ok(Box::new(batches.expect("a table keeps its files")))
            }
            Origin::Requests(workload) => {
                let stream = workload.open(&()).map_err(|error| errors::raised(py, error))?;
                Ok(Box::new(Requests {
                    stream,
                    batch: Vec::with_capacity(ROWS),
                    schema: self.schema.clone(),
                }))
            }
            Origin::Batch(batch) => {
                Ok(Box::new(RecordBatchIterator::new([Ok(batch.clone())], self.schema.clone())))
            }
        }
    }
}

#[pymethods]
impl Table {
    /// The table's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The columns' names, in order. They end in their units: `_ns`, `_bytes`, `_pages`, `_blocks`.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The meaning of each column, where it is known.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let meanings = PyDict::new(py);
        for field in self.schema.fields() {
            meanings
                .set_item(field.name(), field.metadata().get("description").map_or("", String::as_str))?;
        }
        Ok(meanings)
    }

    /// The rows, for any consumer of Arrow streams. `requested_schema` is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that cannot give the requested schema give its own.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(self.reader(py)?);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The first `rows` rows as text, and whether there are more.
    #[pyo3(signature = (rows=10))]
    fn head(&self, py: Python<'_>, rows: usize) -> PyResult<(Vec<Vec<String>>, bool)> {
        let mut head = Vec::new();
        for batch in self.reader(py)? {
            let batch = batch.map_err(|error| errors::setting(py, error.to_string()))?;
            for row in 0..batch.num_rows() {
                if head.len() == rows {
                    return Ok((head, true));
                }
                head.push(batch.columns().iter().map(|column| cell(column, row)).collect());
            }
        }
        Ok((head, false))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("stripewise.notebook")?.getattr("table")?.call1((slf,))
    }

    /// The columns' names and types, for any consumer of Arrow schemas.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| errors::setting(py, error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// As a `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// As a `pandas.DataFrame`; needs pandas 3 and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pandas")?.getattr("DataFrame")?.call_method1("from_arrow", (slf,))
    }

    /// As a `pyarrow.Table`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.getattr("table")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        format!("<stripewise.Table {} ({})>", self.name, self.columns().join(", "))
    }
}

/// A value as text; nothing where there is none.
fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let column = column.as_any_dictionary();
            cell(column.values(), column.normalized_keys()[row])
        }
        other => other.to_string(),
    }
}

/// Most rows of a table that is verified before it is read.
const MOST_CHECKED: u64 = 1 << 20;

/// Rows of a batch of requests.
const ROWS: usize = 1 << 16;

/// The schema of a trace's requests: that of `docs/reference/trace-schema.md`.
fn request_schema() -> SchemaRef {
    let field = |name: &str, kind: DataType, description: &str| {
        let metadata = [("description".to_owned(), description.to_owned())];
        Field::new(name, kind, false).with_metadata(metadata)
    };
    Arc::new(Schema::new(vec![
        field("time_ns", DataType::UInt64, "Arrival, from the trace's first request on."),
        field("offset_bytes", DataType::UInt64, "First byte on its volume."),
        field("size_bytes", DataType::UInt32, "Length; 0 only for a flush."),
        field("volume", DataType::UInt32, "Volume, disk or ASU, as the trace numbers it."),
        field("kind", DataType::Utf8, "`read`, `write`, `trim` or `flush`."),
    ]))
}

/// A stream of requests as record batches.
struct Requests {
    stream: Stream<'static>,
    batch: Vec<Request>,
    schema: SchemaRef,
}

impl Iterator for Requests {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.stream.next_batch(&mut self.batch) {
            return Some(Err(ArrowError::ExternalError(Box::new(error))));
        }
        if self.batch.is_empty() {
            return None;
        }
        let rows = &self.batch;
        let kind = |request: &Request| match request.kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Trim => "trim",
            Kind::Flush => "flush",
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.iter().map(|request| request.time_ns).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|request| request.offset).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|request| request.bytes).collect::<UInt32Array>()),
            Arc::new(rows.iter().map(|request| request.volume).collect::<UInt32Array>()),
            Arc::new(rows.iter().map(|request| Some(kind(request))).collect::<StringArray>()),
        ];
        Some(RecordBatch::try_new(self.schema.clone(), columns))
    }
}

impl RecordBatchReader for Requests {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
