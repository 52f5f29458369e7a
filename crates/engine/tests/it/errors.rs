//! Errors of media: pages that cannot be read are decoded and written back, members that cannot be written fail, and
//! service continues.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;
use rustix::io::Errno;
use stripewise_array::{Class, Controller, MemberNo, Operation, OperationKind};
use stripewise_engine::{
    Backend, Engine, EngineError, Failed, Failure, Options, Order, Request, Timekeeping,
};

use crate::support::faulty::Faults;
use crate::support::media::Media;
use crate::support::{options, raid0, raid5, read, scheme};

const PAGE: u64 = 4096;
const FIRST: MemberNo = MemberNo::new(0);
/// A timeout that a test can wait for.
const SOON: Duration = Duration::from_millis(400);

fn page(byte: u8) -> Box<[u8]> {
    vec![byte; PAGE as usize].into()
}

/// RAID-5 over four members with page `n` filled with `n + 1`. Page 0 lies on member 0, parity of row 0 on member 3.
fn filled() -> (Media, Faults, Engine<impl Backend>) {
    filled_with(options().timeout)
}

/// The same with another timeout.
fn filled_with(timeout: Duration) -> (Media, Faults, Engine<impl Backend>) {
    let media = Media::new(4, 8, 4096);
    let faults = Faults::default();
    let options = Options { timeout, ..options() };
    let mut engine = Engine::new(&raid5(), faults.around(media.open()), options).unwrap();
    for number in 0..24 {
        engine.write(number * PAGE, &page(number as u8 + 1)).unwrap();
    }
    (media, faults, engine)
}

#[test]
fn what_cannot_be_read_is_decoded_and_written_back() {
    for errno in [Errno::IO, Errno::NODATA, Errno::ILSEQ, Errno::BADMSG] {
        let (media, faults, mut engine) = filled();
        faults.rot(0, 0, errno);
        assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![1; 4096], "{errno}");
        while engine.step() {}
        assert!(!faults.is_rotten(0, 0), "{errno}: the page was written back");
        assert_eq!(engine.counts().done[Class::Repair as usize], 1);
        assert!(engine.failure(MemberNo::new(0)).unwrap().is_none(), "{errno}: the member stays in service");
        drop(engine.close().unwrap());
        media.check_parity(&raid5());
    }
}

#[test]
fn a_file_that_was_cut_short_is_decoded_and_grows_back() {
    let (media, _, engine) = filled();
    drop(engine.close().unwrap());
    let mut engine = Engine::new(&raid5(), media.open(), options()).unwrap();
    std::fs::OpenOptions::new().write(true).open(&media.paths()[0]).unwrap().set_len(100).unwrap();
    // The whole array: every data page of member 0 is read.
    let bytes = read(&mut engine, 0, 24 * 4096).unwrap();
    assert!(bytes.chunks(4096).enumerate().all(|(number, page)| page == [number as u8 + 1; 4096]));
    assert!(engine.failure(MemberNo::new(0)).unwrap().is_none());
    drop(engine.close().unwrap());
    assert_eq!(media.assemble(&raid5()), bytes);
}

#[test]
fn an_update_does_without_a_page_that_cannot_be_read() {
    // In row 0 of four members: the updated chunk, another one, and parity.
    for (member, name) in [(0, "the updated chunk"), (1, "another chunk"), (3, "parity")] {
        for policy in ["always-rmw", "always-rcw"] {
            let scheme = scheme(&format!("name = \"{policy}\"\n[update]\npolicy = \"{policy}\""));
            for bytes in [512, 4096] {
                let (media, faults, engine) = filled();
                drop(engine.close().unwrap());
                let mut engine = Engine::new(&scheme, faults.around(media.open()), options()).unwrap();
                faults.rot(member, 0, Errno::IO);
                engine.write(0, &vec![99; bytes]).unwrap_or_else(|error| panic!("{policy}, {name}: {error}"));
                let mut expected = vec![1; 4096];
                expected[..bytes].fill(99);
                assert_eq!(read(&mut engine, 0, 4096).unwrap(), expected, "{policy}, {name}");
                assert_eq!(read(&mut engine, PAGE, 4096).unwrap(), vec![2; 4096], "{policy}, {name}");
                drop(engine.close().unwrap());
                media.check_parity(&scheme);
            }
        }
    }
}

#[test]
fn a_member_that_cannot_be_written_fails_and_service_continues() {
    let (_media, faults, mut engine) = filled_with(SOON);
    faults.refuse_writes(0, 0, Errno::NOSPC);
    engine.submit(Request::write(0, &page(77))).unwrap();
    let mut has_waited = false;
    let completion = loop {
        if let Some(completion) = engine.take_completion() {
            break completion;
        }
        let status = engine.status();
        has_waited |= status.is_out_of_space;
        assert!(!status.is_out_of_space_beyond_parity);
        engine.step();
    };
    assert!(
        has_waited && completion.result.is_ok() && engine.array().is_failed(MemberNo::new(0)),
        "{completion:?}"
    );
    let failure = engine.failure(MemberNo::new(0)).unwrap().unwrap();
    assert!(matches!(
        failure,
        Failure::Error {
            operation: Operation { kind: OperationKind::Write, page: 0, member: FIRST, .. },
            ..
        }
    ));
    assert!(failure.to_string().starts_with("writing page 0: No space left on device"), "{failure}");
    assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![77; 4096]);
    for number in 1..24 {
        assert_eq!(read(&mut engine, number * PAGE, 4096).unwrap(), vec![number as u8 + 1; 4096]);
        engine.write(number * PAGE, &page(200 - number as u8)).unwrap();
        assert_eq!(read(&mut engine, number * PAGE, 4096).unwrap(), vec![200 - number as u8; 4096]);
    }
    engine.flush().unwrap();
}

/// The kernel may have dropped its cached data by then, and the next flush would succeed.
#[test]
fn a_flush_that_found_no_space_is_not_tried_again() {
    let (_media, faults, mut engine) = filled();
    faults.refuse_flushes(0, Errno::NOSPC);
    engine.submit(Request::Flush).unwrap();
    let completion = loop {
        if let Some(completion) = engine.take_completion() {
            break completion;
        }
        assert!(!engine.status().is_out_of_space, "it waits for nothing");
        engine.step();
    };
    assert_eq!(completion.result, Ok(()));
    assert!(engine.array().is_failed(MemberNo::new(0)));
}

#[test]
fn a_member_without_space_does_not_fail_when_another_is_gone() {
    let (_media, faults, mut engine) = filled_with(SOON);
    engine.fail(MemberNo::new(1)).unwrap();
    faults.refuse_writes(0, 0, Errno::NOSPC);
    let ticket = engine.submit(Request::write(0, &page(77))).unwrap();
    let completion = engine.poll().unwrap();
    assert_eq!((completion.ticket, completion.result), (ticket, Err(Failed::NoSpace)));
    let until = Instant::now() + 2 * SOON;
    while Instant::now() < until {
        engine.step();
    }
    let status = engine.status();
    assert!(
        status.is_out_of_space
            && status.is_out_of_space_beyond_parity
            && !engine.array().is_failed(MemberNo::new(0))
    );
    assert!(matches!(engine.write(PAGE, &page(78)), Err(EngineError::Failed(Failed::NoSpace))));
    faults.allow_writes(0, 0);
    while engine.step() {}
    assert_eq!(
        read(&mut engine, 0, 4096).unwrap(),
        vec![77; 4096],
        "what was told to have failed may be done later"
    );
    engine.write(PAGE, &page(78)).unwrap();
    assert_eq!(read(&mut engine, PAGE, 4096).unwrap(), vec![78; 4096]);
    drop(engine.close().unwrap());
}

#[test]
fn a_member_that_is_gone_fails_at_the_first_read() {
    for errno in [Errno::NODEV, Errno::NXIO, Errno::TIMEDOUT] {
        let (_media, faults, mut engine) = filled();
        faults.kill(1, errno);
        assert_eq!(read(&mut engine, PAGE, 4096).unwrap(), vec![2; 4096]);
        assert!(engine.failure(MemberNo::new(1)).unwrap().is_some(), "{errno}");
        let before = engine.counts().errors;
        assert_eq!(read(&mut engine, 0, 24 * 4096).unwrap().len(), 24 * 4096);
        assert_eq!(engine.counts().errors, before, "{errno}: it is not asked again");
    }
}

#[test]
fn more_than_parity_can_tolerate_is_an_error_and_not_a_lie() {
    let (_media, _, mut engine) = filled();
    engine.fail(MemberNo::new(0)).unwrap();
    engine.fail(MemberNo::new(1)).unwrap();
    assert!(matches!(read(&mut engine, 0, 4096), Err(EngineError::Failed(Failed::Lost))));
    assert!(matches!(engine.write(0, &page(1)), Err(EngineError::Failed(Failed::Lost))));
    // Chunks on the remaining members can be read: page 2 lies on member 2.
    assert_eq!(read(&mut engine, 2 * PAGE, 4096).unwrap(), vec![3; 4096]);

    let media = Media::new(3, 8, 4096);
    let faults = Faults::default();
    let mut engine = Engine::new(&raid0(), faults.around(media.open()), options()).unwrap();
    engine.write(0, &page(1)).unwrap();
    faults.rot(0, 0, Errno::IO);
    assert!(matches!(read(&mut engine, 0, 4096), Err(EngineError::Failed(Failed::Lost))));
    assert!(engine.failure(MemberNo::new(0)).unwrap().is_none(), "the member lives");
    engine.write(0, &page(5)).unwrap();
    assert_eq!(read(&mut engine, 0, 4096).unwrap(), vec![5; 4096], "a whole write heals the page");
}

#[test]
fn a_member_that_does_not_exist_is_named() {
    let (_media, _, mut engine) = filled();
    let text = engine.fail(MemberNo::new(4)).unwrap_err().to_string();
    assert_eq!(text, "there is no member 4: the array has 4, counted from 0");
}

/// An event between requests.
#[derive(Clone, Debug)]
enum Event {
    Read {
        at: u64,
        sectors: u64,
    },
    Write {
        at: u64,
        sectors: u64,
    },
    /// A page rots, unless another of its row is rotten: that would exceed what parity tolerates.
    Rot {
        member: u16,
        page: u32,
    },
    Step(u8),
}

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (any::<u64>(), 1u64..30).prop_map(|(at, sectors)| Event::Read { at, sectors }),
        4 => (any::<u64>(), 1u64..30).prop_map(|(at, sectors)| Event::Write { at, sectors }),
        3 => (0u16..4, 0u32..8).prop_map(|(member, page)| Event::Rot { member, page }),
        4 => (1u8..9).prop_map(Event::Step),
    ];
    prop::collection::vec(event, 1..200)
}

proptest! {
    /// Latent errors appear while requests are in flight, at most one in a row: no request fails, no byte is wrong.
    #[test]
    fn pages_that_rot_one_in_a_row_are_never_noticed(
        events in any_events(),
        policy in select(vec!["baseline", "always-rmw", "always-rcw"]),
        seed in any::<u64>(),
    ) {
        let scheme = scheme(&format!("name = \"rots\"\n[update]\npolicy = \"{policy}\""));
        let media = Media::new(4, 8, 1024);
        let faults = Faults::default();
        let options = Options {
            page_bytes: 1024,
            window: 3,
            order: Order::Shuffled(seed),
            time: Timekeeping::Counted(1_000),
            ..Options::default()
        };
        let mut engine = Engine::new(&scheme, faults.around(media.open()), options).unwrap();
        let sectors_of_array = engine.capacity() / 512;
        let mut model = crate::support::model::Model::new(engine.capacity());
        let check = |model: &mut crate::support::model::Model<_>, completion: stripewise_engine::Completion| {
            completion.result.expect("parity bears one in a row");
            model.completed(completion.ticket, &completion.payload);
        };
        for event in events {
            match event {
                Event::Read { at, sectors } | Event::Write { at, sectors } => {
                    let first = at % sectors_of_array;
                    let range = first as usize..(first + sectors).min(sectors_of_array) as usize;
                    if matches!(event, Event::Read { .. }) {
                        let ticket = engine.submit(Request::read(first * 512, range.len() * 512)).unwrap();
                        model.read_submitted(ticket, range);
                    } else {
                        let data = model.fresh(range.clone());
                        let ticket = engine.submit(Request::write(first * 512, &data)).unwrap();
                        model.write_submitted(ticket, range);
                    }
                }
                Event::Rot { member, page } => {
                    if faults.rotten().iter().all(|&(_, other)| other != page) {
                        faults.rot(member, page, Errno::IO);
                    }
                }
                Event::Step(steps) => {
                    for _ in 0..steps {
                        engine.step();
                        while let Some(completion) = engine.take_completion() {
                            check(&mut model, completion);
                        }
                    }
                }
            }
        }
        while let Some(completion) = engine.poll() {
            check(&mut model, completion);
        }
        let mut bytes = vec![0; engine.capacity() as usize];
        engine.read(0, &mut bytes).unwrap();
        model.settle(&bytes);
        drop(engine.close().unwrap());
        // Only parity is still rotten, which was never read. Apart from it the files are complete.
        prop_assert!(bytes == media.assemble(&scheme));
    }
}
