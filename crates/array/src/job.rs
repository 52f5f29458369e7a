//! Jobs: what a placement's plans do, a type for each purpose.
//!
//! A plan gets its job when it is taken. What the executor asks about a plan goes to its job. A placement lists its jobs once,
//! with [`jobs!`]. A new purpose is an entry of that list, and an `impl Job` in the file of what it does.

use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_exec::driver::Driver;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};

/// What a job works with: its plan, and the placement and executor of the plan.
pub(crate) struct Cx<'a, P, M: Memory> {
    pub(crate) plan: PlanId,
    pub(crate) placement: &'a mut P,
    pub(crate) exec: &'a mut Executor<M>,
}

/// Whether the steps are built.
pub(crate) type BuildResult = Result<Built, TooManyLost>;

/// What a plan of the placement `P` does.
pub(crate) trait Job<P>: Copy {
    /// Builds the steps of the plan. The plans that a placement owns have theirs already: if they cannot be carried out, there
    /// are no others.
    fn build<M: Memory>(self, _cx: Cx<'_, P, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        Ok(Built::Ready)
    }

    /// The bytes of a computing step.
    fn combine<M: Memory>(self, _cx: Cx<'_, P, M>) {}

    /// A step that did not read had errors.
    fn step_failed<M: Memory>(self, _cx: Cx<'_, P, M>) -> AfterErrors {
        AfterErrors::NextStep
    }

    /// The plan is over.
    fn finished<M: Memory>(self, _cx: Cx<'_, P, M>, _driver: &mut impl Driver<M>) {}
}

/// Declares the listed jobs, each with its facts, and the type `AnyJob` that is any of them.
macro_rules! jobs {
    (@type $(#[$doc:meta])* $job:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $job;
    };
    (@type $(#[$doc:meta])* $job:ident { $($field:ident: $of:ty),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $job {
            $(pub(crate) $field: $of),+
        }
    };
    ($facts:ty: $($(#[$doc:meta])* $job:ident $({ $($field:ident: $of:ty),+ })? => $fact:expr;)+) => {
        $($crate::job::jobs! { @type $(#[$doc])* $job $({ $($field: $of),+ })? })+

        /// The job of a plan.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum AnyJob {
            $($job($job)),+
        }

        $(impl From<$job> for AnyJob {
            #[inline]
            fn from(job: $job) -> Self {
                Self::$job(job)
            }
        })+

        impl AnyJob {
            /// What the placement asks about the job.
            #[inline]
            pub(crate) fn facts(self) -> &'static $facts {
                match self {
                    $(Self::$job(_) => {
                        const FACTS: $facts = $fact;
                        &FACTS
                    })+
                }
            }

            #[inline]
            pub(crate) fn build<P, M: Memory>(self, cx: Cx<'_, P, M>, driver: &mut impl Driver<M>) -> BuildResult
            where
                $($job: Job<P>),+
            {
                match self {
                    $(Self::$job(job) => job.build(cx, driver)),+
                }
            }

            #[inline]
            pub(crate) fn combine<P, M: Memory>(self, cx: Cx<'_, P, M>)
            where
                $($job: Job<P>),+
            {
                match self {
                    $(Self::$job(job) => job.combine(cx)),+
                }
            }

            pub(crate) fn step_failed<P, M: Memory>(self, cx: Cx<'_, P, M>) -> AfterErrors
            where
                $($job: Job<P>),+
            {
                match self {
                    $(Self::$job(job) => job.step_failed(cx)),+
                }
            }

            #[inline]
            pub(crate) fn finished<P, M: Memory>(self, cx: Cx<'_, P, M>, driver: &mut impl Driver<M>)
            where
                $($job: Job<P>),+
            {
                match self {
                    $(Self::$job(job) => job.finished(cx, driver)),+
                }
            }
        }
    };
}

pub(crate) use jobs;
