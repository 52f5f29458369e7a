//! The columns of a trace in a file's schema: what their types say, and which files are not read although nothing is wrong with
//! them.

use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::{KIND, OFFSET, SECONDS, SIZE, TIME, VOLUME};

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// A reason not to read a file that may be sound, with the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unfit(pub(super) String);

/// The reason as an error of the library.
pub(super) fn unfit(reason: impl Into<String>) -> ParquetError {
    ParquetError::External(Box::new(Unfit(reason.into())))
}

/// The positions of the columns of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) time: usize,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) kind: usize,
    pub(super) volume: Option<usize>,
}

impl Places {
    /// Finds the columns by their names, and checks their types.
    ///
    /// # Errors
    /// A column that is absent, or of a type that is not read.
    pub(super) fn find(schema: &SchemaDescriptor) -> Result<Self> {
        let need = |name: &str| {
            let reason = || {
                unfit(format!(
                    "has no column `{name}`; docs/reference/trace-schema.md says which there must be"
                ))
            };
            position(schema, name).ok_or_else(reason)
        };
        let time = position(schema, TIME).or_else(|| position(schema, SECONDS));
        let time = time.map_or_else(|| need(TIME), Ok)?;
        let places = Self {
            time,
            offset: need(OFFSET)?,
            size: need(SIZE)?,
            kind: need(KIND)?,
            volume: position(schema, VOLUME),
        };
        Unit::of(&schema.column(time))?;
        for at in [places.offset, places.size].into_iter().chain(places.volume) {
            check_number(&schema.column(at))?;
        }
        let kind = schema.column(places.kind);
        match kind.physical_type() {
            Physical::BYTE_ARRAY if !is_decimal(&kind) => Ok(places),
            _ => Err(wrong_type(&kind, "text", "cast it to a string")),
        }
    }

    /// All columns, that of volumes last.
    pub(super) fn all(self) -> impl Iterator<Item = usize> {
        [self.time, self.offset, self.size, self.kind].into_iter().chain(self.volume)
    }
}

/// The position of the column `name`, if there is one.
fn position(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    schema.columns().iter().position(|column| column.path().parts() == [name.to_owned()].as_slice())
}

/// The numbers of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Whole numbers of this number of nanoseconds each.
    Whole(u64),
    /// Seconds with a fraction.
    Seconds,
}

impl Unit {
    /// The unit of a column of times: that of its type, otherwise that of its name.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Self> {
        let of_type = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Timestamp(timestamp)), _) => Some(match timestamp.unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1,
            }),
            (None, ConvertedType::TIMESTAMP_MILLIS) => Some(1_000_000),
            (None, ConvertedType::TIMESTAMP_MICROS) => Some(1_000),
            _ => None,
        };
        let is_seconds = column.name() == SECONDS;
        match (column.physical_type(), of_type) {
            (Physical::INT64, Some(unit)) => Ok(Self::Whole(unit)),
            (Physical::INT32 | Physical::INT64, None) => {
                check_number(column)?;
                Ok(Self::Whole(if is_seconds { SECOND_NS } else { 1 }))
            }
            (Physical::DOUBLE, _) if is_seconds => Ok(Self::Seconds),
            (Physical::DOUBLE | Physical::FLOAT, _) => Err(wrong_type(
                column,
                "whole numbers, and its unit is nowhere",
                "cast it to INT64 nanoseconds or a timestamp; a DOUBLE `time_s` holds seconds",
            )),
            (Physical::INT96, _) => Err(wrong_type(
                column,
                "a timestamp that is read",
                "cast it to a timestamp of INT64 (Spark: spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)",
            )),
            _ => Err(wrong_type(column, "whole numbers or a timestamp", "cast it to INT64 nanoseconds")),
        }
    }
}

/// Whether the numbers of a column have no sign.
pub(super) fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    }
}

fn is_decimal(column: &ColumnDescriptor) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL
}

/// Checks that a column holds whole numbers and nothing else that is stored as such.
fn check_number(column: &ColumnDescriptor) -> Result<()> {
    let is_plain = match column.logical_type_ref() {
        Some(LogicalType::Integer(_)) => true,
        Some(_) => false,
        None => matches!(
            column.converted_type(),
            ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64
                | ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    };
    match column.physical_type() {
        Physical::INT32 | Physical::INT64 if is_plain => Ok(()),
        _ => Err(wrong_type(column, "whole numbers", "cast it to INT64")),
    }
}

fn wrong_type(column: &ColumnDescriptor, wanted: &str, remedy: &str) -> ParquetError {
    let physical = column.physical_type();
    let of = match (column.logical_type_ref(), column.converted_type()) {
        _ if is_decimal(column) => format!("decimals ({physical})"),
        (Some(LogicalType::Timestamp(_)), _)
        | (_, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS) => {
            format!("timestamps ({physical})")
        }
        (Some(LogicalType::Time(_)), _) | (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
            format!("times of day ({physical})")
        }
        (Some(LogicalType::Unknown), _) => "only nulls".to_owned(),
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => format!("dates ({physical})"),
        _ => physical.to_string(),
    };
    unfit(format!("is no trace: column `{}` holds {of}, not {wanted}; {remedy}", column.name()))
}

/// Checks that the columns are compressed in a way that is read.
pub(super) fn check_compression(metadata: &ParquetMetaData, places: Places) -> Result<()> {
    for group in metadata.row_groups() {
        for column in places.all().filter_map(|at| group.columns().get(at)) {
            let name = match column.compression() {
                Compression::BROTLI(_) => "Brotli",
                Compression::LZO => "LZO",
                Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::LZ4
                | Compression::LZ4_RAW
                | Compression::ZSTD(_) => continue,
            };
            return Err(unfit(format!(
                "is compressed with {name}, which is not supported; write it again with zstd (pandas and polars: \
                 compression=\"zstd\")"
            )));
        }
    }
    Ok(())
}

/// The seconds of a column of times in nanoseconds; none where they do not fit.
pub(super) fn nanoseconds(seconds: f64) -> Option<u64> {
    // No number of seconds that fits is negative, infinite or none.
    let fits = seconds >= 0.0 && seconds < (u64::MAX / SECOND_NS) as f64;
    let whole = seconds.trunc();
    // Apart, so that a time in seconds since 1970 keeps all of its digits.
    let rest = ((seconds - whole) * SECOND_NS as f64).round() as u64;
    fits.then(|| whole as u64 * SECOND_NS + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_the_nearest_nanoseconds() {
        for (seconds, expected) in [
            (0.0, Some(0)),
            (0.999, Some(999_000_000)),
            (0.999_999_999_9, Some(1_000_000_000)),
            (1_600_000_000.5, Some(1_600_000_000_500_000_000)),
            (-0.001, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (2e10, None),
        ] {
            assert_eq!(nanoseconds(seconds), expected, "{seconds}");
        }
    }
}
