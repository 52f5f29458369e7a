//! Corruption beyond the tolerance of parity.

use stripewise_array::AssembleError;

use super::{EVENTS, EVENTS_PER_REQUEST, Scenario};
use crate::case::Ask;
use crate::crash::corruption::{Corruption, Doubt, Target};
use crate::crash::server::FLUSH;
use crate::crash::sim_media::SimMedia;
use crate::crash::survival::Survival;
use crate::crash::system_under_test::SystemUnderTest;

impl Scenario {
    /// Corruption beyond the contract: losses are reported, or the array is assembled only by force. The array
    /// returns no wrong content, and continues to work.
    pub(in crate::crash) fn corrupted<S: SystemUnderTest>(
        &mut self,
        corruption: Corruption,
        asks: &[Ask],
    ) -> Result<(), String> {
        let Some(doubt) = corruption.strike(&self.shape, &mut self.members, self.lost) else { return Ok(()) };
        self.doubt = doubt;
        self.suspects.add((1 << self.shape.members) - 1);
        self.counts.corrupted += 1;
        let is_refused = self.is_refused::<S>()?;
        self.is_forced = is_refused;
        if self.doubt.is_hopeless {
            let is_opened = !is_refused || !self.is_refused::<S>()?;
            return if is_opened { Err("it is opened out of nothing".into()) } else { Ok(()) };
        }
        if is_refused && self.doubt.may_be_hopeless && self.is_refused::<S>()? {
            return Ok(());
        }
        if is_refused && self.doubt.is_empty() {
            return Err("it is refused though nothing is lost".into());
        }
        self.counts.forced += u64::from(is_refused);
        if is_refused && corruption.target == Target::Superblocks {
            let all = (1 << self.shape.members) - 1;
            let nameless = self.doubt.nameless;
            // A complete member with superblocks shows which other members with superblocks are outdated. A member
            // without superblocks may be recognized, even if it is outdated, or be left out.
            let is_known = all & !(nameless | self.lost | self.outdated) != 0;
            self.lost = if is_known { self.lost | self.outdated | nameless } else { all };
            self.outdated &= if is_known { !nameless } else { 0 };
        }
        if !is_refused && !matches!(corruption.target, Target::Stripe | Target::Commits) {
            // An array that assembles silently has lost nothing.
            self.doubt = Doubt::default();
        }
        let mut server = self.begin::<S>(0, 4)?;
        server.may_be_full = true;
        server.ask(asks);
        server.ask(&[FLUSH]);
        server.finish(EVENTS + EVENTS_PER_REQUEST * asks.len() as u64)?;
        let keep = Survival::Seed(self.random.next_u64());
        self.end(server, keep);
        self.is_forced = false;
        let server = self.begin::<S>(0, 1).map_err(|what| format!("opened once more: {what}"))?;
        self.end(server, Survival::Nothing);
        Ok(())
    }

    /// Whether the array refuses to assemble in its present state; a refusal changes nothing.
    pub(in crate::crash) fn is_refused<S: SystemUnderTest>(&mut self) -> Result<bool, String> {
        let order = self.offered(0);
        let seed = self.random.next_u64();
        let mut members = self.members.clone();
        let mut media = SimMedia::new(&mut members, order, None, seed);
        match S::open(&self.shape, self.bug, self.is_forced, &mut media) {
            Ok(_) => Ok(false),
            Err(AssembleError::Refused(reason)) if !reason.is_empty() => Ok(true),
            // Also, one of the remaining members may fail on writes and flushes.
            Err(AssembleError::Failed(_)) if self.doubt.may_be_hopeless || self.wronged != 0 => Ok(true),
            Err(error) => Err(format!("it cannot be opened: {error}")),
        }
    }
}
