//! XOR parity agrees with a byte-by-byte oracle at every length and alignment, and decodes what is lost.

use proptest::prelude::*;
use stripewise_code::{xor_into, xor_of};

/// The members of a stripe: of each buffer the part at its offset.
fn slices<'a>(buffers: &'a [Vec<u8>], offsets: &[usize], length: usize) -> Vec<&'a [u8]> {
    buffers.iter().zip(offsets).map(|(buffer, &at)| &buffer[at..at + length]).collect()
}

/// Buffers, where in each the member begins, and the length of every member; some bytes lie before and after.
fn members() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<usize>, usize)> {
    let length = prop_oneof![0..200usize, 4000..4200usize, 8150..8250usize];
    (length, 1..9usize).prop_flat_map(|(length, count)| {
        let bytes = prop::collection::vec(any::<u8>(), length + 80);
        (prop::collection::vec(bytes, count), prop::collection::vec(0..70usize, count), Just(length))
    })
}

proptest! {
    #[test]
    fn xor_into_is_the_xor_of_each_byte((buffers, offsets, length) in members()) {
        let (mut target, at) = (buffers[0].clone(), offsets[0]);
        let source = &buffers[buffers.len() - 1][offsets[offsets.len() - 1]..][..length];
        xor_into(&mut target[at..at + length], source);
        for (index, byte) in target.iter().enumerate() {
            let inside = (at..at + length).contains(&index);
            let expected = buffers[0][index] ^ if inside { source[index - at] } else { 0 };
            prop_assert_eq!(*byte, expected, "byte {}", index);
        }
    }

    #[test]
    fn xor_of_is_the_xor_of_each_byte_of_all((buffers, offsets, length) in members(), at in 0..70usize) {
        let sources = slices(&buffers, &offsets, length);
        let mut target = vec![0xA5; length + 80];
        xor_of(&mut target[at..at + length], &sources);
        for (index, byte) in target.iter().enumerate() {
            let inside = (at..at + length).contains(&index);
            let sum = || sources.iter().fold(0, |sum, source| sum ^ source[index - at]);
            let expected = if inside { sum() } else { 0xA5 };
            prop_assert_eq!(*byte, expected, "byte {}", index);
        }
    }

    #[test]
    fn any_lost_member_is_the_xor_of_the_rest(
        (buffers, offsets, length) in members(),
        lost in any::<prop::sample::Index>(),
    ) {
        let data = slices(&buffers, &offsets, length);
        let mut parity = vec![0; length];
        xor_of(&mut parity, &data);
        let lost = lost.index(data.len());
        let mut rest = data.clone();
        rest[lost] = &parity;
        let mut decoded = vec![0; length];
        xor_of(&mut decoded, &rest);
        prop_assert_eq!(&decoded[..], data[lost]);
    }

    #[test]
    fn parity_moves_by_old_and_new_data(
        (buffers, offsets, length) in members(),
        new in prop::collection::vec(any::<u8>(), 8400),
    ) {
        let mut data = slices(&buffers, &offsets, length);
        let mut parity = vec![0; length];
        xor_of(&mut parity, &data);
        xor_into(&mut parity, data[0]);
        xor_into(&mut parity, &new[..length]);
        data[0] = &new[..length];
        let mut expected = vec![0; length];
        xor_of(&mut expected, &data);
        prop_assert_eq!(parity, expected);
    }
}

#[test]
fn the_xor_of_nothing_is_zero() {
    let mut target = [7; 100];
    xor_of(&mut target, &[]);
    assert_eq!(target, [0; 100]);
}

#[test]
#[should_panic(expected = "members of a stripe have one length")]
fn members_of_different_lengths_are_refused() {
    xor_of(&mut [0; 8], &[&[0; 8], &[0; 7]]);
}
