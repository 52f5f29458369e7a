//! Counters of a kill test.

use std::fmt;
use std::time::Duration;

/// Counters of a kill test.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Kills.
    pub kills: u64,
    /// Of these, kills before the server served.
    pub kills_while_opening: u64,
    /// Of these, kills while power stayed on, though unflushed writes may be lost.
    pub kept: u64,
    /// Answered requests: reads, writes, writes with FUA, trims, zeros, flushes.
    pub reads: u64,
    /// See [`Counts::reads`].
    pub writes: u64,
    /// See [`Counts::reads`].
    pub durable_writes: u64,
    /// See [`Counts::reads`].
    pub trims: u64,
    /// See [`Counts::reads`].
    pub zeroes: u64,
    /// See [`Counts::reads`].
    pub flushes: u64,
    /// Changes that were not answered when the server was killed.
    pub cut_short: u64,
    /// Sectors that were verified after a kill; of these, sectors with a version that no flush had covered.
    pub sectors: u64,
    /// See [`Counts::sectors`].
    pub later: u64,
    /// Sectors of members without a covering flush at a power loss; of these, sectors that lost their last write.
    pub unflushed: u64,
    /// See [`Counts::unflushed`].
    pub dropped: u64,
    /// Members that were removed from service, and members that were replaced.
    pub lost: u64,
    /// See [`Counts::lost`].
    pub replaced: u64,
    /// Answers of `status` that were judged.
    pub judged: u64,
    /// Time from a server's start to its first answer: the sum and the maximum.
    pub opening: Duration,
    /// See [`Counts::opening`].
    pub longest_opening: Duration,
}

impl Counts {
    pub(super) fn opened(&mut self, time: Duration) {
        self.opening += time;
        self.longest_opening = self.longest_opening.max(time);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let served = (self.kills - self.kills_while_opening).max(1);
        writeln!(
            f,
            "{} kills, {} of them before the array was open, {} while power stayed on",
            self.kills, self.kills_while_opening, self.kept
        )?;
        writeln!(
            f,
            "answered: {} reads, {} writes, {} writes with FUA, {} zeros, {} trims, {} flushes; {} were cut short",
            self.reads,
            self.writes,
            self.durable_writes,
            self.zeroes,
            self.trims,
            self.flushes,
            self.cut_short
        )?;
        writeln!(
            f,
            "after kills {} sectors were right, {} of them later than what was flushed",
            self.sectors, self.later
        )?;
        if self.unflushed > 0 {
            writeln!(f, "of {} sectors that no flush covered members lost {}", self.unflushed, self.dropped)?;
        }
        if self.lost > 0 {
            writeln!(f, "{} members were taken out of service, {} replaced", self.lost, self.replaced)?;
        }
        writeln!(f, "{} answers of `status` were true", self.judged)?;
        let mean = self.opening.as_secs_f64() * 1e3 / served as f64;
        write!(
            f,
            "open again after {mean:.0} ms on average, {:.0} ms at most",
            self.longest_opening.as_secs_f64() * 1e3
        )
    }
}
