//! Files of members that were copied and are put back: row `rollback` of `docs/design/fault-contract.md`, on files.

use std::path::{Path, PathBuf};

use stripewise_array::format::Uuid;
use stripewise_array::{AssemblyOptions, Identity, MemberNo, RejoinError, Scheme, create};
use stripewise_engine::{Engine, EngineError, FileMedia, MemberFile, Options};

const LOG: &str = "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n";
const JOURNAL: &str = "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";
const BITMAP: &str = "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[journal]\n\
     policy = \"intent-bitmap\"\n";
const PAGE: u32 = 4096;
const MEMBER_BYTES: u64 = 2 << 20;
/// Bytes that hosts write; their value identifies the time of the write.
const WRITTEN: usize = 1 << 20;

fn scheme(text: &str) -> Scheme {
    Scheme::from_toml("test", text).unwrap()
}

fn created(text: &str, folder: &Path) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..4).map(|nth| folder.join(format!("member-{nth}"))).collect();
    let files = MemberFile::create_all(&paths, MEMBER_BYTES, PAGE).unwrap();
    let mut media = FileMedia::new(files, PAGE);
    let members = (1..=4).map(|nth| Uuid([nth; 16])).collect();
    let identity = Identity { array: Uuid([7; 16]), members, name: "test".into() };
    create(&scheme(text), media.members(), &identity, &mut media).unwrap();
    paths
}

fn open(text: &str, paths: &[PathBuf]) -> Engine {
    let media = FileMedia::open(paths, PAGE).unwrap();
    Engine::resume(&scheme(text), media, Options::default(), AssemblyOptions::default()).unwrap().0
}

fn write(engine: &mut Engine, value: u8) {
    for at in (0..WRITTEN).step_by(64 << 10) {
        engine.write(at as u64, &[value; 64 << 10]).unwrap();
    }
    engine.flush().unwrap();
}

fn holds(engine: &mut Engine, value: u8) -> bool {
    let mut found = vec![0; WRITTEN];
    engine.read(0, &mut found).unwrap();
    found.iter().all(|&byte| byte == value)
}

fn wait_until_rebuilt(engine: &mut Engine) {
    while engine.status().rebuild.is_some() {
        assert!(engine.step(), "a rebuild continues");
    }
}

#[test]
fn a_copy_of_a_member_that_takes_its_place_later_is_made_whole() {
    for text in [LOG, JOURNAL, BITMAP] {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = created(text, folder.path());
        let mut engine = open(text, &paths);
        write(&mut engine, 1);
        drop(engine.close().unwrap());
        let copy = folder.path().join("copy");
        std::fs::copy(&paths[2], &copy).unwrap();

        let mut engine = open(text, &paths);
        assert_eq!(engine.opened().positions, [Some(0), Some(1), Some(2), Some(3)]);
        write(&mut engine, 2);
        engine.fail(MemberNo::new(2)).unwrap();
        while engine.step() {}
        engine.rejoin(MemberNo::new(2), MemberFile::open(&copy, PAGE).unwrap()).unwrap();
        wait_until_rebuilt(&mut engine);
        engine.flush().unwrap();
        engine.scrub();
        while engine.status().scrub.progress.is_some() {
            assert!(engine.step(), "a scrub continues");
        }
        let found = engine.status().scrub;
        assert_eq!((found.bad, found.lost), (0, 0), "{text}");
        drop(engine.close().unwrap());

        paths[2] = copy;
        paths.remove(0);
        let mut engine = open(text, &paths);
        assert!(holds(&mut engine, 2), "one further loss is survived: {text}");
    }
}

#[test]
fn a_copy_in_the_place_of_a_member_of_a_stopped_array_counts_as_absent() {
    for text in [LOG, JOURNAL, BITMAP] {
        let folder = tempfile::tempdir().unwrap();
        let paths = created(text, folder.path());
        let copy = folder.path().join("copy");
        let mut engine = open(text, &paths);
        write(&mut engine, 1);
        // A copy made while the array serves is as old.
        std::fs::copy(&paths[2], &copy).unwrap();
        write(&mut engine, 2);
        drop(engine.close().unwrap());
        std::fs::copy(&copy, &paths[2]).unwrap();
        let mut engine = open(text, &paths);
        assert_eq!(engine.opened().positions[2], None, "{text}");
        assert!(holds(&mut engine, 2), "{text}");
    }
}

#[test]
fn a_member_that_is_newer_than_the_array_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let paths = created(LOG, folder.path());
    let older = folder.path().join("older");
    std::fs::create_dir(&older).unwrap();
    let olds: Vec<PathBuf> = (0..4).map(|nth| older.join(format!("member-{nth}"))).collect();
    for (path, old) in paths.iter().zip(&olds) {
        std::fs::copy(path, old).unwrap();
    }
    for value in [1, 2] {
        let mut engine = open(LOG, &paths);
        write(&mut engine, value);
        drop(engine.close().unwrap());
    }
    let mut engine = open(LOG, &olds);
    engine.fail(MemberNo::new(2)).unwrap();
    while engine.step() {}
    let refused = engine.rejoin(MemberNo::new(2), MemberFile::open(&paths[2], PAGE).unwrap()).unwrap_err();
    assert!(matches!(refused, EngineError::Rejoin(RejoinError::Newer { .. })), "{refused:?}");
    let words = refused.to_string();
    assert!(words.contains("the other members may be older copies") && words.contains("--force"), "{words}");
}
