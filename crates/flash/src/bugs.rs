//! Planted bugs, available with debug assertions: checkers of content must find each of them.

/// One bug of the flash translation layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Garbage collection erases a block before its last valid page is moved.
    GcFreesEarly,
    /// A program that should pin the version it replaces does not.
    PinSkipped,
    /// Garbage collection copies a page but leaves its map entry at the old place.
    GcKeepsMapping,
    /// A program of a page does not end the holds of reads that wait for the page.
    HoldKept,
}

impl Bug {
    /// All bugs.
    pub const ALL: &[Self] = &[Self::GcFreesEarly, Self::PinSkipped, Self::GcKeepsMapping, Self::HoldKept];
}

/// The planted bug. Without debug assertions there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planted {
    #[cfg(debug_assertions)]
    bug: Option<Bug>,
}

impl Planted {
    #[cfg(debug_assertions)]
    pub(crate) fn set(&mut self, bug: Option<Bug>) {
        self.bug = bug;
    }

    #[cfg(debug_assertions)]
    pub(crate) fn is(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Always false, so that the optimiser removes the checks.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(crate) fn is(self, _bug: Bug) -> bool {
        false
    }
}
