//! The clock of the engine: the time that the controller receives.

use std::time::{Duration, Instant};

use stripewise_base::Nanos;

/// Where time comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timekeeping {
    /// The monotonic clock of the system.
    #[default]
    Real,
    /// Counted time: every operation takes this many nanoseconds, and idle time passes at once. Equal requests then
    /// give equal runs.
    Counted(Nanos),
}

#[derive(Debug)]
pub(crate) struct Clock {
    keeping: Timekeeping,
    started: Instant,
    counted: Nanos,
}

impl Clock {
    pub(crate) fn new(keeping: Timekeeping) -> Self {
        Self { keeping, started: Instant::now(), counted: 0 }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> Nanos {
        match self.keeping {
            Timekeeping::Real => self.started.elapsed().as_nanos() as Nanos,
            Timekeeping::Counted(_) => self.counted,
        }
    }

    /// Whether time passes only with operations.
    pub(crate) fn is_counted(&self) -> bool {
        self.keeping != Timekeeping::Real
    }

    /// Advances counted time by one operation. Returns how long the operation took: `measured` in real time.
    pub(crate) fn tick(&mut self, measured: Nanos) -> Nanos {
        match self.keeping {
            Timekeeping::Real => measured,
            Timekeeping::Counted(operation_ns) => {
                self.counted += operation_ns;
                operation_ns
            }
        }
    }

    /// Waits until `at`. Counted time advances at once.
    pub(crate) fn wait_until(&mut self, at: Nanos) {
        match self.keeping {
            Timekeeping::Real => std::thread::sleep(Duration::from_nanos(at.saturating_sub(self.now()))),
            Timekeeping::Counted(_) => self.counted = self.counted.max(at),
        }
    }
}
