//! The counts of parity updates: the published rule by hand, and compared with an array whose chunks are examined one
//! by one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stripewise_runs::overhead::{Cost, Counter, Overhead, Stripe, StripeError};
use stripewise_trace::{Kind, Request};

const CHUNK: u64 = 4096;

fn request(kind: Kind, volume: u32, offset: u64, bytes: u64) -> Request {
    Request { time_ns: 0, offset, bytes: bytes as u32, volume, kind }
}

fn write(offset: u64, bytes: u64) -> Request {
    request(Kind::Write, 0, offset, bytes)
}

fn counted(stripe: Stripe, filled: bool, requests: &[Request]) -> Overhead {
    let mut counter = Counter::new(stripe, filled).expect("a stripe");
    requests.iter().for_each(|request| counter.add(request));
    *counter.overhead()
}

fn raid5() -> Stripe {
    Stripe { data: 7, parity: 1, chunk_bytes: CHUNK }
}

fn cost(pre_reads: u64, log_writes: u64, parity_writes: u64) -> Cost {
    Cost { pre_reads, log_writes, parity_writes }
}

#[test]
fn ten_chunks_at_a_stripe_of_seven_cost_five_with_parity_logging() {
    // One full stripe: 1 parity. Three chunks of the next: 3 pre-reads and 1 delta.
    let found = counted(raid5(), true, &[write(0, 10 * CHUNK)]);
    assert_eq!(found.parity_logging, cost(3, 1, 1));
    assert_eq!(found.parity_logging.sum(), 5);
    assert_eq!((found.full_stripes, found.updates, found.chunks), (1, 1, 10));
    // In place the second stripe reads four chunks either way: three and the parity, or the other four.
    assert_eq!(found.in_place, cost(4, 0, 2));
    assert_eq!(found.in_place_blind, found.in_place);
}

#[test]
fn a_second_parity_costs_a_second_delta_and_a_second_parity_chunk() {
    let stripe = Stripe { data: 6, parity: 2, chunk_bytes: CHUNK };
    let found = counted(stripe, true, &[write(0, 7 * CHUNK)]);
    assert_eq!(found.parity_logging, cost(1, 2, 2));
    // RMW reads the chunk and both parities, RCW would read the five others.
    assert_eq!(found.in_place, cost(3, 0, 4));
    assert_eq!(found.updates_rmw, 1);
}

#[test]
fn what_was_never_written_is_not_read_but_by_the_blind() {
    let first = counted(raid5(), false, &[write(0, CHUNK)]);
    assert_eq!(first.parity_logging, cost(0, 1, 0));
    assert_eq!(first.in_place, cost(0, 0, 1));
    assert_eq!(first.in_place_blind, cost(2, 0, 1));
    // The second write reads the chunk. In place nothing is read: the write covers all that the stripe holds.
    let second = counted(raid5(), false, &[write(0, CHUNK), write(0, CHUNK)]);
    assert_eq!(second.parity_logging, cost(1, 2, 0));
    assert_eq!(second.in_place, cost(0, 0, 2));
    assert_eq!(second.unique_chunks, 1);
    // A neighbour: RCW reads the one existing chunk, RMW would read the parity.
    let neighbour = counted(raid5(), false, &[write(0, CHUNK), write(CHUNK, CHUNK)]);
    assert_eq!(neighbour.in_place, cost(1, 0, 2));
    assert_eq!(neighbour.parity_logging, cost(0, 2, 0));
}

#[test]
fn a_chunk_that_is_covered_in_part_is_an_update_even_where_all_are_touched() {
    let found = counted(raid5(), true, &[write(512, 7 * CHUNK - 512)]);
    assert_eq!((found.full_stripes, found.partial_chunks), (0, 1));
    assert_eq!(found.parity_logging, cost(7, 1, 0));
    assert_eq!(found.in_place, cost(1, 0, 1), "RCW reads the one chunk that is not covered whole");
}

#[test]
fn volumes_are_arrays_of_their_own_and_only_writes_count() {
    let requests = [
        write(0, CHUNK),
        request(Kind::Write, 1, 0, CHUNK),
        request(Kind::Read, 0, 0, CHUNK),
        request(Kind::Trim, 0, 0, CHUNK),
        request(Kind::Flush, 0, 0, 0),
    ];
    let found = counted(raid5(), false, &requests);
    assert_eq!((found.writes, found.unique_chunks, found.parity_logging.pre_reads), (2, 2, 0));
}

#[test]
fn stripes_that_cannot_be_are_refused() {
    let of = |stripe| Counter::new(stripe, false).err();
    assert_eq!(of(Stripe { parity: 0, ..raid5() }), Some(StripeError::NoParity));
    assert_eq!(of(Stripe { data: 0, ..raid5() }), Some(StripeError::Data(0)));
    assert_eq!(of(Stripe { data: 129, ..raid5() }), Some(StripeError::Data(129)));
    assert_eq!(of(Stripe { chunk_bytes: 511, ..raid5() }), Some(StripeError::Chunk(511)));
    assert_eq!(of(Stripe { data: 128, ..raid5() }), None);
}

#[test]
fn the_end_of_the_address_space_is_no_trap() {
    let found = counted(raid5(), false, &[write(u64::MAX - 10, 4096), write(0, u64::from(u32::MAX))]);
    assert_eq!(found.writes, 2);
    assert_eq!(found.chunks, 1 + (1 << 20));
}

/// The same counts from each chunk individually, by the text of the rule.
fn oracle(stripe: Stripe, filled: bool, requests: &[Request]) -> (Cost, Cost, Cost) {
    let Stripe { data, parity, chunk_bytes } = stripe;
    let (data, parity) = (u64::from(data), u64::from(parity));
    let mut written = BTreeSet::new();
    let (mut log, mut known, mut blind) = (Cost::default(), Cost::default(), Cost::default());
    for request in requests.iter().filter(|request| request.kind == Kind::Write) {
        let end = request.offset + u64::from(request.bytes);
        let chunks: Vec<u64> = (request.offset / chunk_bytes..end.div_ceil(chunk_bytes)).collect();
        let stripes: BTreeSet<u64> = chunks.iter().map(|chunk| chunk / data).collect();
        for stripe in stripes {
            let columns = || stripe * data..(stripe + 1) * data;
            let is_touched = |chunk: &u64| chunks.contains(chunk);
            let is_whole =
                |chunk: &u64| request.offset <= chunk * chunk_bytes && (chunk + 1) * chunk_bytes <= end;
            let holds = |chunk: &u64| filled || written.contains(&(request.volume, *chunk));
            known.parity_writes += parity;
            blind.parity_writes += parity;
            if columns().all(|chunk| is_whole(&chunk)) {
                log.parity_writes += parity;
            } else {
                let old = columns().filter(is_touched).filter(holds).count() as u64;
                log.pre_reads += old;
                log.log_writes += parity;
                let parity_there = if columns().any(|chunk| holds(&chunk)) { parity } else { 0 };
                let rest = columns().filter(|chunk| !is_whole(chunk));
                known.pre_reads += (old + parity_there).min(rest.clone().filter(holds).count() as u64);
                let touched = columns().filter(is_touched).count() as u64;
                blind.pre_reads += (touched + parity).min(rest.count() as u64);
            }
        }
        written.extend(chunks.iter().map(|&chunk| (request.volume, chunk)));
    }
    (log, known, blind)
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let kind = prop::sample::select(vec![Kind::Write, Kind::Write, Kind::Write, Kind::Read]);
    let one =
        (kind, 0u32..2, 0u64..40, 1u64..30, any::<bool>()).prop_map(|(kind, volume, at, length, aligned)| {
            let (at, length) = if aligned { (at * 2048, length * 2048) } else { (at * 1000, length * 700) };
            request(kind, volume, at, length)
        });
    prop::collection::vec(one, 1..40)
}

proptest! {
    #[test]
    fn the_counts_are_those_of_looking_at_each_chunk(
        data in 1u32..10, parity in 1u32..=2, halves in 1u64..=4, filled in any::<bool>(), requests in requests(),
    ) {
        let stripe = Stripe { data, parity, chunk_bytes: halves * 1024 };
        let found = counted(stripe, filled, &requests);
        prop_assert_eq!(
            (found.parity_logging, found.in_place, found.in_place_blind),
            oracle(stripe, filled, &requests)
        );
    }

    #[test]
    fn knowing_written_data_never_costs_and_is_worth_nothing_on_a_full_array(
        data in 1u32..10, parity in 1u32..=2, requests in requests(),
    ) {
        let stripe = Stripe { data, parity, chunk_bytes: 2048 };
        let fresh = counted(stripe, false, &requests);
        prop_assert!(fresh.in_place.sum() <= fresh.in_place_blind.sum());
        let filled = counted(stripe, true, &requests);
        prop_assert_eq!(filled.in_place, filled.in_place_blind);
        prop_assert_eq!(filled.in_place_blind, fresh.in_place_blind);
    }
}
