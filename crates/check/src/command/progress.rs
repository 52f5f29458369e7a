//! Progress reports of a long run.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// A progress line that is repeated every second on a terminal, and every minute elsewhere.
pub(crate) struct Progress {
    begin: Instant,
    told: Duration,
    shows: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), told: Duration::ZERO, shows: std::io::stderr().is_terminal() }
    }

    /// Prints `line`, if it is due.
    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        let passed = self.begin.elapsed();
        if passed < self.told + Duration::from_secs(if self.shows { 1 } else { 60 }) {
            return;
        }
        self.told = passed;
        let end = if self.shows { "\x1b[K\r" } else { "\n" };
        eprint!("{}, {} s{end}", line(), passed.as_secs());
        std::io::stderr().flush().ok();
    }
}
