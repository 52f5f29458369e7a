//! How content leaves a write cache, from the policy's decision to the end of the plan that writes it.
//!
//! Source: paper 003, section 2 (destaging); that room is freed once everything is written is FAST 2005.

use stripewise_base::Nanos;
use stripewise_core::ids::{NONE, PlanId, RowNo};

use super::law::Filling;
use super::rings::Unit;
use super::store::{Stage, Store};
use super::{Cache, Count, Departure, Frees, Outgoing, Policy};

impl Cache {
    /// Makes the due content leave. Returns whether there was any, or the time at which to ask again.
    pub fn depart(&mut self, now: Nanos) -> Result<bool, Nanos> {
        let filling = &Filling { law: self.law, occupied: self.counted(), is_pressed: self.is_pressed };
        let unit = |unit: Option<u32>| unit.map_or(Departure::Nothing, Departure::Unit);
        let departure = match &mut self.policy {
            _ if self.draining => return Ok(self.let_all_go()),
            Policy::ParityCaching(policy) if self.kept > policy.chunks => {
                let row = policy.oldest(&self.store);
                let count = |row| self.store.columns(row, |chunk| chunk.stage == Stage::Kept).count_ones();
                row.filter(|&row| policy.fits(self.leaving, count(row)))
                    .map_or(Departure::Nothing, Departure::Row)
            }
            Policy::ParityCaching(_) => Departure::Nothing,
            Policy::Isc(isc) => unit(isc.next(&mut self.rings, &self.pages)),
            Policy::Wow(wow) => unit(wow.next(&mut self.rings, 0, filling)),
            Policy::Stow(stow) => unit(stow.next(&mut self.rings, &self.pages, filling)),
            Policy::Siw(siw) => siw.next(now, &mut self.rings, filling, &mut self.counts),
            Policy::Hybrid(hybrid) => unit(hybrid.next(now, &mut self.rings, 0, filling, self.leaving)),
            Policy::Custom(custom) => unit(custom.next(now, &self.rings, filling, self.size)),
        };
        match departure {
            Departure::Nothing => Ok(false),
            Departure::At(time) => Err(time),
            Departure::Unit(unit) => {
                self.let_go(unit);
                Ok(true)
            }
            Departure::Row(row) => {
                self.let_row_go(row);
                Ok(true)
            }
        }
    }

    /// Makes all kept chunks of `unit` leave.
    pub fn let_go(&mut self, unit: u32) {
        loop {
            let id = self.rings.unit(unit).chunks.oldest;
            if id == NONE {
                break;
            }
            self.store.unlink(&mut self.rings.unit_mut(unit).chunks, id);
            self.goes(id);
        }
        if let Policy::Custom(custom) = &mut self.policy {
            custom.left(self.rings.position(unit));
        }
        self.rings.left(unit);
        self.forget_nominee(unit);
    }

    /// Makes all kept chunks of `row` leave, where chunks are kept by age.
    fn let_row_go(&mut self, row: RowNo) {
        let kept = |store: &Store| store.of_row(row).find(|&id| store.get(id).stage == Stage::Kept);
        while let Some(id) = kept(&self.store) {
            if let Policy::ParityCaching(policy) = &mut self.policy {
                self.store.unlink(&mut policy.ages, id);
            }
            self.goes(id);
        }
    }

    fn goes(&mut self, id: u32) {
        self.store.get_mut(id).stage = Stage::Outgoing;
        self.store.link(&mut self.outgoing, id);
        self.kept -= 1;
        self.leaving += 1;
    }

    /// Makes all kept content leave, due or not. Returns whether there was any.
    pub fn let_all_go(&mut self) -> bool {
        let before = self.kept;
        while let Policy::ParityCaching(policy) = &self.policy
            && let Some(row) = policy.oldest(&self.store)
        {
            self.let_row_go(row);
        }
        for ring in 0..self.rings.rings.len() as u32 {
            while let Some(unit) = self.rings.next(ring) {
                self.let_go(unit);
            }
        }
        self.kept < before
    }

    /// Whether any chunk is kept, or is to leave and has no plan yet.
    pub fn has_more(&self) -> bool {
        self.kept > 0 || self.outgoing.oldest != NONE
    }

    /// The next content to write, if there is any.
    pub fn next_out(&self) -> Option<Outgoing> {
        if self.outgoing.oldest == NONE {
            return None;
        }
        let chunk = self.store.get(self.outgoing.oldest);
        let of_row = || {
            self.store.columns(chunk.row, |other| {
                other.stage == Stage::Outgoing && other.is_covered == chunk.is_covered
            })
        };
        let columns = if chunk.is_covered { 1 << chunk.column } else { of_row() };
        Some(Outgoing { row: chunk.row, columns, is_covered: chunk.is_covered, unit: chunk.unit })
    }

    /// Assigns the next content to `plan`, which writes it. Returns its unit.
    pub fn carry(&mut self, out: &Outgoing, plan: PlanId) -> u32 {
        for column in stripewise_core::bits::columns(out.columns) {
            let Some(id) = self.store.find(out.row, column) else { continue };
            self.store.unlink(&mut self.outgoing, id);
            self.store.get_mut(id).stage = Stage::Carried(plan);
        }
        out.unit
    }

    /// A page of `unit` is written: its room is free now, or once all of the unit is written.
    fn unit_arrived(&mut self, unit: u32) {
        let entry = self.rings.unit_mut(unit);
        entry.written += 1;
        let Unit { ring, written, .. } = *entry;
        self.unfreed += 1;
        if self.rings.arrived(unit) || self.frees == Frees::Page {
            self.rings.unit_mut(unit).written = 0;
            self.unfreed -= written;
            self.pages[ring as usize] -= written;
        }
    }

    /// The number of pages or entries that thresholds compare.
    fn counted(&self) -> u32 {
        let units = self.rings.rings.iter().map(|ring| ring.units);
        match self.policy {
            _ if self.count == Count::Pages => self.occupied(),
            Policy::Wow(_) | Policy::Stow(_) | Policy::Hybrid(_) => units.sum(),
            Policy::Siw(_) => units.max().unwrap_or(0),
            Policy::ParityCaching(_) | Policy::Isc(_) | Policy::Custom(_) => self.occupied(),
        }
    }

    /// Completes `mask` of `row`, of `unit`, for a plan: chunks that were not overwritten meanwhile are removed.
    pub fn arrived(&mut self, row: RowNo, mask: u64, unit: u32, plan: PlanId) {
        for column in stripewise_core::bits::columns(mask) {
            match self.store.find(row, column) {
                Some(id) if self.store.get(id).stage == Stage::Carried(plan) => self.store.remove(id),
                _ => self.older -= 1,
            }
            self.leaving -= 1;
            if unit != NONE && !matches!(self.policy, Policy::ParityCaching(_)) {
                self.unit_arrived(unit);
            }
        }
    }
}
