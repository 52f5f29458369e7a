//! Runs long work without the interpreter's lock; Ctrl-C ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// Stops a study from another thread.
#[pyclass(frozen, module = "stripewise._stripewise")]
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Requests the stop; the study ends soon after.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Time between two checks of Python's signals, of which the user's Ctrl-C is one.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own, with the interpreter's lock released. Meanwhile this thread checks signals and
/// calls `tick`, twenty times a second. When one of them raises, `stop` is set, and the exception is returned after
/// the work has ended.
pub(crate) fn patiently<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let worker = scope.spawn(move || {
            let result = work();
            drop(done);
            result
        });
        let mut raised = None;
        // The receiver cannot be shared between threads; the mutex lends it to one at a time.
        let ended = std::sync::Mutex::new(ended);
        loop {
            let waited = py.detach(|| match ended.lock() {
                Ok(ended) => ended.recv_timeout(LOOK),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            if matches!(waited, Err(RecvTimeoutError::Disconnected)) {
                break;
            }
            if raised.is_none()
                && let Err(error) = py.check_signals().and_then(|()| tick(py))
            {
                stop.set();
                raised = Some(error);
            }
        }
        let result = py.detach(|| worker.join());
        match (raised, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
