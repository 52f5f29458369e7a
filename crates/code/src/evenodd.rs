//! EVENODD. P is the sum of each row of the data. Q is the sum of each diagonal of the data, plus S, the sum of the
//! diagonal for which no parity is stored.
//!
//! Source: Blaum, Brady, Bruck and Menon, "EVENODD: An Efficient Scheme for Tolerating Double Disk Failures in RAID
//! Architectures", IEEE Transactions on Computers 44(2), 1995.

use std::ops::Range;

use crate::kernels::Kernels;
use crate::parts::{Parts, TILE, put_back, take_lost};

/// The number of parity parts that depend on part `part` of data member `index`: all of Q if the part lies on the
/// diagonal of S.
pub(crate) fn changes(prime: u32, index: u32, part: u32) -> u32 {
    if index + part == prime - 1 { prime } else { 2 }
}

/// Computes P and Q.
pub(crate) fn encode(kernels: Kernels, prime: usize, data: &[&[u8]], p: &mut [u8], q: &mut [u8]) {
    kernels.xor_of(p, data.iter().copied());
    encode_diagonals(kernels, prime, data.iter().copied(), q);
}

fn encode_diagonals<'a>(
    kernels: Kernels,
    prime: usize,
    data: impl Iterator<Item = &'a [u8]> + Clone,
    q: &mut [u8],
) {
    let parts = Parts::new(kernels, prime, q.len());
    parts.diagonals(q, data.clone().enumerate());
    let mut s = [0; TILE];
    for tile in parts.tiles() {
        let s = &mut s[..tile.len()];
        kernels.xor_of(s, on_diagonal(parts, prime - 1, data.clone().enumerate(), &tile));
        for row in 0..prime - 1 {
            kernels.xor_add(&mut q[parts.place(row, &tile)], [&*s]);
        }
    }
}

/// The parts of `columns` on a diagonal.
fn on_diagonal<'a, 'b: 'a>(
    parts: Parts,
    diagonal: usize,
    columns: impl Iterator<Item = (usize, &'b [u8])>,
    tile: &Range<usize>,
) -> impl Iterator<Item = &'a [u8]> {
    columns.filter_map(move |(shift, column)| {
        parts.row(diagonal, shift).map(|row| &column[parts.place(row, tile)])
    })
}

/// Adds the change of data member `index`.
pub(crate) fn update(
    kernels: Kernels,
    prime: usize,
    index: usize,
    change: &[u8],
    p: &mut [u8],
    q: &mut [u8],
) {
    kernels.xor_add(p, [change]);
    add_column(Parts::new(kernels, prime, change.len()), q, index, change);
}

/// Adds the column with `shift` to Q: each part to its diagonal, and the part on the diagonal of S to all.
fn add_column(parts: Parts, q: &mut [u8], shift: usize, column: &[u8]) {
    parts.add_column(q, shift, column);
    if let Some(row) = parts.row(parts.prime - 1, shift) {
        let s = &column[parts.run(row..row + 1)];
        (0..parts.prime - 1).for_each(|row| parts.kernels.xor_add(&mut q[parts.run(row..row + 1)], [s]));
    }
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
    let (p, q) = (1u64 << data, 2u64 << data);
    let lost_data = lost & (p - 1);
    match lost_data.count_ones() {
        2 => decode_two(kernels, prime, data, members, lost, wanted),
        1 if lost & p != 0 => decode_by_diagonals(kernels, prime, data, members, lost, wanted),
        1 => {
            if wanted & lost_data != 0 {
                kernels.xor_of_others(&mut members[..=data], lost.trailing_zeros() as usize);
            }
            if wanted & q != 0 {
                restore_q(kernels, prime, data, members, lost_data & !wanted);
            }
        }
        _ => {
            if wanted & p != 0 {
                kernels.xor_of_others(&mut members[..=data], data);
            }
            if wanted & q != 0 {
                restore_q(kernels, prime, data, members, 0);
            }
        }
    }
}

/// Computes Q when one data member may be lost and not wanted. The lost member is the sum of P and the others, so each
/// of these counts on its diagonals, too.
fn restore_q(kernels: Kernels, prime: usize, data: usize, members: &mut [&mut [u8]], lost: u64) {
    let (columns, parity) = members.split_at_mut(data);
    let (p, q) = parity.split_at_mut(1);
    let (p, q) = (&*p[0], &mut *q[0]);
    let columns = columns.iter().map(|column| &**column);
    if lost == 0 {
        return encode_diagonals(kernels, prime, columns, q);
    }
    let parts = Parts::new(kernels, prime, q.len());
    let lost = lost.trailing_zeros() as usize;
    q.fill(0);
    add_column(parts, q, lost, p);
    for (shift, column) in columns.enumerate().filter(|&(shift, _)| shift != lost) {
        add_column(parts, q, shift, column);
        add_column(parts, q, lost, column);
    }
}

/// Computes a data member and P: the diagonal that misses the data member gives S, the others give its parts, and the
/// parts give P.
fn decode_by_diagonals(
    kernels: Kernels,
    prime: usize,
    data: usize,
    members: &mut [&mut [u8]],
    lost: u64,
    wanted: u64,
) {
    let taken = take_lost(members, lost);
    let parts = Parts::new(kernels, prime, members[data + 1].len());
    let [want_data, want_p] = taken.each_ref().map(|(index, _)| wanted >> index & 1 != 0);
    let shift = taken[0].0;
    let q = &*members[data + 1];
    let columns = members[..data].iter().map(|column| &**column).enumerate();
    let columns = columns.filter(|(_, column)| !column.is_empty());
    // The parity of a diagonal. None for the one that is not stored.
    let parity = |diagonal: usize, tile: &Range<usize>| {
        (diagonal < prime - 1).then(|| &q[parts.place(diagonal, tile)])
    };
    let (mut s, mut part) = ([0; TILE], [0; TILE]);
    for tile in parts.tiles() {
        let (s, part) = (&mut s[..tile.len()], &mut part[..tile.len()]);
        let misses = (shift + prime - 1) % prime;
        kernels.xor_of(s, on_diagonal(parts, misses, columns.clone(), &tile).chain(parity(misses, &tile)));
        for row in 0..prime - 1 {
            let diagonal = parts.diagonal(row, shift);
            let known = on_diagonal(parts, diagonal, columns.clone(), &tile);
            kernels.xor_of(part, known.chain(parity(diagonal, &tile)).chain([&*s]));
            if want_data {
                taken[0].1[parts.place(row, &tile)].copy_from_slice(part);
            }
            if want_p {
                let in_row = columns.clone().map(|(_, column)| &column[parts.place(row, &tile)]);
                kernels.xor_of(&mut taken[1].1[parts.place(row, &tile)], in_row.chain([&*part]));
            }
        }
    }
    put_back(members, taken);
}

/// Computes two data members. S is the sum of both parities. The chain begins at the diagonal that misses the second
/// member: it gives a part of the first, the row of which gives a part of the second, the diagonal of which gives a
/// part of the first again.
fn decode_two(
    kernels: Kernels,
    prime: usize,
    data: usize,
    members: &mut [&mut [u8]],
    lost: u64,
    wanted: u64,
) {
    let taken = take_lost(members, lost);
    let parts = Parts::new(kernels, prime, members[data].len());
    let wanted = taken.each_ref().map(|(index, _)| wanted >> index & 1 != 0);
    let [first, second] = taken.each_ref().map(|(index, _)| *index);
    let (p, q) = (&*members[data], &*members[data + 1]);
    let columns = members[..data].iter().map(|column| &**column).enumerate();
    let columns = columns.filter(|(_, column)| !column.is_empty());
    let (mut s, mut of_first, mut of_second) = ([0; TILE], [0; TILE], [0; TILE]);
    for tile in parts.tiles() {
        let s = &mut s[..tile.len()];
        let (of_first, of_second) = (&mut of_first[..tile.len()], &mut of_second[..tile.len()]);
        let rows = 0..prime - 1;
        kernels.xor_of(s, rows.flat_map(|row| [&p[parts.place(row, &tile)], &q[parts.place(row, &tile)]]));
        let mut diagonal = (second + prime - 1) % prime;
        let mut is_start = true;
        while let Some(row) = parts.row(diagonal, first) {
            let known = on_diagonal(parts, diagonal, columns.clone(), &tile);
            let parity = (diagonal < prime - 1).then(|| &q[parts.place(diagonal, &tile)]);
            let before = (!is_start).then_some(&*of_second);
            kernels.xor_of(of_first, known.chain(parity).chain(before).chain([&*s]));
            let in_row = columns.clone().map(|(_, column)| &column[parts.place(row, &tile)]);
            kernels.xor_of(of_second, in_row.chain([&p[parts.place(row, &tile)], &*of_first]));
            for (lost, bytes) in [(0, &*of_first), (1, &*of_second)] {
                if wanted[lost] {
                    taken[lost].1[parts.place(row, &tile)].copy_from_slice(bytes);
                }
            }
            diagonal = parts.diagonal(row, second);
            is_start = false;
        }
    }
    put_back(members, taken);
}
