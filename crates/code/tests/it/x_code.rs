//! X-Code, compared with its two equations.

use stripewise_code::{CodeError, TooManyLost, XCode};

use crate::oracle::{noise, x_code};

const PRIMES: [u32; 6] = [5, 7, 11, 13, 17, 61];

fn columns(prime: u32, bytes: usize) -> Vec<Vec<u8>> {
    (0..prime).map(|column| noise(u64::from(column) + 1, prime as usize * bytes)).collect()
}

fn slices(columns: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    columns.iter_mut().map(Vec::as_mut_slice).collect()
}

#[test]
fn parity_is_that_of_the_definition() {
    for prime in PRIMES {
        let code = XCode::new(prime).expect("a prime");
        let mut found = columns(prime, 3);
        let mut expected = found.clone();
        code.encode(&mut slices(&mut found));
        x_code(prime as usize, &mut expected);
        assert!(found == expected, "prime {prime}");
    }
}

#[test]
fn every_loss_of_up_to_two_columns_is_decoded() {
    for prime in PRIMES {
        let code = XCode::new(prime).expect("a prime");
        let mut whole = columns(prime, 3);
        x_code(prime as usize, &mut whole);
        for x in 0..prime as usize {
            for y in x..prime as usize {
                let mut left = whole.clone();
                left[x].fill(0x5A);
                left[y].fill(0x5A);
                code.decode(&mut slices(&mut left), 1 << x | 1 << y).expect("the code bears it");
                assert!(left == whole, "prime {prime}, lost {x} and {y}");
            }
        }
    }
}

#[test]
fn an_update_touches_exactly_two_parity_parts() {
    for prime in PRIMES {
        let code = XCode::new(prime).expect("a prime");
        let mut whole = columns(prime, 2);
        x_code(prime as usize, &mut whole);
        for column in 0..prime {
            for part in 0..prime - 2 {
                let before = whole.clone();
                let change = noise(u64::from(part) + 3, 2);
                let place = part as usize * 2;
                code.update(column, part, &change, &mut slices(&mut whole));
                let touched = |(old, new): (&Vec<u8>, &Vec<u8>)| {
                    old.chunks(2).zip(new.chunks(2)).filter(|(old, new)| old != new).count()
                };
                assert_eq!(before.iter().zip(&whole).map(touched).sum::<usize>(), 2);
                whole[column as usize][place] ^= change[0];
                whole[column as usize][place + 1] ^= change[1];
            }
        }
        let mut expected = whole.clone();
        x_code(prime as usize, &mut expected);
        assert!(whole == expected, "prime {prime}");
    }
}

#[test]
fn no_number_of_columns_but_a_prime_from_5_to_61_is_taken() {
    for columns in (0..=70)
        .filter(|columns| ![5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61].contains(columns))
    {
        let error = XCode::new(columns).expect_err("refused");
        assert!(
            matches!(error, CodeError::NotPrime { .. } | CodeError::Columns { most: 64, .. }),
            "{columns}"
        );
    }
    let code = XCode::new(5).expect("a prime");
    let lost = code.decode(&mut slices(&mut columns(5, 1)), 0b111);
    assert_eq!(lost, Err(TooManyLost { lost: 3, parity: 2 }));
}
