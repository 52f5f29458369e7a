//! How an engine ends.

use stripewise_array::MetadataScrubbed;

use super::{Engine, Rate};
use crate::backend::Backend;
use crate::error::EngineError;
use crate::transcript::Event;

impl<B: Backend> Engine<B> {
    /// Finishes what is in flight, makes it durable, tells superblocks of a clean stop, and returns the members that are there.
    /// Rebuilding and scrubbing stop where they are. Dropping an engine instead loses requests in flight, as a loss of power
    /// does.
    ///
    /// # Errors
    /// Those of [`Engine::flush`], when members have no space for what is to be made durable, and when a transcript could not be
    /// written to its end.
    pub fn close(mut self) -> Result<Vec<B::Member>, EngineError> {
        self.settle_for_good()?;
        self.end()
    }

    /// The first half of [`Engine::close`]: what is in flight is finished and made durable, the superblocks of all members are
    /// read, and repaired where they are damaged, and then tell of the clean stop. What was found.
    ///
    /// # Errors
    /// Those of [`Engine::close`].
    pub fn settle_for_good(&mut self) -> Result<MetadataScrubbed, EngineError> {
        let settled = self.settle();
        if settled.is_err() {
            // What stands still must not keep the program from ending.
            self.member_io.backend.let_go(self.array.memory());
        }
        settled.map(|()| self.array.metadata_scrubbed().0)
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.is_owner()?;
        self.set_rate(Rate::BytesPerSecond(0));
        self.finish()?;
        if self.is_read_only {
            return Ok(());
        }
        let now = self.clock.now();
        self.member_io.told(|| Event::Drained { now });
        self.array.drain(now, &mut self.member_io);
        self.member_io.told(|| Event::Checkpoint { now });
        self.array.checkpoint(now, &mut self.member_io);
        self.finish()?;
        self.flush()?;
        // What a flush leads to may go on behind it.
        self.finish()?;
        let now = self.clock.now();
        self.member_io.told(|| Event::VerifySuperblocks { now });
        self.array.verify_superblocks(now, &mut self.member_io);
        self.finish()?;
        let now = self.clock.now();
        self.member_io.told(|| Event::Stopped { now });
        self.array.stop(now, &mut self.member_io);
        self.finish()
    }

    /// The second half of [`Engine::close`]: returns the members that are there.
    ///
    /// # Errors
    /// When a transcript could not be written to its end.
    pub fn end(mut self) -> Result<Vec<B::Member>, EngineError> {
        self.member_io.told(|| Event::Closed);
        let written = self.member_io.scribe.take().map_or(Ok(()), |scribe| scribe.finish());
        self.member_io.backend.let_go(self.array.memory());
        written?;
        Ok(self.member_io.backend.into_members().into_iter().flatten().collect())
    }
}
