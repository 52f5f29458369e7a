//! Power losses: the content that members keep, a controller that restarts over it, and the state that it must
//! restore.

use std::collections::{BTreeMap, BTreeSet};
use stripewise_array::Controller;
use stripewise_array::RowNo;

use stripewise_array::Persistence;
use stripewise_array::cache::CachePolicy;
use stripewise_base::agenda::Agenda;
use stripewise_flash::{Admission, Flash, Op, OpKind};

use super::{CaseRun, EVENTS};
use crate::case::Case;
use crate::durable::Content;
use crate::media::{Fault, PageMedia};
use crate::stamp::SECTOR;

/// Future power losses, and the consequences of the last one.
#[derive(Debug, Default)]
pub(super) struct Power {
    /// Events before which power is lost, the next one last.
    to_come: Vec<u64>,
    /// Whether power losses may happen now.
    is_live: bool,
    /// Whether a restarted controller is still recovering.
    recovers: bool,
    /// Rows that were under update at the loss and have not been consistent since.
    pub(super) torn: BTreeSet<RowNo>,
    /// The host pages of the columns of these rows when the controller restarted: requests that wait for the recovery may move
    /// them as soon as it ends.
    pages: BTreeMap<(RowNo, u32), u64>,
    /// Number of media faults before the loss.
    faults_before: usize,
}

impl Power {
    pub(super) fn new(events: &[u64]) -> Self {
        let mut to_come = events.to_vec();
        to_come.sort_unstable_by(|a, b| b.cmp(a));
        Self { to_come, ..Self::default() }
    }

    /// Whether power is to be lost before the event after `event`.
    pub(super) fn is_due(&self, event: u64) -> bool {
        self.is_live && self.to_come.last().is_some_and(|&at| at <= RowNo::new(event).number())
    }
}

impl CaseRun<'_> {
    /// Plays the case's requests, with all power losses in between.
    pub(super) fn play_losing_power(mut self) -> Result<Self, String> {
        self.power.is_live = true;
        loop {
            self.play()?;
            if !self.power.is_due(self.event.get()) {
                self.power.is_live = false;
                return Ok(self);
            }
            self.power.to_come.pop();
            self = self.lose_power()?;
        }
    }

    /// If power was to be lost later, loses it now that no request is in flight.
    pub(super) fn lose_power_at_rest(mut self) -> Result<Self, String> {
        if self.power.to_come.is_empty() {
            return Ok(self);
        }
        self.power.to_come.clear();
        self = self.lose_power()?;
        self.play()?;
        self.settle()?;
        Ok(self)
    }

    fn lose_power(mut self) -> Result<Self, String> {
        self.simulation.world.host.trace(|| "power is lost".into());
        let rows = self.simulation.array.geometry().all_rows();
        let torn: Vec<RowNo> = rows.filter(|&row| self.has_hole() && self.is_torn(row)).collect();
        self.simulation.world.host.trace(|| {
            format!("rows under update: {:?}", torn.iter().map(|row| row.number()).collect::<Vec<_>>())
        });
        self.power.torn.extend(torn);
        if !self.power.recovers {
            self.power.faults_before = self.media().log().len();
        }
        let mut media = self.media().clone();
        media.lose_power();
        let (flash, filled_at) = refill(self.case, media)?;
        let all_is_durable = !self.case.volatile_members && !self.has_volatile_cache();
        let host = &mut self.simulation.world.host;
        host.power_lost(all_is_durable);
        host.seen.power_losses += 1;
        let now = self.simulation.now().max(filled_at);
        let simulation = self.simulation.restart(flash, now).map_err(|error| error.to_string())?;
        let mut run = Self { simulation, ..self };
        let array = &run.simulation.array;
        let columns = |&row: &RowNo| (0..array.geometry().data).map(move |column| (row, column));
        let page = |at: (RowNo, u32)| array.host_page(at.0, at.1).map(|page| (at, page));
        run.power.pages = run.power.torn.iter().flat_map(columns).filter_map(page).collect();
        run.power.recovers = true;
        run.limit += EVENTS;
        let errors_before = run.media().log().len();
        run.watch = run.watch.map(|watch| watch.restarted(errors_before, run.bug));
        if run.has_volatile_cache() {
            run.cache_is_empty()?;
        }
        run.look_at_power()?;
        Ok(run)
    }

    fn has_volatile_cache(&self) -> bool {
        let cache = &self.case.scheme.cache;
        cache.policy != CachePolicy::None && cache.persistence == Persistence::Volatile
    }

    /// Whether a row under update may lose a chunk. A persistent cache over persistent members knows the new content
    /// of every row.
    fn has_hole(&self) -> bool {
        let cache = &self.case.scheme.cache;
        let is_kept = cache.policy != CachePolicy::None && cache.persistence == Persistence::Persistent;
        !is_kept || self.case.volatile_members
    }

    /// Checks that a volatile cache is empty after a power loss.
    fn cache_is_empty(&self) -> Result<(), String> {
        let array = &self.simulation.array;
        match (0..array.geometry().rows()).find(|&row| array.cached_columns(RowNo::new(row)) != 0) {
            Some(row) => {
                Err(format!("a volatile cache still has content of row {row} after a loss of power"))
            }
            None => Ok(()),
        }
    }

    /// Whether `row` is being changed, that is, an update that locks it has begun to write, or some page of it may
    /// hold one of several contents; or whether its parity was unreliable anyway.
    fn is_torn(&self, row: RowNo) -> bool {
        let array = &self.simulation.array;
        let geometry = array.geometry();
        let Some(durable) = self.media().durable().filter(|_| geometry.parity() > 0) else { return false };
        let place = geometry.place(row);
        let begun = self.simulation.world.host.begun.get(&row).copied();
        let is_changing = |member| {
            let at = (geometry.member(place, member), place.page);
            let has_written =
                array.is_updating(row) && begun.is_some_and(|begun| durable.touched(at) > begun);
            !array.is_failed(at.0) && durable.is_undecided(at) || has_written
        };
        // If pages leave a cache one by one, some are on their members, and the others are lost with the cache.
        let is_leaving = array.covered_in_cache(row) != 0;
        array.is_stale(row) || is_leaving || (0..geometry.columns).any(is_changing)
    }

    /// Records the rows that become consistent during recovery. After recovery, all durable content must be present.
    pub(super) fn look_at_power(&mut self) -> Result<(), String> {
        if !self.power.recovers {
            return Ok(());
        }
        let mut torn = std::mem::take(&mut self.power.torn);
        // A row that is consistent because a chunk was decoded and written back may contain data that never existed.
        let array = &self.simulation.array;
        let data = array.geometry().data;
        // An interrupted update that is done again writes the parity of data that members may have lost with their volatile
        // caches. The resync corrects it.
        let is_open = |row: RowNo| array.is_updating(row) || !self.audit().is_whole(row);
        torn.retain(|&row| is_open(row) || (0..data).any(|member| self.is_gone(row, member)));
        self.power.torn = torn;
        if self.simulation.array.is_resyncing() {
            return Ok(());
        }
        self.power.recovers = false;
        self.recovered().map_err(|what| format!("after a loss of power, {what}"))
    }

    fn recovered(&mut self) -> Result<(), String> {
        let torn = std::mem::take(&mut self.power.torn);
        let geometry = self.simulation.array.geometry();
        let page_sectors = (self.media().page_bytes() / SECTOR) as u64;
        let mut lost = BTreeSet::new();
        for &row in &torn {
            let gone = (0..geometry.data).filter(|&member| self.is_gone(row, member));
            lost.extend(gone.filter_map(|column| self.power.pages.get(&(row, column)).copied()));
        }
        let pages = self.simulation.array.host_pages();
        self.simulation.world.host.seen.holes += lost.len() as u64;
        for &page in &lost {
            let model = &mut self.simulation.world.host.model;
            (0..page_sectors).for_each(|sector| model.restarted(page * page_sectors + sector, None));
        }
        self.audit().everything()?;
        for page in (0..pages).filter(|page| !lost.contains(page)) {
            let Some(found) = self.audit().found(page).filter(|_| !self.is_written_since(page)) else {
                continue;
            };
            let model = &mut self.simulation.world.host.model;
            for (sector, (found, is_cached)) in (page * page_sectors..).zip(found) {
                // Content that leaves a persistent cache for volatile caches of members becomes durable only with the
                // next flush.
                if !(is_cached && self.case.volatile_members) {
                    model.restarted(sector, Some(found));
                }
            }
        }
        Ok(())
    }

    /// Whether the member's version of the array's `page` was written after the power loss and is not covered by a
    /// flush.
    fn is_written_since(&self, page: u64) -> bool {
        let array = &self.simulation.array;
        let at = array.locate(page).map(|(row, member)| {
            let place = array.geometry().place(row);
            (array.geometry().member(place, member), place.page)
        });
        let durable = self.media().durable();
        at.zip(durable).is_some_and(|(at, durable)| durable.is_undecided(at))
    }

    /// Whether a column is on a failed member, or could not be read twice since the power loss.
    fn is_gone(&self, row: RowNo, column: u32) -> bool {
        let array = &self.simulation.array;
        let place = array.geometry().place(row);
        let member = array.geometry().member(place, column);
        let faults = &self.media().log()[self.power.faults_before..];
        let is_its = |fault: &&Fault| (fault.member, fault.page) == (member, place.page);
        array.is_failed(member) || faults.iter().filter(is_its).count() > 1
    }
}

/// New flash whose logical pages hold the kept content, and the time at which it is ready.
pub(crate) fn refill(case: &Case, media: PageMedia) -> Result<(Flash<PageMedia>, u64), String> {
    let kept: Vec<_> = media
        .durable()
        .into_iter()
        .flat_map(|durable| durable.pages())
        .filter(|(_, content)| **content != Content::Zeros)
        .map(|(at, content)| (at, content.clone()))
        .collect();
    let mut flash =
        Flash::with_media(&case.device, case.members.level, case.members.devices, case.seed, media)
            .map_err(|error| error.to_string())?;
    let faults = std::mem::take(flash.media_mut().faults_mut());
    let (mut agenda, mut done, mut now) = (Agenda::new(), Vec::new(), 0);
    for ((member, page), content) in &kept {
        let (member, op) =
            (u32::from(member.number()), Op { kind: OpKind::Program, page: *page, ..Op::default() });
        flash.media_mut().put(0, content);
        while flash.admits(now, member, &op, &mut agenda) != Admission::Admitted {
            let (at, event) = agenda.pop().ok_or("the flash has no room for what it held")?;
            now = at;
            flash.handle(now, event, &mut agenda, &mut done);
        }
        flash.start(now, member, 0, op, &mut agenda);
        while let Some((at, event)) = agenda.pop() {
            now = at;
            flash.handle(now, event, &mut agenda, &mut done);
        }
    }
    while flash.next_ready().is_some() {}
    for ((member, page), _) in kept.iter().filter(|(_, content)| *content == Content::Unreadable) {
        if let Some(physical) = flash.lookup(u32::from(member.number()), *page) {
            flash.media_mut().spoil(u32::from(member.number()), physical);
        }
    }
    *flash.media_mut().faults_mut() = faults;
    flash.reset_counters(now);
    Ok((flash, now))
}
