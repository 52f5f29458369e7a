//! A planted bug: the last stripe of the log, which a flush closed short, takes one more chunk. Its parity and the summary of
//! its batch are rewritten in place. This is a plausible mistake for an author who forgets that parity is never rewritten, as
//! it saves the parity of a stripe; everything else is done with due care.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::driver::Driver;

use crate::log::Log;
use crate::log::addresses::NOWHERE;
use crate::log::contents::Content;
use crate::log::durable::{Batch, Phase};
use crate::log::job::Append;

/// The last stripe that was written with fewer chunks than it could have.
#[derive(Debug)]
pub(crate) struct Short {
    first: u64,
    end: u64,
    /// Number of its data chunks.
    data: u32,
    /// The slots of its parity, and the content of the parity.
    parity: Vec<(u64, Vec<u8>)>,
    /// Checkpoints written before it: a stripe that one of them names stays as it is.
    checkpoint: u64,
    /// Its batch, once it is on the members.
    batch: Option<Batch>,
}

impl Log {
    /// The parity of `plan` was computed from the chunks that it writes: the parity of an extended stripe also takes over the
    /// old parity. A short stripe is remembered.
    pub(crate) fn note_short<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if !exec.has_bug(Bug::ShortStripeExtended) || !self.is_kept() {
            return;
        }
        let (row, wanted) = (exec.plan(plan).first_slot(), exec.plan(plan).wanted);
        // A stripe is written with its first chunk; an extension has none.
        let before = self.durable_mut().short.take().filter(|_| wanted & 1 == 0);
        let parity = exec.geometry().parity_columns();
        for (column, (_, old)) in columns(parity).zip(before.iter().flat_map(|short| &short.parity)) {
            let page = exec.buffer(plan, column, Version::New);
            exec.memory_mut().bytes_mut(page).iter_mut().zip(old).for_each(|(into, old)| *into ^= old);
        }
        let data = before.map_or(0, |short| short.data) + wanted.count_ones();
        if data == exec.geometry().data {
            return;
        }
        let (mut pages, mut end) = (Vec::new(), row);
        for column in columns(self.present(plan)) {
            let slot = self.homes(plan)[column as usize];
            end = end.max(slot + 1);
            if parity >> column & 1 != 0 {
                let page = exec.buffer(plan, column, Version::New);
                pages.push((slot, exec.memory().bytes(page).to_vec()));
            }
        }
        let durable = self.durable_mut();
        let checkpoint = durable.checkpoint;
        durable.short = Some(Short { first: row, end, data, parity: pages, checkpoint, batch: None });
    }

    /// The batch that begins at `first` is on the members: remembers it with the short stripe at its end.
    pub(crate) fn keep_short_batch(&mut self, first: u64) {
        let durable = self.durable_mut();
        let Some(nth) = durable.batches.iter().position(|batch| batch.first == first) else { return };
        if let Some(short) = durable.short.as_mut().filter(|short| short.end == durable.batches[nth].end) {
            short.batch = Some(durable.batches.remove(nth));
        }
    }

    /// Extends the short stripe before it with the next chunk of `stream`, if a flush has covered the stripe. Returns false if
    /// not.
    pub(crate) fn extend_short<M: Memory, D: Driver<M>>(
        &mut self,
        stream: usize,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let at = self.host_of(stream);
        let Some(mut open) = self.open[at].filter(|_| self.is_kept() && !exec.is_any_failed()) else {
            return false;
        };
        let width = u64::from(exec.geometry().columns);
        let durable = self.durable_mut();
        let Some(short) = &mut durable.short else { return false };
        let is_last = short.end == open.next && short.end < short.first + width;
        let is_calm = durable.sync.phase <= Phase::Drain && durable.checkpoint == short.checkpoint;
        let last = durable.next_batch - 1;
        let room = u64::from(durable.room);
        let batch = short.batch.take_if(|batch| {
            let is_newest = batch.number == Some(last) && durable.horizon == last;
            is_last && is_calm && is_newest && batch.tombstones.is_empty() && batch.end - batch.first < room
        });
        let Some(mut batch) = batch else { return false };
        let (first, column, parity) = (short.first, short.data, short.parity.clone());
        // The batch is open again, and not durable as a whole.
        (durable.next_batch, durable.horizon) = (last, last - 1);
        durable.open[at] = Some(batch.first);
        (batch.number, batch.is_closing) = (None, false);
        durable.batches.push(batch);
        let plan = self.take_plan(first, Append, exec);
        let place = self.buffer.first(stream);
        let write_seq = self.write_seq_of(place);
        let (chunk, _) = self.take_chunk(plan, column, place, 1, exec);
        let (slot, segment) = (open.next, open.segment);
        open.next += 1;
        // The stream of a plan is that of its first column.
        self.set_place(plan, 0, place);
        self.homes_mut(plan).fill(NOWHERE);
        self.homes_mut(plan)[column as usize] = slot;
        for (nth, (slot, _)) in (exec.geometry().data..).zip(parity) {
            self.homes_mut(plan)[nth as usize] = slot;
        }
        exec.want(plan, 1 << column);
        self.directory.put_data(slot, chunk, false);
        // The summary is in flight again, too.
        self.segments.write_begun(segment);
        self.segments.write_begun(segment);
        self.open[at] = Some(open);
        self.in_flight += 1;
        if open.next == open.end {
            self.segments.close(segment);
            self.open[at] = None;
        }
        self.note_content(at, slot, Content { chunk, write_seq, checksum: None });
        self.extend_batch(at, &open, exec);
        self.take_triggers(plan, stream, 1, exec);
        exec.begin(plan, self, driver);
        true
    }
}
