//! Changes that wait for members: while more members are lost than parity tolerates, and the engine is to wait for them, writes
//! and flushes are kept here instead of failing.

use std::collections::VecDeque;

use stripewise_array::{Acknowledgement, HostRequest, RequestKind};
use stripewise_base::Nanos;

use super::Jobs;
use crate::backend::Payload;

/// The changes that wait for members.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Whether a change that fails because too much is lost is kept instead.
    keeps: bool,
    /// Whether no change is passed to the controller.
    pub(super) is_held: bool,
    /// The changes that the controller has, where `keeps` is set: it returns their payloads, but not their places.
    offered: Vec<HostRequest>,
    /// Parts that failed and are kept until it is known whether members return.
    kept: VecDeque<(HostRequest, Payload)>,
    /// Of those, the ones to be passed to the controller again.
    ready: VecDeque<(HostRequest, Payload)>,
}

impl Outage {
    /// Notes that the controller gets this part.
    pub(super) fn offer(&mut self, host: &HostRequest) {
        if self.keeps && host.kind != RequestKind::Read {
            self.offered.push(*host);
        }
    }

    /// The part with this tag, which the controller has no longer, if it was noted.
    pub(super) fn take_back(&mut self, tag: u64) -> Option<HostRequest> {
        let at = self.offered.iter().position(|host| host.tag == tag)?;
        Some(self.offered.swap_remove(at))
    }

    /// Keeps a part that failed. Returns it if such parts are not kept.
    pub(super) fn keep(&mut self, host: HostRequest, payload: Payload) -> Option<Payload> {
        if !self.keeps {
            return Some(payload);
        }
        self.kept.push_back((host, payload));
        None
    }

    /// The next part to be passed to the controller again.
    pub(super) fn next(&mut self) -> Option<(HostRequest, Payload)> {
        if self.is_held { None } else { self.ready.pop_front() }
    }
}

impl Jobs {
    /// From now on, changes that fail because too much is lost are kept or not, and other changes are held back or not.
    pub(crate) fn set_outage(&mut self, keeps: bool, is_held: bool) {
        (self.outage.keeps, self.outage.is_held) = (keeps, is_held);
        // Reads pass the part that the controller was too busy to accept.
        if let Some(part) = self.held.take_if(|(host, _)| is_held && host.kind != RequestKind::Read) {
            self.outage.ready.push_front(part);
        }
    }

    /// Whether changes are held back.
    pub(crate) fn is_held(&self) -> bool {
        self.outage.is_held
    }

    /// Whether any part is kept whose end is not decided.
    pub(crate) fn keeps_any(&self) -> bool {
        !self.outage.kept.is_empty()
    }

    /// Passes the kept parts to the controller again, in their order.
    pub(crate) fn resume_kept(&mut self) {
        let Self { outage, .. } = self;
        outage.ready.append(&mut outage.kept);
    }

    /// Fails the kept parts.
    pub(crate) fn fail_kept(&mut self, now: Nanos) {
        let kept = std::mem::take(&mut self.outage.kept);
        for (host, payload) in std::mem::take(&mut self.outage.ready).into_iter().chain(kept) {
            let failed = Acknowledgement {
                tag: host.tag,
                failed: true,
                arrival: host.arrival,
                at: now,
                ..Acknowledgement::default()
            };
            self.end_part(&failed, payload);
        }
    }
}
