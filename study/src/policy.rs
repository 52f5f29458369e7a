//! Update policies of the caller: they choose between RMW and RCW where a scheme leaves the choice open.

use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use stripewise_array::update::{Choice, MemberLoad, Routine};
use stripewise_sim::Chooser;

/// Why a policy could not choose.
pub type PolicyFailure = Box<dyn StdError + Send + Sync>;

/// A policy of the caller. Its run is stored under a digest that includes [`Policy::identity`].
pub trait Policy: Send + Sync {
    /// Everything that decides its choices: its source, its settings.
    fn identity(&self) -> String;

    /// Called once for each run, on the thread that makes it.
    ///
    /// # Errors
    /// The reason why the policy cannot begin; it ends the run.
    fn begin(&self) -> Result<Box<dyn Choosing>, PolicyFailure>;
}

/// A policy during one run.
pub trait Choosing {
    /// RMW or RCW; none takes Baseline's choice.
    ///
    /// # Errors
    /// The reason why the policy cannot choose; it ends the run.
    fn choose(
        &mut self,
        choice: &Choice<'_>,
        state: &dyn MemberLoad,
    ) -> Result<Option<Routine>, PolicyFailure>;
}

/// A policy and the name that its scheme has in results.
#[derive(Clone)]
pub struct NamedPolicy {
    /// The name.
    pub name: String,
    /// The policy.
    pub policy: Arc<dyn Policy>,
}

impl fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Keeps the failure of a policy. After a failure Baseline chooses until the run is stopped.
pub(crate) struct Guard<'a> {
    pub(crate) choosing: Box<dyn Choosing>,
    pub(crate) failure: &'a RefCell<Option<PolicyFailure>>,
}

impl Chooser for Guard<'_> {
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine> {
        if self.failure.borrow().is_some() {
            return None;
        }
        self.choosing.choose(choice, state).unwrap_or_else(|failure| {
            *self.failure.borrow_mut() = Some(failure);
            None
        })
    }
}
