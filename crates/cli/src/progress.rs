//! Progress on the standard error: a line for each long task while it runs.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use stripewise_base::Nanos;

use crate::human;

/// Steps of a bar whose length is a share.
const STEPS: u64 = 10_000;

/// The lines of all running tasks. Hidden where the standard error is no terminal.
#[derive(Clone)]
pub(crate) struct Progress(MultiProgress);

/// One line.
pub(crate) struct Line(ProgressBar);

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        Self(MultiProgress::with_draw_target(target))
    }

    /// A line called `name`.
    pub(crate) fn line(&self, name: &str) -> Line {
        let style = ProgressStyle::with_template("{prefix:18!} [{bar:24}] {percent:>3} %  {msg}{left}");
        let style = style.expect("the template is right").progress_chars("=> ").with_key("left", left);
        let bar = ProgressBar::new(STEPS).with_style(style).with_prefix(name.to_owned());
        Line(self.0.add(bar))
    }
}

/// The line of a study: many runs, of which only the sum is shown.
pub(crate) struct Bar(ProgressBar);

impl Progress {
    /// A line for a study called `name`.
    pub(crate) fn bar(&self, name: &str) -> Bar {
        let style = ProgressStyle::with_template("{prefix:18!} [{bar:24}] {percent:>3} %  {msg}");
        let style = style.expect("the template is right").progress_chars("=> ");
        let bar = ProgressBar::new(STEPS).with_style(style).with_prefix(name.to_owned());
        Bar(self.0.add(bar))
    }
}

impl Bar {
    /// Shows that `share` is done, and that about this number of seconds are left.
    pub(crate) fn update(&self, share: f64, message: &str, seconds: u64) {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let hours = if hours > 0 { format!("{hours}:{minutes:02}") } else { minutes.to_string() };
        self.0.set_message(format!("{message}, {hours}:{:02} left", seconds % 60));
        self.0.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The time left, as soon as it can be estimated.
fn left(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    if state.pos() > 0 {
        let seconds = state.eta().as_secs();
        // An unwritable line does not stop the task.
        let _ = write!(text, ", {}:{:02} left", seconds / 60, seconds % 60);
    }
}

impl Line {
    /// Shows that `requests` were handled, `share` of all where that is known, and that simulated time has reached
    /// `now_ns`.
    pub(crate) fn update(&self, requests: u64, share: Option<f64>, now_ns: Option<Nanos>) {
        let mut message = format!("{} requests", human::count(requests));
        if let Some(now_ns) = now_ns {
            message.push_str(&format!(", {} simulated", human::time(now_ns)));
        }
        self.0.set_message(message);
        match share {
            Some(share) => self.0.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64),
            None => self.0.tick(),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
