//! How to read a trace.

use crate::format::FormatName;
use crate::order::Disorder;

/// The format of a trace, and the treatment of its faults.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The format; none detects it.
    pub format: Option<FormatName>,
    /// The number of lines to skip that are no records. The next one is an error.
    pub skip_bad: u64,
    /// The treatment of steps back in time.
    pub disorder: Disorder,
}
