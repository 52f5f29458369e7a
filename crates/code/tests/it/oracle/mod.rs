//! The codes by their definitions, one byte at a time and without a table, a vector or a shortcut.
#![allow(dead_code)]

use stripewise_code::{Code, Kind};

/// `byte` times the generator to the power `exponent`: the polynomial is shifted, then divided by 0x11D.
pub(crate) fn shifted(byte: u8, exponent: u32) -> u8 {
    let mut polynomial = u128::from(byte) << exponent;
    for degree in (8..128).rev() {
        if polynomial >> degree & 1 != 0 {
            polynomial ^= 0x11D << (degree - 8);
        }
    }
    polynomial as u8
}

/// The parities of `data`, with members of one length.
pub(crate) fn parity(code: &Code, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let length = data[0].len();
    let sum = |byte: usize| data.iter().fold(0, |sum, member| sum ^ member[byte]);
    let row: Vec<u8> = (0..length).map(sum).collect();
    let Some(prime) = code.prime().map(|prime| prime as usize) else {
        let horner = |byte: usize| {
            (0u32..).zip(data).fold(0, |sum, (index, member)| sum ^ shifted(member[byte], index))
        };
        return match code.kind() {
            Kind::Xor => vec![row],
            _ => vec![row, (0..length).map(horner).collect()],
        };
    };
    let bytes = length / (prime - 1);
    let mut diagonals = vec![vec![0; bytes]; prime];
    let mut columns: Vec<(usize, &Vec<u8>)> = data.iter().enumerate().collect();
    if code.kind() == Kind::Rdp {
        columns.push((prime - 1, &row));
    }
    for (shift, column) in columns {
        for at in 0..length {
            diagonals[(at / bytes + shift) % prime][at % bytes] ^= column[at];
        }
    }
    let s = diagonals.pop().expect("there are as many as the prime");
    let stored = diagonals.into_iter().flat_map(|diagonal| {
        let with_s: Vec<u8> = diagonal.iter().zip(&s).map(|(a, b)| a ^ b).collect();
        if code.kind() == Kind::Rdp { diagonal } else { with_s }
    });
    vec![row.clone(), stored.collect()]
}

/// The parity parts of X-Code by its two equations; `columns` of `prime` parts.
pub(crate) fn x_code(prime: usize, columns: &mut [Vec<u8>]) {
    let bytes = columns[0].len() / prime;
    for j in 0..prime {
        for byte in 0..bytes {
            let part = |column: usize, row: usize| columns[column % prime][row * bytes + byte];
            let rising = (0..prime - 2).fold(0, |sum, k| sum ^ part(j + k + 2, k));
            let falling = (0..prime - 2).fold(0, |sum, k| sum ^ part(j + 2 * prime - k - 2, k));
            columns[j][(prime - 2) * bytes + byte] = rising;
            columns[j][(prime - 1) * bytes + byte] = falling;
        }
    }
}

/// Bytes without a pattern, from a seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| byte()).collect()
}

/// Decodes every loss of up to two members of `code`, with members of `length` bytes, for every subset of the lost
/// members. Slices that are neither read nor wanted are empty. Checks every byte.
pub(crate) fn decodes_every_loss(code: &Code, length: usize) {
    let data: Vec<Vec<u8>> = (0..code.data()).map(|index| noise(u64::from(index) + 1, length)).collect();
    let whole: Vec<Vec<u8>> = data.iter().cloned().chain(parity(code, &data)).collect();
    let count = whole.len();
    let masks = (0..count).flat_map(|x| (x..count).map(move |y| 1u64 << x | 1 << y));
    for lost in masks.filter(|lost| lost.count_ones() <= code.parity()) {
        for wanted in subsets(lost) {
            let mut members = whole.clone();
            for (index, member) in members.iter_mut().enumerate() {
                if lost >> index & 1 != 0 {
                    *member = if wanted >> index & 1 != 0 { vec![0x5A; length] } else { vec![] };
                }
            }
            let lost_data = (lost & ((1 << code.data()) - 1)).count_ones() as usize;
            let left = (code.data() as usize..count).filter(|index| lost >> index & 1 == 0);
            left.skip(lost_data).for_each(|unread| members[unread].clear());
            let mut slices: Vec<&mut [u8]> = members.iter_mut().map(Vec::as_mut_slice).collect();
            code.decode(&mut slices, lost, wanted).expect("the code bears it");
            for index in (0..count).filter(|index| wanted >> index & 1 != 0) {
                assert!(members[index] == whole[index], "{code:?}, lost {lost:b}, member {index}");
            }
        }
    }
}

/// Every subset of a mask but the empty one.
fn subsets(mask: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(mask), move |subset| Some((subset - 1) & mask).filter(|&subset| subset != 0))
}
