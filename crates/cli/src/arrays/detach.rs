//! `stripewise serve --detach`: the command starts itself a second time, waits until the second process serves, and
//! returns. An error before that reaches the caller, with its exit code.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use stripewise_serve::DETACHED;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The last byte that the server writes to its standard output: it reports that the server serves.
const SERVES: u8 = 0x06;

/// Whether this process is the server in the background.
pub(super) fn is_background() -> bool {
    std::env::var_os(DETACHED).is_some()
}

/// Starts the server, and returns when it serves.
pub(super) fn start(context: &mut Context<'_>) -> Outcome {
    let fail = |error: std::io::Error| Failure::failed(format!("cannot start the server: {error}"));
    let program = std::env::current_exe().map_err(fail)?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(DETACHED, "1");
    // The server inherits the caller's standard error until it serves.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(fail)?;
    let mut said = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut said).map_err(fail)?;
    }
    let serves = said.pop_if(|last| *last == SERVES).is_some();
    context.out.write_all(&said)?;
    if serves {
        return Ok(());
    }
    let status = child.wait().map_err(fail)?;
    match status.code() {
        // The server has printed the reason.
        Some(code) if code != 0 => Err(Failure::Reported(u8::try_from(code).unwrap_or(1))),
        _ => Err(Failure::failed(format!("the server ended before it served: {status}"))),
    }
}

/// Reports to the caller that this server serves. The server then continues without the caller's terminal.
///
/// # Errors
/// When the caller is gone: then no client needs the server.
pub(super) fn serves(context: &mut Context<'_>) -> Outcome {
    let fail = |error: std::io::Error| Failure::failed(format!("cannot leave the terminal: {error}"));
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").map_err(fail)?;
    // A session leader needs no new session.
    let _ = setsid();
    context.out.flush()?;
    // Written directly: `context.out` would make the control character visible.
    rustix::io::write(rustix::stdio::stdout(), &[SERVES]).map_err(|error| fail(error.into()))?;
    dup2_stdin(&null)
        .and_then(|()| dup2_stdout(&null))
        .and_then(|()| dup2_stderr(&null))
        .map_err(|error| fail(error.into()))
}
