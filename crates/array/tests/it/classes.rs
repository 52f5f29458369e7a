//! Where the chunks of each class lie in the log, computed by hand. Stripes over n members take slots row by row. Parity
//! is the first member of the first band, the second member of the second band, and so on.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use stripewise_array::Controller;
use stripewise_core::ids::MemberNo;

use stripewise_array::RequestKind::{Read, Write};
use stripewise_array::format::FailReason;

use crate::support::Rig;

/// RAID-5 by elastic striping in segments of eight rows.
fn log(text: &str) -> String {
    format!(
        "name = 'test'\n[placement]\npolicy = 'elastic'\n[elastic]\nsegment_rows = 8\nreserve = '0%'\n{text}"
    )
}

/// The member and page of each of these chunks.
fn places(rig: &Rig, chunks: std::ops::Range<u64>) -> Vec<(u16, u32)> {
    chunks
        .map(|chunk| rig.array.chunk_in_log(chunk).unwrap_or_else(|| panic!("chunk {chunk}")))
        .map(|(member, page)| (member.number(), page))
        .collect()
}

/// Consecutive pages of `member` from `page` on.
fn run_of(member: u16, page: u32, pages: u32) -> impl Iterator<Item = (u16, u32)> {
    (page..page + pages).map(move |page| (member, page))
}

#[test]
fn without_chunk_sizes_consecutive_chunks_lie_on_members_of_their_own() {
    let mut rig = Rig::new(&log("buffer = 'group'"), 4, 128);
    rig.submit(Write, 0, 24).unwrap();
    rig.run();
    assert_eq!(places(&rig, 0..6), [(1, 0), (2, 0), (3, 0), (0, 1), (2, 1), (3, 1)]);
}

#[test]
fn a_chunk_of_four_pages_is_a_column_of_a_band_of_four_stripes() {
    let mut rig = Rig::new(&log("buffer = 'group'\nchunks = ['16KiB']"), 4, 128);
    rig.submit(Write, 0, 24).unwrap();
    rig.run();
    // Parity of the first band is on member 0, of the second band on member 1.
    let columns = [(1, 0), (2, 0), (3, 0), (0, 4), (2, 4), (3, 4)];
    let expected: Vec<_> = columns.into_iter().flat_map(|(member, page)| run_of(member, page, 4)).collect();
    assert_eq!(places(&rig, 0..24), expected);
}

#[test]
fn a_stream_that_leaves_stripe_by_stripe_waits_for_a_band() {
    let mut rig = Rig::new(&log("buffer = 'stripe'\nchunks = ['8KiB']"), 4, 128);
    rig.submit(Write, 0, 5).unwrap();
    rig.run();
    assert_eq!(rig.array.chunk_in_log(0), None);
    rig.submit(Write, 5, 1).unwrap();
    rig.run();
    assert_eq!(places(&rig, 0..6), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]);
}

#[test]
fn a_large_write_leaves_stripe_by_stripe_unless_memory_or_its_host_can_wait_for_the_rest() {
    let written = |acknowledge: &str, persistence: &str, pages: u64| {
        let text = format!("buffer = 'group'\nacknowledge = '{acknowledge}'\nwait = '1s'");
        let scheme = log(&text).replace("rows = 8", "rows = 32");
        let scheme = scheme.replace("[elastic]", &format!("buffer_persistence = '{persistence}'\n[elastic]"));
        let mut rig = Rig::new(&scheme, 4, 512);
        rig.submit(Write, 0, pages).unwrap();
        // Chunks that wait for a full stripe leave after a second.
        while rig.step() && rig.now() < 1_000_000_000 {}
        (0..pages).filter(|&chunk| rig.array.chunk_in_log(chunk).is_some()).count()
    };
    // 96 chunks fill a segment; 64 pages are 256 KiB.
    assert_eq!(written("buffered", "volatile", 63), 0);
    assert_eq!(written("buffered", "volatile", 65), 63);
    assert_eq!(written("durable", "volatile", 65), 63);
    assert_eq!(written("trigger-waits", "volatile", 65), 0);
    assert_eq!(written("buffered", "persistent", 65), 0);
}

#[test]
fn ten_chunks_that_leave_early_make_a_band_of_three_stripes_and_a_short_one() {
    let mut rig = Rig::new(&log("buffer = 'group'\nchunks = ['16KiB']\nwait = '10ns'"), 4, 128);
    rig.submit(Write, 0, 10).unwrap();
    rig.run();
    let columns = [(1, 0), (2, 0), (3, 0)];
    let mut expected: Vec<_> =
        columns.into_iter().flat_map(|(member, page)| run_of(member, page, 3)).collect();
    // Parity of the short stripe is on the second member.
    expected.push((0, 3));
    assert_eq!(places(&rig, 0..10), expected);
}

#[test]
fn over_the_living_members_a_chunk_lies_on_one_of_them_too() {
    let mut rig = Rig::new(&log("buffer = 'group'\nchunks = ['16KiB']"), 4, 128);
    rig.array.member_failed(0, MemberNo::new(2), FailReason::Requested, &mut rig.world);
    rig.submit(Write, 0, 24).unwrap();
    rig.run();
    let columns = [(1, 0), (3, 0), (0, 4), (3, 4)];
    let expected: Vec<_> = columns.into_iter().flat_map(|(member, page)| run_of(member, page, 4)).collect();
    assert_eq!(places(&rig, 0..16), expected);
}

#[test]
fn earlier_data_lies_as_the_coldest_class_does() {
    let mut rig = Rig::new(&log("chunks = ['16KiB']"), 4, 128);
    rig.array.assume_written(27);
    let columns = [(1, 0), (2, 0), (3, 0), (0, 4), (2, 4), (3, 4)];
    let mut expected: Vec<_> =
        columns.into_iter().flat_map(|(member, page)| run_of(member, page, 4)).collect();
    // The second segment has one stripe only; the third has parity on member 2.
    expected.extend([(0, 8), (1, 8), (3, 8)]);
    assert_eq!(places(&rig, 0..27), expected);
}

/// Members that a chunk's block of eight pages lies on.
fn members_of(rig: &Rig, block: u64) -> BTreeSet<u16> {
    places(rig, 8 * block..8 * block + 8).into_iter().map(|(member, _)| member).collect()
}

const MIX: &str = "classes = 'hotness-and-mix'\nchunks = ['32KiB', '8KiB', '4KiB']\nbuffer = 'stripe'\n[mix]\nhistory = 4\n";

#[test]
fn a_write_intensive_block_spreads_and_read_intensive_ones_lie_on_one_member_each() {
    let mut rig = Rig::new(&log(MIX), 5, 256);
    // The fourth write of block 0 makes it write-intensive, and two stripes of four columns leave.
    (0..4).for_each(|_| _ = rig.submit(Write, 0, 8).unwrap());
    // Blocks 1 to 4 make a band of eight stripes.
    (1..5).for_each(|block| _ = rig.submit(Write, 8 * block, 8).unwrap());
    rig.run();
    assert_eq!(members_of(&rig, 0).len(), 5, "data beside both positions of parity");
    for block in 1..5 {
        assert_eq!(members_of(&rig, block).len(), 1, "block {block}");
    }
}

#[test]
fn a_block_that_is_read_as_often_as_written_takes_chunks_of_two_pages() {
    let mut rig = Rig::new(&log(MIX), 5, 256);
    rig.submit(Write, 0, 8).unwrap();
    (0..2).for_each(|_| _ = rig.submit(Read, 0, 8).unwrap());
    rig.submit(Write, 0, 8).unwrap();
    rig.run();
    let columns = [(1, 0), (2, 0), (3, 0), (4, 0)];
    let expected: Vec<_> = columns.into_iter().flat_map(|(member, page)| run_of(member, page, 2)).collect();
    assert_eq!(places(&rig, 0..8), expected);
}

#[test]
fn blocks_that_survive_collection_lie_on_one_member_each_still() {
    let mut rig = Rig::new(&log(MIX).replace("segment_rows = 8", "segment_rows = 32"), 5, 2048);
    let blocks = rig.array.capacity() / (8 * crate::support::PAGE);
    rig.array.assume_written(8 * blocks);
    // Every other block is rewritten repeatedly, until segments with the remaining blocks have been collected.
    for _ in 0..8 {
        for block in (0..blocks).step_by(2) {
            rig.submit(Write, 8 * block, 8).unwrap();
            rig.run();
        }
    }
    let moved = rig.array.log_counts().moved;
    assert!(moved > blocks, "an eighth of all was moved: {moved} chunks");
    let still: Vec<u64> = (1..blocks).step_by(2).collect();
    let whole = still.iter().filter(|&&block| members_of(&rig, block).len() == 1).count();
    assert!(4 * whole > 3 * still.len(), "{whole} of {}", still.len());
    rig.array.audit_log().unwrap();
}
