//! The requests that wait for plans, in linked lists.

use std::ops::Index;

use stripewise_core::ids::{NONE, RequestId};

use crate::plan::Attachment;

/// The arena of attachments. Each plan has the one of its own number; the others are for further requests.
#[derive(Debug)]
pub struct Attachments {
    all: Vec<Attachment>,
    /// The number of those that belong to plans.
    plans: u32,
    /// The first free one of the others, or [`NONE`].
    free: u32,
}

impl Attachments {
    /// `count` free ones, of which the first `plans` belong to plans.
    pub(crate) fn new(count: u32, plans: u32) -> Self {
        let next = |number: u32| if number < count { number } else { NONE };
        let all = (1..=count).map(|number| Attachment { request: RequestId::NONE, next: next(number) });
        Self { all: all.collect(), plans, free: next(plans) }
    }

    /// Whether `count` of those for further requests are free.
    pub fn has(&self, count: usize) -> bool {
        let mut node = self.free;
        (0..count).all(|_| {
            let is_free = node != NONE;
            if is_free {
                node = self[node].next;
            }
            is_free
        })
    }

    /// The requests of the list that begins with `node`.
    pub fn from(&self, node: u32) -> impl Iterator<Item = RequestId> {
        let at = |node: u32| self.all.get(node as usize);
        std::iter::successors(at(node), move |one| at(one.next)).map(|one| one.request)
    }

    /// Takes a free one for `request`, in front of the list that begins with `next`.
    pub fn take(&mut self, request: RequestId, next: u32) -> u32 {
        let node = self.free;
        assert!(
            node != NONE,
            "request {request} is to wait, and none of {} attachments is free",
            self.all.len()
        );
        self.free = self[node].next;
        self.all[node as usize] = Attachment { request, next };
        node
    }

    /// Takes the one of the plan with this number for `request`, as a list of its own.
    #[inline]
    pub(crate) fn take_of_plan(&mut self, plan: u32, request: RequestId) {
        self.all[plan as usize] = Attachment { request, next: NONE };
    }

    /// Frees `node`, which is in no list any more. That of a plan needs no freeing.
    #[inline]
    pub fn release(&mut self, node: u32) {
        if node >= self.plans {
            assert!(!self[node].request.is_none(), "attachment {node} is freed, and is free");
            self.all[node as usize] = Attachment { request: RequestId::NONE, next: self.free };
            self.free = node;
        }
    }

    /// Lets the list that begins with `node` continue with `next`. Returns what followed before.
    pub fn set_next(&mut self, node: u32, next: u32) -> u32 {
        assert!(!self[node].request.is_none(), "attachment {node} joins a list, and is free");
        std::mem::replace(&mut self.all[node as usize].next, next)
    }
}

impl Index<u32> for Attachments {
    type Output = Attachment;

    #[inline]
    fn index(&self, node: u32) -> &Attachment {
        &self.all[node as usize]
    }
}
