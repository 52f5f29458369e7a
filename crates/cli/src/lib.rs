//! The `stripewise` command: reads the command line, calls the layers below, prints their results.
//!
//! One file a subcommand. Functions that a notebook would need too are in the crates below, not here.

#![forbid(unsafe_code)]

mod advise;
mod app;
mod arrays;
mod compare;
mod comparison;
mod completions;
mod context;
mod examples;
mod explain;
mod failure;
mod fio;
mod groups;
mod histogram;
mod interrupt;
mod level;
mod log;
mod man;
mod members;
mod overhead;
mod paper;
mod place;
mod presets;
mod progress;
mod reliability;
mod renamed;
mod replicate;
mod report;
mod run;
mod runs;
mod study;
mod table;
mod timeline;
mod trace;
mod wrap;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::FromArgMatches as _;

pub use app::command;

use app::App;
use context::Context;
use stripewise_base::human;
use stripewise_base::text::VisibleLines;

/// Runs the command line `arguments`, which begins with the program's name, and returns the exit code: 0 done, 1
/// failed, 2 not understood, 130 interrupted.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let remarks = renamed::remarks(&arguments);
    let app =
        match command().try_get_matches_from(arguments).and_then(|matches| App::from_arg_matches(&matches)) {
            Ok(app) => app,
            Err(answer) => {
                // Help and version are answers and not errors. A reader that has gone wants neither.
                let _ = answer.print();
                return ExitCode::from(answer.exit_code().clamp(0, 255) as u8);
            }
        };
    app.color.apply();
    if !app.handles_signals() {
        interrupt::install();
    }
    // Text from media, files and servers is made visible, so the terminal obeys none of it.
    let mut out = VisibleLines::new(anstream::stdout().lock());
    let quiet = app.quiet;
    let mut context = Context::new(&mut out, quiet);
    remarks.iter().for_each(|remark| context.remark(remark));
    let outcome = app.run(&mut context);
    match outcome.and_then(|()| out.flush().map_err(Into::into)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
