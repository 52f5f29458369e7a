//! The earliest waiting request for each member.
//!
//! Source: paper 002, section III-D (the array AT, "by searching the queue monitor"). Instead of a search for each query, the
//! first request of every member is kept: it only ever moves forward, so that each request is examined at most once for each
//! member.

use std::collections::VecDeque;

use stripewise_core::ids::{MemberNo, RequestId};

use super::members::MemberSet;

/// No place in the order of arrival.
const NOWHERE: u64 = u64::MAX;

/// The waiting requests, in order of arrival.
#[derive(Debug)]
pub struct Earliest {
    /// For each request its target members, and its place in the order.
    targets: Vec<MemberSet>,
    places: Vec<u64>,
    /// Requests by place, from `first_place` on; [`RequestId::NONE`] where a request was removed.
    order: VecDeque<RequestId>,
    first_place: u64,
    /// For each member the place of the first request that targets it.
    firsts: Vec<u64>,
}

impl Earliest {
    /// No waiting requests yet, of at most `requests` over `members` members.
    pub fn new(requests: u32, members: u32) -> Self {
        let requests = requests as usize;
        Self {
            targets: vec![MemberSet::default(); requests],
            places: vec![NOWHERE; requests],
            order: VecDeque::with_capacity(requests),
            first_place: 0,
            firsts: vec![NOWHERE; members as usize],
        }
    }

    /// Adds request `id`, which waits, after all others.
    pub fn add(&mut self, id: RequestId, targets: MemberSet) {
        let place = self.first_place + self.order.len() as u64;
        self.order.push_back(id);
        self.places[id.index()] = place;
        self.targets[id.index()] = targets;
        for member in targets.iter() {
            let first = &mut self.firsts[member.index()];
            *first = (*first).min(place);
        }
    }

    /// Removes request `id`, if it waits.
    pub fn remove(&mut self, id: RequestId) {
        let place = std::mem::replace(&mut self.places[id.index()], NOWHERE);
        if place == NOWHERE {
            return;
        }
        self.order[(place - self.first_place) as usize] = RequestId::NONE;
        for member in self.targets[id.index()].iter() {
            if self.firsts[member.index()] == place {
                self.firsts[member.index()] = self.next_for(member, place + 1);
            }
        }
        while self.order.front() == Some(&RequestId::NONE) {
            self.order.pop_front();
            self.first_place += 1;
        }
    }

    /// The first request that waits for `member`, `except` one.
    #[inline]
    pub fn of(&self, member: MemberNo, except: RequestId) -> Option<RequestId> {
        let mut place = self.firsts[member.index()];
        if place != NOWHERE && self.order[(place - self.first_place) as usize] == except {
            place = self.next_for(member, place + 1);
        }
        (place != NOWHERE).then(|| self.order[(place - self.first_place) as usize])
    }

    /// The place of the first request for `member` from `place` on.
    fn next_for(&self, member: MemberNo, place: u64) -> u64 {
        let from = (place - self.first_place) as usize;
        let is_for = |id: RequestId| id != RequestId::NONE && self.targets[id.index()].contains(member);
        let found = self.order.range(from..).position(|&id| is_for(id));
        found.map_or(NOWHERE, |ahead| place + ahead as u64)
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn the_first_for_a_member_is_that_of_a_plain_list() {
        for seed in 0..100 {
            let mut prng = Prng::new(seed);
            let mut earliest = Earliest::new(40, 5);
            let mut list: Vec<(RequestId, MemberSet)> = Vec::new();
            let mut free: Vec<RequestId> = (0..40).map(RequestId::new).collect();
            for _ in 0..500 {
                if prng.chance(1, 2)
                    && let Some(id) = free.pop()
                {
                    let mut targets = MemberSet::default();
                    (0..prng.below(4)).for_each(|_| targets.insert(MemberNo::new(prng.below(5) as u16)));
                    earliest.add(id, targets);
                    list.push((id, targets));
                } else if !list.is_empty() {
                    let (id, _) = list.remove(prng.below(list.len() as u64) as usize);
                    earliest.remove(id);
                    earliest.remove(id);
                    free.push(id);
                }
                let except = RequestId::new(prng.below(40) as u32);
                for member in 0..5 {
                    let mut those =
                        list.iter().filter(|(_, targets)| targets.contains(MemberNo::new(member)));
                    assert_eq!(
                        earliest.of(MemberNo::new(member), RequestId::NONE),
                        those.clone().next().map(|one| one.0),
                        "seed {seed}"
                    );
                    let other = those.find(|&&(id, _)| id != except).map(|one| one.0);
                    assert_eq!(earliest.of(MemberNo::new(member), except), other, "seed {seed}");
                }
            }
        }
    }
}
