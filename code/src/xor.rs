//! XOR parity, the code of RAID-5.
//!
//! Source: Patterson, Gibson and Katz, "A Case for Redundant Arrays of Inexpensive Disks (RAID)", SIGMOD
//! 1988, section 9: parity is the exclusive or of the data, so any one missing member is the exclusive or of
//! the others.
//!
//! Plain loops over fixed-size groups of words, which the compiler turns into vector instructions on every
//! machine; XOR is bound by memory, so nothing cleverer would be faster on data that does not sit in the
//! cache.

/// Bytes that one turn of the inner loop takes.
const GROUP: usize = 64;
/// Bytes of the result that stay in the nearest cache while every source is added to them.
const TILE: usize = 4096;

type Words = [u64; GROUP / 8];

#[inline(always)]
fn load(bytes: &[u8; GROUP]) -> Words {
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|index| u64::from_ne_bytes(words[index]))
}

#[inline(always)]
fn store(bytes: &mut [u8; GROUP], words: Words) {
    let (places, _) = bytes.as_chunks_mut::<8>();
    places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_ne_bytes());
}

/// `target ^= source`, byte by byte: updates parity by old and new data, or adds one more member to a sum.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(target: &mut [u8], source: &[u8]) {
    assert_eq!(target.len(), source.len(), "members of a stripe have one length");
    let (targets, target_rest) = target.as_chunks_mut::<GROUP>();
    let (sources, source_rest) = source.as_chunks::<GROUP>();
    for (to, from) in targets.iter_mut().zip(sources) {
        let (sum, other) = (load(to), load(from));
        store(to, std::array::from_fn(|index| sum[index] ^ other[index]));
    }
    target_rest.iter_mut().zip(source_rest).for_each(|(to, from)| *to ^= from);
}

/// `target ^= a ^ b` in one pass, which spares a load and a store of the target.
fn xor_two_into(target: &mut [u8], a: &[u8], b: &[u8]) {
    let (targets, target_rest) = target.as_chunks_mut::<GROUP>();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<GROUP>(), b.as_chunks::<GROUP>());
    for ((to, a), b) in targets.iter_mut().zip(a).zip(b) {
        let (sum, a, b) = (load(to), load(a), load(b));
        store(to, std::array::from_fn(|index| sum[index] ^ a[index] ^ b[index]));
    }
    target_rest.iter_mut().zip(a_rest).zip(b_rest).for_each(|((to, a), b)| *to ^= a ^ b);
}

/// `target` becomes the XOR of all `sources`: the parity of data chunks, or a lost chunk from the rest of its
/// stripe. Without sources it becomes zero.
///
/// # Panics
/// If a source's length differs from the target's.
pub fn xor_of(target: &mut [u8], sources: &[&[u8]]) {
    for source in sources {
        assert_eq!(target.len(), source.len(), "members of a stripe have one length");
    }
    let Some((first, others)) = sources.split_first() else {
        return target.fill(0);
    };
    for (index, tile) in target.chunks_mut(TILE).enumerate() {
        let part = index * TILE..index * TILE + tile.len();
        tile.copy_from_slice(&first[part.clone()]);
        let (pairs, single) = others.as_chunks::<2>();
        for [a, b] in pairs {
            xor_two_into(tile, &a[part.clone()], &b[part.clone()]);
        }
        for source in single {
            xor_into(tile, &source[part.clone()]);
        }
    }
}
