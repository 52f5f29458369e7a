//! Getters of an array.

use stripewise_base::Nanos;
use stripewise_code::Code;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_core::memory::Memory;
use stripewise_exec::{Controller, Metadata};
use stripewise_format::Superblock;

use crate::array::{Array, Placed, each};

impl<M: Memory> Array<M> {
    /// Bytes that the array exports.
    pub fn capacity(&self) -> u64 {
        self.exec().capacity()
    }

    /// The array's geometry.
    pub fn geometry(&self) -> &Geometry {
        self.exec().geometry()
    }

    /// Pages that the array uses of each member.
    pub fn member_pages(&self) -> u32 {
        self.exec().members().pages
    }

    /// The code of its parity, if it has parity.
    pub fn code(&self) -> Option<&Code> {
        self.exec().code()
    }

    /// Arrival time of the earliest request that waits to be issued, in whole or in part, and that needs `member` in any of
    /// its rows, whether issued or not; an update needs the members of its data and parity. The request that is being split
    /// into plans does not count. Also `None` where waiting requests are not tracked: without `dispatch.queue` and PIQ.
    ///
    /// Source: paper 002, section III-D (the array AT); that it means requests in the pending queue is our reading.
    #[inline]
    pub fn earliest_pending(&self, member: MemberNo) -> Option<Nanos> {
        self.exec().earliest_pending(member)
    }

    /// Members that serve and are not known to have all of their content, one bit each: a copy of their superblock was found
    /// damaged, a rebuild could not recover everything, or an older program served the array. A scrub that reads everything
    /// and loses nothing ends the doubt.
    pub fn members_in_doubt(&self) -> u64 {
        let noted = each!(self, array => Metadata::<M>::superblock_of(&array.placement))
            .map_or(0, Superblock::in_doubt);
        (noted | self.exec().doubted()) & !self.exec().failed_members()
    }

    /// Whether more members of a group are lost than parity tolerates: no flush succeeds, and no write of a log. In place,
    /// members that are being rebuilt and still lack content count too: no write to the group succeeds.
    pub fn is_beyond_parity(&self) -> bool {
        let lacks = self.as_in_place().is_some_and(|placement| placement.is_any_beyond(self.exec()));
        lacks || each!(self, array => array.exec.has_lost_data(&array.placement))
    }

    /// Whether `member` serves and lacks content: it is being rebuilt, or a rebuild could not recover all rows of it.
    pub fn is_incomplete(&self, member: MemberNo) -> bool {
        let is_rebuilt = each!(self, array => {
            array.placement.membership().is_some_and(|members| members.is_rebuilt(member))
        });
        is_rebuilt && !self.is_failed(member)
    }

    /// Whether all data can still be read without `member` too: see [`crate::health::ArrayState::tolerates_loss_of`].
    pub fn tolerates_loss_of(&self, member: MemberNo) -> bool {
        self.state().tolerates_loss_of(member)
    }

    /// Consumes the controller and returns its memory.
    pub(crate) fn into_memory(self) -> M {
        match self.0 {
            Placed::InPlace(array) => array.exec.into_memory(),
            Placed::Log(array) => array.exec.into_memory(),
        }
    }

    /// The memory that carries data, for reading.
    pub fn memory_ref(&self) -> &M {
        self.exec().memory()
    }

    /// Whether no request, plan or row lock is left.
    pub fn is_quiet(&self) -> bool {
        let exec = self.exec();
        exec.is_quiet() && self.as_in_place().is_none_or(|placement| placement.resync.is_none())
    }

    /// Whether an update has the lock of `row`: only then may the row's parity differ from the parity of the covered data.
    pub fn is_updating(&self, row: RowNo) -> bool {
        self.exec().is_changing(row)
    }

    /// Whether `row` is written with its parity, so that a chunk of it can be decoded from the others. A row that was never
    /// written is all zeros, and so is its parity, unless rows are encoded in memory first.
    #[inline]
    pub fn is_encoded(&self, row: RowNo) -> bool {
        self.as_in_place().is_none_or(|placement| placement.is_encoded(row))
    }

    /// The row and column that hold the array's `page`. `None` while the page is only in controller memory, and under the
    /// elastic placement, which has no rows.
    pub fn locate(&self, page: u64) -> Option<(RowNo, u32)> {
        self.as_in_place()?.locate(page, self.exec())
    }

    /// Like [`Self::locate`], but as seen by a controller that assembles the array after a loss of power now.
    pub fn locate_durable(&self, page: u64) -> Option<(RowNo, u32)> {
        let placement = self.as_in_place()?;
        match &placement.zones {
            None => placement.locate(page, self.exec()),
            Some(zones) => Some(self.exec().geometry().slot(zones.durable_place(page))),
        }
    }

    /// The host page that `column` (a data column) of `row` holds; `None` where placement leaves it unused.
    pub fn host_page(&self, row: RowNo, column: u32) -> Option<u64> {
        self.as_in_place()?.host_page(row, column, self.exec())
    }

    /// Pages that the array exports.
    pub fn host_pages(&self) -> u64 {
        self.exec().host_pages()
    }

    /// Every row and column that holds `page`, or held it and has not been overwritten since.
    pub fn places_of(&self, page: u64) -> Vec<(RowNo, u32)> {
        let Some(placement) = self.as_in_place() else { return Vec::new() };
        match &placement.zones {
            None => placement.locate(page, self.exec()).into_iter().collect(),
            Some(zones) => zones.places_of(page).map(|place| self.exec().geometry().slot(place)).collect(),
        }
    }
}
