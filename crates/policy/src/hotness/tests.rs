//! Hotness compared with cases computed by hand, naive models, and a workload whose hot chunks are known.

mod counting;
mod hca;
mod section;
mod skew;

use stripewise_base::units::Bytes;

use super::{Hotness, HotnessPolicy, HotnessSection};

const PAGE: u32 = 4096;

fn of(policy: HotnessPolicy) -> HotnessSection {
    HotnessSection { policy, ..HotnessSection::default() }
}

/// Writes one chunk by a request that does not start where the previous one ended.
fn write(hotness: &mut Hotness, page: u64) -> u8 {
    hotness.begin_request(0, 1);
    hotness.classify(page)
}

/// Writes a request of whole chunks; returns the tiers of its chunks.
fn request(hotness: &mut Hotness, page: u64, pages: u64) -> Vec<u8> {
    hotness.begin_request(page * u64::from(PAGE), pages * u64::from(PAGE));
    (page..page + pages).map(|page| hotness.classify(page)).collect()
}

#[test]
fn without_a_policy_all_chunks_are_of_one_tier_and_nothing_is_kept() {
    let mut hotness = Hotness::new(&HotnessSection::default(), 1 << 40, PAGE);
    assert!((0..100).all(|_| write(&mut hotness, 7) == 0));
    assert_eq!((hotness.tiers(), hotness.bytes()), (1, 0));
}

#[test]
fn a_sequential_request_takes_the_last_tier_and_leaves_the_tables_alone() {
    for policy in [HotnessPolicy::Glru, HotnessPolicy::Direct] {
        let mut hotness = Hotness::new(&of(policy), 1000, PAGE);
        assert_eq!(request(&mut hotness, 10, 2), [0, 0]);
        assert_eq!(request(&mut hotness, 11, 1), [1], "chunk 11 for the second time");
        assert_eq!(request(&mut hotness, 12, 3), [1, 1, 1], "it starts where the last one ended");
        assert_eq!(request(&mut hotness, 15, 1), [1], "and so does this one");
        assert_eq!(request(&mut hotness, 13, 1), [0], "nobody has counted chunk 13");
        assert_eq!(request(&mut hotness, 14, 2), [0, 0], "sequential again, after a cold chunk");
    }
}

#[test]
fn a_request_is_sequential_only_to_the_byte_and_only_to_the_request_right_before() {
    let mut hotness = Hotness::new(&of(HotnessPolicy::Direct), 1000, PAGE);
    request(&mut hotness, 5, 1);
    assert_eq!(request(&mut hotness, 5, 1), [1]);
    // A gap of one sector.
    hotness.begin_request(6 * 4096 + 512, 4096);
    assert_eq!(hotness.classify(6), 0);
    request(&mut hotness, 5, 1);
    request(&mut hotness, 100, 1);
    assert_eq!(request(&mut hotness, 7, 1), [0], "it would follow the request before the last");
    request(&mut hotness, 5, 1);
    // Half of chunk 5 again, then its other half: the second one continues the first.
    hotness.begin_request(5 * 4096, 2048);
    assert_eq!(hotness.classify(5), 1);
    hotness.begin_request(5 * 4096 + 2048, 4096);
    assert_eq!((hotness.classify(5), hotness.classify(6)), (1, 1));
}

#[test]
fn without_the_shortcut_every_chunk_is_looked_up() {
    let section = HotnessSection { sequential_shortcut: false, ..of(HotnessPolicy::Direct) };
    let mut hotness = Hotness::new(&section, 1000, PAGE);
    request(&mut hotness, 5, 1);
    assert_eq!(request(&mut hotness, 5, 1), [1]);
    assert_eq!(request(&mut hotness, 6, 2), [0, 0]);
    assert_eq!(request(&mut hotness, 6, 1), [1]);
}

#[test]
fn glru_keeps_as_much_as_printed_however_large_the_array_and_the_others_grow_with_it() {
    let bytes = |policy, pages| Hotness::new(&of(policy), pages, PAGE).bytes();
    // Paper 001: 128 lists of 8 items of 36 bits, "around 5 KB".
    assert_eq!(bytes(HotnessPolicy::Glru, 1 << 10), 4608);
    assert_eq!(bytes(HotnessPolicy::Glru, 1 << 39), 4608);
    // Paper 001: 10 bytes per chunk, "around 2.5 MB" per GB; ours adds 4 bytes for each extent of 256 chunks.
    let chunks_of_a_gib = 1 << 18;
    assert_eq!(bytes(HotnessPolicy::Hca, chunks_of_a_gib), 10 * (1 << 18) + 4 * (1 << 10));
    assert_eq!(bytes(HotnessPolicy::Direct, chunks_of_a_gib), 1 << 18);
    // Items are allocated in groups of eight, used or not.
    let odd = HotnessSection { lists: 3, items: 9, ..of(HotnessPolicy::Glru) };
    assert_eq!(Hotness::new(&odd, 100, PAGE).bytes(), 3 * 2 * 36);
}

#[test]
fn a_file_of_hca_is_no_smaller_than_a_chunk() {
    let section = HotnessSection { extent: Bytes(512), ..of(HotnessPolicy::Hca) };
    assert_eq!(Hotness::new(&section, 100, PAGE).bytes(), 100 * 14);
}
