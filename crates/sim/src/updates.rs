//! Parity updates: counts by routine, and the interface for choosing a routine if the scheme leaves it to the user.

use stripewise_array::MemberLoad;
use stripewise_array::update::{Choice, ParityUpdate, Routine};

/// Chooses routines under the update policy `custom`.
pub trait Chooser {
    /// RMW or RCW for this update; any other value takes Baseline's choice.
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine>;
}

/// Decided parity updates, by routine. First writes of gathered rows update nothing and are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// All updates.
    pub all: u64,
    /// Read-modify-write.
    pub rmw: u64,
    /// Read-construct-write.
    pub rcw: u64,
    /// Updates of every data chunk of a row, without pre-reads.
    pub full_stripe: u64,
    /// Updates of part of a row whose parity delta went to a log.
    pub logged: u64,
    /// Updates with a routine that differs from Baseline's choice (paper 000, Fig. 6).
    pub adjusted: u64,
    /// Of those, updates by RCW for which Baseline would have chosen RMW; the rest is the reverse.
    pub adjusted_rcw: u64,
}

impl UpdateCounts {
    #[inline]
    pub(crate) fn add(&mut self, update: &ParityUpdate) {
        self.all += 1;
        match update.decision.routine {
            Routine::Rmw => self.rmw += 1,
            Routine::Rcw => self.rcw += 1,
            Routine::FullStripe => self.full_stripe += 1,
            Routine::Log => self.logged += 1,
            Routine::Plain | Routine::ShortStripe | Routine::Reconstruct => {}
        }
        let adjusted = update.decision.is_adjusted();
        self.adjusted += u64::from(adjusted);
        self.adjusted_rcw += u64::from(adjusted && update.decision.routine == Routine::Rcw);
    }
}
