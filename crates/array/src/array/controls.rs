//! What the owner of an array reports to it about its members, and allows it, besides requests.

use stripewise_base::Nanos;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::Metadata;
use stripewise_exec::driver::Driver;
use stripewise_exec::metadata_scrub::MetadataScrubbed;
use stripewise_exec::row_locks::RowWaits;
use stripewise_policy::read::ReadCounts;

use crate::array::{Array, each};

impl<M: Memory> Array<M> {
    /// Reads the superblocks of all members before the array is closed, and repairs damaged ones: if both copies of a
    /// superblock were damaged, the next start would not find the member. [`Self::metadata_scrubbed`] returns the counts. A scrub
    /// in progress stays where it is, for the next serving to continue.
    pub fn verify_superblocks<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.exec_mut().advance(now);
        let has_superblocks =
            each!(self, array => Metadata::<M>::superblock_on_members(&array.placement).is_some());
        if M::CARRIES_DATA && has_superblocks {
            if self.exec().has_bug(Bug::ScrubNotContinued) {
                self.stop_scrub();
            }
            self.exec_mut().begin_closing_scrub();
            self.poll(driver);
        }
    }

    /// The counts of the last scrub of metadata, and whether it is still in progress.
    pub fn metadata_scrubbed(&self) -> (MetadataScrubbed, bool) {
        self.exec().metadata_scrubbed()
    }
}

impl<M: Memory> Array<M> {
    /// Plants a bug for the checking simulation to find.
    #[cfg(debug_assertions)]
    pub fn plant(&mut self, bug: Option<Bug>) {
        self.exec_mut().plant(bug);
    }
}

impl<M: Memory> Array<M> {
    /// How long plans waited for their rows.
    pub fn row_waits(&self) -> RowWaits {
        self.exec().row_waits()
    }

    /// Counters of redirected reads.
    pub fn read_counts(&self) -> ReadCounts {
        self.exec().read_counts()
    }
}

impl<M: Memory> Array<M> {
    /// Whether a member was last reported slow.
    pub fn is_slow(&self, member: MemberNo) -> bool {
        self.exec().is_slow(member)
    }
}

impl<M: Memory> Array<M> {
    /// Allows rebuild and scrub to read and write `pages` more pages, or, with `None`, lifts the limit. Initially there is no
    /// limit. If there was none, `Some(0)` stops them.
    pub fn allow<D: Driver<M>>(&mut self, now: Nanos, pages: Option<u64>, driver: &mut D) {
        let exec = self.exec_mut();
        exec.advance(now);
        exec.allow(pages);
        self.poll(driver);
    }

    /// Whether a rebuild or a scrub is in progress and has used up its allowance.
    pub fn wants_allowance(&self) -> bool {
        each!(self, array => array.exec.is_walking(&array.placement)) && !self.exec().is_allowed()
    }
}
