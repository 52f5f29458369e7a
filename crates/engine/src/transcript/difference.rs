//! Where a replay went another way than its transcript.

use std::fmt;

use stripewise_base::Nanos;

/// The first point where the controller acted differently than in the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the event, from 0 on.
    pub event: u64,
    /// The time: nanoseconds since the array was assembled.
    pub at_ns: Nanos,
    /// The recorded answer. None if the transcript has no answer here.
    pub recorded: Option<String>,
    /// The answer of the replayed controller. None if there was none.
    pub replayed: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at_ns as f64 / 1e9;
        writeln!(f, "event {}, after {seconds:.6} s:", self.event)?;
        writeln!(f, "  recorded: {}", self.recorded.as_deref().unwrap_or("nothing more"))?;
        write!(f, "  replayed: {}", self.replayed.as_deref().unwrap_or("nothing"))
    }
}
