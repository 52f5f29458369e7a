//! Columns that parity takes for zeros: free pages of zones. They need not be read to update the parity of their row, and
//! decoding takes them for zeros too, whatever their members have.
//!
//! Which columns these are is part of the map of zones, which is persistent (paper 004, section 3.3): it is as needed to decode
//! a row as the map is to find a page.
//!
//! Source: our choice. Paper 004 says nothing of free pages; nothing of it suggests that they are read.

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::RowNo;

/// For each row behind the first zone the data columns that its parity takes for zeros.
#[derive(Debug, Default)]
pub(crate) struct Blank {
    /// Rows of the first zone, whose parity takes nothing for zeros.
    home_rows: u64,
    rows: Vec<u64>,
}

impl Blank {
    /// All data columns of all rows behind the first zone: nothing was ever written there.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let home_rows = geometry.first_zone_rows();
        let rows = vec![geometry.data_columns(); (geometry.rows() - home_rows) as usize];
        Self { home_rows, rows }
    }

    /// Whether parity takes no page of any row for zeros.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether `row` is in the first zone, where pages are at home.
    #[inline]
    pub(crate) fn is_home(&self, row: RowNo) -> bool {
        row.number() < self.home_rows
    }

    /// The data columns that the parity of `row` takes for zeros.
    #[inline]
    pub(crate) fn columns(&self, row: RowNo) -> u64 {
        if self.rows.is_empty() || row.number() < self.home_rows {
            0
        } else {
            self.rows[(row.number() - self.home_rows) as usize]
        }
    }

    /// Sets [`Self::columns`].
    pub(crate) fn set(&mut self, row: RowNo, columns: u64) {
        if !self.rows.is_empty() && row.number() >= self.home_rows {
            self.rows[(row.number() - self.home_rows) as usize] = columns;
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(&self.rows[..]) as u64
    }
}
