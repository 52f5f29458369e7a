//! The steps of a plan.

/// The largest number of steps of a plan.
pub const STEPS_MAX: usize = 8;

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Operations `first..first + count` of the plan, all in parallel.
    Operations {
        /// First of the plan's operations.
        first: u16,
        /// Number of operations.
        count: u16,
    },
    /// A parity computation (or decoding) over this number of pages.
    Compute {
        /// The number of pages combined.
        pages: u16,
    },
    /// A wait until the redo journal durably has all content that the following steps write.
    Journal,
}

/// The steps of a plan, and how far it is. The order of the fields is their order in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Steps {
    /// Number of operations in the plan's slice of the arena.
    pub operations: u16,
    /// Number of operations of the current step that have not completed.
    pub outstanding: u16,
    /// The current step.
    pub current: u8,
    /// Hosts are acknowledged when this step is complete.
    pub ack_after: u8,
    /// Whether an operation of the current step failed.
    pub trouble: bool,
    count: u8,
    list: [Step; STEPS_MAX],
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            operations: 0,
            outstanding: 0,
            current: 0,
            ack_after: 0,
            trouble: false,
            count: 0,
            list: [Step::Compute { pages: 0 }; STEPS_MAX],
        }
    }
}

impl Steps {
    /// The bytes before the list of steps.
    pub(super) const PROGRESS_BYTES: usize = std::mem::offset_of!(Self, list);

    /// Removes all steps.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.ack_after = 0;
        self.current = 0;
        self.operations = 0;
        self.trouble = false;
    }

    /// Appends `step`.
    #[inline]
    pub fn push(&mut self, step: Step) {
        self.list[self.count as usize] = step;
        self.count += 1;
    }

    /// Adds the operation after the existing ones to the last step.
    #[inline]
    pub fn add_operation(&mut self) {
        self.operations += 1;
        if let Step::Operations { count, .. } = &mut self.list[self.count as usize - 1] {
            *count += 1;
        }
    }

    /// Removes the last step from the sequence of steps and returns its operations: first and count.
    pub fn take_last(&mut self) -> (u16, u16) {
        self.count -= 1;
        match self.list[self.count as usize] {
            Step::Operations { first, count } => (first, count),
            Step::Compute { .. } | Step::Journal => (self.operations, 0),
        }
    }

    /// The current step; `None` at the end.
    #[inline]
    pub fn now(&self) -> Option<Step> {
        (self.current < self.count).then(|| self.list[self.current as usize])
    }

    /// All steps.
    pub fn all(&self) -> &[Step] {
        &self.list[..self.count as usize]
    }

    /// The steps that have begun.
    pub fn begun(&self) -> &[Step] {
        &self.list[..(self.current + 1).min(self.count) as usize]
    }

    /// Whether no step follows the current one.
    #[inline]
    pub fn is_at_last_step(&self) -> bool {
        self.current + 1 >= self.count
    }

    /// Drops the steps after the current one.
    pub fn end_here(&mut self) {
        self.count = self.current + 1;
        self.acknowledge_last();
    }

    /// Hosts that are not acknowledged yet are acknowledged after the last step.
    pub fn acknowledge_last(&mut self) {
        if self.current <= self.ack_after {
            self.ack_after = self.count - 1;
        }
    }

    /// Hosts are acknowledged after the step that was pushed last.
    #[inline]
    pub fn acknowledge_here(&mut self) {
        self.ack_after = self.count - 1;
    }
}
