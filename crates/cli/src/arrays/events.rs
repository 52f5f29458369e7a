//! `stripewise events`: lists the events of an array, served or not.

use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::Value;
use stripewise_serve::events::Follower;

use super::places::{Places, array_name};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};
use crate::interrupt;

const EXAMPLES: &[Example] = &[
    ("stripewise events pool -n 20", "the last 20 events"),
    ("stripewise events pool --json", "all recorded events as lines of JSON"),
    ("stripewise events pool --follow", "also new events, until it is interrupted"),
];

const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  the array is unknown, or its events could not be read
    2  the command line was not understood";

/// Time between two looks for new events in the file.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Print the events of an array: failures, rebuilds, scrubs, damage
///
/// The events come from a file that the server writes to the state folder, so the command works without a running server. The
/// file keeps the latest one to two MiB. Events of an earlier array of the same name are left out. docs/reference/events.md
/// lists all kinds of events.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    /// The array
    #[arg(value_parser = array_name)]
    name: String,

    /// Print one line of JSON for each event
    #[arg(long)]
    json: bool,

    /// Wait for further events, and print them as they occur
    #[arg(long)]
    follow: bool,

    /// Print only the last N events [default: all]
    #[arg(short = 'n', value_name = "N")]
    number: Option<usize>,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let file = args.places.events(&args.name)?;
    let path = file.current.display().to_string();
    let hint = args.places.hint_or_remark(&args.name, context)?;
    let is_known = file.current.exists() || file.previous.exists() || hint.is_some();
    if !is_known {
        return Err(Failure::failed(format!(
            "nothing is known of an array \"{}\": there is no `{path}`\n  `stripewise status` lists the \
             arrays that are remembered",
            args.name
        )));
    }
    let fail = |error| Failure::failed(format!("cannot read `{path}`: {error}"));
    let mut follower = Follower::new(file, hint.map(|hint| hint.array)).map_err(fail)?;
    let lines = follower.lines().map_err(fail)?;
    let left_out = args.number.map_or(0, |number| lines.len().saturating_sub(number));
    let mut unread = 0;
    for line in &lines[left_out..] {
        unread += show(line, args.json, context)?;
    }
    if unread > 0 {
        context.remark(&format!("{unread} lines of `{path}` are no events: a crash cut them short"));
    }
    while args.follow && !interrupt::requested() {
        context.out.flush()?;
        std::thread::sleep(LOOK_AGAIN);
        for line in follower.lines().map_err(fail)? {
            show(&line, args.json, context)?;
        }
    }
    Ok(())
}

/// Prints an event, and returns the number of lines that are no event.
fn show(line: &str, is_json: bool, context: &mut Context<'_>) -> Outcome<u64> {
    // An event of a newer program may be of a kind that is unknown here. The event contains its own sentence.
    let Ok(Value::Object(event)) = serde_json::from_str(line) else { return Ok(1) };
    if is_json {
        writeln!(context.out, "{line}")?;
        return Ok(0);
    }
    let text = |field: &str| printable(event.get(field).and_then(Value::as_str).unwrap_or_default());
    let path = if event.contains_key("path") { format!(" ({})", text("path")) } else { String::new() };
    let (time, severity, kind, message) = (text("time"), text("severity"), text("kind"), text("message"));
    writeln!(context.out, "{time}  {severity:<7}  {kind:<19}  {message}{path}")?;
    Ok(0)
}

/// `text` with its control characters made visible, so the terminal takes none for a command.
fn printable(text: &str) -> String {
    let visible = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> (u64, String) {
        let mut out = Vec::new();
        let unread = show(line, false, &mut Context::new(&mut out, true)).unwrap();
        (unread, String::from_utf8(out).unwrap())
    }

    #[test]
    fn an_event_is_a_line_without_commands_to_the_terminal() {
        let line = r#"{"time":"T","severity":"error","kind":"of-tomorrow","message":"a\u001b[2Jb","path":"/dev/x\ny"}"#;
        let (unread, text) = shown(line);
        assert_eq!(unread, 0);
        assert_eq!(text, "T  error    of-tomorrow          a\\u{1b}[2Jb (/dev/x\\ny)\n");
        assert_eq!(shown("{\"time\":"), (1, String::new()));
    }
}
