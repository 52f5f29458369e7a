//! GLRU and direct counting compared with cases computed by hand and a naive model. Source: paper 001, section III-A and
//! algorithm 1.

use std::collections::VecDeque;

use proptest::prelude::*;
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;

use super::super::glru::Glru;
use super::{HotnessPolicy, HotnessSection, PAGE, of, write};
use crate::hotness::Hotness;

fn glru(lists: u32, items: u32) -> HotnessSection {
    HotnessSection { lists, items, ..of(HotnessPolicy::Glru) }
}

#[test]
fn the_counter_rises_before_it_is_compared_so_a_second_write_is_hot() {
    let mut glru = Glru::new(&glru(128, 8));
    assert_eq!([glru.classify(5), glru.classify(5)], [0, 1]);
    assert!((0..16).all(|_| glru.classify(5) == 1));
    assert_eq!(glru.list(5), [(5, 15)], "18 writes, and 4 bits");
}

#[test]
fn a_chunk_belongs_to_the_list_of_its_remainder() {
    let mut glru = Glru::new(&glru(128, 8));
    for page in [5, 133, 261, 6] {
        glru.classify(page);
    }
    assert_eq!(glru.list(5), [(261, 1), (133, 1), (5, 1)]);
    assert_eq!(glru.list(6), [(6, 1)]);
}

#[test]
fn chunks_beyond_32_bits_are_distinguished() {
    let mut glru = Glru::new(&glru(128, 8));
    let far = 5 + (128 << 31);
    assert_eq!([5, far, 5, far].map(|page| glru.classify(page)), [0, 0, 1, 1]);
    assert_eq!(glru.list(5), [(far, 2), (5, 2)]);
}

#[test]
fn chunk_zero_is_not_taken_for_a_vacant_item() {
    let mut glru = Glru::new(&glru(1, 4));
    assert_eq!([3, 0, 3, 0].map(|page| glru.classify(page)), [0, 0, 1, 1]);
}

#[test]
fn a_hit_moves_its_item_to_the_head_and_the_tail_is_what_leaves() {
    let section = HotnessSection { replace: Share::ALL, ..glru(1, 3) };
    let mut glru = Glru::new(&section);
    for page in [1, 2, 3, 1, 4] {
        glru.classify(page);
    }
    assert_eq!(glru.list(0), [(4, 1), (1, 2), (3, 1)], "2 was updated longest ago");
}

#[test]
fn the_coin_decides_whether_a_newcomer_takes_the_last_place() {
    let full = |replace| {
        let mut glru = Glru::new(&HotnessSection { replace, ..glru(1, 2) });
        glru.classify(1);
        glru.classify(2);
        glru
    };
    let mut never = full(Share::NONE);
    assert!((3..1000).all(|page| never.classify(page) == 0));
    assert_eq!(never.list(0), [(2, 1), (1, 1)]);
    let mut always = full(Share::ALL);
    always.classify(3);
    assert_eq!(always.list(0), [(3, 1), (2, 1)]);
    // Of 10,000 tosses, 5,000 succeed, within four standard deviations of 50.
    let mut even = full(Share(500_000));
    let taken = (3..10_003).filter(|&page| {
        even.classify(page);
        even.list(0)[0].0 == page
    });
    let taken = taken.count();
    assert!((4_800..=5_200).contains(&taken), "{taken}");
}

#[test]
fn the_seed_decides_the_coin() {
    let tiers = |seed| {
        let mut glru = Glru::new(&HotnessSection { seed, ..glru(2, 2) });
        let mut pages = Prng::new(1);
        (0..1000).map(|_| glru.classify(pages.below(12))).collect::<Vec<u8>>()
    };
    assert_eq!(tiers(1), tiers(1));
    assert_ne!(tiers(1), tiers(2));
}

#[test]
fn thresholds_part_the_counts_into_tiers() {
    for policy in [HotnessPolicy::Glru, HotnessPolicy::Direct] {
        let tiers = |tiers| {
            let mut hotness = Hotness::new(&HotnessSection { tiers, ..of(policy) }, 1000, PAGE);
            (0..9).map(|_| write(&mut hotness, 3)).collect::<Vec<u8>>()
        };
        assert_eq!(tiers(1), [0; 9]);
        assert_eq!(tiers(2), [0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(tiers(3), [0, 1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(tiers(4), [0, 1, 1, 2, 2, 2, 2, 3, 3]);
        let own = HotnessSection { tiers: 3, thresholds: Some(vec![3, 5]), ..of(policy) };
        let mut own = Hotness::new(&own, 1000, PAGE);
        assert_eq!([0; 6].map(|page| write(&mut own, page)), [0, 0, 1, 1, 2, 2]);
    }
}

#[test]
fn every_counter_is_halved_once_in_n_look_ups() {
    // Two lists: one is halved after each fourth look-up, first list 0.
    let mut glru = Glru::new(&HotnessSection { halve_every: 8, ..glru(2, 3) });
    for _ in 0..3 {
        glru.classify(1);
    }
    glru.classify(0);
    assert_eq!((glru.list(0), glru.list(1)), (vec![(0, 1)], vec![(1, 3)]), "1 is never halved");
    for _ in 0..4 {
        glru.classify(0);
    }
    assert_eq!((glru.list(0), glru.list(1)), (vec![(0, 5)], vec![(1, 1)]));
    for _ in 0..4 {
        glru.classify(3);
    }
    assert_eq!((glru.list(0), glru.list(1)), (vec![(0, 2)], vec![(3, 4), (1, 1)]));
    let section = HotnessSection { halve_every: 3, thresholds: Some(vec![3]), ..of(HotnessPolicy::Direct) };
    let mut direct = Hotness::new(&section, 10, PAGE);
    assert_eq!(
        [0; 7].map(|page| write(&mut direct, page)),
        [0, 0, 1, 0, 1, 1, 1],
        "1 2 3, halved: 2 3 4, halved: 3"
    );
}

#[test]
fn direct_counting_stops_at_255() {
    let section = HotnessSection { thresholds: Some(vec![255]), ..of(HotnessPolicy::Direct) };
    let mut direct = Hotness::new(&section, 10, PAGE);
    assert!((0..254).all(|_| write(&mut direct, 9) == 0));
    assert!((0..1000).all(|_| write(&mut direct, 9) == 1));
}

/// Ways to get algorithm 1 wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    ComparedBeforeCounted,
    OrderOfInsertion,
    HeadLeaves,
    NoCoin,
    CounterWithoutCeiling,
    CoinThoughThereIsRoom,
    CounterSurvivesEviction,
    NewcomerIsHot,
    OneListForAll,
}

/// GLRU as the paper describes it: lists of items with whole numbers, the head at the front.
struct Model {
    section: HotnessSection,
    lists: Vec<VecDeque<(u64, u32)>>,
    coin: Prng,
    lookups: u64,
    planted: Planted,
}

impl Model {
    fn new(section: &HotnessSection, planted: Planted) -> Self {
        Self {
            section: section.clone(),
            lists: vec![VecDeque::new(); section.lists as usize],
            coin: Prng::new(section.seed),
            lookups: 0,
            planted,
        }
    }

    fn toss(&mut self) -> bool {
        self.planted == Planted::NoCoin || self.coin.chance(self.section.replace.0.into(), 1_000_000)
    }

    fn classify(&mut self, page: u64) -> u8 {
        let planted = self.planted;
        let count = self.section.lists as usize;
        let at = if planted == Planted::OneListForAll { 0 } else { page as usize % count };
        let place = self.lists[at].iter().position(|item| item.0 == page);
        let room = self.lists[at].len() < self.section.items as usize;
        let thresholds = self.section.thresholds().to_vec();
        let tier = |writes: u32| thresholds.iter().filter(|&&threshold| writes >= threshold).count() as u8;
        let result = if let Some(place) = place {
            let before = self.lists[at][place].1;
            let ceiling = if planted == Planted::CounterWithoutCeiling { u32::MAX } else { 15 };
            let writes = (before + 1).min(ceiling);
            if planted == Planted::OrderOfInsertion {
                self.lists[at][place].1 = writes;
            } else {
                self.lists[at].remove(place);
                self.lists[at].push_front((page, writes));
            }
            tier(if planted == Planted::ComparedBeforeCounted { before } else { writes })
        } else {
            let mut first = 1;
            let wants =
                if room { planted != Planted::CoinThoughThereIsRoom || self.toss() } else { self.toss() };
            if wants {
                if !room {
                    let list = &mut self.lists[at];
                    let gone =
                        if planted == Planted::HeadLeaves { list.pop_front() } else { list.pop_back() };
                    if let (Planted::CounterSurvivesEviction, Some(gone)) = (planted, gone) {
                        first = gone.1;
                    }
                }
                self.lists[at].push_front((page, first));
            }
            u8::from(planted == Planted::NewcomerIsHot && wants)
        };
        let every = self.section.halve_every;
        if every > 0 {
            // After look-up t, t * lists / every lists have been halved in all.
            let due = |lookups: u64| lookups * count as u64 / every;
            for turn in due(self.lookups)..due(self.lookups + 1) {
                for item in &mut self.lists[(turn % count as u64) as usize] {
                    item.1 = (item.1 / 2).max(1);
                }
            }
        }
        self.lookups += 1;
        result
    }
}

fn sections() -> impl Strategy<Value = HotnessSection> {
    let replace =
        prop_oneof![Just(Share::NONE), Just(Share(500_000)), Just(Share(900_000)), Just(Share::ALL)];
    let halve = prop_oneof![3 => Just(0), 1 => 1u64..40];
    (1u32..6, 1u32..20, 1u32..5, replace, halve, any::<u64>()).prop_map(
        |(lists, items, tiers, replace, halve_every, seed)| HotnessSection {
            tiers,
            replace,
            halve_every,
            seed,
            ..glru(lists, items)
        },
    )
}

/// Writes that return to few chunks, so that lists fill and counters rise.
fn pages() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![2 => 0u64..12, 1 => 0u64..200], 1..600)
}

proptest! {
    #[test]
    fn glru_agrees_with_lists_of_the_same_pages(section in sections(), pages in pages()) {
        let mut glru = Glru::new(&section);
        let mut model = Model::new(&section, Planted::Nothing);
        for (at, &page) in pages.iter().enumerate() {
            prop_assert_eq!(glru.classify(page), model.classify(page), "write {} of chunk {}", at, page);
            let list = page % u64::from(section.lists);
            let items: Vec<(u64, u8)> =
                model.lists[list as usize].iter().map(|&(page, writes)| (page, writes as u8)).collect();
            prop_assert_eq!(glru.list(list), items, "write {} of chunk {}", at, page);
        }
    }

    #[test]
    fn direct_counting_says_what_glru_says_when_every_chunk_has_an_item(
        (lists, tiers) in (1u32..8, 1u32..5),
        pages in prop::collection::vec(0u64..40, 1..600),
    ) {
        let table = HotnessSection { tiers, replace: Share::NONE, ..glru(lists, 40u32.div_ceil(lists)) };
        let mut glru = Hotness::new(&table, 40, PAGE);
        let mut direct = Hotness::new(&HotnessSection { tiers, ..of(HotnessPolicy::Direct) }, 40, PAGE);
        for page in pages {
            prop_assert_eq!(write(&mut glru, page), write(&mut direct, page));
        }
    }
}

#[test]
fn each_way_to_get_the_algorithm_wrong_is_distinguished_from_the_right_one() {
    // Checks whether the tiers alone, which a placement sees, reveal a planted fault within a thousand writes.
    let section = HotnessSection { tiers: 4, ..glru(3, 4) };
    let differs = |planted| {
        let mut pages = Prng::new(3);
        let (mut glru, mut model) = (Glru::new(&section), Model::new(&section, planted));
        (0..1000).any(|_| {
            let page = if pages.chance(1, 2) { pages.below(6) } else { pages.below(60) };
            glru.classify(page) != model.classify(page)
        })
    };
    assert!(!differs(Planted::Nothing));
    for planted in [
        Planted::ComparedBeforeCounted,
        Planted::OrderOfInsertion,
        Planted::HeadLeaves,
        Planted::NoCoin,
        Planted::CoinThoughThereIsRoom,
        Planted::CounterSurvivesEviction,
        Planted::NewcomerIsHot,
        Planted::OneListForAll,
    ] {
        assert!(differs(planted), "{planted:?} was not noticed");
    }
    // A counter without its limit shows once it has been halved: 18 becomes 9, but 15 becomes 7, below 8.
    let section = HotnessSection { tiers: 2, thresholds: Some(vec![9]), halve_every: 18, ..glru(1, 4) };
    let last = |planted| {
        let mut model = Model::new(&section, planted);
        (0..19).map(|_| model.classify(0)).last()
    };
    let mut glru = Glru::new(&section);
    assert_eq!((0..19).map(|_| glru.classify(0)).last(), last(Planted::Nothing));
    assert_ne!(last(Planted::CounterWithoutCeiling), last(Planted::Nothing));
}
