//! The order of writes to one page, where the writes of a row need not wait for one another: each write stands in line behind
//! the writes of its page that came before it, and only the first in line may start.

use stripewise_core::ids::PlanId;

/// A write's place in the line of one page.
#[derive(Clone, Copy, Debug)]
struct Turn {
    before: PlanId,
    behind: PlanId,
    /// Whether the write completes its content with that of the write before it.
    fills: bool,
}

const VACANT: Turn = Turn { before: PlanId::NONE, behind: PlanId::NONE, fills: false };

/// The write that is first in line now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct First {
    /// Its plan.
    pub(crate) plan: PlanId,
    /// Whether it completes its content with that of the write before it.
    pub(crate) fills: bool,
}

/// The lines of all pages to which writes that share rows are in progress.
#[derive(Debug)]
pub(crate) struct PageOrder {
    /// For each plan and data column.
    turns: Vec<Turn>,
    /// For each entry of the parity window and data column: the last plan in line, if there is one.
    last: Vec<PlanId>,
    data: u32,
}

impl PageOrder {
    pub(crate) fn new(plans: u32, entries: u32, data: u32) -> Self {
        let of = |count: u32| count as usize * data as usize;
        Self { turns: vec![VACANT; of(plans)], last: vec![PlanId::NONE; of(entries)], data }
    }

    fn at(&self, index: u32, column: u32) -> usize {
        (index * self.data + column) as usize
    }

    /// Columns of a row that have writes in line; `entry` is the row's entry of the parity window.
    pub(crate) fn columns(&self, entry: u32) -> u64 {
        let last = &self.last[self.at(entry, 0)..][..self.data as usize];
        last.iter().enumerate().fold(0, |mask, (column, &plan)| mask | u64::from(!plan.is_none()) << column)
    }

    /// Puts the write of `column` by `plan` in line; `fills` means that it takes what it lacks from the write before it.
    pub(crate) fn join(&mut self, entry: u32, plan: PlanId, column: u32, fills: bool) {
        let last = self.at(entry, column);
        let before = std::mem::replace(&mut self.last[last], plan);
        let turn = self.at(plan.number(), column);
        self.turns[turn] = Turn { before, behind: PlanId::NONE, fills };
        if !before.is_none() {
            let before = self.at(before.number(), column);
            self.turns[before].behind = plan;
        }
    }

    /// The write of `column` by `plan` leaves the line. Returns the write behind it if it is first now.
    pub(crate) fn leave(&mut self, entry: u32, plan: PlanId, column: u32) -> Option<First> {
        let turn = self.at(plan.number(), column);
        let Turn { before, behind, .. } = std::mem::replace(&mut self.turns[turn], VACANT);
        if behind.is_none() {
            let last = self.at(entry, column);
            debug_assert_eq!(self.last[last], plan);
            self.last[last] = before;
        } else {
            let next = self.at(behind.number(), column);
            self.turns[next].before = before;
        }
        if !before.is_none() {
            let previous = self.at(before.number(), column);
            self.turns[previous].behind = behind;
            return None;
        }
        (!behind.is_none())
            .then(|| First { plan: behind, fills: self.turns[self.at(behind.number(), column)].fills })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_page_is_written_in_the_order_of_its_writes(steps in prop::collection::vec((0u32..6, any::<bool>()), 1..200)) {
            let mut order = PageOrder::new(6, 2, 3);
            let mut line = VecDeque::new();
            for (plan, fills) in steps {
                let plan = PlanId::new(plan);
                if let Some(at) = line.iter().position(|&(other, _)| other == plan) {
                    line.remove(at);
                    let first = line.front().filter(|_| at == 0).map(|&(plan, fills)| First { plan, fills });
                    prop_assert_eq!(order.leave(1, plan, 2), first);
                } else {
                    order.join(1, plan, 2, fills);
                    line.push_back((plan, fills));
                }
                prop_assert_eq!(order.columns(1), if line.is_empty() { 0 } else { 4 });
                prop_assert_eq!(order.columns(0), 0);
            }
        }
    }
}
