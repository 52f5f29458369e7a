//! Folds addresses onto an array: hand-computed cases, and the properties of each method for any trace.

use proptest::prelude::*;
use stripewise_trace::fold::{Fold, Folded, Folding};
use stripewise_trace::slice::{Selection, Slice};
use stripewise_trace::{Kind, Request, Source, TraceError};

use crate::common::{drain, traces};

/// A trace in memory.
#[derive(Clone, Debug)]
struct Held(Vec<Request>, usize);

impl Held {
    fn new(requests: &[Request]) -> Self {
        Self(requests.to_vec(), 0)
    }
}

impl Source for Held {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let end = (self.1 + batch.capacity()).min(self.0.len());
        batch.extend_from_slice(&self.0[self.1..end]);
        self.1 = end;
        Ok(())
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn request(volume: u32, offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, volume, kind: Kind::Write }
}

fn fold(text: &str, capacity: u64, requests: &[Request]) -> Result<Folding, TraceError> {
    let fold: Fold = text.parse().expect("a way to fold");
    assert_eq!(fold.to_string().parse::<Fold>().expect("its own text"), fold);
    let mut scan = Held::new(requests);
    fold.onto(capacity, fold.needs_scan().then_some(&mut scan as &mut dyn Source))
}

/// The folded addresses, and the counts of the report: requests, moved, shifted.
fn folded(text: &str, capacity: u64, requests: &[Request]) -> (Vec<u64>, (u64, u64, u64)) {
    let folding = fold(text, capacity, requests).unwrap_or_else(|error| panic!("{error}"));
    let mut source = Folded::new(Held::new(requests), folding);
    let out = drain(&mut source, 3).unwrap_or_else(|error| panic!("{error}"));
    let report = source.report();
    (out.iter().map(|request| request.offset).collect(), (report.requests, report.moved, report.shifted))
}

fn reason(outcome: Result<Folding, TraceError>) -> String {
    match outcome {
        Err(TraceError::Fold(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn modulo_takes_the_rest_and_shifts_down_what_would_cross_the_end() {
    let requests =
        [request(0, 100, 50), request(0, 1_000, 50), request(0, 1_960, 50), request(1, 5_100, 1_000)];
    // 1960 mod 1000 = 960, and 960 + 50 > 1000; 5100 mod 1000 = 100, and that request is as large as the array.
    assert_eq!(folded("modulo", 1_000, &requests), (vec![100, 0, 950, 0], (4, 3, 2)));
}

#[test]
fn a_request_larger_than_the_array_or_its_region_is_an_error() {
    let mut folding = fold("modulo", 1_000, &[]).expect("ready");
    let error = folding.apply(&mut request(0, 0, 1_001)).expect_err("too large").to_string();
    assert!(error.contains("1001 bytes") && error.contains("1000 bytes"), "{error}");
    let mut folding = fold("regions:2", 16 * KIB, &[]).expect("ready");
    folding.apply(&mut request(0, 0, 8 << 10)).expect("fits");
    folding.apply(&mut request(0, 0, (8 << 10) + 1)).expect_err("too large for half the array");
}

#[test]
fn dense_closes_the_gaps_between_touched_units_and_keeps_neighbours_together() {
    let requests = [
        request(0, 10 * MIB + 5, 100),
        request(0, 3 * MIB - 100, 200), // units 2 and 3
        request(0, 4 * MIB, 1 << 20),   // unit 4, next to them
        request(7, 0, 512),             // another volume, after the first
        request(0, 1 << 50, 512),
    ];
    // Volume 0: units 2, 3, 4, 10, 2^30 have ranks 0 to 4; volume 7: unit 0 has rank 5.
    let expected = vec![3 * MIB + 5, MIB - 100, 2 * MIB, 5 * MIB, 4 * MIB];
    assert_eq!(folded("dense", 6 * MIB, &requests), (expected, (5, 5, 0)));
    let report = fold("dense", 6 * MIB, &requests).expect("ready").report().clone();
    assert_eq!((report.footprint_bytes, report.fold.as_str()), (Some(6 * MIB), "dense:1MiB"));
}

#[test]
fn dense_refuses_an_array_smaller_than_the_footprint_and_says_how_large_that_is() {
    let requests = [request(0, 0, 512), request(0, 100 * MIB, 512)];
    assert!(reason(fold("dense", 2 * MIB - 1, &requests)).contains("touches 2097152 bytes in units of 1MiB"));
    assert!(fold("dense:4KiB", 8 * KIB, &requests).is_ok(), "a smaller unit needs less");
    let everything = [request(0, 0, u32::MAX), request(0, u64::MAX - 512, 512)];
    assert!(reason(fold("dense", MIB, &everything)).contains("touches"));
}

#[test]
fn dense_refuses_requests_that_it_has_not_seen() {
    let mut folding = fold("dense", 2 * MIB, &[request(0, 0, 512)]).expect("ready");
    folding.apply(&mut request(0, MIB - 1, 1)).expect("in a unit that was touched");
    for unseen in [request(0, MIB - 1, 2), request(1, 0, 512)] {
        let mut unseen = unseen;
        assert!(folding.apply(&mut unseen).expect_err("unseen").to_string().contains("was not in the trace"));
    }
}

#[test]
fn regions_keep_volumes_apart_in_equal_parts_of_whole_mebibytes_or_pages() {
    let requests = [
        request(9, 0, 512),
        request(4, 70 * MIB, 512),
        request(9, 65 * MIB + 4096, 512),
        request(4, 100, 50),
    ];
    // 200 MiB / 2 = 100 MiB each; volume 4 is the first of the two.
    let (offsets, counts) = folded("regions", 200 * MIB, &requests);
    assert_eq!(offsets, [100 * MIB, 70 * MIB, 165 * MIB + 4096, 100]);
    assert_eq!(counts, (4, 2, 0));
    // 130 MiB + 4 KiB: less than 64 MiB more than twice, so whole mebibytes: 65 MiB each, and 70 MiB wraps to 5.
    assert_eq!(folded("regions", 130 * MIB + 4096, &requests).0[1], 5 * MIB);
    // 24 KiB / 5 = 4.8 KiB, of which a page of 4 KiB is used.
    let report = fold("regions:5", 24 * KIB, &[]).expect("ready").report().clone();
    assert_eq!((report.regions, report.region_bytes), (Some(5), Some(4096)));
    assert!(reason(fold("regions:5", 16 * KIB, &[])).contains("no room for 5 regions"));
}

#[test]
fn a_volume_without_a_region_is_an_error_with_the_remedy() {
    let mut folding = fold("regions:24", 24 * MIB, &[]).expect("ready");
    let error = folding.apply(&mut request(24, 0, 512)).expect_err("one too many").to_string();
    assert!(error.contains("volume 24 has no region among 24"), "{error}");
}

#[test]
fn a_flush_has_no_address_to_fold() {
    let mut flush = Request { kind: Kind::Flush, ..request(99, u64::MAX, 0) };
    for way in ["modulo", "regions:2"] {
        fold(way, MIB, &[]).expect("ready").apply(&mut flush).expect("stays");
        assert_eq!(flush.offset, u64::MAX);
    }
}

#[test]
fn ways_to_fold_are_read_with_their_parameters_and_refused_with_the_remedy() {
    assert_eq!("dense".parse::<Fold>().expect("known"), Fold::Dense { unit: MIB });
    assert_eq!("dense:64KiB".parse::<Fold>().expect("known"), Fold::Dense { unit: 64 * KIB });
    assert_eq!("regions:24".parse::<Fold>().expect("known"), Fold::Regions { count: Some(24) });
    for (text, remedy) in [
        ("modulus", "did you mean `modulo`?"),
        ("dense:100B", "multiple of 512"),
        ("dense:0B", "multiple of 512"),
        ("dense:64", "no unit"),
        ("regions:0", "from 1"),
        ("regions:x", "from 1"),
        ("modulo:3", "no parameter"),
        ("", "regions"),
    ] {
        let message = text.parse::<Fold>().expect_err(text).to_string();
        assert!(message.contains(remedy), "{text}: {message}");
    }
    assert!(Fold::Dense { unit: 0 }.onto(1, Some(&mut Held::new(&[]))).is_err());
    assert!(reason(Fold::Modulo.onto(0, None)).contains("holds nothing"));
    assert!(reason(Fold::Regions { count: None }.onto(MIB, None)).contains("needs a scan"));
}

proptest! {
    #[test]
    fn whatever_the_way_every_request_lies_on_the_array(requests in traces(1, 512), exact in any::<bool>()) {
        for way in ["modulo", "dense:4KiB", "regions", "regions:30"] {
            let capacity = if exact && way.starts_with("dense") {
                match fold(way, u64::MAX, &requests).expect("ready").report().footprint_bytes {
                    Some(0) | None => continue,
                    Some(footprint) => footprint,
                }
            } else {
                64 * 1024 * MIB
            };
            for (offset, request) in folded(way, capacity, &requests).0.iter().zip(&requests) {
                prop_assert!(offset + u64::from(request.bytes) <= capacity, "{way}");
                if way != "modulo" {
                    continue;
                }
                let last = capacity - u64::from(request.bytes);
                prop_assert_eq!(*offset, (request.offset % capacity).min(last));
            }
        }
    }

    /// The property of `dense`: the order of addresses and every overlap, within and between requests, stays.
    #[test]
    fn dense_keeps_the_order_and_the_distance_within_every_run_of_units(requests in traces(1, 512)) {
        let requests: Vec<Request> = requests.iter().map(|r| Request { offset: r.offset % (1 << 33), ..*r }).collect();
        let (offsets, _) = folded("dense:64KiB", 1 << 40, &requests);
        for (left, &at_left) in requests.iter().zip(&offsets) {
            for (right, &at_right) in requests.iter().zip(&offsets) {
                let before = (left.volume, left.offset).cmp(&(right.volume, right.offset));
                prop_assert_eq!(before, at_left.cmp(&at_right));
                let end = left.offset + u64::from(left.bytes);
                if left.volume == right.volume && left.offset <= right.offset && right.offset < end {
                    prop_assert_eq!(right.offset - left.offset, at_right - at_left, "overlaps stay");
                }
            }
        }
    }

    #[test]
    fn a_slice_holds_what_its_conditions_say_and_begins_at_zero(
        requests in traces(1_000, 512),
        from_ns in 0u64..20_000_000_000_000,
        length in 1u64..30_000_000_000_000,
        skip in 0u64..5,
        take in proptest::option::of(0u64..20),
        volumes in proptest::collection::vec(0u32..30, 0..20),
    ) {
        let until = from_ns + length;
        let kept = requests.iter().filter(|r| (from_ns..until).contains(&r.time_ns));
        let kept = kept.filter(|r| volumes.is_empty() || volumes.contains(&r.volume)).skip(skip as usize);
        let kept: Vec<Request> = kept.take(take.unwrap_or(u64::MAX) as usize).copied().collect();
        let selection = Selection { from_ns, until_ns: Some(until), volumes, skip, take };
        let mut slice = Slice::new(Held::new(&requests), selection).expect("a slice");
        let found = match drain(&mut slice, 7) {
            Err(TraceError::EmptySlice { .. }) => None,
            kept => Some(kept.expect("reads")),
        };
        let start = kept.first().map_or(0, |first| first.time_ns);
        let expected: Vec<Request> = kept.iter().map(|r| Request { time_ns: r.time_ns - start, ..*r }).collect();
        prop_assert_eq!(found, (!expected.is_empty()).then_some(expected));
        prop_assert_eq!(slice.progress(), Some(1.0));
    }
}

#[test]
fn a_slice_that_ends_before_it_starts_is_refused() {
    let selection = Selection { from_ns: 5, until_ns: Some(5), ..Selection::default() };
    assert!(matches!(Slice::new(Held::new(&[]), selection), Err(TraceError::Setting(_))));
}
