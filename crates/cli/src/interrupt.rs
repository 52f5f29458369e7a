//! Ctrl-C: the first one stops all work cleanly, a second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Outcome};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Handles the signals that ask a program to end.
pub(crate) fn install() {
    // If no handler can be set, a signal ends the program immediately, and the next run removes the incomplete
    // output.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user has asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Fails when the user has asked to stop.
pub(crate) fn check() -> Outcome {
    if requested() { Err(Failure::Interrupted) } else { Ok(()) }
}
