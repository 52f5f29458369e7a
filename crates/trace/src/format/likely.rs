//! How sure a sample of requests makes a variant that the lines do not show.

/// How likely a file has a variant that its lines do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likely {
    /// No sign of it.
    No,
    /// No sign against it: a remark names the variant.
    Maybe,
    /// So likely that the file is refused until the user names a variant. The text describes the file as read in the
    /// detected format.
    Rather(&'static str),
}

/// The fewest requests that allow a conclusion.
pub(super) const FEWEST: usize = 64;

/// Whether `count` is at least three quarters of `all`.
pub(super) fn most(count: usize, all: usize) -> bool {
    count * 4 >= all * 3
}
