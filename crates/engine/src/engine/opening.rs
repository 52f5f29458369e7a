//! Creates and assembles arrays: over new members, over members without metadata, and over members with superblocks.

use std::path::Path;

use stripewise_array::format::Superblock;
use stripewise_array::placement::FirstWrites;
use stripewise_array::{
    Array, AssembleError, AssemblyOptions, Controller, Media, MemberNo, Members, Memory, Metadata, PagePool,
    RecoveryReport, Scheme, SchemeError,
};

use super::known::Known;
use super::rules::{capabilities, keeps_what_it_has, trims, with_own_times};
use super::{Engine, Options};
use crate::backend::{Backend, Pages};
use crate::error::EngineError;
use crate::failure::Failure;
use crate::file_backend::Files;
use crate::files::MemberFile;
use crate::media::FileMedia;
use crate::plain::Plain;
use crate::store::Store;
use crate::transcript::{Event, Head, Scribe, WatchedMedia};
use crate::uuid::random_serving;

impl Engine<Files> {
    /// A remark for the operator: why operations reach the files through the slower backend.
    pub fn remark(&self) -> Option<String> {
        self.member_io.backend.remark()
    }

    /// Creates new member files of `member_bytes` each, and an array over them that reads as zeros. It writes no
    /// metadata; an array with metadata is made by [`stripewise_array::create`].
    ///
    /// # Errors
    /// When the scheme cannot run over such members, and when a file cannot be created. No file is left behind then.
    pub fn create(
        scheme: &Scheme,
        paths: &[impl AsRef<Path>],
        member_bytes: u64,
        options: Options,
    ) -> Result<Self, EngineError> {
        let pages = member_bytes / u64::from(options.page_bytes.max(1));
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        keeps_what_it_has(scheme)?;
        scheme.resolve(&capabilities(paths.len(), pages, options.page_bytes), Pages::CARRIES_DATA)?;
        let files = MemberFile::create_all(paths, member_bytes, options.page_bytes)?;
        // When nothing is written yet, a map has no page, and every row waits to be encoded.
        let is_empty =
            scheme.placement.facts().keeps_map || scheme.placement.first_writes == FirstWrites::Encode;
        Self::over(
            scheme,
            Files::new(files.into_iter().map(Some).collect(), options.page_bytes, &options, trims(scheme)),
            pages,
            &options,
            !is_empty,
        )
    }

    /// Assembles an array that [`Engine::create`] made: the same scheme, the same files in the same order.
    ///
    /// # Errors
    /// When a file is missing, in use or of another size than the rest, and when the scheme cannot run over them.
    pub fn open(scheme: &Scheme, paths: &[impl AsRef<Path>], options: Options) -> Result<Self, EngineError> {
        finds_again(scheme)?;
        let files = MemberFile::open_all(paths, options.page_bytes)?;
        let pages = files.iter().map(Store::pages).min().unwrap_or(0);
        Self::over(
            scheme,
            Files::new(files.into_iter().map(Some).collect(), options.page_bytes, &options, trims(scheme)),
            pages,
            &options,
            true,
        )
    }

    /// Assembles an array whose scheme has `metadata = "on"` over the files of its members, in any order, and reports
    /// what it found. All durable data is there, however the engine before ended. Up to P members may be absent or
    /// stale, where P is the number of losses that parity tolerates. An interrupted rebuild continues.
    ///
    /// # Errors
    /// Why the array cannot be assembled, and the remedy.
    pub fn resume(
        scheme: &Scheme,
        media: FileMedia,
        options: Options,
        opening: AssemblyOptions,
    ) -> Result<(Self, RecoveryReport), EngineError> {
        Self::resume_transcribed(scheme, media, options, opening, None)
    }

    /// [`Engine::resume`], with a transcript of all events and answers of the controller from the assembly on.
    ///
    /// # Errors
    /// Those of [`Engine::resume`].
    pub fn resume_transcribed(
        scheme: &Scheme,
        mut media: FileMedia,
        options: Options,
        opening: AssemblyOptions,
        mut scribe: Option<Scribe>,
    ) -> Result<(Self, RecoveryReport), EngineError> {
        if scheme.metadata == Metadata::Off {
            return Err(SchemeError::Setting {
                scheme: scheme.name.clone(),
                key: "metadata",
                value: "\"off\"".into(),
                reason: "says nothing of itself on its members, so it cannot be found again by them; use \"on\"",
            }
            .into());
        }
        let Some(newest) = media.newest_superblock() else {
            let reason = "none of the members has a superblock of Stripewise; create an array first";
            return Err(AssembleError::Refused(reason.into()).into());
        };
        let serving = if opening.read_only { 0 } else { random_serving()? };
        let opening = AssemblyOptions { serving, ..opening };
        let discard = media.takes_discards(trims(scheme));
        let members =
            Members { discard, ..capabilities(newest.members.len(), newest.pages, newest.page_bytes) };
        let memory = PagePool::new(newest.page_bytes);
        let own = with_own_times(scheme);
        let (array, opened) = match &mut scribe {
            None => Array::open(&own, members, memory, &mut media, opening)?,
            Some(scribe) => {
                scribe.begin(&head(scheme, &newest, &media, opening));
                scribe.note(&Event::Serving(opening.serving));
                let mut watched = WatchedMedia { media: &mut media, scribe };
                let (array, opened) = Array::open(&own, members, memory, &mut watched, opening)?;
                scribe.note(&Event::Assembled { epoch: opened.epoch });
                (array, opened)
            }
        };
        let recording = media.take_recording();
        let mut files: Vec<Option<MemberFile>> = media.into_files().into_iter().map(Some).collect();
        let place = |position: &Option<u16>| files[usize::from((*position)?)].take();
        let files = opened.positions.iter().map(place).collect();
        let mut engine = Self::assembled(
            Files::new(files, newest.page_bytes, &options, trims(scheme)),
            array,
            newest.page_bytes,
            &options,
        );
        for member in MemberNo::first(members.count) {
            if engine.array.is_failed(member) {
                engine.member_io.fail(member, Failure::Absent);
            }
        }
        engine.member_io.scribe = scribe.map(Box::new);
        engine.member_io.recording =
            recording.map(|recording| Box::new(recording.renumbered(&opened.positions)));
        engine.known = Some(Known::of(&newest));
        engine.is_read_only = opening.read_only;
        engine.opened = opened.clone();
        engine.set_rate(options.rate);
        let now = engine.clock.now();
        engine.member_io.record_event(|| Event::Resumed { now });
        engine.array.resume(now, &mut engine.member_io);
        engine.watch_edges();
        Ok((engine, opened))
    }
}

impl<S: Store> Engine<Plain<S>> {
    /// An array over `stores` with content that outlives the engine.
    ///
    /// # Errors
    /// When the scheme cannot run over these members, with the reason.
    pub fn new(scheme: &Scheme, stores: Vec<S>, options: Options) -> Result<Self, EngineError> {
        finds_again(scheme)?;
        let pages = stores.iter().map(Store::pages).min().unwrap_or(0);
        Self::over(scheme, plain(stores, &options), pages, &options, true)
    }

    /// An array over zeroed `stores` with content that is not needed after the engine ends. It also takes schemes that
    /// [`Engine::new`] refuses because they could not find their data again.
    ///
    /// # Errors
    /// When the scheme cannot run over these members, with the reason.
    pub fn scratch(scheme: &Scheme, stores: Vec<S>, options: Options) -> Result<Self, EngineError> {
        let pages = stores.iter().map(Store::pages).min().unwrap_or(0);
        Self::over(scheme, plain(stores, &options), pages, &options, false)
    }
}

impl<B: Backend> Engine<B> {
    /// An array without metadata, over members of `pages` pages, written or empty.
    pub(crate) fn over(
        scheme: &Scheme,
        backend: B,
        pages: u32,
        options: &Options,
        is_written: bool,
    ) -> Result<Self, EngineError> {
        let members = capabilities(backend.count().into(), pages, options.page_bytes);
        // The controller checks the page size first; then the memory for such pages is allocated.
        scheme.resolve(&members, Pages::CARRIES_DATA)?;
        let mut array = Array::new(&with_own_times(scheme), members, PagePool::new(options.page_bytes))?;
        if is_written {
            // There is no record of earlier writes.
            let pages = array.geometry().pages();
            array.assume_written(pages);
        }
        let mut engine = Self::assembled(backend, array, options.page_bytes, options);
        engine.set_rate(options.rate);
        Ok(engine)
    }
}

/// The head of a transcript.
fn head(scheme: &Scheme, newest: &Superblock, media: &FileMedia, opening: AssemblyOptions) -> Head {
    Head {
        version: Head::current_version(),
        name: newest.name.clone(),
        scheme: scheme.to_toml(),
        pages: (newest.pages, newest.page_bytes),
        members: newest.members.len() as u32,
        offered: (0..media.count()).map(|member| media.size(member)).collect(),
        opening: (opening.read_only, opening.force),
        discard: media.takes_discards(trims(scheme)),
    }
}

fn plain<S: Store>(stores: Vec<S>, options: &Options) -> Plain<S> {
    Plain::new(stores.into_iter().map(Some).collect(), options.order, options.flushes)
}

/// Refuses a scheme whose data another engine could not find.
fn finds_again(scheme: &Scheme) -> Result<(), SchemeError> {
    keeps_what_it_has(scheme)?;
    let facts = scheme.placement.facts();
    if !facts.keeps_map && !facts.has_zones {
        return Ok(());
    }
    Err(SchemeError::Setting {
        scheme: scheme.name.clone(),
        key: "placement.policy",
        value: facts.value(),
        reason: "keeps its map in memory only, and without a map on the media the data could not be found again; \
                 create a new array, or use \"in-place\"",
    })
}
