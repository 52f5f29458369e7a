//! HCA compared with cases computed by hand and a naive model. Source: paper 001, section V-G.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stripewise_base::prng::Prng;
use stripewise_base::units::Bytes;

use super::super::hca::{Group, Hca};
use super::{HotnessPolicy, HotnessSection, PAGE, of};

/// Files of four chunks.
fn files_of_four(tiers: u32) -> HotnessSection {
    HotnessSection { tiers, extent: Bytes(4 * u64::from(PAGE)), ..of(HotnessPolicy::Hca) }
}

/// Writes one chunk as a single request.
fn write(hca: &mut Hca, page: u64) -> u8 {
    hca.tick();
    hca.classify(page)
}

#[test]
fn chunks_go_to_the_group_of_nearest_mean_by_a_case_computed_by_hand() {
    let mut hca = Hca::new(&files_of_four(2), 512, PAGE);
    // Chunk 0: 1/4, and group 0 opens. Chunk 4: 1/4. Chunk 1: 2/4, which is not above twice 1/4. S0 = 1/3.
    assert_eq!([0, 4, 1].map(|page| write(&mut hca, page)), [0, 0, 0]);
    // Chunk 0 after 3 requests: 3/4 + 2/3 is above twice 3/8, the mean without it, and opens group 1.
    assert_eq!(write(&mut hca, 0), 1);
    // Chunk 8: 1/4, nearer to 3/8 than to 17/12.
    assert_eq!(write(&mut hca, 8), 0);
    // Chunk 1 after 3 requests: 4/4 + 2/3 = 1.667, nearer to 1.417 than to 0.25.
    assert_eq!(write(&mut hca, 1), 1);
    // Chunk 4 after 5 requests: 2/4 + 2/5 = 0.9, by 0.650 from 0.250 and by 0.642 from 1.542.
    assert_eq!(write(&mut hca, 4), 1);
    let third = 2 * 65_536 / 3;
    let hot = (49_152 + third) + (65_536 + third) + (32_768 + 2 * 65_536 / 5);
    assert_eq!(hca.groups(), [Group { hotness: 16_384, chunks: 1 }, Group { hotness: hot, chunks: 3 }]);
}

#[test]
fn a_group_that_lost_its_last_chunk_is_closed_and_the_tier_is_the_rank_among_open_ones() {
    let mut hca = Hca::new(&files_of_four(2), 512, PAGE);
    // Chunk 4 again at once: 2/4 + 2/1 = 2.5 opens group 1.
    assert_eq!([0, 4, 4].map(|page| write(&mut hca, page)), [0, 0, 1]);
    // Chunk 0 after 3 requests: 2/4 + 2/3 = 1.167. Without it group 0 is empty, so it joins group 1, the only open one.
    assert_eq!(write(&mut hca, 0), 0);
    assert_eq!([hca.groups()[0].chunks, hca.groups()[1].chunks], [0, 2]);
    // Chunk 8: 1/4. Chunk 4: 3/4 + 3/2 = 2.25, above twice the mean of 1.167 and 0.25: group 0 opens again, as the hotter one.
    assert_eq!([8, 4].map(|page| write(&mut hca, page)), [0, 1]);
    assert_eq!([hca.groups()[0].chunks, hca.groups()[1].chunks], [1, 2]);
}

#[test]
fn the_last_file_is_as_long_as_what_the_array_has_of_it() {
    let mut hca = Hca::new(&files_of_four(2), 6, PAGE);
    write(&mut hca, 4);
    assert_eq!(hca.groups()[0].hotness, 32_768, "one write, two chunks");
}

#[test]
fn chunks_of_one_request_are_written_at_one_time_and_age_is_at_least_one() {
    let mut hca = Hca::new(&files_of_four(1), 512, PAGE);
    hca.tick();
    hca.classify(0);
    hca.classify(0);
    assert_eq!(hca.groups()[0].hotness, 2 * 65_536 / 4 + 2 * 65_536);
}

#[test]
fn hotness_and_counts_stop_where_their_bits_end() {
    let mut hca = Hca::new(&HotnessSection { extent: Bytes(512), ..of(HotnessPolicy::Hca) }, 2, PAGE);
    for _ in 0..20_000 {
        write(&mut hca, 1);
    }
    // 20,000 writes of a file of one chunk, and 16,383 of the chunk.
    assert_eq!(hca.groups()[0].hotness, (20_000 + 16_383) << 16);
    for _ in 0..80_000 {
        write(&mut hca, 1);
    }
    assert_eq!(hca.groups()[0], Group { hotness: u64::from(u32::MAX), chunks: 1 });
}

/// Ways to get the algorithm wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    OldHotnessStays,
    AgeOfFirstWrite,
    NoFile,
    NoAge,
    OpensAtOnce,
    NeverOpens,
    NumberInsteadOfRank,
    FartherGroup,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    time: u64,
    writes: u64,
    hotness: u64,
    group: usize,
}

/// HCA as the paper describes it: the state of every chunk, and means recomputed each time.
struct Model {
    tiers: usize,
    pages: u64,
    now: u64,
    chunks: BTreeMap<u64, Known>,
    files: BTreeMap<u64, u64>,
    /// Chunks that have left their group in name only.
    ghosts: Vec<(usize, u64)>,
    planted: Planted,
}

impl Model {
    fn new(tiers: u32, pages: u64, planted: Planted) -> Self {
        let (chunks, files) = (BTreeMap::new(), BTreeMap::new());
        Self { tiers: tiers as usize, pages, now: 0, chunks, files, ghosts: Vec::new(), planted }
    }

    /// The sum and the number of a group's hotness values, if it is open.
    fn group(&self, group: usize) -> Option<(i128, i128)> {
        let members = self.chunks.values().filter(|known| known.group == group).map(|known| known.hotness);
        let ghosts = self.ghosts.iter().filter(|ghost| ghost.0 == group).map(|ghost| ghost.1);
        let (sum, count) = members.chain(ghosts).fold((0, 0), |(sum, n), h| (sum + i128::from(h), n + 1));
        (count > 0).then_some((sum, count))
    }

    fn write(&mut self, page: u64) -> u8 {
        self.now += 1;
        let planted = self.planted;
        let old = self.chunks.remove(&page);
        if let (Planted::OldHotnessStays, Some(old)) = (planted, old) {
            self.ghosts.push((old.group, old.hotness));
        }
        let file = self.files.entry(page / 4).or_default();
        *file += 1;
        let file_pages = (self.pages - page / 4 * 4).min(4);
        let of_file = if planted == Planted::NoFile { 0 } else { (*file << 16) / file_pages };
        let writes = old.map_or(1, |old| old.writes + 1);
        let age = if planted == Planted::NoAge { 1 } else { self.now - old.map_or(0, |old| old.time) };
        let counts = writes > 1 || planted == Planted::AgeOfFirstWrite;
        let hotness = of_file + if counts { (writes << 16) / age } else { 0 };
        let open: Vec<usize> = (0..self.tiers).filter(|&group| self.group(group).is_some()).collect();
        let closed = (0..self.tiers).find(|&group| self.group(group).is_none());
        let mean = |group: usize| self.group(group).expect("it is open");
        // The distances from the means, over one common divisor of all means.
        let common: i128 = open.iter().map(|&group| mean(group).1).product();
        let scaled = |group: usize| mean(group).0 * (common / mean(group).1);
        let distance = |group: &usize| (scaled(*group) - i128::from(hotness) * common).abs();
        let nearest = open.iter().copied().min_by_key(distance);
        let nearest = if planted == Planted::FartherGroup {
            open.iter().copied().max_by_key(distance)
        } else {
            nearest
        };
        let hottest = open.iter().map(|&group| scaled(group)).max().unwrap_or(0);
        let factor = if planted == Planted::OpensAtOnce { 0 } else { 2 };
        let opens = i128::from(hotness) * common > factor * hottest && planted != Planted::NeverOpens;
        let group = match (nearest, closed) {
            (Some(_), Some(closed)) if opens => closed,
            (Some(nearest), _) => nearest,
            (None, closed) => closed.expect("groups are open or closed"),
        };
        self.chunks.insert(page, Known { time: self.now, writes, hotness, group });
        if planted == Planted::NumberInsteadOfRank {
            return group as u8;
        }
        let mut means: Vec<(i128, i128, usize)> = (0..self.tiers)
            .filter_map(|group| self.group(group).map(|(sum, count)| (sum, count, group)))
            .collect();
        means.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)).then(a.2.cmp(&b.2)));
        means.iter().position(|&(.., other)| other == group).expect("its group is open") as u8
    }
}

proptest! {
    #[test]
    fn it_agrees_with_means_computed_again(
        tiers in 1u32..5,
        pages in prop::collection::vec(prop_oneof![2 => 0u64..6, 1 => 0u64..58], 1..300),
    ) {
        let mut hca = Hca::new(&files_of_four(tiers), 58, PAGE);
        let mut model = Model::new(tiers, 58, Planted::Nothing);
        for (at, page) in pages.into_iter().enumerate() {
            prop_assert_eq!(write(&mut hca, page), model.write(page), "write {} of chunk {}", at, page);
        }
        for (at, group) in hca.groups().iter().enumerate() {
            let (sum, count) = model.group(at).unwrap_or_default();
            prop_assert_eq!((i128::from(group.hotness), i128::from(group.chunks)), (sum, count));
        }
    }
}

#[test]
fn each_way_to_get_the_algorithm_wrong_is_distinguished_from_the_right_one() {
    let differs = |planted| {
        let mut pages = Prng::new(7);
        let mut hca = Hca::new(&files_of_four(3), 58, PAGE);
        let mut model = Model::new(3, 58, planted);
        (0..3000).any(|number| {
            // The set of hot chunks changes, so that groups overtake each other and close.
            let page =
                if pages.chance(9, 10) { number / 100 % 28 * 2 + pages.below(3) } else { pages.below(58) };
            write(&mut hca, page) != model.write(page)
        })
    };
    assert!(!differs(Planted::Nothing));
    for planted in [
        Planted::OldHotnessStays,
        Planted::AgeOfFirstWrite,
        Planted::NoFile,
        Planted::NoAge,
        Planted::OpensAtOnce,
        Planted::NeverOpens,
        Planted::NumberInsteadOfRank,
        Planted::FartherGroup,
    ] {
        assert!(differs(planted), "{planted:?} was not noticed");
    }
}
