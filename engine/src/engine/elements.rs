//! Elements that leave the array and come into it.

use std::collections::VecDeque;

use rustix::rand::{GetRandomFlags, getrandom};
use stripewise_array::format::Uuid;
use stripewise_array::{RejoinError, Rejoining};

use super::Engine;
use crate::backend::Backend;
use crate::error::EngineError;
use crate::files::ElementFile;
use crate::incidents::Incident;
use crate::media::{FileMedia, Returning};
use crate::member_io::Failure;
use crate::store::Store;
use crate::transcript::Event;
use crate::ways::Files;

/// Elements that wait to take the place of one that fails.
#[derive(Debug)]
pub(super) struct Spares<E> {
    waiting: VecDeque<(E, u32)>,
}

impl<E> Default for Spares<E> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<E> Spares<E> {
    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }
}

impl<B: Backend> Engine<B> {
    /// Takes an element out of service; what lies on it is decoded from the others from now on.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn fail(&mut self, element: u16) -> Result<(), EngineError> {
        self.fail_because(element, Failure::Asked)
    }

    pub(super) fn fail_because(&mut self, element: u16, why: Failure) -> Result<(), EngineError> {
        self.exists(element)?;
        self.member_io.fail(element, why);
        let now = self.clock.now();
        self.member_io.told(|| Event::Failed { now, element });
        self.array.element_failed(now, element, &mut self.member_io);
        self.pump();
        self.watch_edges();
        Ok(())
    }

    /// Why `element` is out of service; `None` while it serves.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn failure(&self, element: u16) -> Result<Option<&Failure>, EngineError> {
        self.exists(element)?;
        Ok(self.member_io.failure(element))
    }

    /// Begins to read everything that the array holds and to repair what is bad, at the rate that is set.
    ///
    /// A file that was cut short is failed first, where redundancy allows: to repair the superblock at its end would make it as
    /// long as before, with a hole that reads as zeros where its data was.
    pub fn scrub(&mut self) {
        self.fail_shrunk();
        let now = self.clock.now();
        self.member_io.told(|| Event::Scrub { now });
        self.array.scrub(now, &mut self.member_io);
        self.watch_edges();
    }

    /// Takes files out of service that have become smaller than what the array uses of them.
    fn fail_shrunk(&mut self) {
        let needed = u64::from(self.array.element_pages()) * u64::from(self.page_bytes());
        for element in 0..self.member_io.backend.count() {
            let is_there = !self.array.is_failed(element) && self.array.bears_loss_of(element);
            let path = self.member_io.backend.path(element).filter(|_| is_there);
            let found = path.and_then(|path| std::fs::metadata(path).ok()).filter(std::fs::Metadata::is_file);
            let Some(bytes) = found.map(|found| found.len()).filter(|&bytes| bytes < needed) else {
                continue;
            };
            self.member_io.fail(element, Failure::Shrunk { bytes, needed });
            let now = self.clock.now();
            self.member_io.told(|| Event::Failed { now, element });
            self.array.element_failed(now, element, &mut self.member_io);
            self.has_news = true;
        }
    }

    /// Stops a scrub; what it found stays counted.
    pub fn stop_scrub(&mut self) {
        self.member_io.told(|| Event::StopScrub);
        self.note_stopped_scrub();
        self.array.stop_scrub();
        self.watch_edges();
    }

    pub(super) fn exists(&self, element: u16) -> Result<(), EngineError> {
        let elements = self.member_io.backend.count();
        if element < elements {
            return Ok(());
        }
        Err(EngineError::NoElement { element, elements: elements.into() })
    }

    /// Puts `store`, of which nothing is known, in the place of `element`, which is out of service, and rebuilds it.
    ///
    /// # Errors
    /// When there is no such element, it serves, another is being rebuilt, or the new one is too small. Then it is not taken.
    pub fn replace_by(&mut self, element: u16, store: B::Element, pages: u32) -> Result<(), EngineError> {
        self.put_new(element, store, pages, Incident::Replaced { element, is_spare: false })
    }

    fn put_new(
        &mut self,
        element: u16,
        store: B::Element,
        pages: u32,
        incident: Incident,
    ) -> Result<(), EngineError> {
        let uuid = random_uuid()?;
        self.put(element, store, Rejoining::Replacement { uuid: uuid, pages }, incident)?;
        if let Some(known) = &mut self.known {
            known.elements[usize::from(element)] = uuid;
        }
        Ok(())
    }

    /// Keeps `store` for the next element that fails.
    pub fn add_spare_of(&mut self, store: B::Element, pages: u32) {
        self.spares.waiting.push_back((store, pages));
        self.use_spares();
    }

    /// Whether an element would be taken now in the place of `element`.
    ///
    /// # Errors
    /// Those of [`Engine::replace_by`]; [`EngineError::InFlight`] passes.
    pub fn check_rejoin(&self, element: u16, how: Rejoining) -> Result<(), EngineError> {
        self.exists(element)?;
        self.array.check_rejoin(element, how)?;
        // Whatever these bring is about the one that was there before.
        match self.member_io.in_flight(element) {
            0 => Ok(()),
            operations => Err(EngineError::InFlight { element, operations }),
        }
    }

    fn put(
        &mut self,
        element: u16,
        store: B::Element,
        how: Rejoining,
        incident: Incident,
    ) -> Result<(), EngineError> {
        self.check_rejoin(element, how)?;
        self.member_io.restore(element, store);
        self.member_io.incidents.note(incident);
        let now = self.clock.now();
        if let Some(scribe) = &mut self.member_io.scribe {
            scribe.rejoin(now, element, how);
        }
        self.array.rejoin(now, element, how, &mut self.member_io)?;
        self.pump();
        self.watch_edges();
        Ok(())
    }

    /// Lets a spare take the place of an element that is out of service.
    pub(super) fn use_spares(&mut self) {
        if self.spares.waiting.is_empty() || self.is_read_only {
            return;
        }
        for element in 0..self.member_io.backend.count() {
            let Some(&(_, pages)) = self.spares.waiting.front() else { return };
            let uuid = Uuid([0; 16]);
            let how = Rejoining::Replacement { uuid: uuid, pages };
            if self.check_rejoin(element, how).is_err() {
                continue;
            }
            let Some((store, pages)) = self.spares.waiting.pop_front() else { return };
            // What keeps it from being used now was asked for before; only random numbers may be wanting.
            if self.put_new(element, store, pages, Incident::Replaced { element, is_spare: true }).is_err() {
                return;
            }
        }
    }
}

impl Engine<Files> {
    /// Puts `file` in the place of `element`, which is out of service, and rebuilds it. Whatever is in it is lost.
    ///
    /// # Errors
    /// Those of [`Engine::replace_by`].
    pub fn replace(&mut self, element: u16, file: ElementFile) -> Result<(), EngineError> {
        let pages = file.pages();
        self.replace_by(element, file, pages)
    }

    /// Keeps `file` for the next element that fails. Whatever is in it is lost then.
    ///
    /// # Errors
    /// When it is smaller than what the array takes of each element.
    pub fn add_spare(&mut self, file: ElementFile) -> Result<(), EngineError> {
        let (pages, needed) = (file.pages(), self.array.element_pages());
        if pages < needed {
            return Err(RejoinError::TooSmall { pages, needed }.into());
        }
        self.add_spare_of(file, pages);
        Ok(())
    }

    /// Brings back an element that was away: it gets what was written since.
    ///
    /// # Errors
    /// When the file is not that element, or the controller does not take it; see [`RejoinError`].
    pub fn rejoin(&mut self, element: u16, file: ElementFile) -> Result<(), EngineError> {
        match FileMedia::returning(&file)? {
            Some(returning) => self.rejoin_as(element, file, &returning),
            None => {
                let reason = "it has no superblock; replace the element by it".to_owned();
                Err(EngineError::NotThat { element, path: file.path().into(), reason })
            }
        }
    }

    /// [`Engine::rejoin`] of a file whose superblocks were read before, where this thread must not wait for the device.
    ///
    /// # Errors
    /// Those of [`Engine::rejoin`].
    pub fn rejoin_as(
        &mut self,
        element: u16,
        file: ElementFile,
        returning: &Returning,
    ) -> Result<(), EngineError> {
        let block = &returning.superblock;
        self.exists(element)?;
        let Some(known) = &self.known else { return Err(RejoinError::NoMetadata.into()) };
        let reason = if block.array != known.array {
            format!("it belongs to array {}; replace the element by it if nobody needs that", block.array)
        } else if block.uuid != known.elements[usize::from(element)] {
            format!("it is or was element {} of this array; replace the element by it", block.number)
        } else {
            let stamp = self.array.stamp_of(element, returning.copies.each_ref().map(Option::as_ref));
            let how = Rejoining::Returned { pages: file.pages(), stamp };
            return self.put(element, file, how, Incident::Returned { element });
        };
        Err(EngineError::NotThat { element, path: file.path().into(), reason })
    }
}

/// An identifier of version 4 (RFC 9562, section 5.4), from the random numbers of the system.
///
/// # Errors
/// When the system has none.
pub fn random_uuid() -> Result<Uuid, EngineError> {
    let mut bytes = [0; 16];
    if getrandom(&mut bytes, GetRandomFlags::empty()) != Ok(bytes.len()) {
        return Err(EngineError::NoRandomness);
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid(bytes))
}
