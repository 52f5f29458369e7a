//! The bytes of stripes of the log. Columns that a short stripe does not have count as zeros.

use super::super::{Array, columns};
use crate::bugs::Bug;
use crate::format::crc32c;
use crate::geometry::COLUMNS_MAX;
use crate::ids::NONE;
use crate::memory::{Memory, PageId};
use crate::plan::{Path, Plan, Trust};

impl<M: Memory> Array<M> {
    /// Index of the buffer for new content of a column; the buffers of old content follow all of these.
    fn new_index(&self, plan: u32, column: u32) -> usize {
        (plan * self.buffers_each + column) as usize
    }

    fn old_index(&self, plan: u32, column: u32) -> usize {
        self.new_index(plan, self.geometry.columns + column)
    }

    /// The buffer at `index`; takes one from the memory if there is none yet.
    fn buffer_at(&mut self, index: usize) -> PageId {
        if self.buffers[index] == NONE {
            self.buffers[index] = self.memory.take();
        }
        self.buffers[index]
    }

    /// Computes the parity of a stripe to be written.
    pub(in super::super) fn encode_stripe(&mut self, plan: u32) {
        let data = self.geometry.data;
        let wanted = self.plans[plan as usize].wanted;
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in 0..self.geometry.columns {
            let is_absent = column < data && wanted >> column & 1 == 0;
            let index = if is_absent { self.old_index(plan, column) } else { self.new_index(plan, column) };
            row[column as usize] = self.buffer_at(index);
            if is_absent {
                self.memory.zero(row[column as usize]);
            }
        }
        if let Some(code) = &self.code {
            self.memory.encode(code, &row[..self.geometry.columns as usize]);
        }
        #[cfg(debug_assertions)]
        self.note_short(plan);
        self.note_checksums(plan);
    }

    /// The buffer of new content of a column.
    pub(super) fn new_page(&mut self, plan: u32, column: u32) -> PageId {
        let index = self.new_index(plan, column);
        self.buffer_at(index)
    }

    /// Decodes the columns that `plan` needs and could not read from the rest of the stripe.
    pub(in super::super) fn decode_stripe(&mut self, plan: u32) {
        let Plan { gave_up, missing, wanted, trust, .. } = self.plans[plan as usize];
        if trust == Trust::Asks {
            return self.told_by_summary(plan);
        }
        if gave_up {
            return;
        }
        self.decode_slots(plan, missing, self.geometry.columns);
        if !self.is_right(plan, missing & wanted, self.geometry.columns) {
            let slot = &mut self.plans[plan as usize];
            slot.trust = if trust == Trust::Result { Trust::Asks } else { Trust::Nothing };
            slot.anew = true;
        }
    }

    /// Whether the decoded columns of `mask` have their known checksums. Their buffers begin with the plan's `offset`-th.
    fn is_right(&self, plan: u32, mask: u64, offset: u32) -> bool {
        let is_right = |column| {
            let page = self.buffers[self.new_index(plan, offset + column)];
            let expected = self.elastic().column(plan, column).checksum;
            expected.is_none_or(|checksum| crc32c(self.memory.bytes(page)) == checksum)
        };
        self.has_bug(Bug::ChecksumIgnored) || columns(mask).all(is_right)
    }

    /// Like [`Array::decode_stripe`], for the columns that the second side of a hedged read replaces, in the buffers that it
    /// has read into. Returns whether the result is right.
    pub(in super::super) fn decode_stripe_again(&mut self, plan: u32) -> bool {
        let Path { hedged, without, .. } = self.plans[plan as usize].path;
        self.decode_slots(plan, without, 0);
        self.is_right(plan, hedged, 0)
    }

    /// Decodes the wanted columns in `missing`. Their buffers begin with the plan's `offset`-th.
    fn decode_slots(&mut self, plan: u32, missing: u64, offset: u32) {
        let present = self.present(plan);
        let wanted = missing & self.plans[plan as usize].wanted;
        let absent = self.geometry.data_columns() & !present;
        let sources = self.stripe_sources(present, missing) | absent;
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in columns(sources | wanted) {
            let index = self.new_index(plan, offset + column);
            row[column as usize] = self.buffer_at(index);
        }
        for column in columns(absent) {
            self.memory.zero(row[column as usize]);
        }
        let mut lost = self.geometry.all_columns() & !sources;
        if self.has_bug(Bug::AbsentTakenForLost) && absent != 0 {
            // As many columns as the code tolerates.
            lost = wanted | 1 << absent.trailing_zeros();
        }
        if let Some(code) = &self.code {
            self.memory.decode(code, &row[..self.geometry.columns as usize], lost, wanted);
        }
    }

    /// The columns of a stripe with columns `present` from which those in `lost` are decoded: the remaining data columns, and
    /// as many parity columns as data columns are lost.
    pub(in super::super) fn stripe_sources(&self, present: u64, lost: u64) -> u64 {
        let data = self.geometry.data_columns() & present;
        let needed = (lost & data).count_ones() as usize;
        let parity = columns(self.geometry.parity_columns() & present & !lost).take(needed);
        parity.fold(data & !lost, |mask, column| mask | 1 << column)
    }

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    pub(in super::super) fn store_chunks(&mut self, plan: u32, id: u32) {
        for column in columns(self.plans[plan as usize].wanted) {
            let is_again = self.plans[plan as usize].path.is_second_first;
            let index = if is_again { self.new_index(plan, column) } else { self.old_index(plan, column) };
            let page = self.buffer_at(index);
            let chunk = self.elastic().column(plan, column).chunk;
            self.store_host(page, chunk, id);
        }
    }

    /// Serves zeros for a chunk that is not stored.
    pub(super) fn store_zeros(&mut self, chunk: u64, id: u32) {
        if M::CARRIES_DATA {
            let zeros = self.memory.take();
            self.memory.zero(zeros);
            self.store_host(zeros, chunk, id);
            self.memory.give(zeros);
        }
    }

    /// Takes the content that `plan` has read or decoded of a column; [`NONE`] where there are no bytes.
    pub(super) fn take_content(&mut self, plan: u32, column: u32) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let index = self.old_index(plan, column);
        std::mem::replace(&mut self.buffers[index], NONE)
    }

    /// Drops the plan's reference to the buffer of a data column that it was to write: the buffer has another owner.
    pub(super) fn disown_buffer(&mut self, plan: u32, column: u32) {
        if M::CARRIES_DATA {
            let index = self.new_index(plan, column);
            self.buffers[index] = NONE;
        }
    }

    /// A buffer for new content of which hosts write `sectors`. The rest is copied from `before`, or zeros.
    pub(super) fn new_content(&mut self, before: Option<PageId>, sectors: u64) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let page = self.memory.take();
        match before {
            _ if sectors == self.whole_page => {}
            Some(before) => self.memory.copy(page, before, 0, self.members.page_bytes as usize),
            None => self.memory.zero(page),
        }
        page
    }
}
