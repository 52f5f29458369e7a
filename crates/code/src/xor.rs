//! XOR parity, the code of RAID-5.
//!
//! Source: Patterson, Gibson and Katz, "A Case for Redundant Arrays of Inexpensive Disks (RAID)", SIGMOD 1988, section
//! 9: parity is the exclusive or of the data, so any one missing member is the exclusive or of the others.

use crate::kernels::Kernels;

/// `target ^= source`, byte by byte: updates parity by old and new data, or adds one more member to a sum.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(target: &mut [u8], source: &[u8]) {
    Kernels::current().xor_add(target, [source]);
}

/// `target` becomes the XOR of all `sources`: the parity of data chunks, or a lost chunk from the rest of its
/// stripe. Without sources it becomes zero.
///
/// # Panics
/// If a source's length differs from the target's.
pub fn xor_of(target: &mut [u8], sources: &[&[u8]]) {
    Kernels::current().xor_of(target, sources.iter().copied());
}
