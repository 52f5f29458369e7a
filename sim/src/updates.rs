//! Parity updates: how many of each routine, and who chooses where the scheme leaves it to the user.

use stripewise_array::update::{Choice, MemberLoad, ParityUpdate, Routine};

/// Chooses routines under the update policy `custom`.
pub trait Chooser {
    /// RMW or RCW for this update; anything else takes Baseline's choice.
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine>;
}

/// Parity updates that were decided, by routine. First writes of gathered rows update nothing and do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// All of them.
    pub all: u64,
    /// Read-modify-write.
    pub rmw: u64,
    /// Read-construct-write.
    pub rcw: u64,
    /// Updates of every data chunk of a row: nothing to pre-read.
    pub full_stripe: u64,
    /// Updates of a part of a row whose change of parity went to a log.
    pub logged: u64,
    /// Updates whose routine is not the one that Baseline would have taken (paper 000, Fig. 6).
    pub adjusted: u64,
    /// Of those, the ones by RCW where Baseline would have taken RMW; the rest is the other way round.
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
