//! Rebuilds and scrubs of a host.

use stripewise_array::{Controller, ScrubCounts};

use super::Host;

impl Host {
    pub(crate) fn finish_rebuild(&mut self) {
        self.resume();
        while self.array.rebuilding().is_some() {
            self.array.dispatch(&mut self.world);
            self.step();
        }
    }

    /// Lets rebuilds and scrubs read and write this number of pages; `None`: any.
    pub(crate) fn allow(&mut self, pages: Option<u64>) {
        self.array.allow(self.now, pages, &mut self.world);
    }

    pub(crate) fn begin_scrub(&mut self) {
        self.array.scrub(self.now, &mut self.world);
    }

    pub(crate) fn scrub(&mut self) -> ScrubCounts {
        self.begin_scrub();
        while self.array.scrub_counts().1 {
            // Who waits for its end looks at its progress.
            assert!(self.array.scrub_progress().is_some(), "a scrub that is not over has a progress");
            self.array.dispatch(&mut self.world);
            self.step();
        }
        assert_eq!(self.array.scrub_progress(), None);
        self.array.scrub_counts().0
    }

    /// Verifies superblocks, as the program that closes the array does last.
    pub(crate) fn verify_superblocks(&mut self) {
        self.array.verify_superblocks(self.now, &mut self.world);
        while self.array.metadata_scrubbed().1 {
            self.array.dispatch(&mut self.world);
            self.step();
        }
    }
}
