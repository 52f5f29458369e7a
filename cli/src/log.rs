//! What a server tells while it runs: lines on the standard error, for people or as JSON.

use std::io::IsTerminal;

use tracing::Level;

/// Sends what the crates below tell to the standard error, from now on. Under systemd the journal adds the time.
pub(crate) fn install(is_json: bool, quiet: bool) {
    let level = if quiet { Level::WARN } else { Level::INFO };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let to = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // Only the first of a program counts, and this is it.
    let _ = match is_json {
        true => to.json().flatten_event(true).try_init(),
        false if std::env::var_os("JOURNAL_STREAM").is_some() => {
            to.with_ansi(false).without_time().try_init()
        }
        false => to.with_ansi(colours).try_init(),
    };
}
