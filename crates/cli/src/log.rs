//! The log of a running server: lines on the standard error, as text or as JSON. A server in the background writes
//! them to a bounded file too.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use stripewise_base::text::visible;
use stripewise_serve::events::RotatingFile;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// JSON.
    Json,
}

/// Sends the log events of the crates below to the standard error and to `file` from now on. Under systemd the
/// journal adds the time.
pub(crate) fn install(format: LogFormat, quiet: bool, file: Option<RotatingFile>) {
    let level = if quiet { Level::WARN } else { Level::INFO };
    let colours = file.is_none() && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let is_journal = file.is_none() && std::env::var_os("JOURNAL_STREAM").is_some();
    let to = tracing_subscriber::fmt().with_max_level(level).with_writer(Output(file.map(Mutex::new)));
    let to = to.with_target(false);
    // Only the first subscriber of a program counts, and this is the first.
    let _ = match format {
        LogFormat::Json => to.json().flatten_event(true).try_init(),
        LogFormat::Text if is_journal => to.with_ansi(false).without_time().try_init(),
        LogFormat::Text => to.with_ansi(colours).try_init(),
    };
}

/// The destination of events. Each becomes one line, whatever its fields contain.
struct Output(Option<Mutex<RotatingFile>>);

impl<'a> MakeWriter<'a> for Output {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Output {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = line(event);
        if let Some(file) = &self.0 {
            // An unwritable log, or a closed standard error, does not stop the server.
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).append(line.as_bytes());
            let _ = io::stderr().write_all(line.as_bytes());
            return Ok(event.len());
        }
        io::stderr().write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// An event as one line, with its line end.
fn line(event: &[u8]) -> String {
    let text = String::from_utf8_lossy(event);
    let (line, end) = text.strip_suffix('\n').map_or((&*text, ""), |line| (line, "\n"));
    shown(line) + end
}

/// The line with its control characters made visible, so it stays one line. Colours come from the log itself: escape
/// characters in fields are already harmless here.
fn shown(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        let (before, colour) = rest.split_at(at);
        shown.push_str(&visible(before));
        let parameters = colour[2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let end = colour.len() - parameters.len() + usize::from(parameters.starts_with('m'));
        match parameters.starts_with('m') {
            true => shown.push_str(&colour[..end]),
            false => shown.push_str(&visible(&colour[..end])),
        }
        rest = &colour[end..];
    }
    shown.push_str(&visible(rest));
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, event: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(line(event).bytes());
            Ok(event.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_and_nothing_of_it_is_obeyed_but_colours() {
        let hostile = "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}2J\r\nINFO all is well";
        for (ansi, json) in [(false, false), (true, false), (false, true)] {
            let kept = Kept::default();
            let to = kept.clone();
            let make = move || to.clone();
            let builder = tracing_subscriber::fmt().with_writer(make).with_ansi(ansi);
            let log = || tracing::warn!(array = hostile, path = %hostile, "{hostile}");
            match json {
                true => tracing::subscriber::with_default(builder.json().finish(), log),
                false => tracing::subscriber::with_default(builder.finish(), log),
            }
            let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
            assert!(text.ends_with('\n') && text.lines().count() == 1, "{text:?}");
            let without_colours: String = text
                .split("\u{1b}[")
                .enumerate()
                .map(|(nth, piece)| if nth == 0 { piece } else { piece.split_once('m').expect("a colour").1 })
                .collect();
            assert!(!without_colours.trim_end().chars().any(char::is_control), "{text:?}");
            assert!(ansi || text == without_colours, "{text:?}");
        }
    }
}
