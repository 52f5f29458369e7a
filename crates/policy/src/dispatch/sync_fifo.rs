//! Synchronous FIFO: a request begins when those before it are done.
//!
//! Source: paper 002, section II-D and Fig. 5(a). The text has a request wait "if there are contentions", the figure has
//! every request wait; `strict` chooses.

use stripewise_core::ids::RequestId;

use super::members::MemberSet;

/// The requests in progress under synchronous FIFO.
#[derive(Debug)]
pub struct SyncFifo {
    strict: bool,
    /// For each request its target members.
    targets: Vec<MemberSet>,
    /// Target members of requests in progress: each belongs to one request.
    busy: MemberSet,
    /// The request that began last, while it may still wait for plans or room.
    begun: Option<RequestId>,
}

impl SyncFifo {
    /// An empty queue for at most `requests` requests.
    pub fn new(strict: bool, requests: u32) -> Self {
        let sets = if strict { 0 } else { requests as usize };
        Self { strict, targets: vec![MemberSet::default(); sets], busy: MemberSet::default(), begun: None }
    }

    /// Adds request `id`, which waits from now on. Target members are used only if it is not strict.
    pub fn submitted(&mut self, id: RequestId, targets: MemberSet) {
        if !self.strict {
            self.targets[id.index()] = targets;
        }
    }

    /// Whether request `id`, the first that waits, may continue or begin, with `others` begun and not acknowledged.
    pub fn may_begin(&mut self, id: RequestId, others: u32) -> bool {
        if self.strict {
            return others == 0;
        }
        if self.begun == Some(id) {
            return true;
        }
        let targets = self.targets[id.index()];
        if targets.is_empty() {
            // A flush, perhaps one that continues while the request after it is partly issued.
            return true;
        }
        if self.busy.meets(&targets) {
            return false;
        }
        self.busy.add(&targets);
        self.begun = Some(id);
        true
    }

    /// Request `id` is acknowledged.
    pub fn ended(&mut self, id: RequestId) {
        if !self.strict {
            self.busy.take_away(&self.targets[id.index()]);
            self.begun = self.begun.filter(|&begun| begun != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use stripewise_core::ids::MemberNo;

    use super::*;

    #[test]
    fn a_request_that_waits_for_plans_continues_after_a_flush_that_went_before_it() {
        let mut fifo = SyncFifo::new(false, 3);
        let [first, second, flush] = [0, 1, 2].map(RequestId::new);
        let mut targets = MemberSet::default();
        targets.insert(MemberNo::new(4));
        fifo.submitted(first, targets);
        fifo.submitted(second, targets);
        fifo.submitted(flush, MemberSet::default());
        assert!(fifo.may_begin(first, 0) && fifo.may_begin(flush, 0) && fifo.may_begin(first, 0));
        assert!(!fifo.may_begin(second, 0));
        fifo.ended(flush);
        assert!(fifo.may_begin(first, 0) && !fifo.may_begin(second, 0));
        fifo.ended(first);
        assert!(fifo.may_begin(second, 0));
    }
}
