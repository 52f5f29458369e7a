//! A covering array of strength 3 over accepted combinations: if some accepted combination contains three given
//! members of three axes, some row contains them.
//!
//! Rows are built one at a time; each is the best of several candidates. A candidate begins with a missing triple.
//! Then it takes, for each axis in random order, the member that adds the most missing triples among those that keep
//! the combination acceptable. Source: one test at a time, greedily, as in AETG (Cohen, Dalal, Fredman and Patton,
//! IEEE TSE 23(7), 1997).

use stripewise_base::prng::Prng;

use super::axes::{AXES, COUNT};
use super::bits::{Numbers, Triples, triples_of};
use super::{At, Combination, Pairs};

/// Candidates per row. More candidates save a few rows and take longer.
const CANDIDATES: u32 = 20;

/// Seed that selects one of several possible covering arrays.
const SEED: u64 = 3;

/// Whether some accepted combination contains three members of three axes, given in order of their axes.
pub fn is_feasible(pairs: &Pairs, [one, two, three]: [At; 3]) -> bool {
    let mut chosen = [None; COUNT];
    [one, two, three].into_iter().for_each(|(axis, member)| chosen[axis] = Some(member));
    pairs.go_together(one, two)
        && pairs.go_together(one, three)
        && pairs.go_together(two, three)
        && pairs.complete(&chosen).is_some()
}

/// All triples that occur in accepted combinations.
pub(super) fn feasible(pairs: &Pairs) -> Triples {
    let mut triples = Triples::new(pairs.numbers());
    let all: Vec<At> = Numbers::all().collect();
    for (nth, &one) in all.iter().enumerate() {
        for (nth, &two) in all.iter().enumerate().skip(nth + 1).filter(|(_, two)| two.0 > one.0) {
            for &three in all[nth + 1..].iter().filter(|three| three.0 > two.0) {
                if is_feasible(pairs, [one, two, three]) {
                    triples.insert([one, two, three]);
                }
            }
        }
    }
    triples
}

/// The rows of the covering array, the same each time.
pub fn covering(pairs: &Pairs) -> Vec<Combination> {
    let mut missing = feasible(pairs);
    let wanted: Vec<[At; 3]> = all_of(&missing);
    let mut random = Prng::stream(SEED, 0x636F_7665);
    let mut rows = Vec::new();
    let mut next = 0;
    while missing.count > 0 {
        while !missing.has(wanted[next]) {
            next += 1;
        }
        let mut best = (0, Combination::default());
        for _ in 0..CANDIDATES {
            let candidate = candidate(pairs, &missing, wanted[next], &mut random);
            let gain = triples_of(&candidate).filter(|&triple| missing.has(triple)).count();
            if gain > best.0 {
                best = (gain, candidate);
            }
        }
        triples_of(&best.1).for_each(|triple| missing.remove(triple));
        rows.push(best.1);
    }
    // In random order, any part of the rows is a sample.
    shuffle(&mut rows, &mut random);
    rows
}

/// Puts `items` into a random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Prng) {
    for place in (1..items.len()).rev() {
        items.swap(place, random.below(place as u64 + 1) as usize);
    }
}

fn all_of(triples: &Triples) -> Vec<[At; 3]> {
    let all: Vec<At> = Numbers::all().collect();
    let mut found = Vec::new();
    for (nth, &one) in all.iter().enumerate() {
        for (nth, &two) in all.iter().enumerate().skip(nth + 1) {
            found.extend(
                all[nth + 1..].iter().map(|&three| [one, two, three]).filter(|&triple| triples.has(triple)),
            );
        }
    }
    found
}

fn candidate(pairs: &Pairs, missing: &Triples, first: [At; 3], random: &mut Prng) -> Combination {
    let mut chosen = [None; COUNT];
    first.into_iter().for_each(|(axis, member)| chosen[axis] = Some(member));
    let mut order: Vec<usize> = (0..COUNT).filter(|&axis| chosen[axis].is_none()).collect();
    shuffle(&mut order, random);
    for axis in order {
        let may = pairs.may(&chosen);
        let members = AXES[axis].members.len() as u8;
        let from = random.below(u64::from(members)) as u8;
        let mut best: Option<(u32, u8)> = None;
        for member in
            (0..members).map(|nth| (nth + from) % members).filter(|&member| pairs.is_in((axis, member), may))
        {
            let gain = missing.gain((axis, member), &chosen);
            if best.is_some_and(|(most, _)| gain <= most) {
                continue;
            }
            chosen[axis] = Some(member);
            if pairs.complete(&chosen).is_some() {
                best = Some((gain, member));
            }
            chosen[axis] = None;
        }
        chosen[axis] = best.map(|(_, member)| member);
    }
    Combination(chosen.map(|member| member.expect("what is chosen can be completed")))
}
