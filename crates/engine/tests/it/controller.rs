//! Past errors of the controller, each as a case worked out by hand.

use rustix::io::Errno;
use stripewise_array::Class;
use stripewise_array::MemberNo;
use stripewise_engine::{Engine, EngineError, Failed, Flushes, IoMode, Options, Order, Request};

use crate::support::arrays::{LOG, created, opened};
use crate::support::faulty::Faults;
use crate::support::media::Media;
use crate::support::{options, raid0, raid5, read, scheme};

const PAGE: u64 = 4096;

fn page(byte: u8) -> Box<[u8]> {
    vec![byte; PAGE as usize].into()
}

fn write_of(page_number: u64, byte: u8) -> Request {
    Request::write(page_number * PAGE, &page(byte))
}

/// Three plans, and many writes that join the second; then one that needs the third.
#[test]
fn merged_writes_leave_room_for_the_plans_of_others() {
    let scheme = scheme("name = \"few plans\"\n[queues]\nplans = 3\nrequests = 64");
    let media = Media::new(3, 8, 4096);
    let mut engine = Engine::new(&scheme, media.open(), options()).unwrap();
    for byte in 1..30 {
        engine.submit(write_of(0, byte)).unwrap();
    }
    engine.submit(write_of(4, 99)).unwrap();
    while engine.poll().is_some() {}
    assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![29; 4096]);
    assert_eq!(read(&mut engine, 4 * PAGE, 4096).unwrap(), vec![99; 4096]);
}

/// Members receive the first parts of a long write before all of it is copied.
#[test]
fn a_long_write_is_in_flight_to_members_before_all_of_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let log = scheme(LOG);
    let paths = created(&log, folder.path(), 4, 8 << 20);
    let plain = Options { way: IoMode::Plain, ..options() };
    let mut engine = opened(&log, &paths, plain).unwrap();
    let written = |engine: &Engine<_>| engine.counts().done.iter().sum::<u64>();
    engine.submit(Request::write(0, &[1; 128 << 10])).unwrap();
    assert_eq!(written(&engine), 0);
    engine.submit(Request::write(512 << 10, &[2; 512 << 10])).unwrap();
    assert!(written(&engine) > 0);
    while engine.poll().is_some() {}
    assert_eq!(read(&mut engine, 512 << 10, 512 << 10).unwrap(), vec![2; 512 << 10]);
}

/// A log answers trims at once, and a host may send many that are as long as the array.
#[test]
fn long_trims_of_a_log_leave_turns_for_others() {
    const TURN_BYTES: u64 = 64 << 20;
    let folder = tempfile::tempdir().unwrap();
    let log = scheme(LOG);
    let paths = created(&log, folder.path(), 4, 64 << 20);
    let mut engine = opened(&log, &paths, options()).unwrap();
    let bytes = engine.capacity();
    let last = bytes - PAGE;
    assert!(bytes > 2 * TURN_BYTES);
    engine.write(last, &page(9)).unwrap();
    for _ in 0..4 {
        engine.submit(Request::trim(0, bytes)).unwrap();
    }
    engine.submit(Request::read(last, PAGE as usize)).unwrap();
    assert_eq!(engine.take_completion(), None, "submitting does not trim all of it");
    let mut turns = 0;
    let mut done = Vec::new();
    while done.len() < 5 {
        assert!(engine.step(), "there is something to do");
        turns += 1;
        done.extend(std::iter::from_fn(|| engine.take_completion()));
    }
    assert!(turns >= 4 * bytes / TURN_BYTES, "{turns} turns");
    assert!(done.iter().all(|completion| completion.result.is_ok()));
    assert_eq!(done[4].payload[..], [0; PAGE as usize], "in the order in which they came");
}

/// In place, a part of a stripe would need reads for its parity.
#[test]
fn a_write_of_a_whole_stripe_of_large_chunks_reads_nothing() {
    let media = Media::new(3, 256, 4096);
    let scheme = scheme("name = \"large\"\n[geometry]\nlevel = \"raid5\"\nchunk = \"512KiB\"");
    let mut engine = Engine::new(&scheme, media.open(), options()).unwrap();
    engine.submit(Request::write(0, &vec![7; 1 << 20])).unwrap();
    while engine.poll().is_some() {}
    assert_eq!(engine.counts().done[Class::PreRead as usize], 0);
    assert_eq!(read(&mut engine, 700 << 10, 4096).unwrap(), vec![7; 4096]);
}

/// The addresses of a row's slots are not those of its pages once first writes are gathered: a trim of pages 0 and 1
/// must not clear row 0, which holds pages 6 and 7.
#[test]
fn a_trim_over_gathered_pages_clears_none_of_another_address() {
    let scheme = scheme("name = \"gathers\"\n[placement]\nfirst_writes = \"gather\"\ngather_wait = \"1us\"");
    let media = Media::new(3, 8, 4096);
    let mut engine = Engine::scratch(&scheme, media.open(), options()).unwrap();
    engine.write(6 * PAGE, &page(6)).unwrap();
    engine.write(7 * PAGE, &page(7)).unwrap();
    while engine.poll().is_some() {}
    engine.trim(0, 2 * PAGE).unwrap();
    let mut expected = vec![6; 4096];
    expected.extend([7; 4096]);
    assert_eq!(read(&mut engine, 6 * PAGE, 8192).unwrap(), expected);
    // And one of the right address does clear the row.
    engine.trim(6 * PAGE, 2 * PAGE).unwrap();
    assert_eq!(read(&mut engine, 6 * PAGE, 8192).unwrap(), vec![0; 8192]);
}

/// A flush has no plan in row 0. When a flush ended while row 0 was first written, reads no longer waited for that
/// write.
#[test]
fn a_flush_does_not_end_the_first_write_of_row_0() {
    let scheme =
        scheme("name = \"gathers\"\n[placement]\nfirst_writes = \"gather\"\nbuffer_latency = \"0ns\"");
    for seed in 0..100 {
        let media = Media::new(3, 8, 4096);
        let options = Options { order: Order::Shuffled(seed), ..options() };
        let mut engine = Engine::scratch(&scheme, media.open(), options).unwrap();
        let flush = engine.submit(Request::Flush).unwrap();
        engine.submit(write_of(0, 1)).unwrap();
        engine.submit(write_of(1, 2)).unwrap();
        while engine.poll().expect("the flush ends").ticket != flush {}
        assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![1; 4096], "seed {seed}");
    }
}

/// Gathered writes are acknowledged from volatile memory; a flush must wait for those in flight to the members.
#[test]
fn a_flush_covers_gathered_rows_that_are_in_flight() {
    let scheme = scheme(
        "name = \"gathers\"\n[placement]\nfirst_writes = \"gather\"\nbuffer_persistence = \"volatile\"\n\
         buffer_latency = \"0ns\"\n[dispatch]\norder = \"arrival\"",
    );
    for seed in 0..50 {
        let media = Media::new(3, 8, 4096);
        let faults = Faults::default();
        let options = Options { order: Order::Shuffled(seed), ..options() };
        let mut engine = Engine::scratch(&scheme, faults.around(media.open()), options).unwrap();
        engine.submit(write_of(0, 1)).unwrap();
        engine.submit(write_of(1, 2)).unwrap();
        while engine.take_completion().is_some() {}
        engine.flush().unwrap();
        for member in 0..3 {
            assert_eq!(faults.unflushed(member), 0, "seed {seed}, member {member}");
        }
        let written = media.contents().iter().filter(|content| content[0] != 0).count();
        assert_eq!(written, 3, "seed {seed}: both pages and their parity are on the files");
    }
}

/// A member that cannot flush may have lost acknowledged writes; without parity, data is lost.
#[test]
fn a_flush_fails_when_parity_cannot_tolerate_what_it_lost() {
    let media = Media::new(3, 8, 4096);
    let faults = Faults::default();
    let mut engine = Engine::new(&raid0(), faults.around(media.open()), options()).unwrap();
    engine.write(0, &page(1)).unwrap();
    faults.refuse_flushes(0, Errno::IO);
    assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::Lost))));
    assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::Lost))), "and it stays so");

    let media = Media::new(3, 8, 4096);
    let faults = Faults::default();
    // Otherwise the second flush would not reach member 1, which was not written since the first.
    let options = Options { flushes: Flushes::Always, ..options() };
    let mut engine = Engine::new(&raid5(), faults.around(media.open()), options).unwrap();
    engine.write(0, &page(1)).unwrap();
    faults.refuse_flushes(0, Errno::IO);
    engine.flush().expect("parity bears one");
    assert!(engine.failure(MemberNo::new(0)).unwrap().unwrap().to_string().starts_with("flushing: "));
    faults.refuse_flushes(1, Errno::IO);
    assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::Lost))));
}

/// A write to a lost chunk fails; a write that only shares its row and its plan does not.
#[test]
fn a_lost_chunk_fails_no_write_beside_it() {
    let media = Media::new(3, 8, 4096);
    let mut engine = Engine::new(&raid0(), media.open(), options()).unwrap();
    engine.fail(MemberNo::new(1)).unwrap();
    let tickets: Vec<_> = [0, 0, 1].map(|page| engine.submit(write_of(page, 7)).unwrap()).into();
    let mut results = Vec::new();
    while let Some(completion) = engine.poll() {
        results.push((completion.ticket, completion.result.is_ok()));
    }
    results.sort();
    assert_eq!(results, [(tickets[0], true), (tickets[1], true), (tickets[2], false)]);
}

/// A read of pages 0 and 1 finds first one bad page and then, when that is repaired, the other: never both at once.
#[test]
fn pages_that_went_bad_one_after_the_other_are_not_lost_together() {
    let media = Media::new(3, 8, 4096);
    let faults = Faults::default();
    let mut engine = Engine::new(&raid5(), faults.around(media.open()), options()).unwrap();
    engine.write(0, &page(1)).unwrap();
    engine.write(PAGE, &page(2)).unwrap();
    faults.rot(0, 0, Errno::IO);
    let ticket = engine.submit(Request::read(0, 8192)).unwrap();
    engine.step();
    faults.heal(0, 0);
    faults.rot(1, 0, Errno::IO);
    let completion = engine.poll().unwrap();
    assert_eq!(completion.ticket, ticket);
    let mut expected = vec![1; 4096];
    expected.extend([2; 4096]);
    assert_eq!((completion.result, &*completion.payload), (Ok(()), &*expected));
    while engine.step() {}
    assert!(!faults.is_rotten(1, 0), "and it is written back");
    // When both pages stay bad, the read fails.
    faults.rot(0, 0, Errno::IO);
    faults.rot(1, 0, Errno::IO);
    assert!(matches!(read(&mut engine, 0, 8192), Err(EngineError::Failed(Failed::Lost))));
}
