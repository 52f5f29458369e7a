//! Progress reports of a long run.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// A progress line that is repeated every second on a terminal, and every minute elsewhere.
pub(crate) struct Progress {
    begin: Instant,
    shown_at: Duration,
    shows: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), shown_at: Duration::ZERO, shows: std::io::stderr().is_terminal() }
    }

    /// Prints `line`, if it is due.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String) {
        let passed = self.begin.elapsed();
        if passed < self.shown_at + Duration::from_secs(if self.shows { 1 } else { 60 }) {
            return;
        }
        self.shown_at = passed;
        let end = if self.shows { "\x1b[K\r" } else { "\n" };
        eprint!("{}, {} s{end}", line(), passed.as_secs());
        std::io::stderr().flush().ok();
    }
}
