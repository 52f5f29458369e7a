//! The member queues: two intrusive lists for each member, threaded through the operations themselves; in rounds, two more for
//! the next round.
//!
//! Source: paper 000, section III-B (R_i reads and W_i writes queued on each channel); paper 002, section III-C (rounds);
//! Worthington, Ganger and Patt, SIGMETRICS 1994 (C-LOOK).

use stripewise_core::ids::{MemberNo, OperationId};

use super::QueueOrder;

/// The links that make an operation an entry of a list.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The next operation of the list, or [`OperationId::NONE`].
    pub next: OperationId,
}

impl Default for Link {
    fn default() -> Self {
        Self { next: OperationId::NONE }
    }
}

/// An entry of a list.
pub trait Queued: AsMut<Link> {
    /// The page of the member that it reads or writes.
    fn page(&self) -> u32;
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: OperationId,
    last: OperationId,
    /// The last operation that was refused since the member was last ready: operations up to it are not offered again.
    offered: OperationId,
    /// Whether the list is closed: none of it is offered until the member is ready.
    closed: bool,
}

impl List {
    const EMPTY: Self =
        Self { first: OperationId::NONE, last: OperationId::NONE, offered: OperationId::NONE, closed: false };

    /// The operation in front of `id`, or [`OperationId::NONE`] if it is the first; `None` if it is not in this list.
    fn in_front_of(&self, id: OperationId, links: &mut [impl AsMut<Link>]) -> Option<OperationId> {
        let (mut before, mut at) = (OperationId::NONE, self.first);
        while at != id {
            if at.is_none() {
                return None;
            }
            (before, at) = (at, links[at.index()].as_mut().next);
        }
        Some(before)
    }

    /// Puts `id` behind the last operation.
    #[inline]
    fn append(&mut self, id: OperationId, links: &mut [impl AsMut<Link>]) {
        links[id.index()].as_mut().next = OperationId::NONE;
        if self.last.is_none() {
            self.first = id;
        } else {
            links[self.last.index()].as_mut().next = id;
        }
        self.last = id;
    }

    /// Puts `id` behind the operations whose key is at most its own.
    fn insert<L: Queued>(
        &mut self,
        id: OperationId,
        links: &mut [L],
        key: impl Fn(&[L], OperationId) -> u64,
    ) {
        let own = key(links, id);
        let (mut before, mut at) = (OperationId::NONE, self.first);
        while !at.is_none() && key(links, at) <= own {
            (before, at) = (at, links[at.index()].as_mut().next);
        }
        if at.is_none() {
            return self.append(id, links);
        }
        links[id.index()].as_mut().next = at;
        if before.is_none() {
            self.first = id;
        } else {
            links[before.index()].as_mut().next = id;
        }
        // Those up to it were refused before it came.
        self.offered = OperationId::NONE;
    }

    /// Removes `id`, which is behind `before`.
    #[inline]
    fn unlink(&mut self, before: OperationId, id: OperationId, links: &mut [impl AsMut<Link>]) {
        let next = links[id.index()].as_mut().next;
        if before.is_none() {
            self.first = next;
        } else {
            links[before.index()].as_mut().next = next;
        }
        if self.last == id {
            self.last = before;
        }
    }
}

/// Lists of a member: reads (or everything, in order of arrival), then writes.
pub const LEVELS: usize = 2;

/// The queues of all members, and the members that may have an operation to start.
#[derive(Debug)]
pub struct Queues {
    lists: Vec<[List; LEVELS]>,
    ready: Vec<u64>,
    order: QueueOrder,
    /// In rounds: the lists of the next round.
    later: Vec<[List; LEVELS]>,
    /// In rounds: whether no operation of the round was taken yet, so that new operations belong to it.
    is_open: Vec<bool>,
    /// For C-LOOK: the page of the last operation that was taken. For custom ranks: unused entries.
    swept: Vec<u32>,
    /// For custom ranks: the rank of each operation, by its number.
    ranks: Vec<u64>,
}

impl Queues {
    /// Empty queues, one for each member.
    pub fn new(members: u32, order: QueueOrder) -> Self {
        let members_if = |used| if used { members as usize } else { 0 };
        let rounds = members_if(order == QueueOrder::Rounds);
        Self {
            lists: vec![[List::EMPTY; LEVELS]; members as usize],
            ready: vec![0; members.div_ceil(64) as usize],
            order,
            later: vec![[List::EMPTY; LEVELS]; rounds],
            is_open: vec![true; rounds],
            swept: vec![0; members_if(matches!(order, QueueOrder::CLook | QueueOrder::Custom))],
            ranks: Vec::new(),
        }
    }

    /// Whether reads and writes share a list.
    #[inline]
    pub fn is_mixed(&self) -> bool {
        matches!(self.order, QueueOrder::Arrival | QueueOrder::CLook | QueueOrder::Custom)
    }

    /// Sets the rank of an operation before it is queued, under custom ranks.
    pub fn set_rank(&mut self, id: OperationId, rank: u64) {
        if self.ranks.len() <= id.index() {
            self.ranks.resize(id.index() + 1, 0);
        }
        self.ranks[id.index()] = rank;
    }

    /// Marks that the member may accept operations that it refused.
    #[inline]
    pub fn reopen(&mut self, member: MemberNo) {
        for list in &mut self.lists[member.index()] {
            list.offered = OperationId::NONE;
            list.closed = false;
        }
        self.mark_ready(member);
    }

    /// Marks a member to be offered its queue.
    #[inline]
    fn mark_ready(&mut self, member: MemberNo) {
        self.ready[member.index() / 64] |= 1 << (member.index() % 64);
    }

    /// Takes the lowest-numbered marked member.
    #[inline]
    pub fn take_ready(&mut self) -> Option<MemberNo> {
        for (word, bits) in self.ready.iter_mut().enumerate() {
            if *bits != 0 {
                let bit = bits.trailing_zeros();
                *bits &= *bits - 1;
                return Some(MemberNo::new((word as u32 * 64 + bit) as u16));
            }
        }
        None
    }

    /// Adds operation `id` to those of its kind.
    #[inline]
    pub fn push(&mut self, member: MemberNo, is_read: bool, id: OperationId, links: &mut [impl Queued]) {
        let level = usize::from(!is_read && !self.is_mixed());
        let comes_late = self.order == QueueOrder::Rounds && !self.is_open[member.index()];
        let lists = if comes_late { &mut self.later } else { &mut self.lists };
        let list = &mut lists[member.index()][level];
        match self.swept.get(member.index()) {
            Some(_) if self.order == QueueOrder::Custom => {
                let ranks = &self.ranks;
                list.insert(id, links, |_, id| ranks.get(id.index()).copied().unwrap_or(0));
            }
            // Pages that an upward sweep from the last one reaches first.
            Some(&from) => {
                list.insert(id, links, |links, id| links[id.index()].page().wrapping_sub(from).into());
            }
            None => list.append(id, links),
        }
        if !list.closed && !comes_late {
            self.mark_ready(member);
        }
    }

    /// Whether a list has an operation to offer.
    #[inline]
    pub fn has_offer(&self, member: MemberNo, level: usize) -> bool {
        let list = &self.lists[member.index()][level];
        !list.closed && list.offered != list.last
    }

    /// The next operation of a list to offer, and the operation in front of it.
    #[inline]
    pub fn next_offer(
        &self,
        member: MemberNo,
        level: usize,
        links: &mut [impl AsMut<Link>],
    ) -> (OperationId, OperationId) {
        let list = &self.lists[member.index()][level];
        if list.closed {
            (OperationId::NONE, OperationId::NONE)
        } else if list.offered.is_none() {
            (OperationId::NONE, list.first)
        } else {
            (list.offered, links[list.offered.index()].as_mut().next)
        }
    }

    /// Records that everything up to `offered` was refused, and whether the rest need not be offered either.
    #[inline]
    pub fn refused(&mut self, member: MemberNo, level: usize, offered: OperationId, closed: bool) {
        let list = &mut self.lists[member.index()][level];
        list.offered = offered;
        list.closed = closed;
    }

    /// Removes the first operation from a member's queue.
    pub fn take_any(&mut self, member: MemberNo, links: &mut [impl Queued]) -> Option<OperationId> {
        let level = (0..LEVELS).find(|&level| !self.lists[member.index()][level].first.is_none())?;
        let id = self.lists[member.index()][level].first;
        self.take(member, level, OperationId::NONE, id, links);
        Some(id)
    }

    /// Removes `id` from its list; `before` is the operation in front of it, or [`OperationId::NONE`].
    #[inline]
    pub fn take(
        &mut self,
        member: MemberNo,
        level: usize,
        before: OperationId,
        id: OperationId,
        links: &mut [impl Queued],
    ) {
        self.lists[member.index()][level].unlink(before, id, links);
        if let Some(swept) = self.swept.get_mut(member.index()) {
            *swept = links[id.index()].page();
        }
        if self.order == QueueOrder::Rounds {
            self.taken(member);
        }
    }

    /// Removes `id`, which waits in the member's queue.
    pub fn take_back(&mut self, member: MemberNo, id: OperationId, links: &mut [impl AsMut<Link>]) {
        for level in 0..LEVELS {
            let list = &mut self.lists[member.index()][level];
            if let Some(before) = list.in_front_of(id, links) {
                if list.offered == id {
                    list.offered = before;
                }
                list.unlink(before, id, links);
                if self.order == QueueOrder::Rounds {
                    let is_open = self.is_open[member.index()];
                    self.taken(member);
                    self.is_open[member.index()] |= is_open;
                }
                return;
            }
            let later = self.later.get_mut(member.index()).map(|lists| &mut lists[level]);
            if let Some(list) = later
                && let Some(before) = list.in_front_of(id, links)
            {
                return list.unlink(before, id, links);
            }
        }
    }

    /// An operation of the round was taken: the round is closed now, and if it is over the next begins.
    fn taken(&mut self, member: MemberNo) {
        let lists = &mut self.lists[member.index()];
        let is_over = lists.iter().all(|list| list.first.is_none());
        self.is_open[member.index()] = is_over;
        if is_over {
            *lists = std::mem::replace(&mut self.later[member.index()], [List::EMPTY; LEVELS]);
            self.mark_ready(member);
        }
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[derive(Clone, Default)]
    struct Slot(Link, u32);

    impl AsMut<Link> for Slot {
        fn as_mut(&mut self) -> &mut Link {
            &mut self.0
        }
    }

    impl Queued for Slot {
        fn page(&self) -> u32 {
            self.1
        }
    }

    fn push(queues: &mut Queues, is_read: bool, id: u32, slots: &mut [Slot]) {
        queues.push(MemberNo::new(0), is_read, OperationId::new(id), slots);
    }

    /// Takes the first operation that the member would be offered and accepts.
    fn take(queues: &mut Queues, slots: &mut [Slot]) -> Option<u32> {
        queues.reopen(MemberNo::new(0));
        (0..LEVELS).find_map(|level| {
            let (before, id) = queues.next_offer(MemberNo::new(0), level, slots);
            (!id.is_none())
                .then(|| queues.take(MemberNo::new(0), level, before, id, slots))
                .map(|()| id.number())
        })
    }

    #[test]
    fn a_write_waits_behind_reads_then_pending_but_not_behind_those_that_come_later() {
        // Writes 0 and 3, reads 1 and 2; 2 and 3 arrive when the first was taken.
        let given = |order: QueueOrder| {
            let (mut queues, mut slots) = (Queues::new(1, order), vec![Slot::default(); 4]);
            push(&mut queues, false, 0, &mut slots);
            push(&mut queues, true, 1, &mut slots);
            let mut given = vec![take(&mut queues, &mut slots)];
            push(&mut queues, true, 2, &mut slots);
            push(&mut queues, false, 3, &mut slots);
            given.extend((0..3).map(|_| take(&mut queues, &mut slots)));
            given.into_iter().flatten().collect::<Vec<_>>()
        };
        assert_eq!(given(QueueOrder::Arrival), [0, 1, 2, 3]);
        assert_eq!(given(QueueOrder::ReadFirst), [1, 2, 0, 3]);
        assert_eq!(given(QueueOrder::Rounds), [1, 0, 2, 3]);
    }

    #[test]
    fn every_order_gives_what_a_plain_list_sorted_by_its_rule_gives() {
        for seed in 0..200 {
            let mut prng = Prng::new(seed);
            use QueueOrder::{Arrival, CLook, Custom, ReadFirst, Rounds};
            for order in [Arrival, ReadFirst, Rounds, CLook, Custom] {
                let (mut queues, mut slots) = (Queues::new(1, order), vec![Slot::default(); 300]);
                slots.iter_mut().for_each(|slot| slot.1 = prng.below(50) as u32);
                let distance = |slots: &[Slot], id: u32, from: u32| match order {
                    CLook => slots[id as usize].1.wrapping_sub(from),
                    // Each operation has its page as its rank.
                    Custom => slots[id as usize].1,
                    Arrival | ReadFirst | Rounds => 0,
                };
                // Round, whether it is a write, and its arrival: the least is taken next, of those at the least distance.
                let mut list: Vec<(u32, bool, u32)> = Vec::new();
                let (mut taken_of, mut next, mut swept) = (0, 0, 0);
                while next < 300 || !list.is_empty() {
                    if next < 300 && prng.chance(1, 2) {
                        let is_write = prng.chance(1, 2);
                        // A round that was begun accepts no more operations.
                        let round = if order == Rounds { taken_of + 1 } else { 0 };
                        queues.set_rank(OperationId::new(next), slots[next as usize].1.into());
                        push(&mut queues, !is_write, next, &mut slots);
                        list.push((round, is_write && !queues.is_mixed(), next));
                        next += 1;
                    } else if let Some(&least) =
                        list.iter().min_by_key(|one| (distance(&slots, one.2, swept), **one))
                    {
                        list.retain(|&one| one != least);
                        (taken_of, swept) = (least.0, slots[least.2 as usize].1);
                        assert_eq!(take(&mut queues, &mut slots), Some(least.2), "{order:?}, seed {seed}");
                    } else {
                        assert_eq!(take(&mut queues, &mut slots), None);
                    }
                }
            }
        }
    }

    #[test]
    fn a_sweep_goes_upwards_and_then_from_the_lowest_page() {
        let (mut queues, mut slots) = (Queues::new(1, QueueOrder::CLook), vec![Slot::default(); 6]);
        for (id, page) in [50, 10, 90, 50, 70, 20].into_iter().enumerate() {
            slots[id].1 = page;
        }
        (0..4).for_each(|id| push(&mut queues, id != 0, id, &mut slots));
        let mut taken: Vec<_> = (0..2).map(|_| take(&mut queues, &mut slots)).collect();
        // At page 50: what comes above joins the sweep, what comes below waits for the next one.
        (4..6).for_each(|id| push(&mut queues, true, id, &mut slots));
        taken.extend((0..4).map(|_| take(&mut queues, &mut slots)));
        assert_eq!(taken, [1, 0, 3, 4, 2, 5].map(Some));
    }

    #[test]
    fn what_comes_before_refused_operations_of_a_sweep_is_offered() {
        let (mut queues, mut slots) = (Queues::new(1, QueueOrder::CLook), vec![Slot::default(); 2]);
        (slots[0].1, slots[1].1) = (50, 10);
        push(&mut queues, true, 0, &mut slots);
        let (first, second) = (OperationId::new(0), OperationId::new(1));
        queues.refused(MemberNo::new(0), 0, first, false);
        assert_eq!(queues.next_offer(MemberNo::new(0), 0, &mut slots), (first, OperationId::NONE));
        push(&mut queues, true, 1, &mut slots);
        assert_eq!(queues.next_offer(MemberNo::new(0), 0, &mut slots), (OperationId::NONE, second));
    }

    #[test]
    fn a_lost_member_fails_every_operation_once_whatever_round_it_is_in() {
        let (mut queues, mut slots) = (Queues::new(1, QueueOrder::Rounds), vec![Slot::default(); 6]);
        (0..3).for_each(|id| push(&mut queues, id == 1, id, &mut slots));
        assert_eq!(take(&mut queues, &mut slots), Some(1));
        (3..6).for_each(|id| push(&mut queues, id == 5, id, &mut slots));
        let all: Vec<_> = std::iter::from_fn(|| queues.take_any(MemberNo::new(0), &mut slots)).collect();
        assert_eq!(all, [0, 2, 5, 3, 4].map(OperationId::new));
    }
}
