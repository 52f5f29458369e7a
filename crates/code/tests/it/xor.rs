//! Sums of bytes outside of a code.

use stripewise_code::{xor_into, xor_of};

#[test]
fn any_number_of_sources_is_summed() {
    for count in [0, 1, 2, 63, 64, 65, 128, 200] {
        let sources: Vec<[u8; 37]> = (0..count).map(|index| [index as u8 | 1; 37]).collect();
        let slices: Vec<&[u8]> = sources.iter().map(|source| &source[..]).collect();
        let expected = sources.iter().fold(0, |sum, source| sum ^ source[0]);
        let (mut sum, mut grown) = ([7; 37], [0; 37]);
        xor_of(&mut sum, &slices);
        slices.iter().for_each(|source| xor_into(&mut grown, source));
        assert_eq!((sum, grown), ([expected; 37], [expected; 37]), "{count} sources");
    }
}

#[test]
#[should_panic(expected = "members of a stripe have one length")]
fn members_of_different_lengths_are_refused() {
    xor_of(&mut [0; 8], &[&[0; 8], &[0; 7]]);
}
