//! A write cache over files: its memory is volatile, so flushes drain it.

use std::path::PathBuf;

use stripewise_array::{Controller, SchemeError};
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, EngineError, MemberFile};
use tempfile::TempDir;

use crate::support::{options, read, scheme};

const PAGE: usize = 4096;
const MEMBER_BYTES: u64 = 16 * PAGE as u64;

fn paths(folder: &TempDir, count: usize) -> Vec<PathBuf> {
    (0..count).map(|index| folder.path().join(format!("member{index}"))).collect()
}

fn cached(level: &str, chunks: u32, persistence: &str) -> stripewise_array::Scheme {
    scheme(&format!(
        "name = \"cached\"\n[geometry]\nlevel = \"{level}\"\n\
         [cache]\npolicy = \"parity-caching\"\nchunks = {chunks}\npersistence = \"{persistence}\"\n"
    ))
}

#[test]
fn a_cache_is_not_called_persistent_where_it_is_this_programs_memory() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 3);
    let persistent = cached("raid5", 8, "persistent");
    let error = Engine::create(&persistent, &paths, MEMBER_BYTES, options()).unwrap_err();
    assert!(matches!(error, EngineError::Scheme(SchemeError::Setting { key: "cache.persistence", .. })));
    assert!(error.to_string().contains("use \"volatile\""), "{error}");
    assert!(paths.iter().all(|path| !path.exists()), "and no file was made");
    let stores = MemberFile::create_all(&paths, MEMBER_BYTES, PAGE as u32).unwrap();
    assert!(Engine::scratch(&persistent, stores, options()).is_ok());
}

#[test]
fn what_was_flushed_is_there_though_the_engine_was_dropped() {
    for (level, members) in [("raid0", 3), ("raid5", 4), ("raid6", 5)] {
        for chunks in [1, 3, 1000] {
            let folder = tempfile::tempdir().unwrap();
            let paths = paths(&folder, members);
            let scheme = cached(level, chunks, "volatile");
            let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, options()).unwrap();
            let mut prng = Prng::new(u64::from(chunks));
            let mut expected = vec![0; engine.capacity() as usize];
            for _ in 0..200 {
                let first = prng.below(engine.capacity() / 512);
                let sectors = (1 + prng.below(20)).min(engine.capacity() / 512 - first);
                let range = first as usize * 512..(first + sectors) as usize * 512;
                expected[range.clone()].iter_mut().for_each(|byte| *byte = prng.next_u64() as u8);
                engine.write(first * 512, &expected[range]).unwrap();
            }
            assert!(read(&mut engine, 0, expected.len()).unwrap() == expected);
            engine.flush().unwrap();
            drop(engine);
            let mut engine = Engine::open(&scheme, &paths, options()).unwrap();
            assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "{level}, {chunks} chunks");
        }
    }
}

#[test]
fn what_was_not_flushed_is_in_the_cache_alone_until_the_array_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 4);
    let scheme = cached("raid5", 8, "volatile");
    let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, options()).unwrap();
    engine.write(0, &[7; PAGE]).unwrap();
    assert_eq!(engine.counts().done.iter().sum::<u64>(), 0, "no member was asked");
    assert_eq!(read(&mut engine, 0, PAGE).unwrap(), [7; PAGE]);
    drop(engine);
    let mut engine = Engine::open(&scheme, &paths, options()).unwrap();
    assert_eq!(read(&mut engine, 0, PAGE).unwrap(), [0; PAGE], "as after a loss of power");
    engine.write(0, &[8; PAGE]).unwrap();
    drop(engine.close().unwrap());
    let mut engine = Engine::open(&scheme, &paths, options()).unwrap();
    assert_eq!(read(&mut engine, 0, PAGE).unwrap(), [8; PAGE]);
}

#[test]
fn what_the_code_cannot_tolerate_is_reported_when_it_leaves_the_cache_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(&folder, 4);
    let scheme = cached("raid5", 8, "volatile");
    let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, options()).unwrap();
    let whole: Vec<u8> = (0..3 * PAGE).map(|at| (at / PAGE) as u8 + 1).collect();
    engine.write(0, &whole).unwrap();
    let homes = [0, 1].map(|page| engine.array().homes(page * PAGE as u64).unwrap().0);
    homes.into_iter().for_each(|member| engine.fail(member).unwrap());
    assert_eq!(read(&mut engine, 0, whole.len()).unwrap(), whole, "the cache has it");
    assert!(engine.flush().is_err());
    assert!(read(&mut engine, 0, PAGE).is_err());
    assert!(read(&mut engine, PAGE as u64, PAGE).is_err());
    assert_eq!(read(&mut engine, 2 * PAGE as u64, PAGE).unwrap(), whole[2 * PAGE..], "its member lives");
    assert_eq!(engine.array().lost_content().count(), 2);
    assert!(engine.flush().is_err(), "nor is it durable later");
}
