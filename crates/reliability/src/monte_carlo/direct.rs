//! Simulates whole lives of an array, member by member.

use std::collections::VecDeque;

use stripewise_base::prng::Prng;

use super::{Estimate, LOSSES_MIN, Moments, NoEstimate, Patience, exponential};
use crate::{Model, Repair};

/// Simulates `histories` arrays from whole to their loss of data, each member with clocks of its own. Takes some
/// (μ/λ)^parity events each; `may_continue` is called from time to time.
///
/// # Errors
/// [`NoEstimate::FewLosses`], [`NoEstimate::Stopped`].
pub fn direct(
    model: &Model,
    histories: u64,
    seed: u64,
    may_continue: &mut dyn FnMut() -> bool,
) -> Result<Estimate, NoEstimate> {
    if histories < LOSSES_MIN {
        return Err(NoEstimate::FewLosses { losses: histories, samples: histories });
    }
    let mut patience = Patience::new(may_continue);
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

/// The life of one array.
struct Life<'a> {
    model: &'a Model,
    prng: &'a mut Prng,
    members: Vec<SimulatedMember>,
    groups: Vec<Group>,
}

/// A member, and the time of its next change: a working member fails, a failed one works again. A member that waits
/// for its repair has no next change.
#[derive(Clone, Copy)]
struct SimulatedMember {
    works: bool,
    changes: f64,
}

#[derive(Clone, Default)]
struct Group {
    failed: u32,
    /// Failed members whose repair has not begun.
    waiting: VecDeque<usize>,
}

impl<'a> Life<'a> {
    fn new(model: &'a Model, prng: &'a mut Prng) -> Self {
        let count = model.members as usize * model.groups as usize;
        let rate = model.failures_per_year;
        let members =
            (0..count).map(|_| SimulatedMember { works: true, changes: exponential(prng, rate) }).collect();
        Self { model, prng, members, groups: vec![Group::default(); model.groups as usize] }
    }

    fn years_to_loss(mut self, patience: &mut Patience<'_>) -> Result<f64, NoEstimate> {
        loop {
            patience.event()?;
            let changes = |member: &SimulatedMember| member.changes;
            let next = (1..self.members.len()).fold(0, |first, at| {
                if changes(&self.members[at]) < changes(&self.members[first]) { at } else { first }
            });
            let now = self.members[next].changes;
            if self.members[next].works {
                self.fails(next, now);
                if self.groups[self.group_of(next)].failed > self.model.parity {
                    return Ok(now);
                }
            } else {
                self.is_repaired(next, now);
            }
        }
    }

    fn group_of(&self, member: usize) -> usize {
        member / self.model.members as usize
    }

    fn fails(&mut self, member: usize, now: f64) {
        let at = self.group_of(member);
        let group = &mut self.groups[at];
        group.failed += 1;
        let all_under_way = self.model.repair == Repair::Parallel;
        let begins = all_under_way || group.failed == 1;
        if !begins {
            group.waiting.push_back(member);
        }
        let repaired =
            if begins { now + exponential(self.prng, self.model.repairs_per_year) } else { f64::INFINITY };
        self.members[member] = SimulatedMember { works: false, changes: repaired };
    }

    fn is_repaired(&mut self, member: usize, now: f64) {
        let at = self.group_of(member);
        self.works_again(member, now);
        match self.model.repair {
            Repair::Parallel => {}
            Repair::Single => {
                if let Some(next) = self.groups[at].waiting.pop_front() {
                    self.members[next].changes = now + exponential(self.prng, self.model.repairs_per_year);
                }
            }
            Repair::Together => {
                while let Some(next) = self.groups[at].waiting.pop_front() {
                    self.works_again(next, now);
                }
            }
        }
    }

    fn works_again(&mut self, member: usize, now: f64) {
        let at = self.group_of(member);
        self.groups[at].failed -= 1;
        let fails = now + exponential(self.prng, self.model.failures_per_year);
        self.members[member] = SimulatedMember { works: true, changes: fails };
    }
}
