//! Arrays that lose more members than parity tolerates while they serve: every request is answered, and the engine ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stripewise_array::MemberNo;
use stripewise_array::Scheme;
use stripewise_engine::{Engine, EngineError, FailMode, Failed, MemberFile, Options, Request};

use crate::support::arrays::{created, opened, ways};
use crate::support::{read, scheme};

const PAGE: u64 = 4096;
const CHUNK: usize = 64 << 10;

fn log(level: &str) -> Scheme {
    scheme(&format!(
        "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[placement]\npolicy = \"elastic\"\n\
         buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n"
    ))
}

fn is_lost<T>(result: Result<T, EngineError>) -> bool {
    matches!(result, Err(EngineError::Failed(Failed::Lost)))
}

/// A log with some data, half of its capacity.
fn filled(level: &str, paths: &[PathBuf], way: usize) -> Engine {
    let mut engine = opened(&log(level), paths, ways()[way]).unwrap();
    for at in (0..engine.capacity() / 2).step_by(CHUNK) {
        engine.write(at, &[3; CHUNK]).unwrap();
    }
    engine.flush().unwrap();
    engine
}

/// Members 0 and 1 are back.
fn both_return(engine: &mut Engine, paths: &[PathBuf]) {
    for (member, path) in (0..2).zip(paths) {
        while engine.turn() {}
        engine.rejoin(MemberNo::new(member), MemberFile::open(path, PAGE as u32).unwrap()).unwrap();
    }
    // The rebuild of the first is halted until the second is back.
    while engine.status().rebuild.is_some() {
        assert!(engine.step(), "a rebuild continues");
    }
}

/// A log of RAID-5 that waits for members, without two of them.
fn waiting(folder: &Path, limit: Duration) -> (Vec<PathBuf>, Engine) {
    let paths = created(&log("raid5"), folder, 4, 4 << 20);
    let failmode = FailMode::Wait(limit);
    let mut engine = opened(&log("raid5"), &paths, Options { failmode, ..Options::default() }).unwrap();
    (0..16).for_each(|nth| engine.write(nth * CHUNK as u64, &[3; CHUNK]).unwrap());
    engine.flush().unwrap();
    (0..2).for_each(|member| engine.fail(MemberNo::new(member)).unwrap());
    (paths, engine)
}

#[test]
fn writes_that_wait_for_members_succeed_when_these_are_back_and_reads_do_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let (paths, mut engine) = waiting(folder.path(), Duration::from_secs(3600));
    let writes = (0..4).map(|nth| Request::write(nth * CHUNK as u64, &[7; CHUNK]));
    let requests = writes.chain([Request::Flush]);
    let tickets: Vec<_> = requests.map(|request| engine.submit(request).unwrap()).collect();
    let read = engine.submit(Request::read(15 * CHUNK as u64, CHUNK)).unwrap();
    while engine.turn() {}
    assert_eq!(engine.poll().map(|completion| completion.ticket), Some(read), "a read is answered");
    assert!(engine.take_completion().is_none() && engine.status().waits_for_members);
    both_return(&mut engine, &paths);
    let mut done: Vec<_> = tickets
        .iter()
        .map(|_| engine.poll().expect("all are answered"))
        .map(|completion| completion.result.map(|()| completion.ticket).unwrap())
        .collect();
    done.sort();
    assert_eq!(done, tickets);
    assert_eq!(self::read(&mut engine, 0, CHUNK).unwrap(), vec![7; CHUNK]);
}

#[test]
fn writes_that_wait_for_members_fail_when_the_limit_is_reached_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (_paths, mut engine) = waiting(folder.path(), Duration::from_millis(200));
    let begun = Instant::now();
    assert!(is_lost(engine.write(0, &[7; CHUNK])));
    assert!(begun.elapsed() >= Duration::from_millis(190), "{:?}", begun.elapsed());
    let again = Instant::now();
    assert!(is_lost(engine.write(0, &[7; CHUNK])), "no write waits after the limit");
    assert!(again.elapsed() < Duration::from_millis(150), "{:?}", again.elapsed());

    let folder = tempfile::tempdir().unwrap();
    let (_paths, mut engine) = waiting(folder.path(), Duration::from_secs(3600));
    engine.submit(Request::write(0, &[7; CHUNK])).unwrap();
    while engine.turn() {}
    assert!(is_lost(engine.close()));
}

#[test]
fn beyond_parity_under_load_every_request_is_answered_and_the_engine_ends() {
    for (level, count, losses) in [("raid5", 4, 2), ("raid6", 6, 3)] {
        for way in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let paths = created(&log(level), folder.path(), count, 4 << 20);
            let mut engine = filled(level, &paths, way);
            let capacity = engine.capacity();
            let (mut submitted, mut completed, mut lost) = (0, 0, 0);
            // Writes of more than the capacity of the array, with some reads and flushes among them.
            for nth in 0..3 * capacity / CHUNK as u64 {
                let at = nth * CHUNK as u64 % (capacity - CHUNK as u64) / PAGE * PAGE;
                let mut request = match nth % 8 {
                    6 => Request::read(at, CHUNK),
                    7 => Request::Flush,
                    _ => Request::write(at, &[7; CHUNK]),
                };
                if nth == 20 {
                    (0..losses).for_each(|member| engine.fail(MemberNo::new(member)).unwrap());
                }
                while let Err(busy) = engine.submit(request) {
                    request = busy.request;
                    let completion = engine.poll().expect("a busy engine completes requests");
                    completed += 1;
                    lost += u64::from(completion.result.is_err());
                }
                submitted += 1;
            }
            while let Some(completion) = engine.poll() {
                completed += 1;
                lost += u64::from(completion.result.is_err());
            }
            assert_eq!(completed, submitted, "{level}");
            assert!(lost > submitted / 2, "{level}: {lost} of {submitted}");
            assert!(is_lost(engine.write(0, &[1; 4096])), "{level}");
            assert!(is_lost(engine.flush()), "{level}");
            assert!(engine.status().is_beyond_parity);
            assert!(is_lost(engine.close()), "{level}: what was acknowledged is not durable");
        }
    }
}

#[test]
fn members_return_without_a_restart_and_the_next_flush_says_that_data_may_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let paths = created(&log("raid5"), folder.path(), 4, 4 << 20);
    let mut engine = filled("raid5", &paths, 0);
    engine.write(0, &[8; CHUNK]).unwrap();
    for member in [1, 0] {
        engine.fail(MemberNo::new(member)).unwrap();
    }
    assert!(is_lost(engine.write(PAGE, &[9; 4096])));
    both_return(&mut engine, &paths);
    assert!(!engine.status().is_beyond_parity);
    engine.write(2 * CHUNK as u64, &[5; CHUNK]).unwrap();
    assert!(is_lost(engine.flush()), "no flush told of the outage");
    engine.flush().unwrap();
    assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![8; 4096]);
    drop(engine.close().unwrap());
    let mut engine = opened(&log("raid5"), &paths[1..], ways()[0]).unwrap();
    assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![8; 4096]);
    assert_eq!(read(&mut engine, 2 * CHUNK as u64, CHUNK).unwrap(), vec![5; CHUNK]);
}

/// Rows that the member which joins lacks cannot do without the other one.
#[test]
fn in_place_writes_wait_for_a_second_member_that_left_during_a_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let in_place = scheme("name = \"rows\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n");
    let paths = created(&in_place, folder.path(), 4, 16 << 20);
    let failmode = FailMode::Wait(Duration::from_secs(3600));
    let mut engine = opened(&in_place, &paths, Options { failmode, ..Options::default() }).unwrap();
    (0..64).for_each(|nth| engine.write(nth * CHUNK as u64, &[3; CHUNK]).unwrap());
    engine.fail(MemberNo::new(0)).unwrap();
    (0..64).for_each(|nth| engine.write(nth * CHUNK as u64, &[4; CHUNK]).unwrap());
    engine.rejoin(MemberNo::new(0), MemberFile::open(&paths[0], PAGE as u32).unwrap()).unwrap();
    while engine.status().rebuild.is_none_or(|(_, progress)| progress.done == 0) {
        assert!(engine.step(), "member 0 joins");
    }
    engine.fail(MemberNo::new(1)).unwrap();
    let status = engine.status();
    assert!(status.is_beyond_parity && status.rebuild.is_some());
    let ticket = engine.submit(Request::write(0, &[5; CHUNK])).unwrap();
    while engine.turn() {}
    assert!(engine.take_completion().is_none() && engine.status().waits_for_members);
    // Its file is closed when it has nothing in flight.
    while engine.status().members[1].in_flight > 0 {
        engine.step();
    }
    engine.rejoin(MemberNo::new(1), MemberFile::open(&paths[1], PAGE as u32).unwrap()).unwrap();
    let completion = engine.poll().expect("the write is answered");
    assert_eq!(completion.result.map(|()| completion.ticket).unwrap(), ticket);
    while engine.status().rebuild.is_some() {
        assert!(engine.step(), "a rebuild continues");
    }
    assert!(!engine.status().is_beyond_parity);
    for nth in 0..64 {
        let expected = if nth == 0 { 5 } else { 4 };
        assert_eq!(read(&mut engine, nth * CHUNK as u64, CHUNK).unwrap(), vec![expected; CHUNK], "{nth}");
    }
}
