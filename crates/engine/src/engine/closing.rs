//! How an engine ends.

use stripewise_array::{Controller, MetadataScrubbed};

use super::{Engine, FailMode, Rate};
use crate::backend::Backend;
use crate::error::EngineError;
use crate::jobs::Request;
use crate::transcript::Event;

impl<B: Backend> Engine<B> {
    /// Finishes what is in flight, makes it durable, records a clean stop in the superblocks, and returns the members
    /// that are present. Rebuilds and scrubs stop where they are. Dropping an engine instead loses requests in flight,
    /// as a loss of power does.
    ///
    /// # Errors
    /// Those of [`Engine::flush`], when members have no space for the data to be made durable, and when the end of a
    /// transcript could not be written.
    pub fn close(mut self) -> Result<Vec<B::Member>, EngineError> {
        self.settle_for_good()?;
        self.end()
    }

    /// The first half of [`Engine::close`]: finishes what is in flight and makes it durable, reads the superblocks of
    /// all members, repairs the damaged ones, and records the clean stop in them. Returns the
    /// findings of the superblock check.
    ///
    /// # Errors
    /// Those of [`Engine::close`].
    pub fn settle_for_good(&mut self) -> Result<MetadataScrubbed, EngineError> {
        let settled = self.settle();
        if settled.is_err() {
            // A stalled member must not keep the program from ending.
            self.member_io.backend.let_go(self.array.memory());
        }
        settled.map(|()| self.array.metadata_scrubbed().0)
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.is_owner()?;
        self.hung.clear();
        self.set_failmode(FailMode::Error);
        self.set_rate(Rate::BytesPerSecond(0));
        self.finish()?;
        if self.is_read_only {
            return Ok(());
        }
        let now = self.clock.now();
        self.member_io.record_event(|| Event::Drained { now });
        self.array.drain(now, &mut self.member_io);
        self.member_io.record_event(|| Event::Checkpoint { now });
        self.array.checkpoint(now, &mut self.member_io);
        self.finish()?;
        self.run(Request::Flush)?;
        // A flush may start work that continues after it.
        self.finish()?;
        let now = self.clock.now();
        self.member_io.record_event(|| Event::VerifySuperblocks { now });
        self.array.verify_superblocks(now, &mut self.member_io);
        self.finish()?;
        let now = self.clock.now();
        self.member_io.record_event(|| Event::Stopped { now });
        self.array.stop(now, &mut self.member_io);
        self.finish()
    }

    /// The second half of [`Engine::close`]: returns the members that are present.
    ///
    /// # Errors
    /// When the end of a transcript could not be written.
    pub fn end(mut self) -> Result<Vec<B::Member>, EngineError> {
        self.member_io.record_event(|| Event::Closed);
        let written = self.member_io.scribe.take().map_or(Ok(()), |scribe| scribe.finish());
        self.member_io.backend.let_go(self.array.memory());
        written?;
        Ok(self.member_io.backend.into_members().into_iter().flatten().collect())
    }
}
