//! The bytes of stripes of the log. Columns that a short stripe does not have count as zeros.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::plan::{Path, Plan};
use stripewise_format::crc32c;

use crate::log::Log;
use crate::log::job::{PlanState, Trust};

impl Log {
    /// Computes the parity of a stripe to be written.
    pub(crate) fn encode_stripe<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let data = exec.geometry().data;
        let wanted = exec.plan(plan).wanted;
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in 0..exec.geometry().columns {
            let is_absent = column < data && wanted >> column & 1 == 0;
            let version = if is_absent { Version::Old } else { Version::New };
            row[column as usize] = exec.buffer(plan, column, version);
            if is_absent {
                exec.memory_mut().zero(row[column as usize]);
            }
        }
        exec.encode(&row);
        #[cfg(debug_assertions)]
        self.note_short(plan, exec);
        self.note_checksums(plan, exec);
    }

    /// Decodes the columns that `plan` needs and could not read from the rest of the stripe.
    pub(crate) fn decode_stripe<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { is_abandoned, missing, wanted, .. } = *exec.plan(plan);
        let PlanState { trust, .. } = self.jobs[plan];
        if trust == Trust::Asks {
            return self.contents_from_summary(plan, exec);
        }
        if is_abandoned {
            return;
        }
        self.decode_slots(plan, missing, Version::Old, exec);
        if !self.is_right(plan, missing & wanted, Version::Old, exec) {
            self.jobs[plan].trust = if trust == Trust::Result { Trust::Asks } else { Trust::Nothing };
            exec.build_again(plan);
        }
    }

    /// Whether the decoded columns of `mask` have their known checksums. They are in the buffers of this version.
    fn is_right<M: Memory>(&self, plan: PlanId, mask: u64, version: Version, exec: &Executor<M>) -> bool {
        let is_right = |column| {
            let page = exec.content(plan, column, version);
            let expected = self.column(plan, column).checksum;
            expected
                .is_none_or(|checksum| page.is_some_and(|page| crc32c(exec.memory().bytes(page)) == checksum))
        };
        exec.has_bug(Bug::ChecksumIgnored) || columns(mask).all(is_right)
    }

    /// Like [`Self::decode_stripe`], for the columns that the second side of a hedged read replaces, in the buffers that it
    /// has read into. Returns whether the result is right.
    pub(crate) fn decode_stripe_again<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let Path { hedged, without, .. } = exec.plan(plan).path;
        self.decode_slots(plan, without, Version::New, exec);
        self.is_right(plan, hedged, Version::New, exec)
    }

    /// Decodes the wanted columns in `missing`. They are in the buffers of this version.
    fn decode_slots<M: Memory>(
        &mut self,
        plan: PlanId,
        missing: u64,
        version: Version,
        exec: &mut Executor<M>,
    ) {
        let present = self.present(plan);
        let wanted = missing & exec.plan(plan).wanted;
        let (absent, sources) = if self.depth > 1 {
            let sources = self.deep_sources(missing, wanted, exec);
            (sources & !present, sources)
        } else {
            let absent = exec.geometry().data_columns() & !present;
            (absent, self.stripe_sources(present, missing, wanted, exec) | absent)
        };
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in columns(sources | wanted) {
            row[column as usize] = exec.buffer(plan, column, version);
        }
        for column in columns(absent) {
            exec.memory_mut().zero(row[column as usize]);
        }
        let mut lost = exec.geometry().all_columns() & !sources;
        if exec.has_bug(Bug::AbsentTakenForLost) && absent != 0 {
            // As many columns as the code tolerates.
            lost = wanted | 1 << absent.trailing_zeros();
        }
        exec.decode(&row, lost, wanted);
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
        let data = exec.geometry().data_columns() & present;
        let needed = (lost & data).count_ones() as usize;
        let parity = columns(exec.geometry().parity_columns() & present & !lost).take(needed);
        parity.fold(data & !lost, |mask, column| mask | 1 << column)
    }

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    pub(crate) fn store_chunks<M: Memory>(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        for column in columns(exec.plan(plan).wanted) {
            let is_again = exec.plan(plan).path.is_second_first;
            let version = if is_again { Version::New } else { Version::Old };
            let page = exec.buffer(plan, column, version);
            let chunk = self.column(plan, column).chunk;
            exec.store_host(page, chunk, id);
        }
    }

    /// Serves zeros for a chunk that is not stored.
    pub(crate) fn store_zeros<M: Memory>(&mut self, chunk: u64, id: RequestId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            let zeros = exec.memory_mut().take();
            exec.memory_mut().zero(zeros);
            exec.store_host(zeros, chunk, id);
            exec.memory_mut().give(zeros);
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
        exec.take_buffer(plan, column, Version::Old)
    }

    /// Drops the plan's reference to the buffer of a data column that it was to write: the buffer has another owner.
    pub(crate) fn disown_buffer<M: Memory>(&mut self, plan: PlanId, column: u32, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            exec.take_buffer(plan, column, Version::New);
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
        let page = exec.memory_mut().take();
        match before {
            _ if sectors == exec.whole_page() => {}
            Some(before) => exec.copy_page(page, before),
            None => exec.memory_mut().zero(page),
        }
        page
    }
}
