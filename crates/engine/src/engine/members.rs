//! Members that leave the array, return to it or replace others.

use stripewise_array::format::Uuid;
use stripewise_array::{Controller, Halt, MemberNo, RejoinError, Rejoining};

use super::Engine;
use crate::backend::Backend;
use crate::error::EngineError;
use crate::failure::Failure;
use crate::file_backend::Files;
use crate::files::MemberFile;
use crate::incidents::Incident;
use crate::media::{FileMedia, Returning};
use crate::store::Store;
use crate::transcript::Event;
use crate::uuid::random_uuid;

impl<B: Backend> Engine<B> {
    /// Takes a member out of service. From now on its content is decoded from the other members.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn fail(&mut self, member: MemberNo) -> Result<(), EngineError> {
        self.fail_because(member, Failure::Requested)
    }

    pub(super) fn fail_because(&mut self, member: MemberNo, why: Failure) -> Result<(), EngineError> {
        self.exists(member)?;
        self.forget_hung(member);
        self.lose(member, why);
        self.pump();
        self.watch_edges();
        Ok(())
    }

    /// Takes a member out of service, in the engine and in the controller.
    pub(super) fn lose(&mut self, member: MemberNo, why: Failure) {
        let reason = why.reason();
        self.member_io.fail(member, why);
        let now = self.clock.now();
        self.member_io.record_event(|| Event::FailedFor { now, member, reason });
        self.array.member_failed(now, member, reason, &mut self.member_io);
    }

    /// Why `member` is out of service; `None` while it serves.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn failure(&self, member: MemberNo) -> Result<Option<&Failure>, EngineError> {
        self.exists(member)?;
        Ok(self.member_io.failure(member))
    }

    /// Starts a scrub: reads all content of the array and repairs what is damaged, at the configured rate.
    ///
    /// A truncated file is failed first, where redundancy allows. Repairing the superblock at its end would restore the
    /// file's length, with a hole that reads as zeros where its data was.
    pub fn scrub(&mut self) {
        self.fail_shrunk();
        let now = self.clock.now();
        self.member_io.record_event(|| Event::Scrub { now });
        self.array.scrub(now, &mut self.member_io);
        self.watch_edges();
    }

    /// Fails files that have become smaller than the part that the array uses.
    fn fail_shrunk(&mut self) {
        let needed = u64::from(self.array.member_pages()) * u64::from(self.page_bytes());
        for member in MemberNo::first(self.member_io.backend.count().into()) {
            let is_there = !self.array.is_failed(member) && self.array.tolerates_loss_of(member);
            let path = self.member_io.backend.path(member).filter(|_| is_there);
            let found = path.and_then(|path| std::fs::metadata(path).ok()).filter(std::fs::Metadata::is_file);
            let Some(bytes) = found.map(|found| found.len()).filter(|&bytes| bytes < needed) else {
                continue;
            };
            self.lose(member, Failure::Shrunk { bytes, needed });
            self.has_event = true;
        }
    }

    /// Stops a scrub. Its counters stay.
    pub fn stop_scrub(&mut self) {
        self.member_io.record_event(|| Event::StopScrub);
        self.note_stopped_scrub();
        self.array.stop_scrub();
        self.watch_edges();
    }

    pub(super) fn exists(&self, member: MemberNo) -> Result<(), EngineError> {
        let members = self.member_io.backend.count();
        if member.number() < members {
            return Ok(());
        }
        Err(EngineError::NoMember { member, members: members.into() })
    }

    /// Puts the blank `store` in the place of `member`, which is out of service, and rebuilds it.
    ///
    /// # Errors
    /// When there is no such member, it serves, another is being rebuilt, or the new one is too small. The new member
    /// is not taken then.
    pub fn replace_by(&mut self, member: MemberNo, store: B::Member, pages: u32) -> Result<(), EngineError> {
        self.put_new(member, store, pages, Incident::Replaced { member, is_spare: false })
    }

    fn put_new(
        &mut self,
        member: MemberNo,
        store: B::Member,
        pages: u32,
        incident: Incident,
    ) -> Result<(), EngineError> {
        let uuid = random_uuid()?;
        self.put(member, store, Rejoining::Replacement { uuid, pages }, incident)?;
        if let Some(known) = &mut self.known {
            known.members[member.index()] = uuid;
        }
        Ok(())
    }

    /// Keeps `store` as a spare for the next member that fails.
    pub fn add_spare_of(&mut self, store: B::Member, pages: u32) {
        self.spares.add(store, pages);
        self.use_spares();
    }

    /// Whether the array would now accept a replacement for `member`, or `member` itself.
    ///
    /// # Errors
    /// Those of [`Engine::replace_by`]. [`EngineError::InFlight`] is temporary.
    pub fn check_rejoin(&self, member: MemberNo, how: Rejoining) -> Result<(), EngineError> {
        self.exists(member)?;
        self.array.check_rejoin(member, how)?;
        // The results of these operations are those of the member that was there before.
        match self.member_io.in_flight(member) {
            0 => Ok(()),
            operations => Err(EngineError::InFlight { member, operations }),
        }
    }

    pub(super) fn put(
        &mut self,
        member: MemberNo,
        store: B::Member,
        how: Rejoining,
        incident: Incident,
    ) -> Result<(), EngineError> {
        self.check_rejoin(member, how)?;
        self.forget_hung(member);
        self.member_io.restore(member, store);
        self.member_io.incidents.note(incident);
        let now = self.clock.now();
        if let Some(scribe) = &mut self.member_io.scribe {
            scribe.rejoin(now, member, how);
        }
        self.array.rejoin(now, member, how, &mut self.member_io)?;
        self.pump();
        self.watch_edges();
        Ok(())
    }

    /// Lets a spare replace a member that is out of service.
    pub(super) fn use_spares(&mut self) {
        let is_any_failed = || {
            MemberNo::first(self.member_io.backend.count().into()).any(|member| self.array.is_failed(member))
        };
        // A halted rebuild needs the member that failed. With a spare in its place, what it has would be lost.
        let is_needed = || matches!(self.array.rebuild_halted(), Some(Halt::Beyond(_)));
        if self.spares.count() == 0 || self.is_read_only || !is_any_failed() || is_needed() {
            return;
        }
        let mut spares = std::mem::take(&mut self.spares);
        let accepts = |engine: &Self, member, pages| {
            // A member that hangs may answer soon.
            !engine.awaits(member)
                && engine.check_rejoin(member, Rejoining::Replacement { uuid: Uuid([0; 16]), pages }).is_ok()
        };
        while let Some((member, store, pages)) =
            spares.next_for(&self.array.state(), |member, pages| accepts(self, member, pages))
        {
            // The checks were made above; only random numbers may be missing.
            if self.put_new(member, store, pages, Incident::Replaced { member, is_spare: true }).is_err() {
                break;
            }
        }
        self.spares = spares;
    }
}

impl Engine<Files> {
    /// Puts `file` in the place of `member`, which is out of service, and rebuilds it. The content of the file is lost.
    ///
    /// # Errors
    /// Those of [`Engine::replace_by`].
    pub fn replace(&mut self, member: MemberNo, file: MemberFile) -> Result<(), EngineError> {
        let pages = file.pages();
        self.replace_by(member, file, pages)
    }

    /// Keeps `file` as a spare for the next member that fails. The content of the file is lost then.
    ///
    /// # Errors
    /// When it is smaller than the part that the array uses of each member.
    pub fn add_spare(&mut self, file: MemberFile) -> Result<(), EngineError> {
        let (pages, needed) = (file.pages(), self.array.member_pages());
        if pages < needed {
            return Err(RejoinError::TooSmall { pages, needed }.into());
        }
        self.add_spare_of(file, pages);
        Ok(())
    }

    /// Adds a member again that was absent: it receives the data that was written since.
    ///
    /// # Errors
    /// When the file is not that member, or the controller does not accept it; see [`RejoinError`].
    pub fn rejoin(&mut self, member: MemberNo, file: MemberFile) -> Result<(), EngineError> {
        match FileMedia::returning(&file)? {
            Some(returning) => self.rejoin_as(member, file, &returning),
            None => {
                let reason = "it has no superblock; replace the member by it".to_owned();
                Err(EngineError::NotThat { member, path: file.path().into(), reason })
            }
        }
    }

    /// [`Engine::rejoin`] of a file whose superblocks were read before, for threads that must not wait for the device.
    ///
    /// # Errors
    /// Those of [`Engine::rejoin`].
    pub fn rejoin_as(
        &mut self,
        member: MemberNo,
        file: MemberFile,
        returning: &Returning,
    ) -> Result<(), EngineError> {
        let block = &returning.superblock;
        self.exists(member)?;
        let Some(known) = &self.known else { return Err(RejoinError::NoMetadata.into()) };
        let reason = if block.array != known.array {
            format!(
                "it belongs to array {}; replace the member by it if that array is not needed",
                block.array
            )
        } else if block.uuid != known.members[member.index()] {
            format!("it is or was member {} of this array; replace the member by it", block.number)
        } else {
            let stamp = self.array.stamp_of(member, returning.copies.each_ref().map(Option::as_ref));
            let how = Rejoining::Returned { pages: file.pages(), stamp };
            return self.put(member, file, how, Incident::Returned { member });
        };
        Err(EngineError::NotThat { member, path: file.path().into(), reason })
    }
}
