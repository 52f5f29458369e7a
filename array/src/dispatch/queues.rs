//! The element queues: two intrusive lists an element, threaded through the operations themselves.
//!
//! Source: paper 000, section III-B (R_i reads and W_i writes queued on each channel).

use crate::holds::NONE;

/// What an operation carries to be a member of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) next: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { next: NONE }
    }
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    /// The last operation that was refused since the element was last ready: those up to it are not offered again.
    asked: u32,
    /// Nothing of this list is offered until the element is ready.
    closed: bool,
}

/// Lists of an element: reads (or everything, without priority), then writes.
pub(crate) const LEVELS: usize = 2;

/// All elements' queues, and which of them may have something to start.
#[derive(Debug)]
pub(crate) struct Queues {
    lists: Vec<[List; LEVELS]>,
    ready: Vec<u64>,
}

impl Queues {
    pub(crate) fn new(elements: u32) -> Self {
        let empty = List { first: NONE, last: NONE, asked: NONE, closed: false };
        Self {
            lists: vec![[empty; LEVELS]; elements as usize],
            ready: vec![0; elements.div_ceil(64) as usize],
        }
    }

    /// The element may take what it refused.
    #[inline]
    pub(crate) fn reopen(&mut self, element: u16) {
        for list in &mut self.lists[element as usize] {
            list.asked = NONE;
            list.closed = false;
        }
        self.mark_ready(element);
    }

    /// Marks an element to be offered its queue.
    #[inline]
    fn mark_ready(&mut self, element: u16) {
        self.ready[element as usize / 64] |= 1 << (element % 64);
    }

    /// Takes the lowest-numbered element that is marked.
    #[inline]
    pub(crate) fn take_ready(&mut self) -> Option<u16> {
        for (word, bits) in self.ready.iter_mut().enumerate() {
            if *bits != 0 {
                let bit = bits.trailing_zeros();
                *bits &= *bits - 1;
                return Some((word as u32 * 64 + bit) as u16);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn push(&mut self, element: u16, level: usize, id: u32, links: &mut [impl AsMut<Link>]) {
        let list = &mut self.lists[element as usize][level];
        links[id as usize].as_mut().next = NONE;
        if list.last == NONE {
            list.first = id;
        } else {
            links[list.last as usize].as_mut().next = id;
        }
        list.last = id;
        if !list.closed {
            self.mark_ready(element);
        }
    }

    /// What to offer next of a list, and the operation in front of it.
    #[inline]
    pub(crate) fn next_offer(
        &self,
        element: u16,
        level: usize,
        links: &mut [impl AsMut<Link>],
    ) -> (u32, u32) {
        let list = &self.lists[element as usize][level];
        if list.closed {
            (NONE, NONE)
        } else if list.asked == NONE {
            (NONE, list.first)
        } else {
            (list.asked, links[list.asked as usize].as_mut().next)
        }
    }

    /// Notes that everything up to `asked` was refused, and whether the rest need not be offered either.
    #[inline]
    pub(crate) fn refused(&mut self, element: u16, level: usize, asked: u32, closed: bool) {
        let list = &mut self.lists[element as usize][level];
        list.asked = asked;
        list.closed = closed;
    }

    #[inline]
    pub(crate) fn first(&self, element: u16, level: usize) -> u32 {
        self.lists[element as usize][level].first
    }

    /// Takes `id` out of its list; `before` is the operation in front of it, or [`NONE`].
    #[inline]
    pub(crate) fn unlink(
        &mut self,
        element: u16,
        level: usize,
        before: u32,
        id: u32,
        links: &mut [impl AsMut<Link>],
    ) {
        let next = links[id as usize].as_mut().next;
        let list = &mut self.lists[element as usize][level];
        if before == NONE {
            list.first = next;
        } else {
            links[before as usize].as_mut().next = next;
        }
        if list.last == id {
            list.last = before;
        }
    }
}
