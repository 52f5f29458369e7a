//! Ctrl-C: the first one asks everything to stop cleanly, a second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Outcome};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Takes over the signals that ask a program to end.
pub(crate) fn install() {
    // Without a handler the signal ends the program as ever, and what it left half done is removed by the
    // next run.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user wants to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// An error when the user wants to stop.
pub(crate) fn check() -> Outcome {
    if requested() { Err(Failure::Interrupted) } else { Ok(()) }
}
