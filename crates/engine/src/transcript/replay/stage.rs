//! The driver of a replayed controller: its members do what the transcript says.

use std::collections::BTreeMap;

use stripewise_array::coordination::GcControl;
use stripewise_array::{
    Acknowledgement, Admission, Driver, MemberLoad, MemberNo, Operation, OperationId, OperationKind, Outcome,
    PageId, PlanId, Timer,
};
use stripewise_base::Nanos;

use super::Script;
use crate::backend::{Pages, Payload};
use crate::transcript::event::{Event, InWords};
use crate::transcript::versions::Versions;

/// The driver of a replayed controller.
pub(super) struct Stage<'a> {
    pub(super) script: &'a mut Script,
    /// Operations in flight.
    pub(super) under_way: BTreeMap<OperationId, (Operation, PageId)>,
    /// The content of members, as far as the run wrote or read it.
    pub(super) held: BTreeMap<(MemberNo, u32), Box<[u8]>>,
    /// The content of pages before writes and trims that reads may have overtaken. None for zeros and for unknown
    /// content.
    versions: Versions<Option<Box<[u8]>>>,
    /// The content that the next read of a page returns, if it overtook the write of the page.
    overtaken: BTreeMap<(MemberNo, u32), Box<[u8]>>,
}

impl MemberLoad for Stage<'_> {}

impl Timer for Stage<'_> {
    fn set_timer(&mut self, _at: Nanos) {}
}

impl GcControl for Stage<'_> {}

impl Driver<Pages> for Stage<'_> {
    fn admits(&mut self, operation: &Operation) -> Admission {
        match self.script.peek() {
            Some(Event::Refused) => {
                self.script.take();
                Admission::Closed
            }
            // The controller starts the operation now, and it is compared.
            Some(Event::Started { .. }) => Admission::Admitted,
            Some(_) => {
                self.script.differs(None, Some(format!("operation offered: {}", InWords(operation))));
                Admission::Closed
            }
            None => Admission::Closed,
        }
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages) {
        self.script.answered(&Event::Started { id, operation: *operation });
        self.script.replayed.operations += 1;
        self.under_way.insert(id, (*operation, page));
        let place = (operation.member, operation.page);
        match operation.kind {
            OperationKind::Write => {
                let before = self.held.insert(place, memory.page(page).into());
                self.versions.change(place, before);
            }
            OperationKind::Trim => {
                let before = self.held.remove(&place);
                self.versions.change(place, before);
            }
            OperationKind::Read => self.versions.read(place),
            OperationKind::Flush => {}
        }
    }

    fn compute(&mut self, _plan: PlanId, _pages: u32) -> bool {
        true
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, _payload: Payload) {
        let &Acknowledgement { tag, failed, no_space, .. } = acknowledgement;
        self.script.answered(&Event::Acknowledged { tag, failed, no_space });
        self.script.replayed.failed_requests += u64::from(failed);
    }

    fn member_failed(&mut self, member: MemberNo) {
        self.script.answered(&Event::MemberFailed { member });
        self.left(member);
    }
}

impl<'a> Stage<'a> {
    /// Nothing is known of the members.
    pub(super) fn new(script: &'a mut Script) -> Self {
        Self {
            script,
            under_way: BTreeMap::new(),
            held: BTreeMap::new(),
            versions: Versions::default(),
            overtaken: BTreeMap::new(),
        }
    }

    /// Sets the content that the read that completes next returns.
    pub(super) fn finds(&mut self, member: MemberNo, page: u32, bytes: &[u8]) {
        let place = (member, page);
        let is_whole = self.versions.before(place).is_empty();
        let pages = if is_whole { &mut self.held } else { &mut self.overtaken };
        pages.insert(place, bytes.into());
    }

    /// The read that completes next returns the content from before the `nth` change. Returns false if there was no
    /// such change.
    pub(super) fn finds_earlier(&mut self, member: MemberNo, page: u32, nth: u32, page_bytes: u32) -> bool {
        let place = (member, page);
        let Some(before) = self.versions.before(place).get(nth as usize) else { return false };
        let bytes = before.clone().unwrap_or_else(|| vec![0; page_bytes as usize].into());
        self.overtaken.insert(place, bytes);
        true
    }

    pub(super) fn left(&mut self, member: MemberNo) {
        let at = self.script.replayed.took_ns;
        self.script.replayed.left.push((member, at));
    }

    /// Completes an operation, and puts the content that it read into the memory of the controller. Returns false if no
    /// such operation is in flight.
    pub(super) fn over(&mut self, id: OperationId, outcome: Outcome, memory: &mut Pages) -> bool {
        let Some((operation, page)) = self.under_way.remove(&id) else { return false };
        self.script.replayed.failed_operations += u64::from(outcome != Outcome::Done);
        let place = (operation.member, operation.page);
        if operation.kind != OperationKind::Flush {
            self.versions.over(place);
        }
        if operation.kind == OperationKind::Read && outcome == Outcome::Done {
            let into = memory.page_mut(page);
            match self.overtaken.remove(&place).as_ref().or_else(|| self.held.get(&place)) {
                Some(bytes) => into.copy_from_slice(bytes),
                None => into.fill(0),
            }
        }
        true
    }
}
