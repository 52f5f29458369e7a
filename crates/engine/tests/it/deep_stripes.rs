//! X-Code over files: stripes as deep as they are wide, assembled again without any two of their members, and rebuilt.

use stripewise_array::{Metadata, Persistence, Scheme};
use stripewise_base::prng::Prng;
use stripewise_engine::{Backend, Engine};

use crate::support::arrays::{created, opened};
use crate::support::{options, read};

const MEMBER_BYTES: u64 = 8 << 20;

/// `writes` of random length at random places, with flushes, into `expected`.
fn scribble<B: Backend>(engine: &mut Engine<B>, seed: u64, writes: u64, expected: &mut [u8]) {
    let mut prng = Prng::new(seed);
    let sectors = expected.len() as u64 / 512;
    for nth in 0..writes {
        let first = prng.below(sectors);
        let count = (1 + prng.below(400)).min(sectors - first);
        let range = first as usize * 512..(first + count) as usize * 512;
        expected[range.clone()].fill(prng.next_u64() as u8);
        engine.write(first * 512, &expected[range]).unwrap();
        if nth % 8 == 0 {
            engine.flush().unwrap();
        }
    }
}

#[test]
fn an_array_is_assembled_without_any_two_members_and_serves_what_was_written() {
    let mut scheme = Scheme::preset("raid6-was-xcode").unwrap();
    scheme.metadata = Metadata::On;
    scheme.placement.buffer_persistence = Persistence::Volatile;
    // Hosts may write the whole capacity without two members.
    scheme.elastic.room_for_lost = 2;
    let folder = tempfile::tempdir().unwrap();
    let paths = created(&scheme, folder.path(), 5, MEMBER_BYTES);
    let mut engine = opened(&scheme, &paths, options()).unwrap();
    let mut expected = vec![0; engine.capacity() as usize];
    scribble(&mut engine, 1, 200, &mut expected);
    drop(engine.close().unwrap());
    for (one, other) in (0..5).flat_map(|one| (one + 1..5).map(move |other| (one, other))) {
        let copies = tempfile::tempdir().unwrap();
        let mut left = Vec::new();
        for (nth, path) in paths.iter().enumerate().filter(|&(nth, _)| nth != one && nth != other) {
            let copy = copies.path().join(format!("member-{nth}"));
            std::fs::copy(path, &copy).unwrap();
            left.push(copy);
        }
        let mut engine = opened(&scheme, &left, options()).unwrap();
        let bytes = expected.len();
        assert!(read(&mut engine, 0, bytes).unwrap() == expected, "without members {one} and {other}");
        // Stripes that are written now have no data on the missing members.
        let mut later = expected.clone();
        scribble(&mut engine, 2, 40, &mut later);
        assert!(read(&mut engine, 0, bytes).unwrap() == later, "written without members {one} and {other}");
        drop(engine.close().unwrap());
        let mut engine = opened(&scheme, &left, options()).unwrap();
        assert!(read(&mut engine, 0, bytes).unwrap() == later, "assembled without members {one} and {other}");
    }
}
