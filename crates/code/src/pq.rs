//! P+Q Reed-Solomon, the code of Linux md's RAID-6: P is the sum of the data; Q is the sum of each member times the
//! generator to the power of its number.
//!
//! Source: Anvin, "The mathematics of RAID-6".

use crate::field;
use crate::kernels::{Kernels, Output};
use crate::parts::{put_back, take_lost};

/// Adds the change of data member `index`.
pub(crate) fn update(kernels: Kernels, index: usize, change: &[u8], p: &mut [u8], q: &mut [u8]) {
    kernels.pq_add(p, q, change, field::power(index as u32));
}

/// How each wanted member is computed: the factors of the syndromes of P and of Q. A lost parity counts as zero in its
/// syndrome.
fn factors(data: usize, member: usize, lost_data: &[u32], p_lost: bool) -> [u8; 2] {
    let (is_p, is_q) = (member == data, member == data + 1);
    match *lost_data {
        [] => [u8::from(is_p), u8::from(is_q)],
        // D_x is the syndrome of Q over g^x; P the sum of the others and it.
        [x] if p_lost => [u8::from(is_p), field::inverse_power(x)],
        // D_x is the syndrome of P; Q the sum of the others and g^x D_x.
        [x] => [if is_q { field::power(x) } else { 1 }, u8::from(is_q)],
        // D_x = A P' + B Q', D_y = P' + D_x.
        [x, y] => {
            let under = 255 - field::logarithm(field::power(y - x) ^ 1);
            let a = field::power(y - x + under);
            [if member as u32 == x { a } else { a ^ 1 }, field::power(255 - x + under)]
        }
        _ => unreachable!("two parities tolerate the loss of at most two members"),
    }
}

/// Computes `wanted` of the `lost` members.
pub(crate) fn decode(kernels: Kernels, data: usize, members: &mut [&mut [u8]], lost: u64, wanted: u64) {
    let p_lost = lost >> data & 1 != 0;
    let mut taken = take_lost(members, lost);
    let places = taken.each_ref().map(|(index, _)| *index as u32);
    let lost_data = &places[..(lost & ((1 << data) - 1)).count_ones() as usize];
    let (sources, parity) = members.split_at(data);
    // A parity that is not needed for lost data is not read.
    let p = if lost_data.is_empty() { &[] } else { &*parity[0] };
    let q = if lost_data.len() > usize::from(!p_lost) { &*parity[1] } else { &[] };
    let is_wanted = |(index, _): &&mut (usize, &mut [u8])| *index < 64 && wanted >> *index & 1 != 0;
    let mut outputs = taken
        .iter_mut()
        .filter(is_wanted)
        .map(|(index, bytes)| Output { factors: factors(data, *index, lost_data, p_lost), bytes });
    match (outputs.next(), outputs.next()) {
        (Some(one), None) => kernels.pq_solve([one], sources, p, q),
        (Some(x), Some(y)) => kernels.pq_solve([x, y], sources, p, q),
        (None, _) => {}
    }
    put_back(members, taken);
}
