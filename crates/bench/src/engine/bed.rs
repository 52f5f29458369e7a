//! An array over files of a folder, and other files for the comparison.

use std::path::PathBuf;

use anyhow::{Context, Result};
use stripewise_array::{AssemblyOptions, Identity, Scheme, create};
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, FileMedia, MemberFile, Options, random_uuid};
use tempfile::TempDir;

use crate::Arguments;
use crate::load::{Load, Pattern, drive};

/// Bytes of a page, and of a small request.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// The share of the array that is filled.
const FILLED_PERCENT: u64 = 80;

pub(crate) struct Bed {
    folder: TempDir,
    scheme: Scheme,
    count: u16,
    member_bytes: u64,
}

impl Bed {
    /// New files in the given folder.
    pub(crate) fn new(arguments: &Arguments, scheme: Scheme) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("stripewise-bench-").tempdir_in(&arguments.folder)?;
        Ok(Self { folder, scheme, count: arguments.members, member_bytes: arguments.mib << 20 })
    }

    fn path(&self, nth: u16) -> PathBuf {
        self.folder.path().join(format!("member-{nth:02}"))
    }

    fn paths(&self) -> Vec<PathBuf> {
        (0..self.count).map(|nth| self.path(nth)).collect()
    }

    /// Fully written files of the same sizes, without an array.
    pub(crate) fn plain_files(&self) -> Result<Vec<PathBuf>> {
        let paths: Vec<PathBuf> =
            (0..self.count).map(|nth| self.folder.path().join(format!("plain-{nth:02}"))).collect();
        for path in &paths {
            let block = vec![0x5a; 1 << 20];
            let mut file = std::fs::File::create(path)?;
            for _ in 0..self.member_bytes >> 20 {
                std::io::Write::write_all(&mut file, &block)?;
            }
            file.sync_all()?;
        }
        Ok(paths)
    }

    /// A file for a replacement member.
    pub(crate) fn replacement(&self) -> Result<MemberFile> {
        let path = self.folder.path().join("replacement");
        let _ = std::fs::remove_file(&path);
        Ok(MemberFile::create(&path, self.member_bytes, PAGE_BYTES)?)
    }

    /// A new array.
    pub(crate) fn create(&self) -> Result<Engine> {
        for path in self.paths() {
            let _ = std::fs::remove_file(path);
        }
        let files = MemberFile::create_all(&self.paths(), self.member_bytes, PAGE_BYTES)?;
        let mut media = FileMedia::new(files, PAGE_BYTES);
        let members = media.members();
        let identity = Identity {
            array: random_uuid()?,
            members: (0..self.count).map(|_| random_uuid()).collect::<Result<_, _>>()?,
            name: "bench".into(),
        };
        create(&self.scheme, members, &identity, &mut media)?;
        drop(media);
        self.open()
    }

    /// Assembles the array in its present state.
    pub(crate) fn open(&self) -> Result<Engine> {
        let media = FileMedia::open(&self.paths(), PAGE_BYTES)?;
        let options = Options { page_bytes: PAGE_BYTES, ..Options::default() };
        let (engine, _) = Engine::resume(&self.scheme, media, options, AssemblyOptions::default())
            .with_context(|| format!("the array in {}", self.folder.path().display()))?;
        Ok(engine)
    }

    /// Fills an array, and overwrites a log at random until collection is in its steady state.
    pub(crate) fn fill(&self, engine: &mut Engine) -> Result<()> {
        let large =
            Load { pattern: Pattern::Sequential, write: true, bytes: 1 << 20, depth: 8, ..self.load(engine) };
        let mut random = Prng::stream(1, 0);
        drive(engine, &Load { count: large.span / large.bytes as u64, ..large }, &mut random)?;
        if self.scheme.placement.facts().forms_stripes {
            let small =
                Load { write: true, count: 2 * large.span / u64::from(PAGE_BYTES), ..self.load(engine) };
            drive(engine, &small, &mut random)?;
        }
        engine.flush()?;
        Ok(())
    }

    /// Small random reads of the filled part, 32 at a time.
    pub(crate) fn load(&self, engine: &Engine) -> Load {
        // Whole MiB, so that large requests end at the end of the span.
        let span = (engine.capacity() * FILLED_PERCENT / 100) >> 20 << 20;
        Load {
            pattern: Pattern::Random,
            write: false,
            bytes: PAGE_BYTES as usize,
            depth: 32,
            count: 0,
            span,
            flush_every: 0,
        }
    }
}
