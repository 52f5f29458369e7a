//! The inverse map and the stripe directory: for each slot the chunk that was written there, and its role in its stripe.
//!
//! A stripe takes consecutive slots, each on a member of its own, and skips slots on members that were missing when it was
//! written. Its first slot is marked, that of a deep stripe even if it is skipped; it ends where the next one begins, at a
//! vacant slot, or with its segment. This takes
//! half a byte a slot, and a decoding read finds a stripe by examining no more slots than there are members.
//!
//! A slot keeps its chunk's address when the chunk is rewritten elsewhere: the forward map determines whether it is still
//! valid. Where summaries on the members have the addresses, memory has none.
//!
//! Source: paper 001, section IV-C (metadata); the directory is our choice.

use super::addresses::Addresses;

/// The role of a slot in its stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The slot was not written.
    Vacant,
    /// A data chunk.
    Data,
    /// The parity chunk with this number: 0 is P, 1 is Q.
    Parity(u8),
    /// Skipped: its member was missing when the stripe was written.
    Skipped,
    /// A copy of a summary of the stripes that follow it.
    Copy,
}

const VACANT: u8 = 0;
const DATA: u8 = 1;
const SKIPPED: u8 = 2;
const PARITY: u8 = 3;
const COPY: u8 = 5;
const KIND: u8 = 7;
/// The mark of the first slot of a stripe.
const FIRST: u8 = 8;

/// For each slot its role, and its chunk unless summaries have it.
#[derive(Debug)]
pub(crate) struct Directory {
    chunks: Option<Addresses>,
    roles: Nibbles,
    segment_slots: u64,
}

impl Directory {
    /// `slots` vacant slots, in segments of `segment_slots`. If `chunks` is given, keeps addresses of chunks, which are below
    /// it.
    pub(crate) fn new(slots: u64, segment_slots: u64, chunks: Option<u64>) -> Self {
        let chunks = chunks.map(|end| Addresses::new(slots, end));
        Self { chunks, roles: Nibbles::new(slots), segment_slots }
    }

    /// Whether the directory has the chunks of slots.
    pub(crate) fn keeps_chunks(&self) -> bool {
        self.chunks.is_some()
    }

    /// The chunk that was last written to `slot`, a data slot; `None` where summaries have it.
    #[inline]
    pub(crate) fn chunk(&self, slot: u64) -> Option<u64> {
        self.chunks.as_ref().map(|chunks| chunks.get(slot))
    }

    /// The role of `slot` in its stripe.
    #[inline]
    pub(crate) fn role(&self, slot: u64) -> Role {
        match self.roles.get(slot) & KIND {
            VACANT => Role::Vacant,
            DATA => Role::Data,
            SKIPPED => Role::Skipped,
            COPY => Role::Copy,
            parity => Role::Parity(parity - PARITY),
        }
    }

    /// Records a data chunk in `slot`.
    #[inline]
    pub(crate) fn put_data(&mut self, slot: u64, chunk: u64, is_first: bool) {
        if let Some(chunks) = &mut self.chunks {
            chunks.set(slot, chunk);
        }
        self.roles.set(slot, DATA | first(is_first));
    }

    /// Records the parity chunk with this number in `slot`.
    #[inline]
    pub(crate) fn put_parity(&mut self, slot: u64, number: u8, is_first: bool) {
        self.roles.set(slot, (PARITY + number) | first(is_first));
    }

    /// Records a copy of a summary in `slot`, the first one of a batch or a later one.
    pub(crate) fn put_copy(&mut self, slot: u64, is_first: bool) {
        self.roles.set(slot, COPY | first(is_first));
    }

    /// Whether a stripe begins at `slot`.
    pub(crate) fn is_first(&self, slot: u64) -> bool {
        self.roles.get(slot) & FIRST != 0
    }

    /// Whether `slot` is a column of a stripe.
    #[inline]
    pub(crate) fn is_in_stripe(&self, slot: u64) -> bool {
        matches!(self.role(slot), Role::Data | Role::Parity(_))
    }

    /// Clears the stripe of `slots`, whose write failed.
    pub(crate) fn clear_stripe(&mut self, slots: (u64, u64)) {
        (slots.0..slots.1).for_each(|slot| self.roles.set(slot, VACANT));
    }

    /// Records that the stripe continues after `slot`.
    pub(crate) fn skip(&mut self, slot: u64) {
        self.roles.set(slot, SKIPPED);
    }

    /// Records that a deep stripe begins at `slot`, whose member was missing.
    pub(crate) fn skip_first(&mut self, slot: u64) {
        self.roles.set(slot, SKIPPED | FIRST);
    }

    /// The slots of the stripe of `slot`, including those that it skips.
    #[inline]
    pub(crate) fn stripe(&self, slot: u64) -> (u64, u64) {
        let (mut start, mut end) = (slot, slot + 1);
        while self.roles.get(start) & FIRST == 0 {
            start -= 1;
        }
        let limit = (slot / self.segment_slots + 1) * self.segment_slots;
        while end < limit && !matches!(self.roles.get(end), VACANT | FIRST..) {
            end += 1;
        }
        (start, end)
    }

    /// The slots from the first copy of the summary of `slot`'s batch on, up to those of the next batch or the end of the
    /// segment.
    pub(crate) fn batch(&self, slot: u64) -> (u64, u64) {
        let start = slot / self.segment_slots * self.segment_slots;
        let limit = start + self.segment_slots;
        let is_first_copy = |&slot: &u64| self.roles.get(slot) == COPY | FIRST;
        let first = (start..=slot).rev().find(is_first_copy).unwrap_or(start);
        (first, (first + 1..limit).find(is_first_copy).unwrap_or(limit))
    }

    /// Like [`Self::batch`], up to the last slot that is written.
    pub(crate) fn written_batch(&self, slot: u64) -> (u64, u64) {
        let (first, end) = self.batch(slot);
        let is_written = |&slot: &u64| self.role(slot) != Role::Vacant;
        (first, (first..end).rev().find(is_written).map_or(first, |last| last + 1))
    }

    /// Clears the segment that begins at `first_slot`.
    pub(crate) fn clear(&mut self, first_slot: u64) {
        self.clear_stripe((first_slot, first_slot + self.segment_slots));
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.as_ref().map_or(0, Addresses::bytes) + self.roles.bytes()
    }
}

/// Numbers of four bits, all 0 at first.
#[derive(Debug)]
struct Nibbles(Vec<u8>);

impl Nibbles {
    fn new(len: u64) -> Self {
        Self(vec![0; len.div_ceil(2) as usize])
    }

    #[inline]
    fn get(&self, index: u64) -> u8 {
        self.0[(index / 2) as usize] >> (index % 2 * 4) & 0xf
    }

    #[inline]
    fn set(&mut self, index: u64, number: u8) {
        let (byte, shift) = (&mut self.0[(index / 2) as usize], index % 2 * 4);
        *byte = *byte & !(0xf << shift) | number << shift;
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

#[inline]
fn first(is_first: bool) -> u8 {
    if is_first { FIRST } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_is_found_from_each_of_its_slots() {
        let mut directory = Directory::new(24, 12, Some(100));
        // Two stripes of two and four slots, the second of which skips one; then one alone in the next segment.
        directory.put_data(0, 7, true);
        directory.put_parity(1, 0, false);
        directory.put_parity(2, 1, true);
        directory.put_parity(3, 0, false);
        directory.skip(4);
        directory.put_data(5, 9, false);
        directory.put_data(12, 8, true);
        for (slots, stripe) in [(0..2, (0, 2)), (2..6, (2, 6)), (12..13, (12, 13))] {
            for slot in slots {
                assert_eq!(directory.stripe(slot), stripe, "slot {slot}");
            }
        }
        assert_eq!((directory.chunk(5), directory.role(5)), (Some(9), Role::Data));
        assert_eq!(
            [2, 3, 4, 6].map(|slot| directory.role(slot)),
            [Role::Parity(1), Role::Parity(0), Role::Skipped, Role::Vacant]
        );
    }

    #[test]
    fn a_stripe_ends_with_its_segment() {
        let mut directory = Directory::new(8, 4, Some(100));
        (0..8).for_each(|slot| directory.put_data(slot, slot, slot % 4 == 0));
        assert_eq!((directory.stripe(3), directory.stripe(4)), ((0, 4), (4, 8)));
        directory.clear(4);
        assert_eq!(directory.role(4), Role::Vacant);
    }

    #[test]
    fn a_slot_takes_five_and_a_half_bytes_at_most_and_half_a_byte_where_summaries_record_its_chunk() {
        let bytes = |chunks| Directory::new(1 << 12, 64, chunks).bytes();
        assert_eq!((bytes(Some(1 << 33)), bytes(Some(1 << 20))), (11 << 11, 9 << 11));
        assert_eq!(bytes(None), 1 << 11);
    }

    #[test]
    fn a_batch_reaches_from_its_first_copy_to_the_next_or_the_end_of_its_segment() {
        let mut directory = Directory::new(30, 15, None);
        // Two copies around a skipped slot, a stripe, and a batch after it; then one in the next segment.
        for (slot, is_first) in [(0, true), (2, false), (5, true), (6, false), (15, true)] {
            directory.put_copy(slot, is_first);
        }
        directory.skip(1);
        directory.put_data(3, 7, true);
        directory.put_parity(4, 0, false);
        directory.put_data(7, 8, true);
        for (slot, batch) in
            [(0, (0, 5)), (2, (0, 5)), (4, (0, 5)), (5, (5, 15)), (7, (5, 15)), (20, (15, 30))]
        {
            assert_eq!(directory.batch(slot), batch, "slot {slot}");
        }
        directory.clear(0);
        assert_eq!([4, 15].map(|slot| directory.role(slot)), [Role::Vacant, Role::Copy]);
    }
}
