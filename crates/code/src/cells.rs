//! X-Code over cells: a stripe of p columns of p parts as one row of p² members, so that each part is read, lost and
//! decoded by itself. Members 0 to p(p - 2) - 1 are data, row by row; then come the p parities of the rising diagonals
//! and the p parities of the falling ones, each by its column.
//!
//! A lost cell is the sum of the others on one of its diagonals. Where both diagonals miss more than one cell, the
//! diagonals are solved in turns: each cell that is found may be the only one that another diagonal missed.
//!
//! Source: Xu and Bruck, "X-Code: MDS Array Codes with Optimal Encoding", IEEE Transactions on Information Theory
//! 45(1), 1999; decoding by single diagonals of any losses, not of whole columns alone, is our choice.

use std::mem::take;

use crate::kernels::{COLUMNS_MAX, Kernels};

/// The primes whose stripes have at most [`COLUMNS_MAX`] cells.
pub(crate) const PRIMES: [u32; 2] = [5, 7];

/// The prime of a stripe with `data` data cells, if there is one.
pub(crate) fn prime_of(data: u32) -> Option<u32> {
    PRIMES.into_iter().find(|prime| prime * (prime - 2) == data)
}

/// The cells on the `nth` diagonal, as a mask: the rising ones come first, each by the column of its parity.
fn diagonal(prime: u32, nth: u32) -> u64 {
    let (is_rising, home) = (nth < prime, nth % prime);
    let parity = 1 << (prime * (prime - 2) + nth);
    (0..prime - 2).fold(parity, |mask, part| {
        let column = if is_rising { home + part + 2 } else { home + 2 * prime - part - 2 } % prime;
        mask | 1 << (part * prime + column)
    })
}

/// The parity cells whose diagonals have a data cell in `data`.
pub(crate) fn parities_of(prime: u32, data: u64) -> u64 {
    let first = prime * (prime - 2);
    let data = data & ((1 << first) - 1);
    let has_data = |nth: &u32| diagonal(prime, *nth) & data != 0;
    (0..2 * prime).filter(has_data).fold(0, |mask, nth| mask | 1 << (first + nth))
}

/// How lost cells are decoded.
struct Solution {
    /// The diagonals, in the order in which they are solved, each with the cell that it gives.
    steps: [(u8, u64); COLUMNS_MAX],
    count: usize,
}

impl Solution {
    /// The diagonals that give the cells of `wanted`; `None` if the cells that are not in `lost` do not determine them.
    fn new(prime: u32, lost: u64, wanted: u64) -> Option<Self> {
        let mut found = Self { steps: [(0, 0); COLUMNS_MAX], count: 0 };
        let mut left = lost;
        while wanted & left != 0 {
            // All cells that are one diagonal away, before those that are two away.
            let before = left;
            for nth in 0..2 * prime {
                let cells = diagonal(prime, nth);
                let cell = cells & before;
                if cell.is_power_of_two() && cell & left != 0 {
                    found.steps[found.count] = (cell.trailing_zeros() as u8, cells);
                    found.count += 1;
                    left &= !cell;
                }
            }
            if left == before {
                return None;
            }
        }
        // Steps that nothing wanted depends on are left out.
        let mut needed = wanted;
        for step in found.steps[..found.count].iter_mut().rev() {
            if needed >> step.0 & 1 == 0 {
                step.1 = 0;
            } else {
                needed |= step.1 & lost;
            }
        }
        Some(found)
    }

    fn steps(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.steps[..self.count].iter().filter(|step| step.1 != 0).map(|&(cell, cells)| (cell.into(), cells))
    }
}

/// The cells that are read to decode those of `wanted`; `None` if the cells that are not in `lost` do not determine
/// them.
pub(crate) fn sources(prime: u32, lost: u64, wanted: u64) -> Option<u64> {
    let solution = Solution::new(prime, lost, wanted & lost)?;
    Some(solution.steps().fold(0, |mask, (_, cells)| mask | cells & !lost))
}

/// Computes every parity from all data.
pub(crate) fn encode(kernels: Kernels, prime: u32, data: &[&[u8]], parity: &mut [&mut [u8]]) {
    for (nth, parity) in (0..).zip(parity) {
        let cells = diagonal(prime, nth);
        kernels.xor_of(parity, (0..data.len()).filter(|&cell| cells >> cell & 1 != 0).map(|cell| data[cell]));
    }
}

/// Adds the change of data cell `index` to its two parities.
pub(crate) fn update(kernels: Kernels, prime: u32, index: u32, change: &[u8], parity: &mut [&mut [u8]]) {
    for (nth, parity) in (0..).zip(parity) {
        if diagonal(prime, nth) >> index & 1 != 0 {
            kernels.xor_add(parity, [change]);
        }
    }
}

/// Computes the cells of `wanted` from those that are not in `lost`; returns false if these do not determine them. Slices
/// that are neither wanted nor read may be empty.
pub(crate) fn decode(kernels: Kernels, prime: u32, cells: &mut [&mut [u8]], lost: u64, wanted: u64) -> bool {
    let Some(solution) = Solution::new(prime, lost, wanted) else { return false };
    // Each cell as a sum of cells that are not lost: cells between need no bytes.
    let mut sums = [0u64; COLUMNS_MAX];
    for (cell, diagonal) in solution.steps() {
        let others = diagonal & !(1 << cell);
        let mut sum = others & !lost;
        for other in (0..cells.len()).filter(|&other| (others & lost) >> other & 1 != 0) {
            sum ^= sums[other];
        }
        sums[cell] = sum;
    }
    for cell in (0..cells.len()).filter(|&cell| wanted >> cell & 1 != 0) {
        let out = take(&mut cells[cell]);
        let sources = cells.iter().enumerate().filter(|&(other, _)| sums[cell] >> other & 1 != 0);
        kernels.xor_of(out, sources.map(|(_, bytes)| &**bytes));
        cells[cell] = out;
    }
    true
}
