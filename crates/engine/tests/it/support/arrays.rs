//! Arrays of files with metadata.

use std::path::{Path, PathBuf};

use stripewise_array::format::Uuid;
use stripewise_array::{AssemblyOptions, Identity, Scheme, create};
use stripewise_engine::{Engine, EngineError, FileMedia, IoMode, MemberFile, Options};

/// A log with two streams, on RAID-5, with short segments.
pub const LOG: &str = "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n\
     [hotness]\npolicy = \"glru\"\ntiers = 2\n";
/// RAID-5 in place, with the redo journal.
pub const IN_PLACE: &str = "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

/// Creates an array of `count` files of `bytes` each.
pub fn created(scheme: &Scheme, folder: &Path, count: u8, bytes: u64) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..count).map(|nth| folder.join(format!("member-{nth}"))).collect();
    let files = MemberFile::create_all(&paths, bytes, 4096).unwrap();
    let mut media = FileMedia::new(files, 4096);
    let members = media.members();
    let identity = Identity {
        array: Uuid([7; 16]),
        members: (1..=count).map(|nth| Uuid([nth; 16])).collect(),
        name: "test".into(),
    };
    create(scheme, members, &identity, &mut media).unwrap();
    paths
}

/// Assembles it.
pub fn opened(scheme: &Scheme, paths: &[PathBuf], options: Options) -> Result<Engine, EngineError> {
    let media = FileMedia::open(paths, 4096)?;
    Ok(Engine::resume(scheme, media, options, AssemblyOptions::default())?.0)
}

/// Options for each backend.
pub fn ways() -> [Options; 2] {
    [IoMode::Plain, IoMode::Best].map(|way| Options { way, ..Options::default() })
}
