//! Audit of the content of members: compares it with the model, independently of the controller.

use std::collections::BTreeMap;
use stripewise_array::RowNo;

use stripewise_array::cache::CachePolicy;
use stripewise_array::{Acknowledge, Array, Controller, MemberNo, PageMemory};
use stripewise_flash::Flash;

use crate::media::{Fault, PageMedia};
use crate::model::{Model, Update};
use crate::stamp::{Found, SECTOR};

/// Rows and parity chunks with an unreadable delta, and the last event at which it was unreadable.
pub(crate) type Unlogged = BTreeMap<(u64, u32), u64>;

/// An array and the content of its members.
pub(crate) struct Audit<'a> {
    /// The controller. The audit asks it only for places, losses and current updates.
    pub array: &'a Array<PageMemory>,
    /// The members.
    pub flash: &'a Flash<PageMedia>,
    /// The expected content.
    pub model: &'a Model,
    /// Deltas that could not be read.
    pub unlogged: &'a Unlogged,
    /// The update that was just acknowledged was the only one: its rows have final parity, even if their locks are
    /// still held.
    pub is_alone: bool,
}

/// Content of a page on the members.
enum Content {
    /// The page was read, or decoded.
    Bytes(Vec<u8>),
    /// The row has lost more chunks than the code tolerates.
    Lost,
    /// The page cannot be decoded while an update of its row is in flight.
    Unsettled,
}

/// The columns of a row in the order of their code, and the mask of those that were decoded.
struct Covered {
    row: Vec<Vec<u8>>,
    lost: u64,
    indices: Vec<u32>,
}

impl Covered {
    fn index(&self, column: u32) -> usize {
        self.indices[column as usize] as usize
    }
}

impl Audit<'_> {
    /// Whether an acknowledged write has all its parity: the write waits for its parity, and no parity is deferred.
    pub(crate) fn waits_for_parity(&self) -> bool {
        let scheme = self.array.scheme();
        let window = scheme.parity.window.slots(self.array.geometry().members);
        window <= 1 && scheme.parity.acknowledge == Acknowledge::AfterParity
    }

    /// The version of a column that parity covers, if available: an old version while the row's parity is deferred.
    /// If the write was the only one, only the current version is valid.
    fn covered(&self, row: RowNo, column: u32) -> Option<Vec<u8>> {
        if self.array.covered_in_cache(row) >> column & 1 != 0 {
            return Some(self.cached(row, column).0.to_vec());
        }
        if column >= self.array.geometry().data {
            return self.parity(row, column);
        }
        if self.array.blank_columns(row) >> column & 1 != 0 {
            return Some(vec![0; self.flash.media().page_bytes()]);
        }
        if self.is_alone {
            return self.read(row, column).map(<[u8]>::to_vec);
        }
        if let Some(page) = self.array.covered_content(row, column) {
            return Some(self.array.memory_ref().page(page).to_vec());
        }
        let geometry = self.array.geometry();
        let place = geometry.place(row);
        let member = geometry.member(place, column);
        if self.array.is_failed(member) {
            return None;
        }
        let physical = self.flash.lookup_old(u32::from(member.number()), place.page);
        self.flash.media().page(u32::from(member.number()), physical).map(<[u8]>::to_vec)
    }

    /// A parity column with all its deltas applied, if all deltas can be read.
    fn parity(&self, row: RowNo, column: u32) -> Option<Vec<u8>> {
        if let Some(page) = self.array.kept_parity(row, column) {
            return Some(self.array.memory_ref().page(page).to_vec());
        }
        let mut content = self.read(row, column)?.to_vec();
        let Some(member) = self.array.parity_log_member(column - self.array.geometry().data) else {
            return Some(content);
        };
        for page in self.array.delta_pages(row) {
            if self.array.is_failed(member) {
                return None;
            }
            let physical = self.flash.lookup(u32::from(member.number()), page);
            let delta = self.flash.media().page(u32::from(member.number()), physical)?;
            content.iter_mut().zip(delta).for_each(|(byte, delta)| *byte ^= delta);
        }
        Some(content)
    }

    /// The page of a column, if its member is alive and the page can be read.
    fn read(&self, row: RowNo, column: u32) -> Option<&[u8]> {
        let geometry = self.array.geometry();
        let place = geometry.place(row);
        let member = geometry.member(place, column);
        if self.array.is_failed(member) {
            return None;
        }
        let physical = self.flash.lookup(u32::from(member.number()), place.page);
        self.flash.media().page(u32::from(member.number()), physical)
    }

    /// Whether the row's parity must be correct.
    fn is_settled(&self, row: RowNo) -> bool {
        // A background commit is not counted among the requests in flight.
        (self.is_alone && !self.array.is_committing(row)) || !self.array.is_updating(row)
    }

    fn content(&self, row: RowNo, column: u32) -> Content {
        if let Some(bytes) = self.read(row, column) {
            return Content::Bytes(bytes.to_vec());
        }
        let geometry = self.array.geometry();
        if geometry.parity() == 0 {
            return Content::Lost;
        }
        // Data with deferred parity are in controller memory if they are nowhere else.
        if !self.is_settled(row) || self.array.late_columns(row) >> column & 1 != 0 {
            return Content::Unsettled;
        }
        if self.array.is_stale(row) {
            return Content::Lost;
        }
        match self.complete(row) {
            Some(content) => Content::Bytes(content.row[content.index(column)].clone()),
            None => Content::Lost,
        }
    }

    /// The versions of a whole row that parity covers, decoded if they cannot be read; `None` if more is lost than
    /// the code tolerates.
    fn complete(&self, row: RowNo) -> Option<Covered> {
        self.complete_without(row, None)
    }

    /// The same, without reading the column `left_out`.
    fn complete_without(&self, row: RowNo, left_out: Option<u32>) -> Option<Covered> {
        let geometry = self.array.geometry();
        let place = geometry.place(row);
        let indices: Vec<u32> =
            (0..geometry.columns).map(|column| geometry.code_index(place, column)).collect();
        let page_bytes = self.flash.media().page_bytes();
        let mut content = Covered { row: vec![Vec::new(); indices.len()], lost: 0, indices };
        for column in 0..geometry.columns {
            let index = content.index(column);
            content.row[index] = match self.covered(row, column).filter(|_| left_out != Some(column)) {
                Some(bytes) => bytes,
                None => {
                    content.lost |= 1 << index;
                    vec![0; page_bytes]
                }
            };
        }
        let mut slices: Vec<&mut [u8]> = content.row.iter_mut().map(Vec::as_mut_slice).collect();
        self.array.code()?.decode(&mut slices, content.lost, content.lost).ok()?;
        Some(content)
    }

    /// Whether data of `row` would be lost with `member`: it is there, and what the other columns decode to is something else.
    pub(crate) fn depends_on(&self, row: RowNo, member: MemberNo) -> bool {
        let geometry = self.array.geometry();
        let place = geometry.place(row);
        let column = (0..geometry.data).find(|&column| geometry.member(place, column) == member);
        column.is_some_and(|column| {
            let decoded = self.complete_without(row, Some(column));
            let found = self.covered(row, column);
            decoded.zip(found).is_some_and(|(decoded, found)| decoded.row[decoded.index(column)] != found)
        })
    }

    /// Promise 7 of the contract, for a row that a flush covers: its parity matches the content of the members.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn durable_row(&self, row: RowNo) -> Result<(), String> {
        let settled = Audit { is_alone: true, ..*self };
        settled.row(row).map_err(|what| format!("a flush left parity late: {what}"))
    }

    /// Promise 6 of the contract, for `row`.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn row(&self, row: RowNo) -> Result<(), String> {
        let geometry = self.array.geometry();
        if geometry.parity() == 0 || !self.is_settled(row) {
            return Ok(());
        }
        if self.array.is_stale(row) {
            return self.lost_too_much(row);
        }
        let (Some(code), Some(content)) = (self.array.code(), self.complete(row)) else { return Ok(()) };
        // Decoding the lost data columns used an equal number of parity columns; the rest must match the row.
        let (data, parity) = content.row.split_at(code.data() as usize);
        let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let mut expected = vec![vec![0; self.flash.media().page_bytes()]; parity.len()];
        let mut targets: Vec<&mut [u8]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
        code.encode(&sources, &mut targets);
        for (nth, (found, expected)) in parity.iter().zip(&expected).enumerate() {
            if let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
                let name = ["P", "Q"][nth];
                return Err(format!("{name} of row {row} is wrong in sector {} of its page", at / SECTOR));
            }
        }
        Ok(())
    }

    /// Whether a delta of a parity column was unreadable at any time, or lies on a lost log member.
    fn was_unlogged(&self, row: RowNo, column: u32) -> bool {
        let Some(parity) = column.checked_sub(self.array.geometry().data) else { return false };
        let is_lost = |member| self.array.is_failed(member);
        self.unlogged.contains_key(&(row.number(), parity))
            || self.array.parity_log_member(parity).is_some_and(is_lost)
    }

    /// Checks that a row marked as lost has lost more chunks than the code tolerates.
    fn lost_too_much(&self, row: RowNo) -> Result<(), String> {
        let geometry = self.array.geometry();
        let place = geometry.place(row);
        let faults = self.flash.media().log();
        let was_lost = |&column: &u32| {
            let member = geometry.member(place, column);
            let had_fault = |fault: &Fault| (fault.member, fault.page) == (member, place.page);
            self.array.is_failed(member) || faults.iter().any(had_fault) || self.was_unlogged(row, column)
        };
        if (0..geometry.columns).filter(was_lost).count() > geometry.parity() as usize {
            return Ok(());
        }
        Err(format!("row {row} was recorded as lost though it never lost more than the code tolerates"))
    }

    /// Whether the members hold the array's `page` in a version at least as new as the `floor` of each of its
    /// sectors: promises 6 and 7. A page that only controller memory holds is no violation unless it `must_be_there`.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn page(
        &self,
        page: u64,
        must_be_there: bool,
        floor: impl Fn(u64) -> Update,
    ) -> Result<(), String> {
        let sectors_per_page = (self.flash.media().page_bytes() / SECTOR) as u64;
        let first = page * sectors_per_page;
        let at = if must_be_there { self.array.locate_durable(page) } else { self.array.locate(page) };
        let Some((row, column)) = at else {
            let promised = (first..first + sectors_per_page).find(|&sector| floor(sector) > 0);
            return match promised {
                Some(sector) if must_be_there => {
                    Err(format!("sector {sector} is in controller memory only; promised: {}", floor(sector)))
                }
                _ => Ok(()),
            };
        };
        // A gathered row may be in flight from controller memory to the members.
        if !must_be_there && self.gathers() && !self.is_settled(row) {
            return Ok(());
        }
        // The same applies to content of a write cache. Reads report content that was lost on that path.
        if (!must_be_there && self.array.is_destaging(row)) || self.has_lost(row, column) {
            return Ok(());
        }
        let (cached, sectors) = if must_be_there { (&[][..], 0) } else { self.cached(row, column) };
        let check = |index: usize, bytes: &[u8], place: &str| {
            let sector = first + index as u64;
            self.model
                .check(sector, Found::of(bytes), floor(sector))
                .map_err(|what| format!("{place} (row {row}, column {column}), {what}"))
        };
        for (index, bytes) in cached.chunks_exact(SECTOR).enumerate() {
            if sectors >> index & 1 != 0 {
                check(index, bytes, "in the write cache")?;
            }
        }
        let Content::Bytes(bytes) = self.content(row, column) else { return Ok(()) };
        for (index, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            if sectors >> index & 1 == 0 {
                check(index, bytes, "on the members")?;
            }
        }
        Ok(())
    }

    /// Whether every column of `row` can be read on a live member, and the columns are consistent.
    pub(crate) fn is_whole(&self, row: RowNo) -> bool {
        let columns = self.array.geometry().columns;
        let alone = Audit { is_alone: true, ..*self };
        !self.array.is_stale(row)
            && (0..columns).all(|column| self.read(row, column).is_some())
            && alone.row(row).is_ok()
    }

    /// The content of the sectors of the array's `page`, and whether a write cache holds them; `None` if the content
    /// cannot be determined now.
    pub(crate) fn found(&self, page: u64) -> Option<Vec<(Found, bool)>> {
        let (row, column) = self.array.locate(page)?;
        if !self.is_settled(row) || self.has_lost(row, column) {
            return None;
        }
        let Content::Bytes(mut bytes) = self.content(row, column) else { return None };
        let (cached, sectors) = self.cached(row, column);
        for (index, cached) in cached.chunks_exact(SECTOR).enumerate() {
            if sectors >> index & 1 != 0 {
                bytes[index * SECTOR..(index + 1) * SECTOR].copy_from_slice(cached);
            }
        }
        let is_cached = |index: usize| sectors >> index & 1 != 0;
        let found = bytes.chunks_exact(SECTOR).map(Found::of);
        Some(found.enumerate().map(|(index, found)| (found, is_cached(index))).collect())
    }

    /// The content of a chunk in a write cache, and a mask of its sectors.
    fn cached(&self, row: RowNo, column: u32) -> (&[u8], u64) {
        let cached = self.array.cached_content(row, column);
        cached.map_or((&[], 0), |(page, sectors)| (self.array.memory_ref().page(page), sectors))
    }

    /// Whether acknowledged content of a chunk was lost between the write cache and its member.
    pub(crate) fn has_lost(&self, row: RowNo, column: u32) -> bool {
        self.array.lost_content().any(|lost| lost == (row, column))
    }

    /// Whether writes are acknowledged from a write cache.
    pub(crate) fn caches(&self) -> bool {
        self.array.scheme().cache.policy != CachePolicy::None
    }

    /// Whether first writes wait in controller memory.
    pub(crate) fn gathers(&self) -> bool {
        self.array.scheme().placement.first_writes != stripewise_array::placement::FirstWrites::InPlace
    }

    /// Whether host pages move between rows.
    pub(crate) fn moves(&self) -> bool {
        self.array.scheme().placement.facts().has_zones
    }

    /// Checks every row, every page, and the device's own state.
    ///
    /// # Errors
    /// The first violation.
    pub(crate) fn everything(&self) -> Result<(), String> {
        let geometry = self.array.geometry();
        (0..self.array.host_pages())
            .try_for_each(|page| self.page(page, false, |sector| self.model.floor(sector)))?;
        (0..geometry.rows()).try_for_each(|row| self.row(RowNo::new(row)))?;
        self.array.lost_content().try_for_each(|(row, _)| self.lost_too_much(row))?;
        self.array.audit_zones().map_err(|what| format!("the map of zones disagrees with itself: {what}"))?;
        self.flash.audit().map_err(|what| format!("the flash disagrees with itself: {what}"))
    }

    /// Whether some group has lost more members than the code tolerates, so that a flush may find no space for the
    /// content of controller memory.
    pub(crate) fn is_broken(&self) -> bool {
        let geometry = self.array.geometry();
        let lost =
            |group: u32| geometry.group(group).filter(|&member| self.array.is_failed(member)).count() as u32;
        (0..geometry.groups).any(|group| lost(group) > geometry.tolerance())
    }

    /// Whether a request to these pages may fail, given the faults that happened and the parity columns that could
    /// not be determined meanwhile. It may fail if a row has lost more than its code tolerates and, for a read or
    /// without parity, one of its pages is among the lost ones.
    pub(crate) fn may_fail(
        &self,
        pages: impl Iterator<Item = u64>,
        is_read: bool,
        faults: &[Fault],
        parity_lost: impl Fn(RowNo) -> u64,
        was_lost: impl Fn(RowNo, u32) -> bool,
    ) -> bool {
        let geometry = self.array.geometry();
        pages.flat_map(|page| self.array.places_of(page)).any(|(row, column)| {
            let place = geometry.place(row);
            let is_lost = |column: u32| {
                let member = geometry.member(place, column);
                let had_fault = |fault: &Fault| (fault.member, fault.page) == (member, place.page);
                parity_lost(row) >> column & 1 != 0
                    || self.array.is_failed(member)
                    || faults.iter().any(had_fault)
            };
            let lost = (0..geometry.columns).filter(|&column| is_lost(column)).count() as u32;
            let stands_alone = is_read || geometry.parity() == 0;
            was_lost(row, column) || lost > geometry.parity() && (!stands_alone || is_lost(column))
        })
    }
}
