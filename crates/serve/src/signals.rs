//! Signals that stop a server.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::ServeError;

/// Calls `stop` at the first SIGTERM or SIGINT. A second one ends the program at once, which the array tolerates like a
/// loss of power. SIGHUP does nothing: a server outlives the terminal that started it.
///
/// # Errors
/// When the system provides no thread or no handler.
pub(crate) fn obey(stop: impl Fn() + Send + 'static) -> Result<(), ServeError> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(ServeError::Thread)?;
    let wait = move || {
        let mut is_stopping = false;
        for signal in signals.forever() {
            match signal {
                SIGHUP => tracing::info!("SIGHUP changes nothing"),
                _ if is_stopping => std::process::exit(130),
                _ => {
                    is_stopping = true;
                    stop();
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".into()).spawn(wait);
    thread.map(drop).map_err(ServeError::Thread)
}
