//! Synchronous FIFO: a request begins when those before it are done.
//!
//! Source: paper 002, section II-D and Fig. 5(a). The text has a request wait "if there are contentions", the figure has
//! every request wait; `strict` chooses.

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
    begun: Option<u32>,
}

impl SyncFifo {
    /// An empty queue for at most `requests` requests.
    pub fn new(strict: bool, requests: u32) -> Self {
        let sets = if strict { 0 } else { requests as usize };
        Self { strict, targets: vec![MemberSet::default(); sets], busy: MemberSet::default(), begun: None }
    }

    /// Adds request `id`, which waits from now on. Target members are used only if it is not strict.
    pub fn submitted(&mut self, id: u32, targets: MemberSet) {
        if !self.strict {
            self.targets[id as usize] = targets;
        }
    }

    /// Whether request `id`, the first that waits, may continue or begin, with `others` begun and not acknowledged.
    pub fn may_begin(&mut self, id: u32, others: u32) -> bool {
        if self.strict {
            return others == 0;
        }
        if self.begun == Some(id) {
            return true;
        }
        let targets = self.targets[id as usize];
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
    pub fn ended(&mut self, id: u32) {
        if !self.strict {
            self.busy.take_away(&self.targets[id as usize]);
            self.begun = self.begun.filter(|&begun| begun != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_waits_for_plans_continues_after_a_flush_that_went_before_it() {
        let mut fifo = SyncFifo::new(false, 3);
        let mut targets = MemberSet::default();
        targets.insert(4);
        fifo.submitted(0, targets);
        fifo.submitted(1, targets);
        fifo.submitted(2, MemberSet::default());
        assert!(fifo.may_begin(0, 0) && fifo.may_begin(2, 0) && fifo.may_begin(0, 0));
        assert!(!fifo.may_begin(1, 0));
        fifo.ended(2);
        assert!(fifo.may_begin(0, 0) && !fifo.may_begin(1, 0));
        fifo.ended(0);
        assert!(fifo.may_begin(1, 0));
    }
}
