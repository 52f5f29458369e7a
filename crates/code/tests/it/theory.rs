//! The codes, compared with their publications through a separate model of their equations: sets of parts, no bytes.

use std::collections::BTreeSet;

use stripewise_code::{Code, Cost, Kind};

/// A part of a row: (column, row).
type Part = (u32, u32);

/// RDP's equations over `prime` - 1 rows and `data` data columns, even if `prime` is not a prime. Each equation is a set
/// of parts with the sum zero.
fn rdp(prime: u32, data: u32) -> Vec<BTreeSet<Part>> {
    let columns: Vec<(u32, u32)> = (0..data).map(|index| (index, index)).chain([(data, prime - 1)]).collect();
    let rows = (0..prime - 1).map(|row| columns.iter().map(|&(column, _)| (column, row)).collect());
    let diagonals = (0..prime - 1).map(|diagonal| {
        let on = columns.iter().map(|&(column, shift)| (column, (diagonal + prime - shift) % prime));
        on.filter(|&(_, row)| row < prime - 1).chain([(data + 1, diagonal)]).collect()
    });
    rows.chain(diagonals).collect()
}

/// Whether the loss of two columns is solved by repeatedly taking an equation with a single unknown.
fn peels(equations: &[BTreeSet<Part>], lost: [u32; 2]) -> bool {
    let all: BTreeSet<Part> = equations.iter().flatten().copied().collect();
    let mut unknown: BTreeSet<Part> = all.into_iter().filter(|(column, _)| lost.contains(column)).collect();
    loop {
        let single = equations.iter().find_map(|equation| {
            let mut left = equation.intersection(&unknown);
            left.next().filter(|_| left.next().is_none()).copied()
        });
        match single {
            Some(part) => unknown.remove(&part),
            None => return unknown.is_empty(),
        };
    }
}

#[test]
fn rdp_tolerates_every_double_loss_if_and_only_if_its_number_is_prime() {
    for (prime, tolerates) in [(5, true), (7, true), (9, false), (11, true), (15, false), (17, true)] {
        let equations = rdp(prime, prime - 1);
        let mut pairs = (0..=prime).flat_map(|x| (x + 1..=prime).map(move |y| [x, y]));
        assert_eq!(pairs.all(|pair| peels(&equations, pair)), tolerates, "p = {prime}");
    }
}

/// The fewest parts that must be read to compute one data column: each of its parts by its row or its diagonal.
fn fewest_reads(prime: u32, data: u32, column: u32) -> usize {
    let equations = rdp(prime, data);
    let ways: Vec<Vec<&BTreeSet<Part>>> = (0..prime - 1)
        .map(|row| equations.iter().filter(|equation| equation.contains(&(column, row))).collect())
        .collect();
    let choices = ways.iter().map(Vec::len).product::<usize>();
    let reads = |mut choice: usize| {
        let mut read = BTreeSet::<Part>::new();
        for ways in &ways {
            read.extend(ways[choice % ways.len()].iter().filter(|(other, _)| *other != column));
            choice /= ways.len();
        }
        read.len()
    };
    (0..choices).map(reads).min().expect("there are equations")
}

/// Source: Xiang, Xu, Lui and Chang, "Optimal Recovery of Single Disk Failure in RDP Code Storage Systems",
/// SIGMETRICS 2010: three quarters of the reads by rows alone.
#[test]
fn a_single_column_of_rdp_can_be_made_from_three_quarters_of_the_parts() {
    for (prime, by_rows, fewest) in [(5, 16, 12), (7, 36, 27)] {
        assert_eq!((prime - 1) * (prime - 1), by_rows);
        let found = (0..prime - 1).map(|column| fewest_reads(prime, prime - 1, column)).min();
        assert_eq!(found, Some(fewest), "p = {prime}");
    }
}

/// How many parts of a code have each update cost.
fn histogram(kind: Kind, prime: u32, data: u32) -> Vec<(u32, usize)> {
    let code = Code::new(kind, data, Some(prime)).expect("it fits");
    let mut costs: Vec<u32> =
        (0..data).flat_map(|index| (0..prime - 1).map(move |part| code.changes(index, part))).collect();
    costs.sort_unstable();
    costs.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

#[test]
fn update_costs_are_those_derived() {
    assert_eq!(histogram(Kind::Rdp, 7, 6), [(2, 11), (3, 25)]);
    assert_eq!(histogram(Kind::Rdp, 17, 6), [(2, 11), (3, 85)]);
    // 114 of 42 parts: 2.71; 52 of 20: 2.60.
    assert_eq!(histogram(Kind::Evenodd, 7, 7), [(2, 36), (7, 6)]);
    assert_eq!(histogram(Kind::Evenodd, 5, 5), [(2, 16), (5, 4)]);
}

/// Changes one byte of one part and counts the parts of the parities that differ.
#[test]
fn update_costs_are_what_an_update_changes() {
    for kind in [Kind::Xor, Kind::Pq, Kind::Rdp, Kind::Evenodd] {
        let code =
            Code::new(kind, 5, matches!(kind, Kind::Rdp | Kind::Evenodd).then_some(7)).expect("it fits");
        let parts = code.granularity();
        for (index, part) in (0..5).flat_map(|index| (0..parts).map(move |part| (index, part))) {
            let mut change = vec![0; parts as usize];
            change[part as usize] = 1;
            let mut parity = vec![vec![0; parts as usize]; code.parity() as usize];
            let mut targets: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
            code.update(index, &change, &mut targets);
            let changed = parity.iter().flatten().filter(|&&byte| byte != 0).count();
            assert_eq!(changed, code.changes(index, part) as usize, "{kind} {index} {part}");
        }
    }
}

#[test]
fn costs_are_those_published() {
    let cost = |kind, data, prime| Code::new(kind, data, prime).expect("it fits").cost();
    let xor = Cost { parts: 1, encode: 4, update: 1, decode_one: 4, decode_two: None };
    assert_eq!(cost(Kind::Xor, 5, None), xor);
    let pq = Cost { parts: 1, encode: 14, update: 2, decode_one: 7, decode_two: Some(15) };
    assert_eq!(cost(Kind::Pq, 8, None), pq);
    // RDP at its full width is optimal: 2 - 2 / (p - 1) additions for each part of the data, to encode and to decode.
    for prime in [5, 7, 17] {
        let rdp = cost(Kind::Rdp, prime - 1, Some(prime));
        let optimal = 2 * (prime - 1) * (prime - 1) - 2 * (prime - 1);
        assert_eq!((rdp.encode, rdp.decode_two), (optimal, Some(optimal)));
    }
    // Shortened to the same width, EVENODD takes more.
    assert!(cost(Kind::Evenodd, 6, Some(7)).encode > cost(Kind::Rdp, 6, Some(7)).encode);
}
