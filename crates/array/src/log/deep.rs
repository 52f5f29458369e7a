//! Deep stripes: as many rows as a group has members, with parity in the last two rows of every member (X-Code).
//!
//! A stripe takes consecutive slots, so its rows follow each other on the members, and each member has one chunk in each row.
//! The column of a chunk is its place: `row * width + member`, counted from the member of the first slot; the last two rows
//! have parity of the rising and of the falling diagonals. A shorter stripe has fewer rows of data: its parity follows its
//! last row, and what it lacks counts as zeros. Neither data that it lacks nor parity of diagonals without data is stored.
//!
//! A stripe that is written while members are missing has no data on them, not even in its first slot. The parity that
//! belongs there is lost from the start, and is rebuilt with the member: such a stripe tolerates as many more losses as the
//! array does.
//!
//! Source: Xu and Bruck, IEEE Transactions on Information Theory 45(1), 1999 (the code); how a log writes it is ours.

use stripewise_code::Code;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;

use crate::log::append::Chunks;
use crate::log::contents::Content;
use crate::log::{Log, Open, Role};

impl Log {
    /// See [`Log::columns_of`].
    pub(crate) fn columns_of_deep(&self, (first, end): (u64, u64), mut found: impl FnMut(u32, u64)) {
        for slot in first..end {
            let place = (slot - first) as u32;
            match self.directory.role(slot) {
                Role::Data => found(place, slot),
                Role::Parity(number) => {
                    found(self.data + u32::from(number) * self.width + place % self.width, slot);
                }
                Role::Skipped | Role::Vacant | Role::Copy => {}
            }
        }
    }

    /// Gives the columns of the stripe of `plan` the next slots. Returns the number of parity chunks.
    pub(crate) fn lay_deep<M: Memory>(
        &mut self,
        plan: PlanId,
        &Chunks { stream, at, count, stride }: &Chunks,
        open: &mut Open,
        exec: &mut Executor<M>,
    ) -> u32 {
        let first = open.next;
        exec.set_row(plan, RowNo::new(first));
        let mut place = self.buffer.first(stream);
        // The stream of a plan is that of its first column, even if that column has no chunk.
        self.set_place(plan, 0, place);
        let (mut column, mut data, mut left) = (0, 0u64, count);
        // Whole rows: what the last one lacks is skipped.
        while left > 0 || column % self.width != 0 {
            let slot = first + u64::from(column);
            let is_failed = self.is_on_failed(slot, exec) && !exec.has_bug(Bug::FailedSlotUsed);
            if is_failed && column == 0 {
                self.directory.skip_first(slot);
            } else if is_failed || left == 0 {
                self.directory.skip(slot);
            } else {
                let write_seq = self.write_seq_of(place);
                let (chunk, next) = self.take_chunk(plan, column, place, stride, exec);
                place = next;
                self.directory.put_data(slot, chunk, column == 0);
                self.note_content(at, slot, Content { chunk, write_seq, checksum: None });
                self.homes_mut(plan)[column as usize] = slot;
                data |= 1 << column;
                left -= 1;
            }
            column += 1;
        }
        let parity = exec.code().map_or(0, |code| code.parities_of(data));
        for number in 0..2 * self.width {
            let mut slot = first + u64::from(column + number);
            if number >= self.width && exec.has_bug(Bug::DiagonalShifted) {
                slot = first + u64::from(column + self.width + (number + 1) % self.width);
            }
            let column = self.data + number;
            if parity >> column & 1 == 0 {
                self.directory.skip(slot);
            } else {
                self.directory.put_parity(slot, (number / self.width) as u8, false);
                self.homes_mut(plan)[column as usize] = slot;
            }
        }
        open.next = first + u64::from(column + 2 * self.width);
        exec.want(plan, data);
        parity.count_ones()
    }

    /// Treats the first `end` chunks as written, in consecutive stripes.
    pub(crate) fn assume_deep(&mut self, end: u64, code: Option<&Code>) {
        let (columns, width) = (u64::from(self.columns), u64::from(self.width));
        let mut chunk = 0;
        while chunk < end {
            let Some(segment) = self.segments.open() else { return };
            let start = u64::from(segment) * self.segment_slots();
            let mut slot = start;
            while slot + columns <= start + self.segment_slots() && chunk < end {
                let count = (end - chunk).min(self.data.into());
                let rows = count.div_ceil(width);
                for place in 0..rows * width {
                    if place >= count {
                        self.directory.skip(slot + place);
                        continue;
                    }
                    self.directory.put_data(slot + place, chunk + place, place == 0);
                    self.set_slot(chunk + place, slot + place);
                    self.segments.validate(segment);
                }
                let parity = code.map_or(0, |code| code.parities_of(u64::MAX >> (64 - count)));
                for number in 0..2 * width {
                    let at = slot + rows * width + number;
                    if parity >> (u64::from(self.data) + number) & 1 == 0 {
                        self.directory.skip(at);
                    } else {
                        self.directory.put_parity(at, (number / width) as u8, false);
                    }
                }
                chunk += count;
                slot += (rows + 2) * width;
            }
            self.segments.close(segment);
        }
    }

    /// Whether the `wanted` columns of a stripe cannot be decoded without those in `lost`.
    pub(crate) fn is_beyond<M: Memory>(&self, lost: u64, wanted: u64, exec: &Executor<M>) -> bool {
        if self.depth == 1 {
            return lost.count_ones() > exec.geometry().parity();
        }
        lost != 0 && exec.code().is_none_or(|code| code.sources(lost, wanted & lost).is_none())
    }

    /// The columns of a deep stripe, stored or not, from which the `wanted` ones of those in `lost` are decoded.
    pub(crate) fn deep_sources<M: Memory>(&self, lost: u64, wanted: u64, exec: &Executor<M>) -> u64 {
        exec.code().and_then(|code| code.sources(lost, wanted & lost)).unwrap_or(0)
    }
}
