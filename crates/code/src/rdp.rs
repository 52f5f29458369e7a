//! Row-diagonal parity. R is the sum of each row of the data. Q is the sum of each diagonal of data and R; one diagonal
//! is not stored.
//!
//! Source: Corbett, English, Goel, Grcanac, Kleiman, Leong and Sankar, "Row-Diagonal Parity for Double Disk Failure
//! Correction", FAST 2004.
//!
//! Rows and diagonals run through these columns: the data members, with their number as shift, and R, with shift p - 1.
//! Without Q the columns are one XOR code, so a loss of R is like a loss of data.

use crate::kernels::Kernels;
use crate::parts::{Parts, TILE, put_back, take_lost};

/// The shift of column `index` of `data` members and R.
fn shift(prime: usize, data: usize, index: usize) -> usize {
    if index == data { prime - 1 } else { index }
}

/// The number of parity parts that depend on part `part` of data member `index`.
pub(crate) fn changes(prime: u32, index: u32, part: u32) -> u32 {
    let own_diagonal = index + part != prime - 1;
    let diagonal_of_r = part != 0;
    1 + u32::from(own_diagonal) + u32::from(diagonal_of_r)
}

/// Computes R and Q.
pub(crate) fn encode(kernels: Kernels, prime: usize, data: &[&[u8]], r: &mut [u8], q: &mut [u8]) {
    kernels.xor_of(r, data.iter().copied());
    let columns = data.iter().copied().enumerate().chain([(prime - 1, &*r)]);
    Parts::new(kernels, prime, q.len()).diagonals(q, columns);
}

/// Adds the change of data member `index`.
pub(crate) fn update(
    kernels: Kernels,
    prime: usize,
    index: usize,
    change: &[u8],
    r: &mut [u8],
    q: &mut [u8],
) {
    let parts = Parts::new(kernels, prime, change.len());
    kernels.xor_add(r, [change]);
    parts.add_column(q, index, change);
    parts.add_column(q, prime - 1, change);
}

/// Computes `wanted` of the `lost` members.
pub(crate) fn decode(
    kernels: Kernels,
    prime: usize,
    data: usize,
    members: &mut [&mut [u8]],
    lost: u64,
    wanted: u64,
) {
    let in_rows = (1u64 << (data + 1)) - 1;
    let q = 1u64 << (data + 1);
    match (lost & in_rows).count_ones() {
        2 => decode_two(kernels, prime, data, members, lost, wanted),
        1 => {
            if lost & wanted & in_rows != 0 {
                kernels.xor_of_others(&mut members[..=data], lost.trailing_zeros() as usize);
            }
            if wanted & q != 0 {
                let still_lost = lost & in_rows & !wanted;
                encode_diagonals(kernels, prime, data, members, still_lost);
            }
        }
        // R is not read: it follows from the data.
        _ => encode_diagonals(kernels, prime, data, members, 1 << data),
    }
}

/// Computes Q when one column may be lost and not wanted. The lost column is the sum of the others, so each of them
/// counts on its own diagonals and on those of the lost one.
fn encode_diagonals(kernels: Kernels, prime: usize, data: usize, members: &mut [&mut [u8]], lost: u64) {
    let (columns, parity) = members.split_at_mut(data + 1);
    let q = &mut *parity[0];
    let parts = Parts::new(kernels, prime, q.len());
    let columns = columns.iter().enumerate().map(|(index, column)| (shift(prime, data, index), &**column));
    if lost == 0 {
        return parts.diagonals(q, columns);
    }
    let lost = shift(prime, data, lost.trailing_zeros() as usize);
    q.fill(0);
    for (shift, column) in columns.filter(|&(shift, _)| shift != lost) {
        parts.add_column(q, shift, column);
        parts.add_column(q, lost, column);
    }
}

/// Computes two lost columns, by two chains. Each chain begins at the diagonal that misses one of the columns, and so
/// gives a part of the other. The row of that part gives a part of the first, the diagonal of which gives a part of the
/// other again, and so on, until the diagonal is the one that is not stored.
fn decode_two(
    kernels: Kernels,
    prime: usize,
    data: usize,
    members: &mut [&mut [u8]],
    lost: u64,
    wanted: u64,
) {
    let taken = take_lost(&mut members[..=data], lost);
    let parts = Parts::new(kernels, prime, members[data + 1].len());
    let shifts = taken.each_ref().map(|(index, _)| shift(prime, data, *index));
    let wanted = taken.each_ref().map(|(index, _)| wanted >> index & 1 != 0);
    let (columns, parity) = members.split_at(data + 1);
    let q = &*parity[0];
    let present = || columns.iter().enumerate().filter(|(_, column)| !column.is_empty());
    let (mut across, mut along) = ([0; TILE], [0; TILE]);
    for tile in parts.tiles() {
        let (across, along) = (&mut across[..tile.len()], &mut along[..tile.len()]);
        for (first, other) in [(0, 1), (1, 0)] {
            let mut diagonal = (shifts[first] + prime - 1) % prime;
            let mut is_start = true;
            while diagonal != prime - 1 {
                let on_diagonal = present().filter_map(|(index, column)| {
                    let row = parts.row(diagonal, shift(prime, data, index))?;
                    Some(&column[parts.place(row, &tile)])
                });
                let before = (!is_start).then_some(&*along);
                kernels.xor_of(across, on_diagonal.chain([&q[parts.place(diagonal, &tile)]]).chain(before));
                let row = parts.row(diagonal, shifts[other]).expect("the diagonal misses one column only");
                let in_row = present().map(|(_, column)| &column[parts.place(row, &tile)]);
                kernels.xor_of(along, in_row.chain([&*across]));
                for (lost, bytes) in [(other, &*across), (first, &*along)] {
                    if wanted[lost] {
                        taken[lost].1[parts.place(row, &tile)].copy_from_slice(bytes);
                    }
                }
                diagonal = parts.diagonal(row, shifts[first]);
                is_start = false;
            }
        }
    }
    put_back(members, taken);
}
