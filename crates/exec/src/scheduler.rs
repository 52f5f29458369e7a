//! Issuing host requests: which waiting requests are split into plans now, under the dispatch policy.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;
use stripewise_policy::dispatch::{BatchKind, Discipline, MemberSet, Piq};

use crate::driver::Driver;
use crate::{Executor, Placement, RequestSlot, Split};

impl<M: Memory> Executor<M> {
    /// Accepts the submitted request `id`: it is issued at once, or waits for its turn.
    #[inline]
    pub fn take_request<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) {
        match self.scheme.dispatch.policy {
            Discipline::AsyncFifo => {
                let is_read = self.requests[id].host.kind == RequestKind::Read;
                let may_go = self.pending.is_empty() || is_read && self.reads_pass(placement);
                let split =
                    if may_go { self.split_in_turn(id, placement, driver) } else { Split::WantsPlans };
                if split == Split::Done {
                    return self.split_done(id, placement, driver);
                }
                self.waits(id, placement);
                if split == Split::WantsPage {
                    self.set_aside.push_back(id);
                } else {
                    self.pending.push_back(id);
                }
            }
            Discipline::SyncFifo => {
                let targets = self.waits(id, placement);
                if let Some(fifo) = &mut self.sync_fifo {
                    fifo.submitted(id, targets);
                }
                self.pending.push_back(id);
            }
            Discipline::Piq => self.take_batched(id, placement, driver),
        }
    }

    /// Like [`Self::take_request`], under PIQ: a request that arrives when none waits is a round of its own.
    fn take_batched<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let may_go = self.piq.as_ref().is_some_and(|piq| {
            let is_alone = !piq.is_sync || self.under_way == 1;
            piq.waiting() == 0 && is_alone
        });
        if may_go && placement.split(id, self, driver) == Split::Done {
            return self.split_done(id, placement, driver);
        }
        let targets = self.waits(id, placement);
        let kind = match self.requests[id].host.kind {
            RequestKind::Read => BatchKind::Read,
            RequestKind::Write | RequestKind::Trim => BatchKind::Write,
            RequestKind::Flush => BatchKind::Flush,
        };
        let mut pages = self.requests[id].pages;
        if self.has_bug(Bug::BatchReorders) {
            // As if each request wrote a page that no other request writes.
            pages = (id.number().into(), id.number().into());
        }
        if let Some(piq) = &mut self.piq {
            piq.push(id, kind, pages, targets);
        }
    }

    /// Issues the first waiting request, under the FIFO policies, or a flush that continues, under any policy. Returns false
    /// if it must wait.
    #[inline]
    pub(crate) fn issue_front<P: Placement<M>, D: Driver<M>>(
        &mut self,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        let Some(&id) = self.pending.front() else { return false };
        if let Some(fifo) = &mut self.sync_fifo {
            let others = self.under_way - self.pending.len() as u32;
            if !fifo.may_begin(id, others) {
                return false;
            }
        }
        self.pending.pop_front();
        match self.split_in_turn(id, placement, driver) {
            Split::Done => {
                self.waits_no_longer(id);
                self.split_done(id, placement, driver);
                true
            }
            Split::WantsPage if self.scheme.dispatch.policy == Discipline::AsyncFifo => {
                self.set_aside.push_back(id);
                true
            }
            Split::WantsPage | Split::WantsPlans | Split::WantsRoom => {
                self.pending.push_front(id);
                false
            }
        }
    }

    /// Splits request `id`, unless it changes a page that a request which was set aside also means: these keep their order.
    #[inline]
    fn split_in_turn<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) -> Split {
        if !self.set_aside.is_empty() && self.meets_set_aside(id) {
            return Split::WantsPage;
        }
        placement.split(id, self, driver)
    }

    /// Whether request `id` changes a page that a request which was set aside means.
    fn meets_set_aside(&self, id: RequestId) -> bool {
        let RequestSlot { host, pages: (first, last), .. } = self.requests[id];
        let meets = |&other: &RequestId| {
            let (other_first, other_last) = self.requests[other].pages;
            first <= other_last && other_first <= last
        };
        matches!(host.kind, RequestKind::Write | RequestKind::Trim)
            && !self.has_bug(Bug::SetAsideOvertaken)
            && self.set_aside.iter().any(meets)
    }

    /// Lets the requests that were set aside try again, before all others. Returns false if no page has become free.
    pub(crate) fn recall_set_aside<P: Placement<M>>(&mut self, placement: &mut P) -> bool {
        if self.set_aside.is_empty() || !placement.has_freed_pages() {
            return false;
        }
        while let Some(id) = self.set_aside.pop_back() {
            self.pending.push_front(id);
        }
        true
    }

    /// Whether reads pass the requests that wait: the first of these is a write that waits for room in a write cache.
    fn reads_pass<P: Placement<M>>(&self, placement: &P) -> bool {
        let is_write = |&id: &RequestId| self.requests[id].host.kind == RequestKind::Write;
        self.scheme.cache.reads_pass
            && self.scheme.dispatch.policy == Discipline::AsyncFifo
            && placement.takes_writes_to_memory()
            && self.pending.front().is_some_and(is_write)
    }

    /// Issues the first read that waits behind a write for which the write cache has no room: "the request should be pending in
    /// the I/O queue until the write cache becomes available" is said of writes (paper 003, section 2). Returns false if there is
    /// none, or if it must wait.
    pub(crate) fn issue_passing<P: Placement<M>, D: Driver<M>>(
        &mut self,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        if !self.reads_pass(placement) {
            return false;
        }
        let is_read = |&id: &RequestId| self.requests[id].host.kind == RequestKind::Read;
        let Some(at) = self.pending.iter().position(is_read) else { return false };
        let Some(id) = self.pending.remove(at) else { return false };
        if placement.split(id, self, driver) != Split::Done {
            self.pending.insert(at, id);
            return false;
        }
        self.waits_no_longer(id);
        self.split_done(id, placement, driver);
        true
    }

    /// Issues the requests of the round's batches that have room, in order. Returns false if no request was wholly issued:
    /// then another walk gains nothing.
    #[inline]
    pub(crate) fn issue_batches<P: Placement<M>, D: Driver<M>>(
        &mut self,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        let Some(piq) = &mut self.piq else { return false };
        let is_idle = self.under_way == self.pending.len() as u32 + piq.waiting();
        if !piq.begin_walk(&self.freed, is_idle) {
            self.freed = MemberSet::default();
            return false;
        }
        // Members freed meanwhile are for the next walk.
        let mut freed = std::mem::take(&mut self.freed);
        let mut any = false;
        while let Some(id) = self.piq.as_mut().and_then(|piq| piq.next(&freed)) {
            match placement.split(id, self, driver) {
                Split::WantsPlans | Split::WantsPage => {
                    self.freed.add(&freed);
                    return any;
                }
                Split::WantsRoom => {
                    let is_lost = self.has_bug(Bug::BatchLosesRequest);
                    if let Some(piq) = &mut self.piq {
                        if is_lost {
                            piq.issued();
                        } else {
                            piq.wants_room();
                        }
                    }
                }
                Split::Done => {
                    let stays = self.has_bug(Bug::BatchRepeatsRequest);
                    let issue = |piq: &mut Piq| {
                        if stays {
                            piq.wants_room();
                            return MemberSet::default();
                        }
                        piq.issued()
                    };
                    let targets = self.piq.as_mut().map(issue).unwrap_or_default();
                    if !freed.is_empty() {
                        targets.iter().filter(|&member| !self.has_room(member)).for_each(|member| {
                            freed.remove(member);
                        });
                    }
                    self.waits_no_longer(id);
                    self.split_done(id, placement, driver);
                    any = true;
                }
            }
        }
        any
    }

    /// Records that request `id` waits to be issued. Returns its target members, where they are tracked.
    fn waits<P: Placement<M>>(&mut self, id: RequestId, placement: &mut P) -> MemberSet {
        if self.earliest.is_none() {
            return MemberSet::default();
        }
        let targets = self.targets_of(id, placement);
        if let Some(earliest) = &mut self.earliest {
            earliest.add(id, targets);
        }
        targets
    }

    #[inline]
    fn waits_no_longer(&mut self, id: RequestId) {
        if let Some(earliest) = &mut self.earliest {
            earliest.remove(id);
        }
    }

    /// Whether an operation of a new plan may go to `member`.
    #[inline]
    fn has_room(&self, member: MemberNo) -> bool {
        self.loads.total(member) < self.queue_limit
    }

    /// Whether all members that a plan for columns `mask` of `row` needs have room: those of the columns, and for an update
    /// those of parity.
    pub fn has_room_for(&self, kind: RequestKind, row: RowNo, mask: u64) -> bool {
        let place = self.geometry.place(row);
        columns(mask | self.parity_of(kind)).all(|column| self.has_room(self.geometry.member(place, column)))
    }

    /// Parity columns that requests of this kind change.
    fn parity_of(&self, kind: RequestKind) -> u64 {
        if kind == RequestKind::Read { 0 } else { self.geometry.parity_columns() }
    }

    /// The members that the rest of request `id` needs, over all of its rows. Content that goes to memory needs none.
    fn targets_of<P: Placement<M>>(&self, id: RequestId, placement: &P) -> MemberSet {
        let mut targets = MemberSet::default();
        let request = &self.requests[id];
        let kind = request.host.kind;
        if kind == RequestKind::Flush || kind == RequestKind::Write && placement.takes_writes_to_memory() {
            return targets;
        }
        let mut cursor = request.cursor;
        while let Some(piece) = cursor.next(&self.geometry) {
            let place = self.geometry.place(piece.row);
            for column in columns(super::split::mask_of(&piece) | self.parity_of(kind)) {
                targets.insert(self.geometry.member(place, column));
            }
        }
        targets
    }
}
