//! Waits for a rebuild or a scrub of a server, and shows a bar.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use stripewise_base::human::{bytes, count};
use stripewise_serve::{Client, Progress, Scrubbed, Status, findings};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::interrupt;

/// Time between two requests for the status.
const PERIOD: Duration = Duration::from_millis(200);

/// The remedy for a halted rebuild.
pub(super) const HALTED_REMEDY: &str = "it continues when a failed member returns: `replace` it with its own device, or \
    restart with all members";

/// The work that the command waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Rebuild,
    Scrub,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Rebuild => "rebuild",
            Self::Scrub => "scrub",
        }
    }

    /// Its progress, while it runs.
    fn progress(self, status: &Status) -> Option<Progress> {
        match self {
            Self::Rebuild => status.rebuild,
            Self::Scrub => status.scrub,
        }
    }

    /// What happens to it when its server is gone.
    fn later(self) -> &'static str {
        match self {
            Self::Rebuild => "it continues when the server is restarted",
            Self::Scrub => "it begins again when it is requested again",
        }
    }
}

/// Waits until there is no such work, and returns the status then. A busy server is asked again.
///
/// # Errors
/// When the work cannot end: it is halted, or the server is gone. When the user interrupts; the work then
/// continues.
pub(super) fn until_done(client: &mut Client, work: Work, context: &Context<'_>) -> Outcome<Status> {
    let what = work.name();
    let style =
        ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3} %, {human_pos} of {human_len}{msg}");
    let style = style.expect("the template is right").progress_chars("=> ");
    let target =
        if context.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let bar = ProgressBar::with_draw_target(None, target).with_style(style).with_prefix(what);
    let bar = bar.with_finish(ProgressFinish::AndClear);
    loop {
        match client.status() {
            Ok(status) => {
                let Some(progress) = work.progress(&status) else { return Ok(status) };
                if let (Work::Rebuild, Some(reason)) = (work, &status.rebuild_halted) {
                    return Err(Failure::failed(format!(
                        "the {what} is halted: {reason}\n  {HALTED_REMEDY}"
                    )));
                }
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                bar.set_message(left(&progress));
            }
            Err(error) if error.passes() => bar.set_message(", the server is busy"),
            Err(error) => {
                let later = work.later();
                return Err(Failure::failed(format!("the {what} cannot be waited for: {error}\n  {later}")));
            }
        }
        std::thread::sleep(PERIOD);
        if interrupt::requested() {
            drop(bar);
            context.remark(&format!("the {what} continues; `stripewise status` shows its progress"));
            return Err(Failure::Interrupted);
        }
    }
}

/// The time left, if it can be estimated.
pub(super) fn left(progress: &Progress) -> String {
    let left = progress.left_seconds;
    left.map_or(String::new(), |left| format!(", {}:{:02} left", left / 60, left % 60))
}

/// The result of a scrub.
pub(super) fn scrubbed(scrubbed: &Scrubbed) -> String {
    let Scrubbed {
        read_bytes,
        damaged,
        repaired,
        obsolete,
        lost,
        metadata_damaged,
        metadata_repaired,
        complete,
    } = *scrubbed;
    let found = findings([damaged, repaired, obsolete, lost], count);
    let end = if complete { "" } else { ", ended before it was done" };
    let metadata = match metadata_damaged {
        0 => String::new(),
        damaged => {
            format!("; copies of metadata: {} damaged, {} repaired", count(damaged), count(metadata_repaired))
        }
    };
    format!("{} read, {found}{metadata}{end}", bytes(read_bytes))
}
