//! What goes on by itself in an array with metadata, as observers see it: a member that is made whole, and scrub.

use super::Array;
use crate::driver::Driver;
use crate::journal::News;
use crate::memory::Memory;
use crate::placement::elastic::ScrubCounts;
use crate::placement::elastic::durable::Durable;

/// Why a rebuild goes no further until the array is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// More members of this group failed than its parity tolerates. All that failed may come back together.
    Beyond(u32),
    /// So many rows could not be made that no more can be told from those that were.
    Unmade(u64),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Beyond(group) => {
                write!(f, "more members of group {group} failed than its parity tolerates")
            }
            Self::Unmade(rows) => write!(f, "{rows} rows could not be made"),
        }
    }
}

impl<M: Memory> Array<M> {
    fn durable(&self) -> Option<&Durable> {
        self.elastic.as_ref()?.durable.as_deref()
    }

    /// Whether a log has come to half of the write sequence numbers of its epoch: 2^39 chunks that were written and runs that
    /// were trimmed. Who takes requests of hosts and splits them takes no more writes and trims then; the array itself refuses
    /// them at three quarters ([`crate::SubmitError::EpochOver`]). Opened anew, it begins another epoch.
    pub fn is_epoch_ending(&self) -> bool {
        self.durable().is_some_and(Durable::is_epoch_ending)
    }

    /// Whether the rest of the epoch's write sequence numbers is for what was taken.
    pub(super) fn is_epoch_over(&self) -> bool {
        self.durable().is_some_and(Durable::is_epoch_over)
    }

    /// The member that is being rebuilt, with the segments (log) or rows (in place) that are done, and those that there are.
    pub fn rebuilding(&self) -> Option<(u16, u32, u32)> {
        if let Some(roster) = &self.roster {
            let all = short(self.rows_of_group());
            let rebuild = roster.rebuild.as_ref().filter(|rebuild| !rebuild.is_over());
            let rebuilt = rebuild.map(|rebuild| (rebuild.member, short(rebuild.rows.cursor), all));
            let comes = roster.telling.filter(|telling| matches!(telling.news, News::Comes { .. }));
            return rebuilt.or(comes.map(|telling| (telling.member, 0, all)));
        }
        let rebuild = self.durable()?.rebuild.as_ref()?;
        Some((rebuild.member, rebuild.walk.segment, self.elastic().segments.count()))
    }

    /// Why the rebuild, if there is one, goes no further; `None` while it does. That of a log never halts: what it cannot make is
    /// lost as long as nobody brings the rest.
    pub fn rebuild_halted(&self) -> Option<Halt> {
        self.rebuilding()?;
        let roster = self.roster.as_ref()?;
        let is_halted = roster.rebuild.as_ref().is_some_and(|rebuild| rebuild.is_halted);
        self.halted_by().map(Halt::Beyond).or(is_halted.then_some(Halt::Unmade(roster.unrecovered)))
    }

    /// Stripes (log) or rows (in place) of which rebuilds could not make what the member has: too much of each is lost, and
    /// reads of that fail. A log that has all of its members again scrubs what it has, as the one that was missing may have
    /// it; a scrub that finds nothing lost ends the count. With an intent bitmap the member is not whole for good then: the
    /// next scrub or opening of the array tries the rows again, from the first of these on.
    pub fn rebuild_lost(&self) -> u64 {
        self.roster
            .as_ref()
            .map(|roster| roster.unrecovered)
            .or(self.durable().map(|log| log.unrecovered))
            .unwrap_or(0)
    }

    /// Begins to read everything that an array with metadata has, and to repair what is bad, unless it is read-only; a scrub that
    /// goes on already goes on. See [`Self::scrub_counts`].
    pub fn scrub<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        if self.scrub_counts().1 {
            return;
        }
        let rows = self.geometry.rows();
        if let Some(roster) = &mut self.roster {
            roster.begin_scrub(rows);
            if let Some(rebuild) = roster.rebuild.as_mut().filter(|rebuild| rebuild.is_over()) {
                roster.unrecovered = 0;
                rebuild.try_again();
            }
        } else if self.is_kept() {
            self.elastic_mut().durable_mut().begin_scrub();
        }
        self.begin_metadata_scrub();
        self.poll(driver);
    }

    /// How far a scrub is: segments (log) or rows (in place) that were looked at, and those that there are. Nothing if none
    /// goes on.
    pub fn scrubbing(&self) -> Option<(u32, u32)> {
        if let Some(roster) = &self.roster {
            return roster.scrub.map(|rows| (short(rows.cursor), short(self.geometry.rows())));
        }
        let walk = self.durable()?.scrub?;
        Some((walk.segment, self.elastic().segments.count()))
    }

    /// Stops a scrub; what it began goes on to its end.
    pub fn stop_scrub(&mut self) {
        if let Some(rows) = self.roster.as_mut().and_then(|roster| roster.scrub.as_mut()) {
            rows.stop();
        }
        let log = self.elastic.as_mut().and_then(|log| log.durable.as_mut());
        if let Some(walk) = log.and_then(|durable| durable.scrub.as_mut()) {
            walk.segment = u32::MAX;
        }
        self.metadata.stop();
    }

    /// What the last scrub did, and whether it goes on.
    pub fn scrub_counts(&self) -> (ScrubCounts, bool) {
        let (counts, goes_on) = match (&self.roster, self.durable()) {
            (Some(roster), _) => (roster.scrubbed, roster.scrub.is_some()),
            (None, Some(durable)) => (durable.scrubbed, durable.scrub.is_some()),
            (None, None) => Default::default(),
        };
        let (found, _) = self.metadata_scrubbed();
        let (metadata_damaged, metadata_repaired) = (found.damaged, found.repaired);
        (ScrubCounts { metadata_damaged, metadata_repaired, ..counts }, goes_on)
    }

    /// Members have no space for what is written to them, or have some again. While they have none, the log refuses hosts'
    /// writes that would have to wait, those too that came before; what memory took already waits for space. In place writes
    /// that began wait, and nothing is refused.
    pub fn set_out_of_space<D: Driver<M>>(&mut self, now: u64, is_out_of_space: bool, driver: &mut D) {
        self.advance(now);
        if let Some(log) = &mut self.elastic {
            log.is_out_of_space = is_out_of_space;
        }
        self.poll(driver);
    }

    /// Whether a member is being rebuilt, or a scrub goes on.
    pub(super) fn is_walking(&self) -> bool {
        self.rebuilding().is_some() || self.scrub_counts().1
    }
}

fn short(rows: u64) -> u32 {
    rows.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SEQUENCES_MAX;
    use crate::{HostRequest, Members, PageMemory, RequestKind, Scheme, SubmitError};

    #[test]
    fn a_log_takes_no_changes_when_the_write_seqs_of_its_epoch_come_to_an_end() {
        let scheme = "name = 'test'\nmetadata = 'on'\n[geometry]\nlevel = 'raid5'\n[placement]\npolicy = 'elastic'\n\
            buffer_persistence = 'volatile'\n[elastic]\nsegment_rows = 8\nacknowledge = 'buffered'\n";
        let scheme = Scheme::from_toml("test", scheme).unwrap();
        let mut array = Array::new(&scheme, Members::opaque(4, 1024, 200), PageMemory::new(1024)).unwrap();
        let check = |array: &Array<PageMemory>, kind| {
            array.check(&HostRequest { kind, offset: 0, bytes: 1024, arrival: 0, tag: 0 })
        };
        let quarter = SEQUENCES_MAX / 4;
        for (write_seqs, is_ending, is_over) in
            [(2 * quarter - 1, false, false), (1, true, false), (quarter - 1, true, false), (1, true, true)]
        {
            array.elastic_mut().durable_mut().use_write_seqs(write_seqs);
            assert_eq!((array.is_epoch_ending(), array.is_epoch_over()), (is_ending, is_over));
            let changes = if is_over { Err(SubmitError::EpochOver) } else { Ok(()) };
            assert_eq!(check(&array, RequestKind::Write), changes);
            assert_eq!(check(&array, RequestKind::Trim), changes);
            assert_eq!(check(&array, RequestKind::Read), Ok(()));
            assert_eq!(check(&array, RequestKind::Flush), Ok(()));
        }
    }
}
