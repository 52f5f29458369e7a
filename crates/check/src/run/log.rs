//! Checks of elastic striping against the contract: the promises of ended requests, and the state when no request is
//! in flight.

use super::CaseRun;
use crate::audit_log::{At, LogAudit};
use crate::case::What;
use crate::player::AcknowledgedRequest;
use crate::stamp::SECTOR;

/// Events between two examinations of all stripes.
const EVENTS_PER_LOOK: u64 = 256;

impl CaseRun<'_> {
    pub(super) fn is_elastic(&self) -> bool {
        self.case.scheme.placement.facts().forms_stripes
    }

    fn log_audit(&self) -> LogAudit<'_> {
        let world = &self.simulation.world;
        LogAudit { array: &self.simulation.array, flash: &world.flash, model: &world.host.model }
    }

    /// Records the effects of the last event on the log, and from time to time examines all stripes.
    pub(super) fn look_at_elastic(&mut self) -> Result<(), String> {
        if !self.is_elastic() {
            return Ok(());
        }
        let world = &self.simulation.world;
        let array = &self.simulation.array;
        let audit = LogAudit { array, flash: &world.flash, model: &world.host.model };
        self.history.look(&audit, self.event.get(), world.flash.media().log(), &world.host.appended)?;
        if self.event.get().is_multiple_of(EVENTS_PER_LOOK) {
            return audit.everything(&array.stripes());
        }
        Ok(())
    }

    pub(super) fn check_ended_log(&self, ended: &AcknowledgedRequest) -> Result<(), String> {
        let audit = self.log_audit();
        let ask = &ended.request.ask;
        let sectors_per_page = (self.media().page_bytes() / SECTOR) as u64;
        let mut chunks = ask.sector / sectors_per_page..(ask.sector + ask.sectors).div_ceil(sectors_per_page);
        if ended.failed {
            let faults = &self.media().log()[ended.request.faults_before..];
            let is_full = ended.no_space && self.history.may_be_full(ended.request.event);
            let is_broken = ask.what != What::Read && self.audit().is_broken();
            let may = is_full
                || is_broken
                || ask.what != What::Flush
                    && self.history.may_fail(&audit, chunks, ended.request.event, faults);
            return if may {
                Ok(())
            } else {
                Err("it failed though its stripes are redundant enough".into())
            };
        }
        match ask.what {
            What::Read => Ok(()),
            What::Write | What::Trim => chunks.try_for_each(|chunk| {
                let floor = |sector| self.model().floor(sector);
                if ask.what == What::Write && audit.is_durable() {
                    let end = ask.sector + ask.sectors;
                    let written = |sector| {
                        let is_written = (ask.sector..end).contains(&sector);
                        if is_written { ended.request.update } else { 0 }
                    };
                    self.history.durable_chunk(&audit, chunk, written)?;
                }
                audit.chunk(chunk, self.history.stripe_of(chunk), floor)
            }),
            What::Flush => {
                let floor = |sector: u64| ended.request.floors[sector as usize];
                audit.everything(&audit.array.stripes())?;
                (0..audit.chunks()).try_for_each(|chunk| {
                    if audit.is_volatile() {
                        self.history.durable_chunk(&audit, chunk, floor)
                    } else {
                        audit.chunk(chunk, self.history.stripe_of(chunk), floor)
                    }
                })
            }
        }
    }

    /// Without requests in flight, the page buffers in use must be those of waiting chunks, and all checks must pass.
    pub(super) fn settled_log(&self) -> Result<(), String> {
        let audit = self.log_audit();
        let waiting = (0..audit.chunks()).filter(|&chunk| audit.at(chunk) == At::Memory).count();
        let pages = audit.array.memory_ref().in_use();
        if pages != waiting {
            return Err(format!("{waiting} chunks wait in memory, and {pages} page buffers are in use"));
        }
        let stripes = audit.array.stripes();
        audit.everything(&stripes)?;
        (0..audit.chunks()).try_for_each(|chunk| {
            audit.chunk(chunk, self.history.stripe_of(chunk), |sector| self.model().floor(sector))
        })
    }
}
