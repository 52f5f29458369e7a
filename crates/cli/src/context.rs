//! The context of every subcommand: where its output goes and how much it may print.

use std::io::Write;

use serde::Serialize;
use stripewise_base::text::visible_json;

use crate::failure::{Outcome, warn};

/// The context of a subcommand.
pub(crate) struct Context<'a> {
    /// The standard output.
    pub(crate) out: &'a mut dyn Write,
    /// Whether progress and remarks are suppressed.
    pub(crate) quiet: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, quiet: bool) -> Self {
        Self { out, quiet }
    }

    /// Prints `value` as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Outcome {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| crate::failure::Failure::failed(format!("cannot print JSON: {error}")))?;
        Ok(writeln!(self.out, "{}", visible_json(&text))?)
    }

    /// Prints a remark that is no part of the output.
    pub(crate) fn remark(&self, message: &str) {
        if !self.quiet {
            warn(message);
        }
    }
}

/// Columns of the terminal of the output; 100 where the output is no terminal.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0).unwrap_or(100).max(40)
}
