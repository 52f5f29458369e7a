//! Statistics over many lives of arrays, so that a test can check whether they exercised their subject.

use std::fmt;

/// The number of occurrences of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lives of arrays.
    pub lives: u64,
    /// Power losses and kills of the server, each followed by an assembly.
    pub crashes: u64,
    /// Of those, while requests were in flight.
    pub under_load: u64,
    /// Of those, during an assembly.
    pub while_opening: u64,
    /// Of those, right after an assembly, before any request.
    pub at_once: u64,
    /// Of those, kills of the server, with power on.
    pub kills: u64,
    /// Of those, with sectors for which several contents were possible.
    pub undecided: u64,
    /// Of those, leaving a page with sectors of several writes.
    pub torn: u64,
    /// Successful assemblies.
    pub opened: u64,
    /// Of those, without some members.
    pub degraded: u64,
    /// Of those, with a member that had been absent before.
    pub returned: u64,
    /// Of those, that dropped incomplete updates.
    pub dropped: u64,
    /// Replayed batches or records after the last checkpoint.
    pub replayed: u64,
    /// Faults of members.
    pub wrongs: u64,
    /// Members added to a serving array, as replacements or again.
    pub comebacks: u64,
    /// Of those, members that were completely rebuilt.
    pub rebuilt: u64,
    /// Power losses during a rebuild.
    pub while_rebuilding: u64,
    /// Clean stops.
    pub stops: u64,
    /// Of those, during a scrub that the next serving continued.
    pub halted: u64,
    /// Members rolled back to an earlier snapshot while the array was stopped.
    pub put_back: u64,
    /// Members rolled back while the array was serving.
    pub rolled_back: u64,
    /// Members rolled back when they returned.
    pub older: u64,
    /// Completed scrubs.
    pub scrubs: u64,
    /// Arrays with corruption beyond the tolerance of parity.
    pub corrupted: u64,
    /// Of those, arrays that were assembled only by force.
    pub forced: u64,
    /// Members without superblocks that were recognized by their content.
    pub reconstructed: u64,
    /// Requests.
    pub requests: u64,
    /// Operations that ended while arrays were serving.
    pub events: u64,
    /// Points at which an array was CLEAN and members were removed from a copy of it.
    pub judged: u64,
    /// Restarts before and after which an array was asked about its redundancy.
    pub restarts: u64,
    /// Superblocks that were compared with what their array said when it was stopped.
    pub recorded: u64,
    /// Errors with which members were charged.
    pub charges: u64,
    /// Members that failed beyond the error limit.
    pub limited: u64,
    /// New faults that ended lives.
    pub played: u64,
}

impl Counts {
    /// Adds the statistics of other lives.
    pub fn add(&mut self, other: &Self) {
        self.lives += other.lives;
        self.crashes += other.crashes;
        self.under_load += other.under_load;
        self.while_opening += other.while_opening;
        self.at_once += other.at_once;
        self.kills += other.kills;
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
        self.halted += other.halted;
        self.put_back += other.put_back;
        self.rolled_back += other.rolled_back;
        self.older += other.older;
        self.scrubs += other.scrubs;
        self.corrupted += other.corrupted;
        self.forced += other.forced;
        self.reconstructed += other.reconstructed;
        self.requests += other.requests;
        self.events += other.events;
        self.judged += other.judged;
        self.restarts += other.restarts;
        self.recorded += other.recorded;
        self.charges += other.charges;
        self.limited += other.limited;
        self.played += other.played;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} crashes in {} lives of arrays", self.crashes, self.lives)?;
        writeln!(f, "{:>12} of them while requests were under way", self.under_load)?;
        writeln!(f, "{:>12} during assembly", self.while_opening)?;
        writeln!(f, "{:>12} right after assembly", self.at_once)?;
        writeln!(f, "{:>12} kills of the server, without a loss of power", self.kills)?;
        writeln!(f, "{:>12} with sectors of which several contents could be left", self.undecided)?;
        writeln!(f, "{:>12} with pages torn between sectors", self.torn)?;
        writeln!(f, "{:>12} openings that succeeded", self.opened)?;
        writeln!(f, "{:>12} of them without some members", self.degraded)?;
        writeln!(f, "{:>12} with members that had been absent before", self.returned)?;
        writeln!(f, "{:>12} that dropped something begun", self.dropped)?;
        writeln!(f, "{:>12} batches and records that counted behind a checkpoint", self.replayed)?;
        writeln!(f, "{:>12} members that went wrong", self.wrongs)?;
        writeln!(f, "{:>12} members that came back or were replaced", self.comebacks)?;
        writeln!(f, "{:>12} of them whole in the end", self.rebuilt)?;
        writeln!(f, "{:>12} losses of power while a member was rebuilt", self.while_rebuilding)?;
        writeln!(f, "{:>12} clean stops", self.stops)?;
        writeln!(f, "{:>12} of them during a scrub", self.halted)?;
        writeln!(f, "{:>12} members restored to an earlier time while the array was stopped", self.put_back)?;
        writeln!(f, "{:>12} while it served", self.rolled_back)?;
        writeln!(f, "{:>12} that returned with earlier content", self.older)?;
        writeln!(f, "{:>12} scrubs", self.scrubs)?;
        writeln!(f, "{:>12} arrays that lost more than parity tolerates", self.corrupted)?;
        writeln!(f, "{:>12} of them opened by force alone", self.forced)?;
        writeln!(
            f,
            "{:>12} members without superblocks that were recognized by their content",
            self.reconstructed
        )?;
        writeln!(f, "{:>12} points at which an array was CLEAN, and copies lost members", self.judged)?;
        writeln!(f, "{:>12} restarts that changed nothing of what an array says", self.restarts)?;
        writeln!(f, "{:>12} superblocks that record what their array said", self.recorded)?;
        writeln!(f, "{:>12} errors with which members were charged", self.charges)?;
        writeln!(f, "{:>12} members that failed beyond the error limit", self.limited)?;
        writeln!(f, "{:>12} of the new faults", self.played)?;
        write!(f, "{:>12} requests, {} operations", self.requests, self.events)
    }
}
