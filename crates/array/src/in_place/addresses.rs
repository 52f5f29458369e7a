//! Where pages of the array lie, and what is known of their content.

use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;

use crate::in_place::InPlace;

impl InPlace {
    /// The checksum of a page in place; `None` without a table of checksums.
    pub(crate) fn checksum_in_place<M: Memory>(
        &self,
        member: MemberNo,
        page: u32,
        exec: &Executor<M>,
    ) -> Option<u32> {
        let journal = self.journal.as_ref()?;
        let (group, position) = exec.geometry().position_of(member);
        Some(journal.table.get(group, page - journal.layout.data.first, position))
    }

    /// See [`crate::Array::is_encoded`].
    #[inline]
    pub(crate) fn is_encoded(&self, row: RowNo) -> bool {
        self.encode.as_ref().is_none_or(|encode| encode.is_encoded(row))
    }

    /// See [`crate::Array::locate`].
    pub(crate) fn locate<M: Memory>(&self, page: u64, exec: &Executor<M>) -> Option<(RowNo, u32)> {
        if let Some(zones) = &self.zones {
            return Some(exec.geometry().slot(zones.place(page)));
        }
        match &self.gather {
            None => {
                let piece = RowCursor::new(page, 1).next(exec.geometry())?;
                let is_begun = self.encode.as_ref().is_none_or(|encode| encode.is_begun(piece.row));
                is_begun.then_some((piece.row, piece.first))
            }
            Some(gather) => gather.slot(page),
        }
    }

    /// See [`crate::Array::host_page`].
    pub(crate) fn host_page<M: Memory>(&self, row: RowNo, column: u32, exec: &Executor<M>) -> Option<u64> {
        let page = self.array_page(row, column, exec);
        (page < exec.host_pages() && self.locate(page, exec) == Some((row, column))).then_some(page)
    }

    /// The host page that `column` of `row` holds.
    #[inline]
    pub(crate) fn array_page<M: Memory>(&self, row: RowNo, column: u32, exec: &Executor<M>) -> u64 {
        if let Some(gather) = &self.gather {
            return gather.page(row, column);
        }
        let page = exec.geometry().array_page(row, column);
        self.zones.as_ref().map_or(page, |zones| zones.owner(page))
    }
}
