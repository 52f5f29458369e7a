//! The members that may have damage, according to the faults that the scenario injected.

/// Members with injected faults that nothing has verified since, as masks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspects {
    all: u64,
    /// Members that the scrub in progress verifies: their faults came before it.
    in_scrub: u64,
    /// Members that were suspects at any time of the last scrub.
    met: u64,
    /// Members that a completed scrub verified: what it repaired is durable after the next flush.
    verified: u64,
}

impl Suspects {
    /// Members that may have damage.
    pub(crate) fn members(self) -> u64 {
        self.all
    }

    /// Members whose damage the last scrub may have found, those too that were replaced meanwhile.
    pub(crate) fn met_by_scrub(self) -> u64 {
        self.met
    }

    /// A fault is injected into a member of `bit`.
    pub(crate) fn add(&mut self, bit: u64) {
        self.all |= bit;
        self.met |= bit;
        self.in_scrub &= !bit;
        self.verified &= !bit;
    }

    /// Nothing of a member of `bit` is left: it was replaced, or all of it was written again.
    pub(crate) fn clear(&mut self, bit: u64) {
        self.all &= !bit;
    }

    /// A scrub begins. It verifies no member of `except`: these are out, or their fault is still to strike.
    pub(crate) fn scrub_began(&mut self, except: u64) {
        self.in_scrub = self.all & !except;
        self.met = self.all;
    }

    /// The scrub ended.
    pub(crate) fn scrub_ended(&mut self) {
        self.verified |= std::mem::take(&mut self.in_scrub);
    }

    /// A flush completed that was submitted after the scrub had ended.
    pub(crate) fn flushed(&mut self) {
        self.all &= !std::mem::take(&mut self.verified);
    }

    /// The server ended, and with it a scrub. What the scrub repaired may not be durable.
    pub(crate) fn interrupted(&mut self) {
        (self.in_scrub, self.verified) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_beyond_suspicion_after_a_scrub_of_all_its_faults_and_a_flush() {
        let mut suspects = Suspects::default();
        suspects.add(0b011);
        suspects.scrub_began(0);
        suspects.add(0b010);
        suspects.flushed();
        suspects.scrub_ended();
        assert_eq!(suspects.members(), 0b011, "no flush followed the scrub");
        suspects.flushed();
        assert_eq!(suspects.members(), 0b010, "the other fault came during the scrub");
        suspects.scrub_began(0);
        suspects.scrub_ended();
        suspects.interrupted();
        suspects.flushed();
        assert_eq!(suspects.members(), 0b010, "the repairs may be lost");
        suspects.scrub_began(0b010);
        suspects.scrub_ended();
        suspects.flushed();
        assert_eq!(suspects.members(), 0b010, "it was out, or its fault was still to strike");
        suspects.clear(0b010);
        assert_eq!((suspects.members(), suspects.met_by_scrub()), (0, 0b010));
    }
}
