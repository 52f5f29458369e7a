//! What happened in many lives of arrays, so that it can be told whether they were worth anything.

use std::fmt;

/// So many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lives of arrays.
    pub lives: u64,
    /// Losses of power, each followed by an opening.
    pub crashes: u64,
    /// Of those: while requests were under way.
    pub under_load: u64,
    /// Of those: while the array was opened.
    pub while_opening: u64,
    /// Of those: right after it was opened, before anything was asked.
    pub at_once: u64,
    /// Of those: some sectors of which several contents could be left.
    pub undecided: u64,
    /// Of those: a page that was left with sectors of several writes.
    pub torn: u64,
    /// Openings that succeeded.
    pub opened: u64,
    /// Of those: without some members.
    pub degraded: u64,
    /// Of those: with a member that had been absent before.
    pub returned: u64,
    /// Of those: which dropped something that had been begun.
    pub dropped: u64,
    /// Batches or records behind the last checkpoint that counted.
    pub replayed: u64,
    /// Members that went wrong.
    pub wrongs: u64,
    /// Members that came into the array, anew or again.
    pub comebacks: u64,
    /// Of those: the ones that were whole in the end.
    pub rebuilt: u64,
    /// Losses of power while a member was rebuilt.
    pub while_rebuilding: u64,
    /// Clean stops.
    pub stops: u64,
    /// Members that were put back to an earlier moment while the array was closed.
    pub put_back: u64,
    /// While it served.
    pub rolled_back: u64,
    /// When they came back.
    pub older: u64,
    /// Scrubs that came to their end.
    pub scrubs: u64,
    /// Arrays of which more was destroyed than parity tolerates.
    pub corrupted: u64,
    /// Of those: the ones that were opened by force alone.
    pub forced: u64,
    /// Members without superblocks that were recognized by their content.
    pub reconstructed: u64,
    /// Requests asked.
    pub asked: u64,
    /// Operations that ended while arrays served.
    pub events: u64,
}

impl Counts {
    /// Adds what other lives came to.
    pub fn add(&mut self, other: &Self) {
        self.lives += other.lives;
        self.crashes += other.crashes;
        self.under_load += other.under_load;
        self.while_opening += other.while_opening;
        self.at_once += other.at_once;
        self.undecided += other.undecided;
        self.torn += other.torn;
        self.opened += other.opened;
        self.degraded += other.degraded;
        self.returned += other.returned;
        self.dropped += other.dropped;
        self.replayed += other.replayed;
        self.wrongs += other.wrongs;
        self.comebacks += other.comebacks;
        self.rebuilt += other.rebuilt;
        self.while_rebuilding += other.while_rebuilding;
        self.stops += other.stops;
        self.put_back += other.put_back;
        self.rolled_back += other.rolled_back;
        self.older += other.older;
        self.scrubs += other.scrubs;
        self.corrupted += other.corrupted;
        self.forced += other.forced;
        self.reconstructed += other.reconstructed;
        self.asked += other.asked;
        self.events += other.events;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} crashes in {} lives of arrays", self.crashes, self.lives)?;
        writeln!(f, "{:>12} of them while requests were under way", self.under_load)?;
        writeln!(f, "{:>12} while the array was opened", self.while_opening)?;
        writeln!(f, "{:>12} right after it was opened", self.at_once)?;
        writeln!(f, "{:>12} with sectors of which several contents could be left", self.undecided)?;
        writeln!(f, "{:>12} with pages torn between sectors", self.torn)?;
        writeln!(f, "{:>12} openings that succeeded", self.opened)?;
        writeln!(f, "{:>12} of them without some elements", self.degraded)?;
        writeln!(f, "{:>12} with members that had been absent before", self.returned)?;
        writeln!(f, "{:>12} that dropped something begun", self.dropped)?;
        writeln!(f, "{:>12} batches and records that counted behind a checkpoint", self.replayed)?;
        writeln!(f, "{:>12} members that went wrong", self.wrongs)?;
        writeln!(f, "{:>12} members that came back or were replaced", self.comebacks)?;
        writeln!(f, "{:>12} of them whole in the end", self.rebuilt)?;
        writeln!(f, "{:>12} losses of power while a member was rebuilt", self.while_rebuilding)?;
        writeln!(f, "{:>12} clean stops", self.stops)?;
        writeln!(
            f,
            "{:>12} members put back to an earlier moment while the array was closed",
            self.put_back
        )?;
        writeln!(f, "{:>12} while it served", self.rolled_back)?;
        writeln!(f, "{:>12} that came back with the content of an earlier moment", self.older)?;
        writeln!(f, "{:>12} scrubs", self.scrubs)?;
        writeln!(f, "{:>12} arrays that lost more than parity tolerates", self.corrupted)?;
        writeln!(f, "{:>12} of them opened by force alone", self.forced)?;
        writeln!(
            f,
            "{:>12} members without superblocks that were recognized by their content",
            self.reconstructed
        )?;
        write!(f, "{:>12} requests, {} operations", self.asked, self.events)
    }
}
