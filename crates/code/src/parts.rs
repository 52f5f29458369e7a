//! Common parts of RDP and EVENODD: members of p - 1 parts, regarded as columns, and the diagonals through them.
//!
//! Part i of the column with shift c lies on diagonal (i + c) mod p. A column has no part p - 1, so one diagonal misses
//! it. No parity is stored for diagonal p - 1.

use std::ops::Range;

use crate::kernels::Kernels;

/// Bytes of a part that are processed at a time where a result must be kept separately.
pub(crate) const TILE: usize = 1024;

/// Members of `prime` - 1 parts of `bytes` each.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) kernels: Kernels,
    pub(crate) prime: usize,
    pub(crate) bytes: usize,
}

impl Parts {
    /// Parts of members that are `length` long.
    pub(crate) fn new(kernels: Kernels, prime: usize, length: usize) -> Self {
        Self { kernels, prime, bytes: length / (prime - 1) }
    }

    /// The row where `diagonal` meets the column with `shift`, if it does.
    pub(crate) fn row(self, diagonal: usize, shift: usize) -> Option<usize> {
        let row = (diagonal + self.prime - shift) % self.prime;
        (row < self.prime - 1).then_some(row)
    }

    /// The diagonal through `row` of the column with `shift`.
    pub(crate) fn diagonal(self, row: usize, shift: usize) -> usize {
        (row + shift) % self.prime
    }

    /// The bytes of `tile` (a range within parts) in part `row`.
    pub(crate) fn place(self, row: usize, tile: &Range<usize>) -> Range<usize> {
        let at = row * self.bytes;
        at + tile.start..at + tile.end
    }

    /// The bytes of parts `rows`.
    pub(crate) fn run(self, rows: Range<usize>) -> Range<usize> {
        rows.start * self.bytes..rows.end * self.bytes
    }

    /// The parts, split into tiles.
    pub(crate) fn tiles(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.bytes).step_by(TILE).map(move |at| at..self.bytes.min(at + TILE))
    }

    /// `q` becomes the stored diagonals of `columns`, each a shift with its member. A run of diagonals is one sum if no
    /// column begins, ends or misses a diagonal within it.
    pub(crate) fn diagonals<'a>(
        self,
        q: &mut [u8],
        columns: impl Iterator<Item = (usize, &'a [u8])> + Clone,
    ) {
        let last = self.prime - 1;
        let mut from = 0;
        while from < last {
            let left = |(shift, _): (usize, &[u8])| self.row(from, shift).map_or(1, |row| last - row);
            let to = columns.clone().map(left).fold(last, |to, left| to.min(from + left));
            let sources = columns.clone().filter_map(|(shift, column)| {
                self.row(from, shift).map(|row| &column[self.run(row..row + to - from)])
            });
            self.kernels.xor_of(&mut q[self.run(from..to)], sources);
            from = to;
        }
    }

    /// Adds the column with `shift` to the stored diagonals.
    pub(crate) fn add_column(self, q: &mut [u8], shift: usize, column: &[u8]) {
        let last = self.prime - 1;
        self.kernels.xor_add(&mut q[self.run(shift..last)], [&column[self.run(0..last - shift)]]);
        if shift > 1 {
            self.kernels.xor_add(&mut q[self.run(0..shift - 1)], [&column[self.run(last - shift + 1..last)]]);
        }
    }
}

/// Takes the slices of the `lost` members away, and leaves empty ones in their places.
pub(crate) fn take_lost<'a>(members: &mut [&'a mut [u8]], lost: u64) -> [(usize, &'a mut [u8]); 2] {
    let mut taken = [(usize::MAX, Default::default()), (usize::MAX, Default::default())];
    let is_lost = |(index, _): &(usize, &mut &mut [u8])| lost >> index & 1 != 0;
    for (place, (index, member)) in taken.iter_mut().zip(members.iter_mut().enumerate().filter(is_lost)) {
        *place = (index, std::mem::take(member));
    }
    taken
}

/// Puts the slices back that [`take_lost`] took.
pub(crate) fn put_back<'a>(members: &mut [&'a mut [u8]], taken: [(usize, &'a mut [u8]); 2]) {
    for (index, member) in taken {
        if let Some(place) = members.get_mut(index) {
            *place = member;
        }
    }
}
