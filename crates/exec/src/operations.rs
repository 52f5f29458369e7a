//! The operations of plans: steps with one operation for each column, and what the steps of a plan change.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::Place;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationId, OperationKind};
use stripewise_format::FailReason;

use crate::Executor;
use crate::plan::{Purpose, Step};
use crate::row_locks::RowLock;

impl<M: Memory> Executor<M> {
    /// Appends a step with one operation for each column of `mask`.
    #[inline]
    pub fn push_operations(
        &mut self,
        plan: PlanId,
        mask: u64,
        kind: OperationKind,
        class: impl Fn(u32) -> Class,
        place: Place,
    ) {
        let stale = self.has_bug(Bug::LateVersionDecoded);
        let first_of_plan = self.first_operation(plan).index();
        let slot = &mut self.plans[plan];
        // A write that defers parity has old versions kept; updates and decoding reads use the kept versions. A host's read of
        // one page, and a repair, use the current version.
        let old = match (kind, slot.purpose) {
            (OperationKind::Write, _) if slot.defers => slot.pinned,
            // Beside writes, parity covers the kept version of any column, or the current one where none is kept.
            (OperationKind::Read, Purpose::Parity) if slot.lock == RowLock::SharedParity => {
                self.geometry.data_columns()
            }
            (OperationKind::Read, Purpose::Write | Purpose::Parity) if !slot.defers => slot.pinned,
            (OperationKind::Read, Purpose::Read) if !stale => slot.pinned,
            _ => 0,
        };
        let first = slot.steps.operations;
        let count = mask.count_ones() as u16;
        let base = first_of_plan + first as usize;
        // The name of a local in a message keeps it out of registers, which costs more than the check.
        assert!(
            u32::from(first + count) <= self.stride,
            "plan {} gets {} operations, and has room for {}",
            plan.number(),
            first + count,
            self.stride
        );
        debug_assert!(
            mask & !self.geometry.all_columns() == 0,
            "plan {plan} names columns {mask:#x}, and a row has {}",
            self.geometry.columns
        );
        debug_assert!(
            place.page < self.members.pages,
            "plan {plan} names page {}, and members have {}",
            place.page,
            self.members.pages
        );
        for (slot, column) in self.slots[base..base + count as usize].iter_mut().zip(columns(mask)) {
            slot.operation = Operation {
                page: place.page,
                member: self.geometry.member(place, column),
                kind,
                class: class(column),
                column: column as u8,
                old_version: old >> column & 1 != 0,
                ..Operation::default()
            };
            slot.is_held = false;
        }
        slot.steps.operations += count;
        slot.steps.push(Step::Operations { first, count });
    }

    /// Appends a step with these operations.
    #[inline]
    pub fn push_step(&mut self, plan: PlanId, operations: impl IntoIterator<Item = Operation>) {
        let first = self.plans[plan].steps.operations;
        let mut at = self.first_operation(plan).index() + first as usize;
        let mut count = 0;
        for operation in operations {
            if cfg!(debug_assertions) {
                self.assert_has_place(plan, first + count, &operation);
            }
            self.slots[at].operation = operation;
            (at, count) = (at + 1, count + 1);
        }
        let steps = &mut self.plans[plan].steps;
        steps.operations += count;
        assert!(
            u32::from(steps.operations) <= self.stride,
            "plan {} gets {} operations, and has room for {}",
            plan.number(),
            steps.operations,
            self.stride
        );
        steps.push(Step::Operations { first, count });
    }

    /// Adds `operation` to the last step of `plan`.
    pub fn add_operation(&mut self, plan: PlanId, operation: Operation) {
        let steps = &self.plans[plan].steps;
        let last = steps.all().last();
        assert!(
            matches!(last, Some(Step::Operations { .. })),
            "plan {plan} gets an operation, and its last step is {last:?}"
        );
        self.assert_has_place(plan, steps.operations, &operation);
        let at = self.first_operation(plan).index() + self.plans[plan].steps.operations as usize;
        self.slots[at].operation = operation;
        self.plans[plan].steps.add_operation();
    }

    /// Asserts that `plan`, which has this number of operations, has room for `operation`, and that the member exists. Its page
    /// may lie behind those of the array: copies of superblocks are at the ends of members, which may be larger.
    #[inline]
    fn assert_has_place(&self, plan: PlanId, number: u16, operation: &Operation) {
        assert!(
            u32::from(number) < self.stride,
            "plan {} gets {} operations, and has room for {}",
            plan.number(),
            number + 1,
            self.stride
        );
        assert!(
            operation.member.is_within(self.members.count),
            "plan {} names member {}, and there are {}",
            plan.number(),
            operation.member,
            self.members.count
        );
    }

    /// The operation `id`.
    #[inline]
    pub fn operation(&self, id: OperationId) -> &Operation {
        &self.slots[id.index()].operation
    }

    /// The operations of `step` of `plan`; none for a computation.
    pub fn operations_of(&self, plan: PlanId, step: Step) -> impl Iterator<Item = &Operation> {
        let range = match step {
            Step::Operations { first, count } => first as usize..(first + count) as usize,
            Step::Compute { .. } | Step::Journal => 0..0,
        };
        let base = self.first_operation(plan).index();
        self.slots[base + range.start..base + range.end].iter().map(|slot| &slot.operation)
    }

    /// Holds the write of `column` by `plan` in the queue of its member, or no longer.
    pub fn hold_write(&mut self, plan: PlanId, column: u32, is_held: bool) {
        if let Some(id) = self.write_of(plan, column) {
            let slot = &mut self.slots[id];
            slot.is_held = is_held;
            if !is_held {
                self.queues.reopen(slot.operation.member);
            }
        }
    }

    /// The write `id` is held no longer.
    pub fn let_go(&mut self, id: OperationId) {
        self.slots[id.index()].is_held = false;
    }

    /// The member keeps the version that the write of `column` by `plan` replaces; the write has not started.
    pub fn keep_replaced(&mut self, plan: PlanId, column: u32) {
        self.plans[plan].pinned |= 1 << column;
        if let Some(id) = self.write_of(plan, column) {
            assert!(
                self.slots[id].started_at > self.now,
                "plan {plan} is to keep what its write of column {column} replaces, and the write has started"
            );
            self.slots[id].operation.old_version = true;
        }
    }

    /// The slot of the write of `column` by `plan`.
    fn write_of(&self, plan: PlanId, column: u32) -> Option<usize> {
        let base = self.first_operation(plan).index();
        let all = base..base + self.plans[plan].steps.operations as usize;
        let is_it = |operation: &Operation| {
            operation.kind == OperationKind::Write && u32::from(operation.column) == column
        };
        all.into_iter().find(|&id| is_it(&self.slots[id].operation))
    }

    /// The columns that `plan` writes and those that it trims, if it has begun to.
    pub fn changed_by(&self, plan: PlanId) -> (u64, u64) {
        let slot = &self.plans[plan];
        let base = self.first_operation(plan).index();
        let of = |steps: &[Step], kind| {
            let ranges = steps.iter().filter_map(|step| match step {
                Step::Operations { first, count } => Some(*first as usize..(first + count) as usize),
                Step::Compute { .. } | Step::Journal => None,
            });
            let operations = ranges.flatten().map(|nth| self.slots[base + nth].operation);
            operations
                .filter(|operation| operation.kind == kind)
                .fold(0, |mask, operation| mask | 1u64 << operation.column)
        };
        let begun = |kind| of(slot.steps.begun(), kind) != 0;
        let all = |kind| if begun(kind) { of(slot.steps.all(), kind) } else { 0 };
        (all(OperationKind::Write), all(OperationKind::Trim))
    }

    /// The columns of the plan's row on `member`, as a mask.
    pub fn columns_on(&self, plan: PlanId, member: MemberNo) -> u64 {
        let place = self.plans[plan].place;
        let is_its = |&column: &u32| self.geometry.member(place, column) == member;
        (0..self.geometry.columns).find(is_its).map_or(0, |column| 1 << column)
    }

    /// Rows of a group, which are the pages of its data.
    pub fn rows_of_group(&self) -> u64 {
        self.geometry.rows() / u64::from(self.geometry.groups)
    }

    /// Members that failed, one bit each.
    pub fn failed_members(&self) -> u64 {
        let failed = MemberNo::first(self.members.count).filter(|&member| self.is_failed(member));
        failed.fold(0, |mask, member| mask | member.bit())
    }

    /// Why `member`, which failed while the array serves, is out of service: for damage too if a copy of its superblock was
    /// found damaged before.
    pub fn reason_of(&self, member: MemberNo) -> FailReason {
        let is_doubted = member.is_in(self.metadata.doubted);
        if is_doubted { FailReason::Damage } else { self.fail_reasons[member.index()] }
    }
}
