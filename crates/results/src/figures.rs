//! The totals of a run: named values, one row a run. The simulator defines their meaning; this module only keeps,
//! writes, reads and finds them.

use crate::digest::{TableDigest, TableHasher};
use crate::error::Error;
use crate::schema::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;
pub use stripewise_sim::Figure;

/// One named value of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFigure {
    /// Its name, which ends in its unit where it has one.
    pub name: String,
    /// Its value.
    pub value: Figure,
    /// Whether it was measured on this machine (for example processor time), and so differs between two runs with the
    /// same inputs. Such a total is no part of the results digest.
    pub measured: bool,
    /// Whether it follows from other results, so that the results digest does not depend on it either.
    pub derived: bool,
}

/// The totals of one run, in the order of their columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<NamedFigure>);

impl Figures {
    /// No totals yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a total that the run's inputs decide.
    ///
    /// # Errors
    /// When there is already a total of that name.
    pub fn add(&mut self, name: &str, value: Figure) -> Result<(), Error> {
        self.insert(NamedFigure { name: name.to_owned(), value, measured: false, derived: false })
    }

    /// Adds totals that follow from other results of the run.
    ///
    /// # Errors
    /// When there is already a total of such a name.
    pub fn add_derived(&mut self, list: &[(&str, Figure)]) -> Result<(), Error> {
        let figure = |&(name, value): &(&str, Figure)| NamedFigure {
            name: name.to_owned(),
            value,
            measured: false,
            derived: true,
        };
        list.iter().try_for_each(|one| self.insert(figure(one)))
    }

    /// Adds a total that was measured on this machine.
    ///
    /// # Errors
    /// When there is already a total of that name.
    pub fn add_measured(&mut self, name: &str, value: Figure) -> Result<(), Error> {
        self.insert(NamedFigure { name: name.to_owned(), value, measured: true, derived: false })
    }

    fn insert(&mut self, figure: NamedFigure) -> Result<(), Error> {
        if self.get(&figure.name).is_some() {
            return Err(Error::DuplicateTotal { name: figure.name });
        }
        self.0.push(figure);
        Ok(())
    }

    /// The totals that a simulation lists.
    ///
    /// # Errors
    /// When two have one name.
    pub fn from_list(list: &[(&str, Figure)]) -> Result<Self, Error> {
        let mut totals = Self::new();
        list.iter().try_for_each(|&(name, value)| totals.add(name, value))?;
        Ok(totals)
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<Figure> {
        self.0.iter().find(|total| total.name == name).map(|total| total.value)
    }

    /// All totals, in order.
    pub fn iter(&self) -> impl Iterator<Item = &NamedFigure> {
        self.0.iter()
    }

    /// The digest of the totals that the run's inputs decide.
    pub fn digest(&self) -> TableDigest {
        let decided = self.0.iter().filter(|total| !total.measured && !total.derived);
        let fields = decided.map(|total| match total.value {
            Figure::Count(count) => (total.name.as_str(), 0, count),
            Figure::Real(real) => (total.name.as_str(), 1, real.to_bits()),
        });
        TableDigest { table: Table::Totals, rows: 1, digest: TableHasher::totals(fields) }
    }

    /// The totals as an Arrow table of one row.
    pub fn to_batch(&self) -> RecordBatch {
        let field = |total: &NamedFigure| {
            let kind = match total.value {
                Figure::Count(_) => DataType::UInt64,
                Figure::Real(_) => DataType::Float64,
            };
            let field = Field::new(&total.name, kind, false);
            match total {
                NamedFigure { measured: true, .. } => field.with_metadata([mark(MEASURED)]),
                NamedFigure { derived: true, .. } => field.with_metadata([mark(DERIVED)]),
                _ => field,
            }
        };
        let column = |total: &NamedFigure| -> ArrayRef {
            match total.value {
                Figure::Count(count) => Arc::new(UInt64Array::from(vec![count])),
                Figure::Real(real) => Arc::new(Float64Array::from(vec![real])),
            }
        };
        let schema = Schema::new(self.0.iter().map(field).collect::<Vec<_>>());
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::new(schema), self.0.iter().map(column).collect(), &options)
            .expect("each column has the type of its field and one row")
    }

    /// The totals of an Arrow table of one row, as [`Figures::to_batch`] builds it. `table` names it in errors.
    ///
    /// # Errors
    /// When it does not have exactly one row, or has a column of another type.
    pub fn from_batch(batch: &RecordBatch, table: &str) -> Result<Self, Error> {
        let wrong = |message: String| Error::Read { table: table.to_owned(), message };
        if batch.num_rows() != 1 {
            return Err(wrong(format!("expected one row of totals, found {}", batch.num_rows())));
        }
        let mut totals = Self::new();
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let value = match column.data_type() {
                _ if column.null_count() > 0 => None,
                DataType::UInt64 => Some(Figure::Count(column.as_primitive::<UInt64Type>().value(0))),
                DataType::Float64 => Some(Figure::Real(column.as_primitive::<Float64Type>().value(0))),
                _ => None,
            };
            let value = value.ok_or_else(|| {
                wrong(format!(
                    "column `{}`: expected one UInt64 or Float64, found {}",
                    field.name(),
                    column.data_type()
                ))
            })?;
            let is = |key: &str| field.metadata().get(key).is_some_and(|value| value == YES);
            let name = field.name().clone();
            totals.insert(NamedFigure { name, value, measured: is(MEASURED), derived: is(DERIVED) })?;
        }
        Ok(totals)
    }
}

/// The keys of the metadata of columns, and their value.
const MEASURED: &str = "measured";
const DERIVED: &str = "derived";
const YES: &str = "true";

fn mark(key: &str) -> (String, String) {
    (key.to_owned(), YES.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals() -> impl Strategy<Value = Figures> {
        let value = prop_oneof![any::<u64>().prop_map(Figure::Count), (-1e300..1e300).prop_map(Figure::Real)];
        let marks = prop_oneof![Just((false, false)), Just((true, false)), Just((false, true))];
        prop::collection::btree_map("[a-z_]{1,12}", (value, marks), 1..20).prop_map(|map| {
            let figure =
                |(name, (value, (measured, derived)))| NamedFigure { name, value, measured, derived };
            Figures(map.into_iter().map(figure).collect())
        })
    }

    proptest! {
        #[test]
        fn totals_read_back_from_arrow_as_written(totals in totals()) {
            prop_assert_eq!(Figures::from_batch(&totals.to_batch(), "totals").unwrap(), totals);
        }

        #[test]
        fn the_digest_changes_with_any_decided_total_and_with_no_other(
            totals in totals(),
            pick in any::<prop::sample::Index>(),
        ) {
            let mut other = totals.clone();
            let total = &mut other.0[pick.index(totals.0.len())];
            total.value = match total.value {
                Figure::Count(count) => Figure::Count(count ^ 1),
                Figure::Real(real) => Figure::Real(f64::from_bits(real.to_bits() ^ 1)),
            };
            let is_outside = total.measured || total.derived;
            prop_assert_eq!(other.digest() == totals.digest(), is_outside);
        }
    }

    #[test]
    fn a_count_and_a_real_of_the_same_bits_differ_in_digest() {
        let count = Figures::from_list(&[("a", Figure::Count(0))]).unwrap();
        let real = Figures::from_list(&[("a", Figure::Real(0.0))]).unwrap();
        assert_ne!(count.digest(), real.digest());
    }

    #[test]
    fn a_name_given_twice_is_refused() {
        let error =
            Figures::from_list(&[("reads", Figure::Count(1)), ("reads", Figure::Real(2.0))]).unwrap_err();
        assert!(matches!(error, Error::DuplicateTotal { ref name } if name == "reads"));
    }

    #[test]
    fn a_table_that_is_not_totals_is_refused() {
        let two =
            RecordBatch::try_from_iter([("a", Arc::new(UInt64Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
        assert!(Figures::from_batch(&two, "x").unwrap_err().to_string().contains("found 2"));
        let text = RecordBatch::try_from_iter([(
            "a",
            Arc::new(arrow_array::StringArray::from(vec!["1"])) as ArrayRef,
        )]);
        assert!(Figures::from_batch(&text.unwrap(), "x").unwrap_err().to_string().contains("Utf8"));
    }
}
