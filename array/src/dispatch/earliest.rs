//! Which request that waits came first, for each element.
//!
//! Source: paper 002, section III-D (the array AT, "by searching the queue monitor"). Instead of a search for each question the
//! first of every element is kept: it only ever moves on, so that each request is looked at once an element at most.

use std::collections::VecDeque;

use super::elements::ElementSet;
use crate::ids::NONE;

/// No place in the order of arrival.
const NOWHERE: u64 = u64::MAX;

/// The requests that wait, in order of arrival.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// For each request the elements that it is for, and its place in the order.
    targets: Vec<ElementSet>,
    places: Vec<u64>,
    /// Requests by place, from `first_place` on; [`NONE`] where one is gone.
    order: VecDeque<u32>,
    first_place: u64,
    /// For each element the place of the first that is for it.
    firsts: Vec<u64>,
}

impl Earliest {
    pub(crate) fn new(requests: u32, elements: u32) -> Self {
        let requests = requests as usize;
        Self {
            targets: vec![ElementSet::default(); requests],
            places: vec![NOWHERE; requests],
            order: VecDeque::with_capacity(requests),
            first_place: 0,
            firsts: vec![NOWHERE; elements as usize],
        }
    }

    /// Request `id` waits, behind all others.
    pub(crate) fn add(&mut self, id: u32, targets: ElementSet) {
        let place = self.first_place + self.order.len() as u64;
        self.order.push_back(id);
        self.places[id as usize] = place;
        self.targets[id as usize] = targets;
        for element in targets.iter() {
            let first = &mut self.firsts[element as usize];
            *first = (*first).min(place);
        }
    }

    /// Request `id` waits no longer, if it did.
    pub(crate) fn remove(&mut self, id: u32) {
        let place = std::mem::replace(&mut self.places[id as usize], NOWHERE);
        if place == NOWHERE {
            return;
        }
        self.order[(place - self.first_place) as usize] = NONE;
        for element in self.targets[id as usize].iter() {
            if self.firsts[element as usize] == place {
                self.firsts[element as usize] = self.next_for(element, place + 1);
            }
        }
        while self.order.front() == Some(&NONE) {
            self.order.pop_front();
            self.first_place += 1;
        }
    }

    /// The first request that waits for `element`, `except` one.
    #[inline]
    pub(crate) fn of(&self, element: u16, except: u32) -> Option<u32> {
        let mut place = self.firsts[element as usize];
        if place != NOWHERE && self.order[(place - self.first_place) as usize] == except {
            place = self.next_for(element, place + 1);
        }
        (place != NOWHERE).then(|| self.order[(place - self.first_place) as usize])
    }

    /// The place of the first request for `element` from `place` on.
    fn next_for(&self, element: u16, place: u64) -> u64 {
        let from = (place - self.first_place) as usize;
        let is_for = |id: u32| id != NONE && self.targets[id as usize].contains(element);
        let found = self.order.range(from..).position(|&id| is_for(id));
        found.map_or(NOWHERE, |ahead| place + ahead as u64)
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn the_first_for_an_element_is_that_of_a_plain_list() {
        for seed in 0..100 {
            let mut prng = Prng::new(seed);
            let mut earliest = Earliest::new(40, 5);
            let mut list: Vec<(u32, ElementSet)> = Vec::new();
            let mut free: Vec<u32> = (0..40).collect();
            for _ in 0..500 {
                if prng.chance(1, 2)
                    && let Some(id) = free.pop()
                {
                    let mut targets = ElementSet::default();
                    (0..prng.below(4)).for_each(|_| targets.insert(prng.below(5) as u16));
                    earliest.add(id, targets);
                    list.push((id, targets));
                } else if !list.is_empty() {
                    let (id, _) = list.remove(prng.below(list.len() as u64) as usize);
                    earliest.remove(id);
                    earliest.remove(id);
                    free.push(id);
                }
                let except = prng.below(40) as u32;
                for element in 0..5 {
                    let mut those = list.iter().filter(|(_, targets)| targets.contains(element));
                    assert_eq!(
                        earliest.of(element, NONE),
                        those.clone().next().map(|one| one.0),
                        "seed {seed}"
                    );
                    let other = those.find(|&&(id, _)| id != except).map(|one| one.0);
                    assert_eq!(earliest.of(element, except), other, "seed {seed}");
                }
            }
        }
    }
}
