//! Every code, compared with its definition: parities, updates, every loss that it tolerates, and its errors.

use stripewise_code::{Code, CodeError, Kind, TooManyLost};

use crate::oracle::{decodes_every_loss, noise, parity};

/// Every horizontal code of every width, for the primes that suit fields and pages.
fn codes() -> impl Iterator<Item = Code> {
    let plain = [Kind::Xor, Kind::Pq].map(|kind| (kind, None));
    let primes = [5, 7, 11, 13, 17, 19, 31, 257].map(Some);
    let by_prime = primes.into_iter().flat_map(|prime| [(Kind::Rdp, prime), (Kind::Evenodd, prime)]);
    plain
        .into_iter()
        .chain(by_prime)
        .flat_map(|(kind, prime)| (1..=63).filter_map(move |data| Code::new(kind, data, prime).ok()))
}

fn encoded(code: &Code, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
    let mut parity = vec![vec![0xC3; data[0].len()]; code.parity() as usize];
    let mut targets: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    code.encode(&sources, &mut targets);
    parity
}

fn members(code: &Code, length: usize) -> Vec<Vec<u8>> {
    (0..code.data()).map(|index| noise(u64::from(index) + 99, length)).collect()
}

#[test]
fn parity_is_that_of_the_definition_for_every_width() {
    for code in codes() {
        for parts in [1, 3] {
            let data = members(&code, (code.granularity() * parts) as usize);
            assert!(encoded(&code, &data) == parity(&code, &data), "{code:?}");
        }
    }
}

#[test]
fn an_update_by_the_change_gives_the_parity_of_the_new_data() {
    for code in codes() {
        let length = code.granularity() as usize * 3;
        let mut data = members(&code, length);
        let mut parities = encoded(&code, &data);
        for index in 0..code.data() {
            let change = noise(u64::from(index) + 7, length);
            data[index as usize].iter_mut().zip(&change).for_each(|(byte, change)| *byte ^= change);
            let mut targets: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
            code.update(index, &change, &mut targets);
        }
        assert!(parities == parity(&code, &data), "{code:?}");
    }
}

#[test]
fn every_loss_that_a_code_tolerates_is_decoded_for_every_width() {
    for code in codes().filter(|code| code.prime() != Some(257)) {
        decodes_every_loss(&code, code.granularity() as usize * 3);
    }
    for data in [1, 2, 6, 16, 62] {
        for kind in [Kind::Rdp, Kind::Evenodd] {
            decodes_every_loss(&Code::new(kind, data, Some(257)).expect("it fits"), 256);
        }
    }
}

#[test]
fn parts_longer_than_the_scratch_space_are_decoded_too() {
    for kind in [Kind::Rdp, Kind::Evenodd] {
        decodes_every_loss(&Code::new(kind, 4, Some(5)).expect("it fits"), 4 * 2500);
    }
}

#[test]
fn empty_members_have_empty_parity() {
    for code in codes() {
        let data = members(&code, 0);
        assert_eq!(encoded(&code, &data), vec![Vec::<u8>::new(); code.parity() as usize]);
        let mut slices: Vec<&mut [u8]> = (0..code.data() + code.parity()).map(|_| &mut [][..]).collect();
        assert_eq!(code.decode(&mut slices, 1, 1), Ok(()));
    }
}

#[test]
fn more_losses_than_parities_are_refused_and_nothing_is_touched() {
    for code in codes() {
        let parity = code.parity();
        let mut members = vec![vec![7; code.granularity() as usize]; (code.data() + parity) as usize];
        let mut slices: Vec<&mut [u8]> = members.iter_mut().map(Vec::as_mut_slice).collect();
        let lost = (2 << parity) - 1;
        if (code.data() + parity) > parity + 1 {
            assert_eq!(code.decode(&mut slices, lost, 1), Err(TooManyLost { lost: parity + 1, parity }));
            assert!(members.iter().flatten().all(|&byte| byte == 7));
        }
    }
}

#[test]
fn the_prime_is_17_or_else_257_unless_one_is_named() {
    let prime = |kind, data| Code::new(kind, data, None).map(|code| code.prime());
    assert_eq!(prime(Kind::Rdp, 16), Ok(Some(17)));
    assert_eq!(prime(Kind::Rdp, 17), Ok(Some(257)));
    assert_eq!(prime(Kind::Evenodd, 17), Ok(Some(17)));
    assert_eq!(prime(Kind::Evenodd, 18), Ok(Some(257)));
    assert_eq!(prime(Kind::Pq, 62), Ok(None));
    assert_eq!(Code::new(Kind::Rdp, 6, Some(7)).map(|code| code.granularity()), Ok(6));
}

#[test]
fn what_cannot_be_formed_is_refused_with_the_reason() {
    let refusal = |kind, data, prime| Code::new(kind, data, prime).expect_err("refused");
    for data in [5, 16, 99] {
        assert_eq!(refusal(Kind::XCode, data, None), CodeError::Vertical { data });
    }
    assert_eq!(refusal(Kind::XCode, 15, Some(5)), CodeError::PrimeUnused(Kind::XCode));
    assert_eq!(refusal(Kind::Pq, 5, Some(17)), CodeError::PrimeUnused(Kind::Pq));
    for prime in [0, 1, 2, 4, 9, 15, 255] {
        assert_eq!(refusal(Kind::Rdp, 3, Some(prime)), CodeError::NotPrime { kind: Kind::Rdp, prime });
    }
    for (kind, data, prime, most) in [
        (Kind::Xor, 64, None, 63),
        (Kind::Pq, 63, None, 62),
        (Kind::Pq, 0, None, 62),
        (Kind::Rdp, 17, Some(17), 16),
        (Kind::Evenodd, 18, Some(17), 17),
        (Kind::Rdp, 63, None, 62),
    ] {
        let error = refusal(kind, data, prime);
        assert!(matches!(error, CodeError::Data { most: found, .. } if found == most), "{error:?}");
    }
    assert_eq!(
        refusal(Kind::Rdp, 7, Some(7)).to_string(),
        "rdp takes 1 to 6 data members with prime 7, and 7 were asked for"
    );
}

#[test]
fn kinds_are_written_as_in_schemes() {
    for kind in [Kind::Xor, Kind::Pq, Kind::Rdp, Kind::Evenodd, Kind::XCode] {
        let text = serde_json::to_string(&kind).expect("a name");
        assert_eq!(text, format!("\"{kind}\""));
        assert_eq!(serde_json::from_str::<Kind>(&text).expect("a kind"), kind);
    }
}

#[test]
#[should_panic(expected = "a member of 100 bytes does not divide into 16 parts")]
fn members_that_do_not_divide_into_parts_are_refused() {
    let code = Code::new(Kind::Rdp, 3, None).expect("it fits");
    encoded(&code, &members(&code, 100));
}

#[test]
#[should_panic(expected = "members of a stripe have one length")]
fn members_of_different_lengths_are_refused() {
    let code = Code::new(Kind::Pq, 2, None).expect("it fits");
    encoded(&code, &[vec![0; 8], vec![0; 7]]);
}

#[test]
#[should_panic(expected = "members of a stripe have one length")]
fn an_empty_slice_of_a_member_that_must_be_read_is_refused() {
    let code = Code::new(Kind::Pq, 2, None).expect("it fits");
    let mut members = [vec![0; 8], vec![], vec![0; 8], vec![0; 8]];
    let mut slices: Vec<&mut [u8]> = members.iter_mut().map(Vec::as_mut_slice).collect();
    _ = code.decode(&mut slices, 1, 1);
}
