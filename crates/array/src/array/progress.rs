//! Background work of an array with metadata, as observers see it: rebuild and scrub.

use crate::array::{Array, each};
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::Metadata;
use stripewise_exec::driver::Driver;
use stripewise_exec::metadata_scrub::ScrubCounts;

use crate::log::durable::Durable;
use crate::membership::{Halt, short};

impl<M: Memory> Array<M> {
    fn durable(&self) -> Option<&Durable> {
        self.as_log()?.durable.as_deref()
    }

    /// Whether a log has used half of the write sequence numbers of its epoch: 2^39 written chunks and trimmed runs. A server
    /// that takes and splits requests of hosts then accepts no more writes and trims; the array itself refuses them at three
    /// quarters ([`stripewise_core::request::SubmitError::EpochOver`]). The next assembly starts another epoch.
    pub fn is_epoch_ending(&self) -> bool {
        self.durable().is_some_and(Durable::is_epoch_ending)
    }

    /// The member that is being rebuilt, with the number of segments (log) or rows (in place) that are done, and the total.
    pub fn rebuilding(&self) -> Option<(MemberNo, u32, u32)> {
        each!(self, array => array.placement.rebuilding(&array.exec))
    }

    /// Whether `member` joins the array: it waits to be recorded, or its rebuild continues.
    pub fn is_joining(&self, member: MemberNo) -> bool {
        each!(self, array => array.placement.is_joining(member))
    }

    /// The reason why the current rebuild is halted; `None` while it continues. The rebuild of a log never halts: content that
    /// it cannot rebuild is lost unless the missing members return.
    pub fn rebuild_halted(&self) -> Option<Halt> {
        self.rebuilding()?;
        each!(self, array => array.placement.halt(&array.exec))
    }

    /// Number of stripes (log) or rows (in place) whose chunks a rebuild could not recover: too much of each is lost, and
    /// reads of the lost content fail. Once a log has all of its members again, it scrubs, because the returned member may
    /// have the lost content; a scrub that finds nothing lost resets the count. With an intent bitmap the member then stays
    /// incomplete: the next scrub or assembly of the array tries the rows again, from the first unrecovered row on.
    pub fn rebuild_lost(&self) -> u64 {
        each!(self, array => array.placement.membership().map_or(0, |members| members.unrecovered))
    }

    /// Starts to read all content of an array with metadata, and to repair damaged content, unless the array is read-only. A
    /// scrub that is in progress continues. See [`Self::scrub_counts`].
    pub fn scrub<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.exec_mut().advance(now);
        if self.scrub_counts().1 {
            return;
        }
        each!(mut self, array => {
            array.placement.begin_scrub(&array.exec);
            array.exec.begin_metadata_scrub(&array.placement);
        });
        self.poll(driver);
    }

    /// Progress of a scrub: the number of segments (log) or rows (in place) that were read, and the total. `None` if no scrub
    /// is in progress.
    pub fn scrubbing(&self) -> Option<(u32, u32)> {
        each!(self, array => {
            let walk = array.placement.membership()?.scrub.walk?;
            Some((short(walk.done()), short(array.placement.scrub_length(&array.exec))))
        })
    }

    /// The same until the scrub is over: when all is read, its repairs may wait to be durable, and all is done but that.
    pub fn scrub_progress(&self) -> Option<(u32, u32)> {
        let all = || each!(self, array => short(array.placement.scrub_length(&array.exec)));
        self.scrubbing().or_else(|| self.scrub_counts().1.then(|| (all(), all())))
    }

    /// Stops a scrub; work that it started is completed.
    pub fn stop_scrub(&mut self) {
        each!(mut self, array => {
            let members = array.placement.membership_mut();
            if let Some(walk) = members.and_then(|members| members.scrub.walk.as_mut()) {
                walk.stop();
            }
        });
        self.exec_mut().stop_metadata_scrub();
    }

    /// The counts of the last scrub, and whether it is still in progress.
    pub fn scrub_counts(&self) -> (ScrubCounts, bool) {
        let (counts, continues) =
            each!(self, array => Metadata::<M>::scrubbed(&array.placement, &array.exec));
        let (found, _) = self.exec().metadata_scrubbed();
        let (metadata_damaged, metadata_repaired) = (found.damaged, found.repaired);
        (ScrubCounts { metadata_damaged, metadata_repaired, ..counts }, continues)
    }

    /// Reports that members are out of space, or have space again. While they are out of space, the log refuses hosts' writes
    /// that would have to wait, including those that arrived earlier; content already in memory waits for space. In place,
    /// writes that have begun wait, and nothing is refused.
    pub fn set_out_of_space<D: Driver<M>>(&mut self, now: u64, is_out_of_space: bool, driver: &mut D) {
        self.exec_mut().advance(now);
        if let Some(log) = self.as_log_mut() {
            log.is_out_of_space = is_out_of_space;
        }
        self.poll(driver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostRequest, Members, PageMemory, RequestKind, Scheme, SubmitError};
    use stripewise_format::SEQUENCES_MAX;

    #[test]
    fn a_log_takes_no_changes_when_the_write_seqs_of_its_epoch_come_to_an_end() {
        let scheme = "name = 'test'\nmetadata = 'on'\n[geometry]\nlevel = 'raid5'\n[placement]\npolicy = 'elastic'\n\
            buffer_persistence = 'volatile'\n[elastic]\nsegment_rows = 8\nacknowledge = 'buffered'\n";
        let scheme = Scheme::from_toml("test", scheme).unwrap();
        let mut array = Array::new(&scheme, Members::opaque(4, 1024, 200), PageMemory::new(1024)).unwrap();
        let check = |array: &Array<PageMemory>, kind| {
            let host = HostRequest { kind, offset: 0, bytes: 1024, arrival: 0, tag: 0 };
            each!(array, array => array.exec.check(&host, &array.placement))
        };
        let quarter = SEQUENCES_MAX / 4;
        for (write_seqs, is_ending, is_over) in
            [(2 * quarter - 1, false, false), (1, true, false), (quarter - 1, true, false), (1, true, true)]
        {
            array.as_log_mut().unwrap().durable_mut().use_write_seqs(write_seqs);
            assert_eq!(
                (array.is_epoch_ending(), array.durable().is_some_and(Durable::is_epoch_over)),
                (is_ending, is_over)
            );
            let changes = if is_over { Err(SubmitError::EpochOver) } else { Ok(()) };
            assert_eq!(check(&array, RequestKind::Write), changes);
            assert_eq!(check(&array, RequestKind::Trim), changes);
            assert_eq!(check(&array, RequestKind::Read), Ok(()));
            assert_eq!(check(&array, RequestKind::Flush), Ok(()));
        }
    }
}
