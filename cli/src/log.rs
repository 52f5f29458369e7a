//! What a server tells while it runs: lines on the standard error, for people or as JSON. A server in the background writes them to
//! a bounded file too.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use stripewise_serve::events::RotatingFile;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

/// Sends what the crates below tell to the standard error and to `file`, from now on. Under systemd the journal adds the time.
pub(crate) fn install(is_json: bool, quiet: bool, file: Option<RotatingFile>) {
    let level = if quiet { Level::WARN } else { Level::INFO };
    let colours = file.is_none() && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let is_journal = file.is_none() && std::env::var_os("JOURNAL_STREAM").is_some();
    let to = tracing_subscriber::fmt().with_max_level(level).with_writer(Output(file.map(Mutex::new)));
    let to = to.with_target(false);
    // Only the first of a program counts, and this is it.
    let _ = match is_json {
        true => to.json().flatten_event(true).try_init(),
        false if is_journal => to.with_ansi(false).without_time().try_init(),
        false => to.with_ansi(colours).try_init(),
    };
}

/// Where lines go.
struct Output(Option<Mutex<RotatingFile>>);

impl<'a> MakeWriter<'a> for Output {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.0 {
            // A log that cannot be written is no reason to end; nor is a standard error that leads nowhere.
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).append(line);
            let _ = io::stderr().write_all(line);
            return Ok(line.len());
        }
        io::stderr().write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
