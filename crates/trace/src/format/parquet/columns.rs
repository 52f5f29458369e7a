//! Columns of one row group, chunk by chunk, decoded to the numbers and kinds of requests.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescriptor;

use crate::Kind;

use super::limits::{FEW, Texts};
use super::schema::{Unit, is_unsigned, nanoseconds, unfit};
use super::{KIND, kind_of};

/// Whole numbers of either width, signed or not, or times in any unit: other programs choose their own types.
pub(super) struct Numbers {
    column: Width,
    name: String,
    unit: Unit,
    levels: Vec<i16>,
    pub(super) values: Vec<u64>,
    /// The first value of the chunk that is no such number.
    pub(super) fault: Option<Fault>,
}

/// A value that is no number of its column.
#[derive(Clone)]
pub(super) struct Fault {
    /// The index in the chunk.
    pub(super) index: usize,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

enum Width {
    Narrow { column: ColumnReaderImpl<Int32Type>, raw: Vec<i32>, unsigned: bool },
    Wide { column: ColumnReaderImpl<Int64Type>, raw: Vec<i64>, unsigned: bool },
    Real { column: ColumnReaderImpl<DoubleType>, raw: Vec<f64> },
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

/// Reads `count` values of `column` into `raw`; fewer, or a null among them, is an error.
fn read_all<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    name: &str,
    levels: &mut Vec<i16>,
    raw: &mut Vec<T::T>,
    count: usize,
) -> Result<()> {
    raw.clear();
    levels.clear();
    let (records, values, _) = column.read_records(count, Some(levels), None, raw)?;
    match (records == count, values == count) {
        (true, true) => Ok(()),
        (true, false) => Err(unfit(format!(
            "is no trace: column `{name}` holds a null, which says nothing about its request; fill it in, or leave such rows out"
        ))),
        (false, _) => Err(ParquetError::General("a column ends before the others".to_owned())),
    }
}

/// What a number that is not one of these would have to be.
const NOT_NEGATIVE: &str = "a number that is not negative";
const TIME_THAT_FITS: &str = "a time that is not negative and below 2^64 ns";

impl Numbers {
    /// The whole numbers of the column at position `at`.
    pub(super) fn new(group: &dyn RowGroupReader, at: usize) -> Result<Self> {
        Self::in_unit(group, at, Unit::Whole(1))
    }

    /// The times of the column at position `at`, in nanoseconds.
    pub(super) fn times(group: &dyn RowGroupReader, at: usize) -> Result<Self> {
        Self::in_unit(group, at, Unit::of(&group.metadata().schema_descr().column(at))?)
    }

    fn in_unit(group: &dyn RowGroupReader, at: usize, unit: Unit) -> Result<Self> {
        let descriptor = group.metadata().schema_descr().column(at);
        check_single(&descriptor)?;
        let (name, unsigned) = (descriptor.name().to_owned(), is_unsigned(&descriptor));
        let column = match group.get_column_reader(at)? {
            ColumnReader::Int32ColumnReader(column) => Width::Narrow { column, raw: Vec::new(), unsigned },
            ColumnReader::Int64ColumnReader(column) => Width::Wide { column, raw: Vec::new(), unsigned },
            ColumnReader::DoubleColumnReader(column) if unit == Unit::Seconds => {
                Width::Real { column, raw: Vec::new() }
            }
            _ => return Err(ParquetError::General(format!("column `{name}` changes its type"))),
        };
        Ok(Self { column, name, unit, levels: Vec::new(), values: Vec::new(), fault: None })
    }

    /// Puts the next `count` values into `values`.
    pub(super) fn read(&mut self, count: usize) -> Result<()> {
        self.values.clear();
        self.fault = None;
        let negative = |index: Option<usize>| {
            index.map(|index| Fault { index, expected: NOT_NEGATIVE, found: "a negative number".to_owned() })
        };
        match &mut self.column {
            Width::Narrow { column, raw, unsigned } => {
                read_all(column, &self.name, &mut self.levels, raw, count)?;
                let first = if *unsigned { None } else { raw.iter().position(|&value| value < 0) };
                self.fault = negative(first);
                self.values.extend(raw.iter().map(|&value| u64::from(value as u32)));
            }
            Width::Wide { column, raw, unsigned } => {
                read_all(column, &self.name, &mut self.levels, raw, count)?;
                let first = if *unsigned { None } else { raw.iter().position(|&value| value < 0) };
                self.fault = negative(first);
                self.values.extend(raw.iter().map(|&value| value as u64));
            }
            Width::Real { column, raw } => {
                read_all(column, &self.name, &mut self.levels, raw, count)?;
                let first = raw.iter().position(|&value| nanoseconds(value).is_none());
                let fault = |index| Fault { index, expected: TIME_THAT_FITS, found: raw[index].to_string() };
                self.fault = first.map(fault);
                self.values.extend(raw.iter().map(|&value| nanoseconds(value).unwrap_or(0)));
            }
        }
        if let Unit::Whole(unit @ 2..) = self.unit {
            self.scale(unit);
        }
        Ok(())
    }

    /// Turns values of `unit` nanoseconds each into nanoseconds.
    fn scale(&mut self, unit: u64) {
        let good = self.fault.as_ref().map_or(self.values.len(), |fault| fault.index);
        for (index, value) in self.values[..good].iter_mut().enumerate() {
            let Some(scaled) = value.checked_mul(unit) else {
                self.fault = Some(Fault { index, expected: TIME_THAT_FITS, found: value.to_string() });
                return;
            };
            *value = scaled;
        }
    }
}

/// Checks that a column has one value a row.
fn check_single(column: &ColumnDescriptor) -> Result<()> {
    if column.max_rep_level() > 0 || column.max_def_level() > 1 {
        return Err(unfit(format!(
            "is no trace: column `{}` holds lists or groups, not one value a request; unnest it",
            column.name()
        )));
    }
    Ok(())
}

impl Kinds {
    /// The column at position `at`. `builds`: its values are built from the values before them.
    pub(super) fn new(group: &dyn RowGroupReader, at: usize, builds: bool) -> Result<Self> {
        let descriptor = group.metadata().schema_descr().column(at);
        let pages = Texts::new(group.get_column_page_reader(at)?, descriptor.max_def_level() > 0);
        let ColumnReader::ByteArrayColumnReader(column) =
            get_column_reader(descriptor.clone(), Box::new(pages))
        else {
            return Err(ParquetError::General(format!("column `{}` changes its type", descriptor.name())));
        };
        check_single(&descriptor)?;
        let step = if builds { FEW } else { usize::MAX };
        Ok(Self { column, levels: Vec::new(), raw: Vec::new(), step, values: Vec::new(), unknown: None })
    }

    /// Puts the next `count` values into `values`.
    pub(super) fn read(&mut self, count: usize) -> Result<()> {
        self.values.clear();
        self.unknown = None;
        while self.values.len() < count {
            let part = self.step.min(count - self.values.len());
            read_all(&mut self.column, KIND, &mut self.levels, &mut self.raw, part)?;
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
