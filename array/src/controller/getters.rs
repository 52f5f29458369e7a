//! Getters of the controller.

use stripewise_base::Nanos;
use stripewise_code::Code;

use super::Array;
use super::zones::Internal;
use crate::geometry::{Geometry, RowCursor};
use crate::loads::Loads;
use crate::memory::Memory;
use crate::scheme::Scheme;

impl<M: Memory> Array<M> {
    /// Bytes that the array exports.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The array's geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Number of members of the array, including those of a log.
    pub fn members(&self) -> u32 {
        self.members.count
    }

    /// Pages that the array uses of each member.
    pub fn member_pages(&self) -> u32 {
        self.members.pages
    }

    /// The code of its parity, if it has parity.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// The scheme that the array runs.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Operations queued and in flight on each member.
    #[inline]
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Arrival time of the earliest request that waits to be issued, in whole or in part, and that needs `member` in any of
    /// its rows, whether issued or not; an update needs the members of its data and parity. The request that is being split
    /// into plans does not count. Also `None` where waiting requests are not tracked: without `dispatch.queue` and PIQ.
    ///
    /// Source: paper 002, section III-D (the array AT); that it means requests in the pending queue is our reading.
    #[inline]
    pub fn earliest_pending(&self, member: u16) -> Option<Nanos> {
        let id = self.earliest.as_ref()?.of(member, self.splitting)?;
        Some(self.requests[id as usize].host.arrival)
    }

    /// Whether `member` has failed.
    pub fn is_failed(&self, member: u16) -> bool {
        self.failed[member as usize]
    }

    /// Whether all data can still be read without `member` too: whether the number of missing members of its group stays
    /// within what its parity tolerates. A member that is being rebuilt counts as missing.
    pub fn tolerates_loss_of(&self, member: u16) -> bool {
        let rebuilt = self.rebuilding().map(|(member, ..)| u32::from(member));
        let is_missing = |&other: &u32| {
            other == u32::from(member) || self.failed[other as usize] || rebuilt == Some(other)
        };
        let group = self.geometry.group_of(member.into());
        self.geometry.group(group).filter(is_missing).count() <= self.geometry.parity() as usize
    }

    /// Marks `member` as absent: the array is assembled without it.
    pub(crate) fn take_out(&mut self, member: u16) {
        self.failed[member as usize] = true;
        self.any_failed = true;
    }

    /// Makes the array read-only: nothing is written to members from now on.
    pub(crate) fn only_read(&mut self) {
        self.read_only = true;
    }

    /// The log, to be filled with the content found on the members.
    pub(crate) fn log_to_recover(&mut self) -> &mut crate::placement::elastic::Elastic {
        self.elastic.as_mut().expect("only asked for under the elastic placement")
    }

    /// Consumes the controller and returns its memory.
    pub(crate) fn into_memory(self) -> M {
        self.memory
    }

    /// The log, if there is one.
    pub(crate) fn durable_log(&self) -> Option<&crate::placement::elastic::Elastic> {
        self.elastic.as_ref()
    }

    /// The checksum of a page in place; `None` without a table of checksums.
    pub(crate) fn checksum_in_place(&self, member: u16, page: u32) -> Option<u32> {
        let journal = self.journal.as_ref()?;
        let (group, position) = self.geometry.position_of(member.into());
        Some(journal.table.get(group, page - journal.layout.data.first, position))
    }

    /// The memory that carries data, mutable.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    /// The memory that carries data, for reading.
    pub fn memory_ref(&self) -> &M {
        &self.memory
    }

    /// Whether no request, plan or row lock is left.
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty()
            && self.resync.is_none()
            && self.piq.as_ref().is_none_or(|piq| piq.waiting() == 0)
            && self.buffered.is_empty()
            && self.internal == Internal::Idle
            && self.woken.is_empty()
            && self.row_locks.len() == 0
            && (0..self.members.count as usize).all(|member| self.loads.total(member) == 0)
    }

    /// Whether an update has the lock of `row`: only then may the row's parity differ from the parity of the covered data.
    pub fn is_updating(&self, row: u64) -> bool {
        self.row_locks.is_exclusive(row)
    }

    /// Whether `row` is written with its parity, so that a chunk of it can be decoded from the others. A row that was never
    /// written is all zeros, and so is its parity, unless rows are encoded in memory first.
    #[inline]
    pub fn is_encoded(&self, row: u64) -> bool {
        self.encode.as_ref().is_none_or(|encode| encode.is_encoded(row))
    }

    /// The row and column that hold the array's `page`. `None` while the page is only in controller memory, and under the
    /// elastic placement, which has no rows.
    pub fn locate(&self, page: u64) -> Option<(u64, u32)> {
        if self.elastic.is_some() {
            return None;
        }
        if let Some(zones) = &self.zones {
            return Some(self.geometry.slot(zones.place(page)));
        }
        match &self.gather {
            None => {
                let piece = RowCursor::new(page, 1).next(&self.geometry)?;
                let is_begun = self.encode.as_ref().is_none_or(|encode| encode.is_begun(piece.row));
                is_begun.then_some((piece.row, piece.first))
            }
            Some(gather) => gather.slot(page),
        }
    }

    /// Like [`Self::locate`], but as seen by a controller that assembles the array after a loss of power now.
    pub fn locate_durable(&self, page: u64) -> Option<(u64, u32)> {
        match &self.zones {
            None => self.locate(page),
            Some(zones) => Some(self.geometry.slot(zones.durable_place(page))),
        }
    }

    /// The host page that `column` (a data column) of `row` holds; `None` where placement leaves it unused.
    pub fn host_page(&self, row: u64, column: u32) -> Option<u64> {
        let page = self.array_page(row, column);
        (page < self.host_pages() && self.locate(page) == Some((row, column))).then_some(page)
    }

    /// Pages that the array exports.
    pub fn host_pages(&self) -> u64 {
        self.capacity / u64::from(self.members.page_bytes)
    }

    /// Every row and column that holds `page`, or held it and has not been overwritten since.
    pub fn places_of(&self, page: u64) -> Vec<(u64, u32)> {
        match &self.zones {
            None => self.locate(page).into_iter().collect(),
            Some(zones) => zones.places_of(page).map(|place| self.geometry.slot(place)).collect(),
        }
    }

    /// The members of the chunk at `byte` and of its row's parity, and the page number that both have in common. `None` beyond
    /// the array's end, while the chunk is only in controller memory, and under the elastic placement.
    pub fn homes(&self, byte: u64) -> Option<(u16, Option<u16>, u32)> {
        if byte >= self.capacity {
            return None;
        }
        let (row, column) = self.locate(self.page_of(byte))?;
        let place = self.geometry.place(row);
        let parity = (self.geometry.parity() > 0).then(|| self.geometry.member(place, self.geometry.data));
        Some((self.geometry.member(place, column), parity, place.page))
    }
}
