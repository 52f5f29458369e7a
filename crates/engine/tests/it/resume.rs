//! Arrays of files with metadata: durable data is there when they are assembled, whatever the order of the files.

use std::path::{Path, PathBuf};

use stripewise_array::format::Uuid;
use stripewise_array::{AssembleError, AssemblyOptions, Identity, MemberNo, Scheme, create};
use stripewise_engine::{Engine, EngineError, Failure, FileMedia, MemberFile, Options};

const SCHEMES: [&str; 2] = [
    "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n",
    "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n",
];

fn created(scheme: &Scheme, folder: &Path) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..4).map(|nth| folder.join(format!("member-{nth}"))).collect();
    let files = MemberFile::create_all(&paths, 2 << 20, 4096).unwrap();
    let mut media = FileMedia::new(files, 4096);
    let members = media.members();
    let identity = Identity {
        array: Uuid([7; 16]),
        members: (1..=4).map(|nth| Uuid([nth; 16])).collect(),
        name: "test".into(),
    };
    create(scheme, members, &identity, &mut media).unwrap();
    paths
}

fn resume(scheme: &Scheme, paths: &[PathBuf]) -> Result<Engine, EngineError> {
    let media = FileMedia::open(paths, 4096)?;
    Ok(Engine::resume(scheme, media, Options::default(), AssemblyOptions::default())?.0)
}

#[test]
fn what_was_flushed_is_there_however_the_engine_ended() {
    for text in SCHEMES {
        let scheme = Scheme::from_toml("test", text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut paths = created(&scheme, folder.path());
        for round in 1..=5u8 {
            let mut engine = resume(&scheme, &paths).unwrap();
            let mut page = [0; 4096];
            for chunk in 0..30 {
                engine.read(chunk * 4096, &mut page).unwrap();
                assert_eq!(page, [round - 1; 4096], "chunk {chunk} in round {round} of {}", scheme.name);
                engine.write(chunk * 4096, &[round; 4096]).unwrap();
            }
            engine.flush().unwrap();
            // The engine ends without a clean stop, and the files are named in another order.
            drop(engine);
            paths.rotate_left(1);
            paths.swap(0, 2);
        }
    }
}

#[test]
fn a_copy_is_refused_and_one_member_may_be_missing() {
    let scheme = Scheme::from_toml("test", SCHEMES[0]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths = created(&scheme, folder.path());
    let twice = folder.path().join("copy");
    std::fs::copy(&paths[1], &twice).unwrap();
    let refused = |paths: &[PathBuf]| match resume(&scheme, paths) {
        Err(EngineError::Open(AssembleError::Refused(reason))) => reason,
        other => panic!("{:?}", other.map(|_| ())),
    };
    let reason = refused(&[paths[0].clone(), paths[1].clone(), twice.clone(), paths[3].clone()]);
    assert!(reason.contains("is a copy"), "{reason}");
    std::fs::write(&twice, vec![0; 2 << 20]).unwrap();
    let empty = twice;
    let mut engine =
        resume(&scheme, &[paths[0].clone(), paths[1].clone(), empty.clone(), paths[3].clone()]).unwrap();
    assert!(matches!(engine.failure(MemberNo::new(2)), Ok(Some(Failure::Absent))));
    engine.write(0, &[3; 4096]).unwrap();
    drop(engine.close().unwrap());
    let reason = refused(&[paths[0].clone(), empty, paths[3].clone()]);
    assert!(reason.contains("absent"), "{reason}");
}
