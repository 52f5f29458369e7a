//! The members that were added to an array while it serves.

/// Progress of a member that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coming {
    member: u16,
    /// The member has all content.
    is_written: bool,
}

/// The members that were added, until each is known to be durably rebuilt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joining {
    coming: Vec<Coming>,
    /// A flush has completed since these had all content: they are equal to the others. One bit each.
    whole: u64,
}

impl Joining {
    pub(crate) fn add(&mut self, member: u16) {
        self.coming.push(Coming { member, is_written: false });
    }

    /// Updates the progress: a member for which `joins` returns true is still being rebuilt; otherwise it has all content,
    /// unless it `left` again.
    pub(crate) fn look(&mut self, joins: impl Fn(u16) -> bool, left: impl Fn(u16) -> bool) {
        self.coming.retain_mut(|coming| {
            let continues = joins(coming.member);
            coming.is_written |= !continues;
            continues || !left(coming.member)
        });
        self.whole =
            bits(self.whole).filter(|&member| !left(member)).fold(0, |mask, member| mask | 1 << member);
    }

    /// A flush has completed that was submitted when the members of `written` had all content.
    pub(crate) fn flushed(&mut self, written: u64) {
        self.coming.retain(|coming| {
            let is_whole = coming.is_written && written >> coming.member & 1 != 0;
            self.whole |= u64::from(is_whole) << coming.member;
            !is_whole
        });
    }

    /// Takes the members that became whole since the last call.
    pub(crate) fn take_whole(&mut self) -> impl Iterator<Item = u16> + use<> {
        bits(std::mem::take(&mut self.whole))
    }

    /// The members that are not known to be whole, one bit each.
    pub(crate) fn members(&self) -> u64 {
        self.coming.iter().fold(0, |mask, coming| mask | 1 << coming.member)
    }

    /// The members that have all content, and that the next flush makes whole.
    pub(crate) fn written(&self) -> u64 {
        let written = self.coming.iter().filter(|coming| coming.is_written);
        written.fold(0, |mask, coming| mask | 1 << coming.member)
    }
}

/// The members of the mask `of`.
fn bits(of: u64) -> impl Iterator<Item = u16> {
    (0..64).filter(move |member| of >> member & 1 != 0)
}
