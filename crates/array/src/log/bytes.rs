//! The bytes of stripes of the log. Columns that a short stripe does not have count as zeros.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::format::crc32c;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::plan::{Path, Plan};
use stripewise_exec::Executor;

use crate::log::Log;
use crate::log::job::{PlanState, Trust};

impl Log {
    /// Index of the buffer for new content of a column; the buffers of old content follow all of these.
    fn new_index<M: Memory>(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> usize {
        (plan.number() * exec.buffers_each + column) as usize
    }

    fn old_index<M: Memory>(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> usize {
        self.new_index(plan, exec.geometry.columns + column, exec)
    }

    /// The buffer at `index`; takes one from the memory if there is none yet.
    fn buffer_at<M: Memory>(&mut self, index: usize, exec: &mut Executor<M>) -> PageId {
        if exec.buffers[index] == NONE {
            exec.buffers[index] = exec.memory.take();
        }
        exec.buffers[index]
    }

    /// Computes the parity of a stripe to be written.
    pub(crate) fn encode_stripe<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let data = exec.geometry.data;
        let wanted = exec.plans[plan].wanted;
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in 0..exec.geometry.columns {
            let is_absent = column < data && wanted >> column & 1 == 0;
            let index = if is_absent {
                self.old_index(plan, column, exec)
            } else {
                self.new_index(plan, column, exec)
            };
            row[column as usize] = self.buffer_at(index, exec);
            if is_absent {
                exec.memory.zero(row[column as usize]);
            }
        }
        if let Some(code) = &exec.code {
            exec.memory.encode(code, &row[..exec.geometry.columns as usize]);
        }
        #[cfg(debug_assertions)]
        self.note_short(plan, exec);
        self.note_checksums(plan, exec);
    }

    /// The buffer of new content of a column.
    pub(crate) fn new_page<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        exec: &mut Executor<M>,
    ) -> PageId {
        let index = self.new_index(plan, column, exec);
        self.buffer_at(index, exec)
    }

    /// Decodes the columns that `plan` needs and could not read from the rest of the stripe.
    pub(crate) fn decode_stripe<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { gave_up, missing, wanted, .. } = exec.plans[plan];
        let PlanState { trust, .. } = self.jobs[plan];
        if trust == Trust::Asks {
            return self.told_by_summary(plan, exec);
        }
        if gave_up {
            return;
        }
        self.decode_slots(plan, missing, exec.geometry.columns, exec);
        if !self.is_right(plan, missing & wanted, exec.geometry.columns, exec) {
            self.jobs[plan].trust = if trust == Trust::Result { Trust::Asks } else { Trust::Nothing };
            exec.plans[plan].build_again = true;
        }
    }

    /// Whether the decoded columns of `mask` have their known checksums. Their buffers begin with the plan's `offset`-th.
    fn is_right<M: Memory>(&self, plan: PlanId, mask: u64, offset: u32, exec: &Executor<M>) -> bool {
        let is_right = |column| {
            let page = exec.buffers[self.new_index(plan, offset + column, exec)];
            let expected = self.column(plan, column).checksum;
            expected.is_none_or(|checksum| crc32c(exec.memory.bytes(page)) == checksum)
        };
        exec.has_bug(Bug::ChecksumIgnored) || columns(mask).all(is_right)
    }

    /// Like [`Self::decode_stripe`], for the columns that the second side of a hedged read replaces, in the buffers that it
    /// has read into. Returns whether the result is right.
    pub(crate) fn decode_stripe_again<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let Path { hedged, without, .. } = exec.plans[plan].path;
        self.decode_slots(plan, without, 0, exec);
        self.is_right(plan, hedged, 0, exec)
    }

    /// Decodes the wanted columns in `missing`. Their buffers begin with the plan's `offset`-th.
    fn decode_slots<M: Memory>(&mut self, plan: PlanId, missing: u64, offset: u32, exec: &mut Executor<M>) {
        let present = self.present(plan);
        let wanted = missing & exec.plans[plan].wanted;
        let (absent, sources) = if self.depth > 1 {
            let sources = self.deep_sources(missing, wanted, exec);
            (sources & !present, sources)
        } else {
            let absent = exec.geometry.data_columns() & !present;
            (absent, self.stripe_sources(present, missing, wanted, exec) | absent)
        };
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in columns(sources | wanted) {
            let index = self.new_index(plan, offset + column, exec);
            row[column as usize] = self.buffer_at(index, exec);
        }
        for column in columns(absent) {
            exec.memory.zero(row[column as usize]);
        }
        let mut lost = exec.geometry.all_columns() & !sources;
        if exec.has_bug(Bug::AbsentTakenForLost) && absent != 0 {
            // As many columns as the code tolerates.
            lost = wanted | 1 << absent.trailing_zeros();
        }
        if let Some(code) = &exec.code {
            exec.memory.decode(code, &row[..exec.geometry.columns as usize], lost, wanted);
        }
    }

    /// The columns of a stripe with columns `present` from which those in `lost` are decoded: the remaining data columns, and
    /// as many parity columns as data columns are lost; or, in a deep stripe, the other `wanted` ones and the diagonals of
    /// those that are lost.
    pub(crate) fn stripe_sources<M: Memory>(
        &self,
        present: u64,
        lost: u64,
        wanted: u64,
        exec: &Executor<M>,
    ) -> u64 {
        if self.depth > 1 {
            return (self.deep_sources(lost, wanted, exec) | wanted & !lost) & present;
        }
        let data = exec.geometry.data_columns() & present;
        let needed = (lost & data).count_ones() as usize;
        let parity = columns(exec.geometry.parity_columns() & present & !lost).take(needed);
        parity.fold(data & !lost, |mask, column| mask | 1 << column)
    }

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    pub(crate) fn store_chunks<M: Memory>(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        for column in columns(exec.plans[plan].wanted) {
            let is_again = exec.plans[plan].path.is_second_first;
            let index = if is_again {
                self.new_index(plan, column, exec)
            } else {
                self.old_index(plan, column, exec)
            };
            let page = self.buffer_at(index, exec);
            let chunk = self.column(plan, column).chunk;
            exec.store_host(page, chunk, id);
        }
    }

    /// Serves zeros for a chunk that is not stored.
    pub(crate) fn store_zeros<M: Memory>(&mut self, chunk: u64, id: RequestId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            let zeros = exec.memory.take();
            exec.memory.zero(zeros);
            exec.store_host(zeros, chunk, id);
            exec.memory.give(zeros);
        }
    }

    /// Takes the content that `plan` has read or decoded of a column; [`NONE`] where there are no bytes.
    pub(crate) fn take_content<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        exec: &mut Executor<M>,
    ) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let index = self.old_index(plan, column, exec);
        std::mem::replace(&mut exec.buffers[index], NONE)
    }

    /// Drops the plan's reference to the buffer of a data column that it was to write: the buffer has another owner.
    pub(crate) fn disown_buffer<M: Memory>(&mut self, plan: PlanId, column: u32, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            let index = self.new_index(plan, column, exec);
            exec.buffers[index] = NONE;
        }
    }

    /// A buffer for new content of which hosts write `sectors`. The rest is copied from `before`, or zeros.
    pub(crate) fn new_content<M: Memory>(
        &mut self,
        before: Option<PageId>,
        sectors: u64,
        exec: &mut Executor<M>,
    ) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let page = exec.memory.take();
        match before {
            _ if sectors == exec.whole_page => {}
            Some(before) => exec.memory.copy(page, before, 0, exec.members.page_bytes as usize),
            None => exec.memory.zero(page),
        }
        page
    }
}
