//! Columns of one row group, chunk by chunk, decoded to the numbers and kinds of requests.

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::Kind;

use super::kind_of;
use super::limits::{FEW, Texts};

/// Whole numbers of either width, signed or not: other programs choose their own types.
pub(super) struct Numbers {
    column: Width,
    levels: Vec<i16>,
    pub(super) values: Vec<u64>,
    /// First value of the chunk that is negative in a signed column, by its index.
    pub(super) negative: Option<usize>,
}

enum Width {
    Narrow { column: ColumnReaderImpl<Int32Type>, raw: Vec<i32>, unsigned: bool },
    Wide { column: ColumnReaderImpl<Int64Type>, raw: Vec<i64>, unsigned: bool },
}

/// The kinds of requests, by name.
pub(super) struct Kinds {
    column: ColumnReaderImpl<ByteArrayType>,
    levels: Vec<i16>,
    raw: Vec<ByteArray>,
    /// Values to read at a time.
    step: usize,
    pub(super) values: Vec<Kind>,
    /// First value of the chunk that names no kind: its index and text.
    pub(super) unknown: Option<(usize, String)>,
}

/// The position of the column `name`, if there is one.
pub(super) fn position(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    schema.columns().iter().position(|column| column.path().parts() == [name.to_owned()].as_slice())
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    }
}

fn wrong_type(column: &ColumnDescriptor, wanted: &str) -> ParquetError {
    ParquetError::General(format!(
        "column `{}` holds {}, not {wanted}",
        column.name(),
        column.physical_type()
    ))
}

/// Reads `count` values of `column` into `raw`; fewer, or a null among them, is an error.
fn read_all<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    levels: &mut Vec<i16>,
    raw: &mut Vec<T::T>,
    count: usize,
) -> Result<()> {
    raw.clear();
    levels.clear();
    let (records, values, _) = column.read_records(count, Some(levels), None, raw)?;
    match (records == count, values == count) {
        (true, true) => Ok(()),
        (true, false) => Err(ParquetError::General("a value is null".to_owned())),
        (false, _) => Err(ParquetError::General("a column ends before the others".to_owned())),
    }
}

impl Numbers {
    pub(super) fn new(group: &dyn RowGroupReader, at: usize) -> Result<Self> {
        let descriptor = group.metadata().schema_descr().column(at);
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(wrong_type(&descriptor, "one whole number a request"));
        }
        let unsigned = is_unsigned(&descriptor);
        let column = match group.get_column_reader(at)? {
            ColumnReader::Int32ColumnReader(column) => Width::Narrow { column, raw: Vec::new(), unsigned },
            ColumnReader::Int64ColumnReader(column) => Width::Wide { column, raw: Vec::new(), unsigned },
            _ => return Err(wrong_type(&descriptor, "whole numbers")),
        };
        Ok(Self { column, levels: Vec::new(), values: Vec::new(), negative: None })
    }

    /// Puts the next `count` values into `values`.
    pub(super) fn read(&mut self, count: usize) -> Result<()> {
        self.values.clear();
        match &mut self.column {
            Width::Narrow { column, raw, unsigned } => {
                read_all(column, &mut self.levels, raw, count)?;
                self.negative = if *unsigned { None } else { raw.iter().position(|&value| value < 0) };
                self.values.extend(raw.iter().map(|&value| u64::from(value as u32)));
            }
            Width::Wide { column, raw, unsigned } => {
                read_all(column, &mut self.levels, raw, count)?;
                self.negative = if *unsigned { None } else { raw.iter().position(|&value| value < 0) };
                self.values.extend(raw.iter().map(|&value| value as u64));
            }
        }
        Ok(())
    }
}

impl Kinds {
    /// The column at position `at`. `builds`: its values are built from the values before them.
    pub(super) fn new(group: &dyn RowGroupReader, at: usize, builds: bool) -> Result<Self> {
        let descriptor = group.metadata().schema_descr().column(at);
        let pages = Texts::new(group.get_column_page_reader(at)?, descriptor.max_def_level() > 0);
        let ColumnReader::ByteArrayColumnReader(column) =
            get_column_reader(descriptor.clone(), Box::new(pages))
        else {
            return Err(wrong_type(&descriptor, "text"));
        };
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(wrong_type(&descriptor, "one text a request"));
        }
        let step = if builds { FEW } else { usize::MAX };
        Ok(Self { column, levels: Vec::new(), raw: Vec::new(), step, values: Vec::new(), unknown: None })
    }

    /// Puts the next `count` values into `values`.
    pub(super) fn read(&mut self, count: usize) -> Result<()> {
        self.values.clear();
        self.unknown = None;
        while self.values.len() < count {
            let part = self.step.min(count - self.values.len());
            read_all(&mut self.column, &mut self.levels, &mut self.raw, part)?;
            for name in &self.raw {
                let kind = kind_of(name.data());
                if kind.is_none() && self.unknown.is_none() {
                    let text = name.data().escape_ascii().take(40).map(char::from).collect();
                    self.unknown = Some((self.values.len(), text));
                }
                self.values.push(kind.unwrap_or(Kind::Read));
            }
        }
        Ok(())
    }
}
