//! Arrays that outlive their engine, and files that cannot be used.

use std::path::PathBuf;

use stripewise_array::{Class, MemberNo, Persistence, Scheme, SchemeError, SubmitError};
use stripewise_base::prng::Prng;
use stripewise_engine::{Backend, Engine, EngineError, FileError, FileTrouble, MemberFile, Options};
use tempfile::TempDir;

use crate::support::{options, raid0, raid5, read, scheme};

const MEMBER_BYTES: u64 = 16 * 4096;

fn paths(folder: &TempDir, count: usize) -> Vec<PathBuf> {
    (0..count).map(|index| folder.path().join(format!("member{index}"))).collect()
}

/// Writes of random length at random places; returns the resulting content of the array.
fn fill<B: Backend>(engine: &mut Engine<B>, seed: u64) -> Vec<u8> {
    let mut prng = Prng::new(seed);
    let mut expected = vec![0; engine.capacity() as usize];
    for _ in 0..200 {
        let first = prng.below(engine.capacity() / 512);
        let sectors = (1 + prng.below(20)).min(engine.capacity() / 512 - first);
        let range = first as usize * 512..(first + sectors) as usize * 512;
        expected[range.clone()].iter_mut().for_each(|byte| *byte = prng.next_u64() as u8);
        engine.write(first * 512, &expected[range]).unwrap();
    }
    expected
}

#[test]
fn an_array_holds_its_data_after_it_was_closed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 5);
    for (seed, scheme) in [raid5(), raid0()].into_iter().enumerate() {
        let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, Options::default()).unwrap();
        let bytes = engine.capacity() as usize;
        assert!(read(&mut engine, 0, bytes).unwrap() == vec![0; bytes], "a new array is empty");
        let expected = fill(&mut engine, seed as u64);
        drop(engine.close().unwrap());
        let mut engine = Engine::open(&scheme, &paths, Options::default()).unwrap();
        assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "{}", scheme.name);
        drop(engine);
        paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
}

#[test]
fn what_was_completed_is_there_even_if_the_engine_was_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 3);
    let mut engine = Engine::create(&raid5(), &paths, MEMBER_BYTES, options()).unwrap();
    let expected = fill(&mut engine, 7);
    drop(engine);
    let mut engine = Engine::open(&raid5(), &paths, options()).unwrap();
    assert!(read(&mut engine, 0, expected.len()).unwrap() == expected);
}

#[test]
fn an_array_that_was_written_without_a_member_is_opened_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 4);
    let mut engine = Engine::create(&raid5(), &paths, MEMBER_BYTES, options()).unwrap();
    fill(&mut engine, 1);
    engine.fail(MemberNo::new(2)).unwrap();
    let expected = fill(&mut engine, 2);
    let before = read(&mut engine, 0, expected.len()).unwrap();
    drop(engine.close().unwrap());
    // The failed member has its old content, which is stale.
    let mut engine = Engine::open(&raid5(), &paths, options()).unwrap();
    assert!(read(&mut engine, 0, expected.len()).unwrap() != before);
    drop(engine);
    let mut engine = Engine::open(&raid5(), &paths, options()).unwrap();
    engine.fail(MemberNo::new(2)).unwrap();
    assert!(read(&mut engine, 0, expected.len()).unwrap() == before);
}

#[test]
fn gathering_is_refused_where_data_must_be_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 3);
    let gathers = scheme("name = \"gathers\"\n[placement]\nfirst_writes = \"gather\"");
    let error = Engine::create(&gathers, &paths, MEMBER_BYTES, options()).unwrap_err();
    assert!(matches!(error, EngineError::Scheme(SchemeError::Setting { key: "placement.first_writes", .. })));
    let text = error.to_string();
    assert!(text.contains("without a map on the media") && text.contains("use \"in-place\""), "{text}");
    assert!(paths.iter().all(|path| !path.exists()), "and no file was made");

    let stores = MemberFile::create_all(&paths, MEMBER_BYTES, 4096).unwrap();
    assert!(Engine::new(&gathers, stores, options()).is_err());
    let stores = MemberFile::open_all(&paths, 4096).unwrap();
    assert!(Engine::scratch(&gathers, stores, options()).is_ok(), "its data is not needed again");
}

#[test]
fn an_array_whose_map_was_in_memory_is_not_opened_again() {
    for (preset, policy) in [("esap", "elastic"), ("paper004-mc-rais", "mc-rais")] {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths(&folder, 4);
        let mut maps = Scheme::preset(preset).unwrap();
        maps.placement.buffer_persistence = Persistence::Volatile;
        let mut engine = Engine::create(&maps, &paths, 1 << 22, options()).unwrap();
        fill(&mut engine, 1);
        drop(engine.close().unwrap());
        let text = Engine::open(&maps, &paths, options()).unwrap_err().to_string();
        assert!(text.contains(policy) && text.contains("without a map on the media"), "{text}");
    }
}

#[test]
fn a_log_that_is_closed_leaves_parity_that_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 4);
    let text = "name = \"logs\"\n[placement]\npolicy = \"parity-logging\"\n";
    let logs = scheme(text);
    let mut engine = Engine::create(&logs, &paths, MEMBER_BYTES, options()).unwrap();
    let expected = fill(&mut engine, 11);
    assert!(engine.array().parity_log_pages_taken() > 0, "something is left to be committed");
    drop(engine.close().unwrap());
    for member in 0..4 {
        let mut engine = Engine::open(&logs, &paths, options()).unwrap();
        engine.fail(MemberNo::new(member)).unwrap();
        assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "without member {member}");
    }
    // A chunk that may have been written before is read before it is updated.
    let mut engine = Engine::open(&logs, &paths, options()).unwrap();
    engine.write(0, &[9; 4096]).unwrap();
    assert_eq!(engine.counts().done[Class::PreRead as usize], 1);
    drop(engine.close().unwrap());
    let never = scheme(&format!("{text}[parity_logging]\ncommit = \"never\""));
    let error = Engine::open(&never, &paths, options()).unwrap_err().to_string();
    assert!(error.contains("parity_logging.commit") && error.contains("use \"watermark\""), "{error}");
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_the_reason_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 3);
    let open = || Engine::open(&raid5(), &paths, options());
    let trouble = |result: Result<Engine, EngineError>| match result {
        Err(EngineError::File(FileError { path, trouble })) => (path, trouble),
        other => panic!("{other:?}"),
    };

    assert!(matches!(trouble(open()), (path, FileTrouble::Missing) if path == paths[0]));

    drop(Engine::create(&raid5(), &paths, MEMBER_BYTES, options()).unwrap());
    let first = open().unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains(paths[0].to_str().unwrap()) && error.contains("is in use"), "{error}");
    drop(first);

    std::fs::OpenOptions::new().write(true).open(&paths[1]).unwrap().set_len(MEMBER_BYTES / 2).unwrap();
    assert!(matches!(
        trouble(open()),
        (path, FileTrouble::Unequal { bytes: 32768, first_bytes: 65536, .. }) if path == paths[1]
    ));

    std::fs::OpenOptions::new().write(true).open(&paths[1]).unwrap().set_len(1000).unwrap();
    let (path, trouble) = trouble(open());
    assert_eq!(path, paths[1]);
    assert!(trouble.to_string().contains("has 1000 bytes"), "{trouble}");
}

#[test]
fn files_smaller_than_a_chunk_are_refused_by_the_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let chunky = scheme("name = \"chunky\"\n[geometry]\nchunk = \"128KiB\"");
    let error = Engine::create(&chunky, &paths(&folder, 3), MEMBER_BYTES, options()).unwrap_err();
    assert!(matches!(error, EngineError::Scheme(SchemeError::Geometry { .. })));
    assert!(error.to_string().contains("larger than a member of 16 pages"), "{error}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for page_bytes in [0, 100, 65536] {
        let options = Options { page_bytes, ..options() };
        let error = Engine::create(&raid5(), &paths(&folder, 3), MEMBER_BYTES, options).unwrap_err();
        assert!(matches!(error, EngineError::Scheme(_)), "{error}");
    }
    let none: [&str; 0] = [];
    assert!(Engine::create(&raid5(), &none, MEMBER_BYTES, options()).is_err());
    assert!(Engine::open(&raid5(), &none, options()).is_err());
}

#[test]
fn requests_outside_the_array_or_between_sectors_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = Engine::create(&raid5(), &paths(&folder, 3), MEMBER_BYTES, options()).unwrap();
    let capacity = engine.capacity();
    assert_eq!(capacity, 2 * MEMBER_BYTES);
    for (offset, bytes) in
        [(capacity, 512), (capacity - 512, 1024), (u64::MAX - 511, 512), (1, 512), (0, 100), (0, 0)]
    {
        let error = engine.read(offset, &mut vec![0; bytes]).unwrap_err();
        assert!(matches!(error, EngineError::Submit(_)), "{offset} {bytes}: {error}");
        assert!(engine.write(offset, &vec![0; bytes]).is_err());
        assert!(engine.trim(offset, bytes as u64).is_err());
    }
    assert!(matches!(engine.trim(0, 1 << 40), Err(EngineError::Submit(SubmitError::OutOfRange { .. }))));
    engine.write(0, &[1; 512]).expect("and service goes on");
}

#[test]
fn a_trimmed_row_reads_as_zeros_and_its_parity_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 3);
    let mut engine = Engine::create(&raid5(), &paths, MEMBER_BYTES, options()).unwrap();
    let mut expected = fill(&mut engine, 3);
    // Rows have two pages: the range covers rows 1 and 2 and half of rows 0 and 3.
    engine.trim(4096, 6 * 4096).unwrap();
    expected[2 * 4096..6 * 4096].fill(0);
    assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "halves of rows are kept");
    drop(engine);
    for member in 0..3 {
        let mut engine = Engine::open(&raid5(), &paths, options()).unwrap();
        engine.fail(MemberNo::new(member)).unwrap();
        assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "without member {member}");
    }
}
