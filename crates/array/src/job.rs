//! Jobs: what a placement's plans do, a type for each purpose.
//!
//! A plan gets its job when it is taken. What the executor asks about a plan goes to its job. A placement lists its types of
//! jobs once, with [`jobs!`]: a new purpose is a type with an `impl Job`, and one word in that list.

use stripewise_core::driver::Driver;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};

/// A placement whose plans have jobs.
pub(crate) trait HasJobs {
    /// What the rest of the placement asks about a job.
    type Facts: 'static;
}

/// What a plan of the placement `P` does.
pub(crate) trait Job<P: HasJobs>: Copy {
    /// What the rest of the placement asks about it.
    const FACTS: P::Facts;

    /// Builds the steps of `plan`.
    fn build<M: Memory, D: Driver<M>>(
        self,
        plan: PlanId,
        placement: &mut P,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost>;

    /// The bytes of a computing step.
    fn combine<M: Memory>(self, _plan: PlanId, _placement: &mut P, _exec: &mut Executor<M>) {}

    /// A step that did not read had errors.
    fn step_failed<M: Memory>(
        self,
        _plan: PlanId,
        _placement: &mut P,
        _exec: &mut Executor<M>,
    ) -> AfterErrors {
        AfterErrors::NextStep
    }

    /// `plan` is over.
    fn finished<M: Memory, D: Driver<M>>(
        self,
        _plan: PlanId,
        _placement: &mut P,
        _exec: &mut Executor<M>,
        _driver: &mut D,
    ) {
    }
}

/// Declares a type that is any of the listed jobs of a placement.
macro_rules! jobs {
    ($(#[$doc:meta])* $any:ident of $placement:ty: $($job:ident),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum $any {
            $($job($job)),+
        }

        $(impl From<$job> for $any {
            #[inline]
            fn from(job: $job) -> Self {
                Self::$job(job)
            }
        })+

        impl $any {
            #[inline]
            pub(crate) fn facts(self) -> &'static <$placement as $crate::job::HasJobs>::Facts {
                match self {
                    $(Self::$job(_) => &<$job as $crate::job::Job<$placement>>::FACTS),+
                }
            }

            #[inline]
            pub(crate) fn build<M: Memory, D: Driver<M>>(
                self,
                plan: PlanId,
                placement: &mut $placement,
                exec: &mut Executor<M>,
                driver: &mut D,
            ) -> Result<Built, TooManyLost> {
                match self {
                    $(Self::$job(job) => job.build(plan, placement, exec, driver)),+
                }
            }

            #[inline]
            pub(crate) fn combine<M: Memory>(
                self,
                plan: PlanId,
                placement: &mut $placement,
                exec: &mut Executor<M>,
            ) {
                match self {
                    $(Self::$job(job) => job.combine(plan, placement, exec)),+
                }
            }

            pub(crate) fn step_failed<M: Memory>(
                self,
                plan: PlanId,
                placement: &mut $placement,
                exec: &mut Executor<M>,
            ) -> AfterErrors {
                match self {
                    $(Self::$job(job) => job.step_failed(plan, placement, exec)),+
                }
            }

            #[inline]
            pub(crate) fn finished<M: Memory, D: Driver<M>>(
                self,
                plan: PlanId,
                placement: &mut $placement,
                exec: &mut Executor<M>,
                driver: &mut D,
            ) {
                match self {
                    $(Self::$job(job) => job.finished(plan, placement, exec, driver)),+
                }
            }
        }
    };
}

pub(crate) use jobs;
