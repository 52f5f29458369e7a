//! The members that were added to an array while it serves.

use stripewise_array::MemberNo;

/// Progress of a member that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coming {
    member: MemberNo,
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
    pub(crate) fn add(&mut self, member: MemberNo) {
        self.coming.push(Coming { member, is_written: false });
    }

    /// Updates the progress: a member for which `joins` returns true is still being rebuilt; otherwise it has all content,
    /// unless it `left` again.
    pub(crate) fn look(&mut self, joins: impl Fn(MemberNo) -> bool, left: impl Fn(MemberNo) -> bool) {
        self.coming.retain_mut(|coming| {
            let continues = joins(coming.member);
            coming.is_written |= !continues;
            continues || !left(coming.member)
        });
        self.whole =
            bits(self.whole).filter(|&member| !left(member)).fold(0, |mask, member| mask | member.bit());
    }

    /// A flush has completed that was submitted when the members of `written` had all content.
    pub(crate) fn flushed(&mut self, written: u64) {
        self.coming.retain(|coming| {
            let is_whole = coming.is_written && coming.member.is_in(written);
            self.whole |= if is_whole { coming.member.bit() } else { 0 };
            !is_whole
        });
    }

    /// Takes the members that became whole since the last call.
    pub(crate) fn take_whole(&mut self) -> impl Iterator<Item = MemberNo> + use<> {
        bits(std::mem::take(&mut self.whole))
    }

    /// The members that are not known to be whole, one bit each.
    pub(crate) fn members(&self) -> u64 {
        self.coming.iter().fold(0, |mask, coming| mask | coming.member.bit())
    }

    /// The members that have all content, and that the next flush makes whole.
    pub(crate) fn written(&self) -> u64 {
        let written = self.coming.iter().filter(|coming| coming.is_written);
        written.fold(0, |mask, coming| mask | coming.member.bit())
    }
}

/// The members of the mask `of`.
fn bits(of: u64) -> impl Iterator<Item = MemberNo> {
    MemberNo::first(64).filter(move |member| member.is_in(of))
}
