//! Update policies of the caller's own: what chooses between RMW and RCW where a scheme leaves it open.

use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use stripewise_array::update::{Choice, MemberLoad, Routine};
use stripewise_sim::Chooser;

/// Why a policy could not choose.
pub type PolicyFailure = Box<dyn StdError + Send + Sync>;

/// A policy of the caller's own. Its run is stored under a digest that [`Policy::identity`] is a part of.
pub trait Policy: Send + Sync {
    /// All that decides what it chooses: its source, its settings.
    fn identity(&self) -> String;

    /// Called once for each run, on the thread that makes it.
    ///
    /// # Errors
    /// What keeps it from beginning, and so ends the run.
    fn begin(&self) -> Result<Box<dyn Choosing>, PolicyFailure>;
}

/// A policy during one run.
pub trait Choosing {
    /// RMW or RCW; none takes Baseline's choice.
    ///
    /// # Errors
    /// What keeps it from choosing, and so ends the run.
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

/// Keeps what a policy failed with; from then on Baseline chooses until the run is stopped.
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
