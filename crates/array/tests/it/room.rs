//! A log has room for all that it offers: hosts write a full array over and over, and no write and no flush is refused for
//! lack of space, however short the stripes are.

use stripewise_array::RequestKind;
use stripewise_testkit::Disk;

use crate::host::Host;

/// An array with metadata on small members.
#[derive(Clone, Copy, Debug)]
struct Shape {
    width: u16,
    groups: u16,
    code: &'static str,
    segment_rows: u32,
    segments: u32,
    tiers: u32,
    /// Whether chunks leave memory by whole segments.
    buffers_segments: bool,
    /// Lost members, for which there is room.
    lost: u16,
}

/// Five members with stripes of X-Code.
const DEEP: Shape = Shape {
    width: 5,
    groups: 1,
    code: "x-code",
    segment_rows: 24,
    segments: 14,
    tiers: 2,
    buffers_segments: false,
    lost: 0,
};

const PAGE: u32 = 4096;

impl Shape {
    fn host(self) -> Host {
        let Self { width, groups, code, segment_rows, segments, tiers, buffers_segments, lost } = self;
        let buffer = if buffers_segments { "group" } else { "stripe" };
        let scheme = format!(
            "name = \"room\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\ngroups = {groups}\n[code]\nkind = \"{code}\"\n\
             [placement]\npolicy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[hotness]\npolicy = \"glru\"\n\
             tiers = {tiers}\n[elastic]\nsegment_rows = {segment_rows}\nbuffer = \"{buffer}\"\n\
             acknowledge = \"buffered\"\nroom_for_lost = {lost}\n"
        );
        // Superblocks, checkpoints and commit records take less than 42 pages.
        let disk = Disk::new(usize::from(width * groups), 42 + segment_rows * segments, PAGE);
        let mut host = Host::create(&scheme, disk);
        (0..lost).for_each(|member| host.fail(member));
        host
    }
}

/// Fills the array, and then writes single chunks for `laps` times its capacity, with a flush after every `every`th write.
/// Returns the number of collected segments.
fn fills_up(shape: Shape, every: u64, laps: u64) -> u64 {
    let mut host = shape.host();
    let chunks = host.capacity();
    let mut expected = vec![0; chunks as usize];
    for nth in 0..chunks * (1 + laps) {
        let chunk = if nth < chunks { nth } else { ((nth * 2_654_435_761) >> 7) % chunks };
        let value = (nth % 251) as u8 + 1;
        let accepted = host.ask(RequestKind::Write, chunk, host.chunks(1, value)).is_some();
        assert!(accepted, "write {nth} of {chunks} chunks is refused: {shape:?}, a flush every {every}");
        assert!(!host.array.is_full(), "after write {nth} the log says that it is full: {shape:?}");
        expected[chunk as usize] = value;
        if nth % every == every - 1 {
            let flushed = host.ask(RequestKind::Flush, 0, Box::default()).is_some();
            assert!(flushed, "the flush after write {nth} fails: {shape:?}, a flush every {every}");
        }
    }
    host.flush();
    host.array.audit_log().unwrap();
    let collected = host.array.log_counts().collected;
    let mut host = host.lose_power();
    for (chunk, &value) in (0..).zip(&expected) {
        assert_eq!(host.read(chunk), Some(value), "chunk {chunk}: {shape:?}");
    }
    collected
}

/// [`fills_up`] with a flush after each write, after some, and never.
fn always_has_room(shape: Shape, laps: u64) {
    let collected: u64 = [1, 9, u64::MAX].map(|every| fills_up(shape, every, laps)).iter().sum();
    assert!(collected > u64::from(shape.segments), "{collected} segments collected: {shape:?}");
}

#[test]
fn a_full_array_of_deep_stripes_accepts_single_pages_with_a_flush_after_each() {
    for (width, segment_rows) in [(5, 17), (5, 24), (7, 22), (7, 24)] {
        for (groups, tiers, buffers_segments) in [(1, 1, false), (1, 2, true), (2, 2, false), (2, 1, true)] {
            let segments = if segment_rows == 17 || segment_rows == 22 { 18 } else { 14 };
            let shape = Shape { width, groups, segment_rows, segments, tiers, buffers_segments, ..DEEP };
            always_has_room(shape, 3);
        }
    }
}

#[test]
fn so_does_one_of_the_size_that_once_refused_its_first_writes() {
    // Five members of some 8 MiB with the segments of the preset.
    for buffers_segments in [false, true] {
        let shape = Shape { segment_rows: 70, segments: 29, buffers_segments, ..DEEP };
        always_has_room(shape, 2);
    }
}

#[test]
fn so_does_one_without_the_members_for_which_it_keeps_room() {
    for (width, lost, buffers_segments) in [(5, 1, true), (5, 2, false), (7, 1, false), (7, 2, true)] {
        let shape = Shape { width, segments: 18, buffers_segments, lost, ..DEEP };
        always_has_room(shape, 2);
    }
}

#[test]
fn so_does_a_log_whose_stripes_are_one_row_deep() {
    for (width, buffers_segments) in [(5, false), (5, true), (7, true)] {
        for lost in [0, 1] {
            let code = "rdp";
            let shape = Shape { width, code, segment_rows: 8, segments: 24, buffers_segments, lost, ..DEEP };
            always_has_room(shape, 2);
        }
    }
}

/// Writes of parts of pages read the rest first, so several of them are between their admission and memory.
#[test]
fn writes_of_parts_of_pages_find_room_while_others_are_read() {
    let shape = Shape { buffers_segments: true, ..DEEP };
    let mut host = shape.host();
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    let part: Box<[u8]> = vec![7; 512].into();
    for round in 0..chunks {
        let tags: Vec<u64> = (0..48)
            .map(|nth| host.begin(RequestKind::Write, (round * 48 + nth) * 7919 % chunks, part.clone()))
            .collect();
        for tag in tags {
            let answer = loop {
                if let Some(answer) = host.ended(tag) {
                    break answer;
                }
                host.complete_one();
            };
            assert!(answer.is_some(), "round {round}: a write is refused");
        }
    }
    host.array.audit_log().unwrap();
    assert!(host.array.log_counts().collected > 20, "{:?}", host.array.log_counts());
}
