//! The ways in which a command fails, and their exit codes.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use stripewise_array::SchemeError;
use stripewise_base::text::visible_lines;
use stripewise_flash::SpecError;
use stripewise_runs::{Error, What};
use stripewise_trace::TraceError;

use crate::context::width;
use crate::wrap::wrap;

/// Why a command did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line cannot be understood: an option, a name, a scheme or device file.
    Usage(String),
    /// The command was understood and could not be done: a trace that cannot be read, a run that failed.
    Failed(String),
    /// The command was understood, and its subject cannot be used at all: an array that cannot be assembled. A kind
    /// of its own, where [`Self::Failed`] means that the command found a problem.
    Refused(String),
    /// The output contains the finding; this is its exit code.
    Reported(u8),
    /// The user stopped it.
    Interrupted,
    /// The reader of the output has gone: no work is left.
    ReaderGone,
}

/// The exit codes, as help and documentation list them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  the command failed, or found a problem; for example a run failed, or a file could not be read or written
    2  the command line, a scheme or a device was not understood
  130  interrupted; an unfinished run leaves no files";

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure of kind 2 with `message`.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A failure of kind 1 with `message`.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The same failure, with `context` before its message.
    pub(crate) fn within(self, context: &str) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(format!("{context}: {message}")),
            Self::Failed(message) => Self::Failed(format!("{context}: {message}")),
            Self::Refused(message) => Self::Refused(format!("{context}: {message}")),
            other => other,
        }
    }

    /// Its message, without exit code.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Usage(message) | Self::Failed(message) | Self::Refused(message) => message,
            Self::Reported(_) | Self::Interrupted | Self::ReaderGone => "interrupted",
        }
    }

    /// The same failure, with kind 2 in place of kind 1.
    pub(crate) fn refused(self) -> Self {
        match self {
            Self::Failed(message) => Self::Refused(message),
            other => other,
        }
    }

    /// Prints the message, if there is one, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (format!("{message}\n\nFor more information, try '--help'."), 2),
            Self::Failed(message) => (message.clone(), 1),
            Self::Refused(message) => (message.clone(), 2),
            Self::Interrupted => ("interrupted".to_owned(), 130),
            Self::Reported(code) => return ExitCode::from(*code),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        say("error", anstyle(clap::builder::styling::AnsiColor::Red), &message);
        ExitCode::from(code)
    }
}

/// Prints a remark on the standard error.
pub(crate) fn warn(message: &str) {
    say("note", anstyle(clap::builder::styling::AnsiColor::Yellow), message);
}

fn anstyle(color: clap::builder::styling::AnsiColor) -> clap::builder::styling::Style {
    color.on_default().bold()
}

fn say(label: &str, style: clap::builder::styling::Style, message: &str) {
    use std::io::Write as _;
    // An error here is ignored: no reader is left who could learn of it. A message may quote media, files or a
    // server, so control characters are made visible.
    let _ = writeln!(anstream::stderr(), "{style}{label}:{style:#} {}", visible_lines(message));
}

impl From<io::Error> for Failure {
    /// An error of the standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match &error {
            TraceError::Setting(_) => Self::Usage(error.to_string()),
            TraceError::Record { .. } => {
                Self::Failed(format!("{error}\n  to pass over lines like this one, give --skip-bad N"))
            }
            TraceError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<SchemeError> for Failure {
    fn from(error: SchemeError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<stripewise_results::Error> for Failure {
    fn from(error: stripewise_results::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<stripewise_papers::Error> for Failure {
    fn from(error: stripewise_papers::Error) -> Self {
        use stripewise_papers::Error;
        match error {
            Error::Runs(error) => error.into(),
            Error::Results(error) => error.into(),
            Error::Trace(error) => error.into(),
            // A kind of its own, so that a mistake in a paper's file does not count as a slice that cannot be replayed.
            Error::Unknown(_) | Error::File(_) => Self::Refused(error.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Setting { setting, message } => Self::Usage(format!("setting {setting}: {message}")),
            Error::Unknown { what, name, message, others } => {
                let mut text = format!("{message}\n");
                if !others.is_empty() {
                    wrap(&format!("  others: {}", others.join(", ")), OTHERS, width(), &mut text);
                }
                Self::Usage(format!("{text}  {}", where_to_look(what, &name)))
            }
            Error::Trace(error) => error.into(),
            Error::Store(error) => error.into(),
            Error::Remote(message) => Self::Failed(message),
            Error::Run(error) => Self::Failed(error.to_string()),
            Error::Budget(_) => Self::Failed(error.to_string()),
            Error::Stopped => Self::Interrupted,
            Error::Within { scheme, source } => Self::from(*source).within(&format!("scheme {scheme}")),
            understood_nothing => Self::Usage(understood_nothing.to_string()),
        }
    }
}

/// The column where the names after `others:` begin.
const OTHERS: usize = 10;

/// The remedy for an unknown name.
fn where_to_look(what: What, name: &str) -> String {
    match Path::new(name).exists() {
        true => format!("to read the file of that name, write ./{name}"),
        false => format!("`stripewise {what} list` shows all; a file ends in .toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_gone_is_no_failure() {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::from(gone()), Failure::ReaderGone);
        let written = TraceError::Io { path: "-".into(), source: gone() };
        assert_eq!(Failure::from(written), Failure::ReaderGone);
    }

    #[test]
    fn the_other_names_of_an_unknown_one_are_wrapped() {
        let others = (0..60).map(|n| format!("scheme-number-{n}")).collect();
        let message = "unknown scheme `x`; the nearest: a, b, c".to_owned();
        let unknown = Error::Unknown { what: What::Scheme, name: "x".into(), message, others };
        let failure = Failure::from(unknown);
        let lines: Vec<&str> = failure.message().lines().collect();
        assert!(
            lines[0].ends_with("the nearest: a, b, c") && lines[1].starts_with("  others: scheme-number-0,")
        );
        assert!(lines.len() > 5 && lines.iter().all(|line| line.len() <= width()), "{lines:?}");
        assert!(lines[lines.len() - 1].contains("scheme list"), "{lines:?}");
    }

    #[test]
    fn a_bad_line_is_reported_with_its_remedy() {
        let bad = TraceError::Record {
            path: "a.csv".into(),
            line: 7,
            column: 3,
            expected: "a number",
            found: "x".into(),
        };
        let Failure::Failed(message) = Failure::from(bad) else {
            panic!("a bad trace is a failure of kind 1")
        };
        assert!(message.starts_with("a.csv:7:3: expected a number, found `x`"), "{message}");
        assert!(message.contains("--skip-bad"), "{message}");
    }
}
