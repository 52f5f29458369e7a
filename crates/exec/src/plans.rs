//! The arena of plans, and those of what placements keep with plans.

use std::ops::{Index, IndexMut};

use stripewise_core::ids::PlanId;

use crate::plan::Plan;

/// The plans of hosts, and after them those that the placement owns.
#[derive(Debug)]
pub struct Plans {
    all: Vec<Plan>,
    /// The first of those that the placement owns.
    own: PlanId,
    /// The number of plans that write data and defer its parity.
    deferring: u32,
}

impl Plans {
    /// `plans` free plans, linked to one another, and `own` plans that are never free.
    pub fn new(plans: u32, own: u32) -> Self {
        let next = |number: u32| if number < plans { PlanId::new(number) } else { PlanId::NONE };
        let all = (1..=plans + own).map(|number| Plan::vacant(next(number))).collect();
        Self { all, own: PlanId::new(plans), deferring: 0 }
    }

    /// Whether the placement owns `plan`, which is never free.
    #[inline]
    pub fn is_own(&self, plan: PlanId) -> bool {
        plan >= self.own
    }

    /// Lets `plan` defer the parity of the data that it writes, or no longer.
    #[inline]
    pub(crate) fn set_defers(&mut self, plan: PlanId, defers: bool) {
        let before = std::mem::replace(&mut self[plan].defers, defers);
        self.deferring = self.deferring + u32::from(defers) - u32::from(before);
    }

    /// Whether a plan under way defers the parity of the data that it writes.
    #[inline]
    pub fn is_any_deferring(&self) -> bool {
        debug_assert_eq!(self.deferring as usize, self.all.iter().filter(|plan| plan.defers).count());
        self.deferring > 0
    }

    /// Their number.
    pub fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// All slots, in order.
    pub fn ids(&self) -> impl Iterator<Item = PlanId> + Clone + use<> {
        (0..self.count()).map(PlanId::new)
    }

    /// All plans, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Plan> {
        self.all.iter()
    }
}

impl Index<PlanId> for Plans {
    type Output = Plan;

    #[inline]
    fn index(&self, id: PlanId) -> &Plan {
        &self.all[id.index()]
    }
}

impl IndexMut<PlanId> for Plans {
    #[inline]
    fn index_mut(&mut self, id: PlanId) -> &mut Plan {
        &mut self.all[id.index()]
    }
}

/// What a placement keeps with each plan: its job. A job is the default one when its plan is taken, and the placement makes it
/// so again when the plan is freed.
#[derive(Debug)]
pub struct Jobs<J>(Vec<J>);

impl<J: Clone + Default> Jobs<J> {
    /// The jobs of `plans` plans.
    pub fn new(plans: u32) -> Self {
        Self(vec![J::default(); plans as usize])
    }

    /// The job of `plan` is the default one again.
    #[inline]
    pub fn clear(&mut self, plan: PlanId) {
        self[plan] = J::default();
    }
}

impl<J> Index<PlanId> for Jobs<J> {
    type Output = J;

    #[inline]
    fn index(&self, plan: PlanId) -> &J {
        &self.0[plan.index()]
    }
}

impl<J> IndexMut<PlanId> for Jobs<J> {
    #[inline]
    fn index_mut(&mut self, plan: PlanId) -> &mut J {
        &mut self.0[plan.index()]
    }
}
