//! X-Code as a code over its cells, compared with X-Code over whole columns.

use proptest::prelude::*;
use stripewise_code::{Code, Kind, XCode};

use crate::oracle::{noise, x_code};

const PRIMES: [u32; 2] = [5, 7];
const BYTES: usize = 3;

/// The number of the cell at `part` of `column`: data row by row, then both rows of parity.
fn cell(prime: u32, column: u32, part: u32) -> usize {
    (part * prime + column) as usize
}

fn code(prime: u32) -> Code {
    Code::new(Kind::XCode, prime * (prime - 2), None).expect("a prime")
}

/// The cells of a stripe with the parity of the definition.
fn whole(prime: u32) -> Vec<Vec<u8>> {
    let p = prime as usize;
    let mut columns: Vec<Vec<u8>> =
        (0..prime).map(|column| noise(u64::from(column) + 1, p * BYTES)).collect();
    x_code(p, &mut columns);
    let cells = (0..p * p).map(|cell| columns[cell % p][cell / p * BYTES..][..BYTES].to_vec());
    cells.collect()
}

fn slices(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Vec::as_mut_slice).collect()
}

/// The cells of `columns`, as a mask.
fn of_columns(prime: u32, columns: &[u32]) -> u64 {
    let parts = |&column: &u32| (0..prime).map(move |part| 1 << cell(prime, column, part));
    columns.iter().flat_map(parts).fold(0, |mask, cell| mask | cell)
}

/// Decodes `wanted` from the cells that the code reads alone: all others are empty.
fn decode_from_sources(prime: u32, lost: u64, wanted: u64) -> Option<Vec<Vec<u8>>> {
    let code = code(prime);
    let sources = code.sources(lost, wanted)?;
    assert_eq!(sources & lost, 0, "no lost cell is read");
    let mut left = whole(prime);
    for (cell, bytes) in left.iter_mut().enumerate() {
        match () {
            () if wanted >> cell & 1 != 0 => bytes.fill(0x5A),
            () if sources >> cell & 1 != 0 => {}
            () => bytes.clear(),
        }
    }
    let all = u64::MAX >> (64 - prime * prime);
    code.decode(&mut slices(&mut left), all & !sources, wanted).expect("its own sources suffice");
    Some(left)
}

#[test]
fn parity_is_that_of_the_definition() {
    for prime in PRIMES {
        let code = code(prime);
        let expected = whole(prime);
        let mut found = expected.clone();
        let (data, parity) = found.split_at_mut(code.data() as usize);
        parity.iter_mut().for_each(|parity| parity.fill(1));
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        code.encode(&data, &mut slices(parity));
        assert_eq!(found, expected, "prime {prime}");
    }
}

#[test]
fn every_cell_of_every_two_lost_columns_is_decoded_from_what_the_code_reads() {
    for prime in PRIMES {
        let expected = whole(prime);
        for (x, y) in (0..prime).flat_map(|x| (x..prime).map(move |y| (x, y))) {
            let lost = of_columns(prime, &[x, y]);
            for wanted in
                (0..prime * prime).map(|cell| 1 << cell).filter(|cell| lost & cell != 0).chain([lost])
            {
                let found = decode_from_sources(prime, lost, wanted).expect("two columns are tolerated");
                for cell in (0..found.len()).filter(|&cell| wanted >> cell & 1 != 0) {
                    assert_eq!(found[cell], expected[cell], "prime {prime}, lost {x} and {y}, cell {cell}");
                }
            }
        }
    }
}

#[test]
fn a_cell_of_one_lost_column_takes_the_cells_of_one_diagonal() {
    for prime in PRIMES {
        for column in 0..prime {
            let lost = of_columns(prime, &[column]);
            for part in 0..prime {
                let sources =
                    code(prime).sources(lost, 1 << cell(prime, column, part)).expect("one is tolerated");
                assert_eq!(sources.count_ones(), prime - 2, "one cell of each column but two");
            }
        }
    }
}

#[test]
fn three_lost_columns_are_too_many() {
    for prime in PRIMES {
        let lost = of_columns(prime, &[0, 1, 2]);
        assert_eq!(code(prime).sources(lost, lost), None);
        assert!(code(prime).decode(&mut slices(&mut whole(prime)), lost, lost).is_err());
    }
}

#[test]
fn parity_that_is_not_stored_is_zeros() {
    for prime in PRIMES {
        let code = code(prime);
        for cell in 0..code.data() {
            let parities = code.parities_of(1 << cell);
            let expected = XCode::new(prime).expect("a prime").parity_of(cell % prime, cell / prime);
            let number = |(row, home): (u32, u32)| 1 << (code.data() + row * prime + home);
            assert_eq!(parities, (0..).zip(expected).map(number).fold(0, |mask, parity| mask | parity));
        }
    }
}

#[test]
fn an_update_gives_the_parity_of_the_new_data() {
    for prime in PRIMES {
        let code = code(prime);
        for index in 0..code.data() {
            let mut updated = whole(prime);
            let change = noise(99, BYTES);
            updated[index as usize].iter_mut().zip(&change).for_each(|(byte, change)| *byte ^= change);
            let mut encoded = updated.clone();
            let (data, parity) = encoded.split_at_mut(code.data() as usize);
            let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            code.encode(&data, &mut slices(parity));
            code.update(index, &change, &mut slices(&mut updated[code.data() as usize..]));
            assert_eq!(updated, encoded);
        }
    }
}

proptest! {
    /// A loss of any cells is decoded, or refused: nothing wrong is returned.
    #[test]
    fn any_lost_cells_are_decoded_or_refused(large: bool, lost: u64, lost_too: u64, wanted: u64) {
        let prime = PRIMES[usize::from(large)];
        let lost = lost & lost_too & (u64::MAX >> (64 - prime * prime));
        let wanted = wanted & lost;
        let expected = whole(prime);
        if let Some(found) = decode_from_sources(prime, lost, wanted) {
            for cell in (0..found.len()).filter(|&cell| wanted >> cell & 1 != 0) {
                prop_assert_eq!(&found[cell], &expected[cell]);
            }
        } else {
            prop_assert!(code(prime).decode(&mut slices(&mut whole(prime)), lost, wanted).is_err());
        }
    }
}
