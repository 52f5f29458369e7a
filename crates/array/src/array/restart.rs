//! Loss of power without metadata on the members: a new controller over what persistent memory kept.

use crate::array::{Array, Placed, each};
use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::ArrayOf;
use stripewise_exec::driver::Driver;
use stripewise_scheme::SchemeError;

use crate::in_place::parity_memory::ParityMemory;
use crate::in_place::resync::Resync;

impl<M: Memory> Array<M> {
    /// The controller after a loss of power: a new one of the same scheme over the same members; failed members stay failed. A
    /// persistent write cache keeps its content, and the results of updates that were destaging it. Requests and operations in
    /// progress are forgotten, and their completion is never reported. Time starts again.
    ///
    /// Call [`Self::resume`] next.
    ///
    /// # Errors
    /// The scheme keeps required state only in memory; the error has the reason.
    pub fn restart(self) -> Result<Self, SchemeError> {
        self.exec().scheme().check_restart()?;
        let Placed::InPlace(array) = self.0 else {
            unreachable!("such a scheme keeps no log");
        };
        let ArrayOf { mut exec, placement: mut before } = *array;
        let is_kept = before.cache.as_ref().is_some_and(|cache| !cache.is_volatile);
        let resync = if is_kept { before.interrupted(&mut exec) } else { Resync::default() };
        let cache = before.erase_memory(is_kept, &mut exec);
        let zones = before.zones.take().map(|mut zones| {
            if exec.has_bug(Bug::UnflushedMoveKept) {
                zones.keep_unflushed();
            }
            zones.restarted()
        });
        let blank = std::mem::take(&mut before.blank);
        let rows = exec.scheme().parity_memory_rows();
        let fresh = ParityMemory::new(rows, exec.geometry().parity(), M::CARRIES_DATA);
        let mut parity_memory = std::mem::replace(&mut before.parity_memory, fresh).restarted();
        if exec.has_bug(Bug::KeptParityLost) {
            let fresh = ParityMemory::new(rows, exec.geometry().parity(), M::CARRIES_DATA);
            let lost = std::mem::replace(&mut parity_memory, fresh);
            lost.into_pages().into_iter().for_each(|page| exec.memory_mut().give(page));
        }
        let (scheme, members, failed) = (exec.scheme().clone(), *exec.members(), exec.failed_members());
        #[cfg(debug_assertions)]
        let bug = exec.bug();
        let mut array = Self::new(&scheme, members, exec.into_memory())?;
        #[cfg(debug_assertions)]
        array.plant(bug);
        if let Placed::InPlace(array) = &mut array.0 {
            let ArrayOf { exec: fresh, placement } = &mut **array;
            columns(failed).for_each(|member| fresh.take_out(MemberNo::at(member as usize)));
            let has_hole = fresh.geometry().parity() > 0 && (!is_kept || members.volatile_cache);
            let walks = has_hole && !fresh.has_bug(Bug::ResyncSkipped);
            let next = if walks { 0 } else { fresh.geometry().rows() };
            placement.zones = zones;
            (placement.blank, placement.parity_memory) = (blank, parity_memory);
            if walks {
                placement.count_named_pages(fresh);
            }
            if let Some(cache) = cache {
                placement.cache = cache.restarted(&scheme.cache, fresh.geometry(), members.page_bytes);
                before.window.stale().for_each(|row| placement.window.set_stale(row, true));
            }
            placement.resync = Some(resync.starting_at(next));
        }
        Ok(array)
    }

    /// Starts recovery after a loss of power: the first call after [`Self::restart`] or [`Self::open`]. A scrub that the last
    /// serving interrupted continues.
    pub fn resume<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.exec_mut().advance(now);
        if !self.exec().reads_only() {
            each!(mut self, array => {
                if array.placement.continue_scrub(&array.exec) {
                    array.exec.begin_metadata_scrub(&array.placement);
                }
            });
        }
        self.poll(driver);
    }

    /// Whether a resync after a loss of power is in progress. Requests wait for its end.
    pub fn is_resyncing(&self) -> bool {
        self.as_in_place().is_some_and(|placement| placement.resync.is_some())
    }
}
