//! Whole lives of an array, element by element.

use std::collections::VecDeque;

use stripewise_base::prng::Prng;

use super::{Estimate, LOSSES_MIN, Moments, NoEstimate, Patience, exponential};
use crate::{Model, Repair};

/// Plays `histories` arrays from whole to their loss of data, each element with clocks of its own. Some
/// (μ/λ)^parity events each; `go_on` is asked now and then.
///
/// # Errors
/// [`NoEstimate::FewLosses`], [`NoEstimate::Stopped`].
pub fn direct(
    model: &Model,
    histories: u64,
    seed: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Estimate, NoEstimate> {
    if histories < LOSSES_MIN {
        return Err(NoEstimate::FewLosses { losses: histories, samples: histories });
    }
    let mut patience = Patience::new(go_on);
    let mut prng = Prng::new(seed);
    let mut lives = Moments::default();
    for _ in 0..histories {
        lives.add(Life::new(model, &mut prng).years_to_loss(&mut patience)?);
    }
    Ok(Estimate {
        mean_years: lives.mean,
        standard_error_years: lives.variance_of_mean().sqrt(),
        samples: histories,
    })
}

/// One array.
struct Life<'a> {
    model: &'a Model,
    prng: &'a mut Prng,
    elements: Vec<Element>,
    groups: Vec<Group>,
}

/// An element, and when it changes next: fails if it works, works if it failed. One that waits for its repair changes
/// never.
#[derive(Clone, Copy)]
struct Element {
    works: bool,
    changes: f64,
}

#[derive(Clone, Default)]
struct Group {
    failed: u32,
    /// Failed elements whose repair has not begun.
    waiting: VecDeque<usize>,
}

impl<'a> Life<'a> {
    fn new(model: &'a Model, prng: &'a mut Prng) -> Self {
        let count = model.elements as usize * model.groups as usize;
        let rate = model.failures_per_year;
        let elements =
            (0..count).map(|_| Element { works: true, changes: exponential(prng, rate) }).collect();
        Self { model, prng, elements, groups: vec![Group::default(); model.groups as usize] }
    }

    fn years_to_loss(mut self, patience: &mut Patience<'_>) -> Result<f64, NoEstimate> {
        loop {
            patience.event()?;
            let changes = |element: &Element| element.changes;
            let next = (1..self.elements.len()).fold(0, |first, at| {
                if changes(&self.elements[at]) < changes(&self.elements[first]) { at } else { first }
            });
            let now = self.elements[next].changes;
            if self.elements[next].works {
                self.fails(next, now);
                if self.groups[self.group_of(next)].failed > self.model.parity {
                    return Ok(now);
                }
            } else {
                self.is_repaired(next, now);
            }
        }
    }

    fn group_of(&self, element: usize) -> usize {
        element / self.model.elements as usize
    }

    fn fails(&mut self, element: usize, now: f64) {
        let at = self.group_of(element);
        let group = &mut self.groups[at];
        group.failed += 1;
        let all_under_way = self.model.repair == Repair::Parallel;
        let begins = all_under_way || group.failed == 1;
        if !begins {
            group.waiting.push_back(element);
        }
        let repaired =
            if begins { now + exponential(self.prng, self.model.repairs_per_year) } else { f64::INFINITY };
        self.elements[element] = Element { works: false, changes: repaired };
    }

    fn is_repaired(&mut self, element: usize, now: f64) {
        let at = self.group_of(element);
        self.works_again(element, now);
        match self.model.repair {
            Repair::Parallel => {}
            Repair::Single => {
                if let Some(next) = self.groups[at].waiting.pop_front() {
                    self.elements[next].changes = now + exponential(self.prng, self.model.repairs_per_year);
                }
            }
            Repair::Together => {
                while let Some(next) = self.groups[at].waiting.pop_front() {
                    self.works_again(next, now);
                }
            }
        }
    }

    fn works_again(&mut self, element: usize, now: f64) {
        let at = self.group_of(element);
        self.groups[at].failed -= 1;
        let fails = now + exponential(self.prng, self.model.failures_per_year);
        self.elements[element] = Element { works: true, changes: fails };
    }
}
