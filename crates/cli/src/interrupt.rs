//! Ctrl-C: the first one stops all work cleanly, a second one ends the program at once.
//!
//! A command notices the first one where it asks for it. A command that does not ask within [`GRACE`] waits for something,
//! such as a pipe that gets no bytes, or a device: it is ended.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::failure::{Failure, Outcome};

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Whether the command knows of it.
static NOTICED: AtomicBool = AtomicBool::new(false);

/// The time in which a command that works asks many times whether to stop.
const GRACE: Duration = Duration::from_secs(2);
/// The exit code of an interrupted command.
const INTERRUPTED: i32 = 130;

/// Handles the signals that ask a program to end.
pub(crate) fn install() {
    // If no handler can be set, a signal ends the program immediately, and the next run removes the incomplete
    // output.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            exit(INTERRUPTED);
        }
        // In a thread of its own, so that a second signal is handled meanwhile.
        if thread::Builder::new().spawn(end_unless_noticed).is_err() {
            exit(INTERRUPTED);
        }
    });
}

/// Ends the program unless its command stops cleanly. The next run removes the incomplete output.
fn end_unless_noticed() {
    thread::sleep(GRACE);
    if !NOTICED.load(Ordering::Relaxed) {
        let _ = Failure::Interrupted.report();
        exit(INTERRUPTED);
    }
}

/// Whether the user has asked to stop.
pub(crate) fn requested() -> bool {
    let requested = REQUESTED.load(Ordering::Relaxed);
    if requested {
        NOTICED.store(true, Ordering::Relaxed);
    }
    requested
}

/// Fails when the user has asked to stop.
pub(crate) fn check() -> Outcome {
    if requested() { Err(Failure::Interrupted) } else { Ok(()) }
}
