//! Time lines of a comparison's runs.

use stripewise_sim::{Progress, Timeline};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::memory;
use crate::observer::Observer;

impl Comparison {
    /// Runs the comparison's first scheme up to request `from + count`, and returns the time line from request `from`.
    /// Nothing is stored: run the comparison for results.
    ///
    /// # Errors
    /// As [`Comparison::run`].
    pub fn timeline(&self, (from, count): (u64, u64), observer: &dyn Observer) -> Result<Timeline, Error> {
        let Some(config) = self.configs().next() else {
            return Err(Error::spec("no scheme: a time line is of one run"));
        };
        memory::check(config)?;
        let mut source = self.folded(observer)?;
        observer.began(0, &config.scheme.name);
        let all = from.saturating_add(count).max(1);
        let line = stripewise_sim::timeline(config, &mut source, (from, count), &mut |progress| {
            let share = Some(progress.requests as f64 / all as f64);
            observer.advanced(0, Progress { share, ..progress });
            observer.may_continue()
        });
        observer.ended(0);
        let line = line?;
        if observer.may_continue() { Ok(line) } else { Err(Error::Stopped) }
    }
}
