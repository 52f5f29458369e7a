//! Waiting for a rebuild or a scrub of a server, with a bar.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stripewise_serve::{Client, Command, Progress, Scrubbed, Status};
use stripewise_study::human::{bytes, count};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::interrupt;

/// How often the server is asked.
const PERIOD: Duration = Duration::from_millis(200);

/// Asks for the status.
pub(super) fn status(client: &mut Client) -> Outcome<Status> {
    let value = client.ask(&Command::Status)?;
    serde_json::from_value(value).map_err(|error| {
        Failure::failed(format!(
            "the server's status cannot be read: {error}\n  it may be of another version"
        ))
    })
}

/// Waits until `under_way` says of the status that there is nothing, and returns that status.
///
/// # Errors
/// When the user interrupts; what is waited for goes on then.
pub(super) fn until_done(
    client: &mut Client,
    what: &str,
    under_way: fn(&Status) -> Option<Progress>,
    context: &Context<'_>,
) -> Outcome<Status> {
    let style =
        ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3} %, {human_pos} of {human_len}{msg}");
    let style = style.expect("the template is right").progress_chars("=> ");
    let target =
        if context.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let bar = ProgressBar::with_draw_target(None, target).with_style(style).with_prefix(what.to_owned());
    loop {
        let status = status(client)?;
        let Some(progress) = under_way(&status) else {
            bar.finish_and_clear();
            return Ok(status);
        };
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(left(&progress));
        std::thread::sleep(PERIOD);
        if interrupt::requested() {
            bar.finish_and_clear();
            context.remark(&format!("the {what} goes on; `stripewise status` tells how far it is"));
            return Err(Failure::Interrupted);
        }
    }
}

/// The time left, where it can be told.
pub(super) fn left(progress: &Progress) -> String {
    let left = progress.left_seconds;
    left.map_or(String::new(), |left| format!(", {}:{:02} left", left / 60, left % 60))
}

/// What a scrub came to.
pub(super) fn scrubbed(scrubbed: &Scrubbed) -> String {
    let Scrubbed { read_bytes, damaged, repaired, lost, complete } = *scrubbed;
    let [damaged, repaired, lost] = [damaged, repaired, lost].map(count);
    let end = if complete { "" } else { ", ended before it was done" };
    format!("{} read, {damaged} damaged, {repaired} repaired, {lost} lost{end}", bytes(read_bytes))
}
