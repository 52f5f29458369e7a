//! A workload whose hot chunks are known: 20 % of the chunks take 80 % of the writes.
//! Source: paper 001, section II-C, the 80/20 rule.

use stripewise_base::prng::Prng;
use stripewise_base::units::Bytes;

use super::{HotnessPolicy, HotnessSection, PAGE, of, write};
use crate::hotness::Hotness;

const PAGES: u64 = 10_000;
const HOT: u64 = PAGES / 5;

/// Writes by their true and their assigned tier.
#[derive(Clone, Copy, Debug, Default)]
struct Sorted {
    hot_as_hot: u64,
    hot_as_cold: u64,
    cold_as_hot: u64,
    cold_as_cold: u64,
}

impl Sorted {
    /// The percentage of writes in the hot tier that go to hot chunks; 80 if tiers are drawn at random.
    fn hot_in_hot(self) -> u64 {
        100 * self.hot_as_hot / (self.hot_as_hot + self.cold_as_hot)
    }

    /// The same for the cold tier.
    fn hot_in_cold(self) -> u64 {
        100 * self.hot_as_cold / (self.hot_as_cold + self.cold_as_cold)
    }
}

/// Where the hot chunks are.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// Every fifth chunk is hot.
    Scattered,
    /// The first fifth of the chunks is hot.
    Together,
}

/// Counts the second half of 400,000 writes; by then nearly every chunk has been written twice.
fn sort(layout: Layout, mut hotness: impl FnMut(u64) -> u8) -> Sorted {
    let mut prng = Prng::new(11);
    let mut sorted = Sorted::default();
    for number in 0..400_000 {
        let is_hot = prng.chance(4, 5);
        let rank = if is_hot { prng.below(HOT) } else { HOT + prng.below(PAGES - HOT) };
        let page = match layout {
            // 5 times the rank runs through all residues of 5, one after the other.
            Layout::Scattered => rank * 5 % PAGES + rank * 5 / PAGES,
            Layout::Together => rank,
        };
        let tier = hotness(page);
        if number >= 200_000 {
            let place = match (is_hot, tier > 0) {
                (true, true) => &mut sorted.hot_as_hot,
                (true, false) => &mut sorted.hot_as_cold,
                (false, true) => &mut sorted.cold_as_hot,
                (false, false) => &mut sorted.cold_as_cold,
            };
            *place += 1;
        }
    }
    sorted
}

fn sort_by(section: &HotnessSection) -> Sorted {
    sort_laid_out(Layout::Scattered, section)
}

fn sort_laid_out(layout: Layout, section: &HotnessSection) -> Sorted {
    let mut hotness = Hotness::new(section, PAGES, PAGE);
    sort(layout, |page| write(&mut hotness, page))
}

#[test]
fn tiers_by_lot_would_hold_eighty_percent_of_hot_writes() {
    let mut lot = Prng::new(5);
    let sorted = sort(Layout::Scattered, |_| lot.below(2) as u8);
    assert_eq!((sorted.hot_in_hot(), sorted.hot_in_cold()), (80, 80));
}

#[test]
fn the_hot_tier_of_glru_holds_hot_chunks_though_its_table_has_a_tenth_of_all() {
    let sorted = sort_by(&of(HotnessPolicy::Glru));
    assert!(sorted.hot_in_hot() >= 97, "{sorted:?}");
    assert!(sorted.hot_in_cold() < 75, "{sorted:?}");
}

#[test]
fn a_higher_threshold_makes_the_hot_tier_smaller_and_purer() {
    let low = sort_by(&of(HotnessPolicy::Glru));
    let high = sort_by(&HotnessSection { thresholds: Some(vec![8]), ..of(HotnessPolicy::Glru) });
    assert!(high.hot_as_hot < low.hot_as_hot, "{high:?} {low:?}");
    assert!(high.cold_as_hot * low.hot_as_hot < low.cold_as_hot * high.hot_as_hot, "{high:?} {low:?}");
}

#[test]
fn a_table_of_more_items_finds_more_of_the_hot_chunks() {
    let small = sort_by(&HotnessSection { lists: 32, ..of(HotnessPolicy::Glru) });
    let large = sort_by(&HotnessSection { lists: 512, ..of(HotnessPolicy::Glru) });
    assert!(large.hot_as_hot > 2 * small.hot_as_hot, "{large:?} {small:?}");
}

#[test]
fn a_newcomer_that_always_gets_a_place_drives_more_hot_chunks_out() {
    let always = sort_by(&HotnessSection { replace: "100%".parse().unwrap(), ..of(HotnessPolicy::Glru) });
    let seldom = sort_by(&HotnessSection { replace: "5%".parse().unwrap(), ..of(HotnessPolicy::Glru) });
    assert!(seldom.hot_as_hot > always.hot_as_hot, "{seldom:?} {always:?}");
}

#[test]
fn counting_directly_without_decay_ends_with_everything_hot_and_decay_cures_it() {
    let plain = sort_by(&of(HotnessPolicy::Direct));
    assert!(plain.hot_as_cold + plain.cold_as_cold < 100 && plain.hot_in_hot() == 80, "{plain:?}");
    // In 400,000 writes, a hot chunk is written 160 times and a cold one 10 times: 8 times and half a time in 20,000.
    let thresholds = Some(vec![4]);
    let halved = HotnessSection { halve_every: 20_000, thresholds, ..of(HotnessPolicy::Direct) };
    let halved = sort_by(&halved);
    assert!(halved.hot_in_hot() >= 99 && halved.hot_in_cold() < 10, "{halved:?}");
}

#[test]
fn hca_sorts_by_files_so_it_needs_hot_chunks_to_lie_together() {
    let extent = Bytes(64 * 1024);
    let section = HotnessSection { extent, ..of(HotnessPolicy::Hca) };
    let together = sort_laid_out(Layout::Together, &section);
    assert!(together.hot_in_hot() > 90 && together.hot_in_cold() < 70, "{together:?}");
    let scattered = sort_laid_out(Layout::Scattered, &section);
    assert!(scattered.hot_in_hot() < 85, "{scattered:?}");
}
