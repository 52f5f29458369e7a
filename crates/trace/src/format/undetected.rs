//! The refusal of a text whose format or columns are not known.

/// Why no format was chosen, and what the user can do.
#[derive(Debug)]
pub(crate) struct Undetected {
    pub(crate) reason: String,
    pub(crate) remedy: String,
}
