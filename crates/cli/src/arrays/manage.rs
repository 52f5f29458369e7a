//! `stripewise fail`, `replace`, `spare`, `scrub`, `rate` and `stop`: the requests to a server.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args as ClapArgs;
use stripewise_array::MemberNo;
use stripewise_base::human::count;
use stripewise_base::units::Bytes;
use stripewise_serve::{Client, ClientError, Command, ControlError};

use super::places::{Hint, Places, absolute, array_name};
use super::watch::{self, Work};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const FAIL: &[Example] = &[("stripewise fail pool 2", "member 2")];

/// Remove a member of a served array from service
///
/// From then on its content is decoded from the other members, and writes go to the others. `stripewise replace` puts another
/// device in its place.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(FAIL))]
pub(crate) struct Fail {
    #[command(flatten)]
    array: Served,

    /// The member, by number
    #[arg(value_name = "MEMBER")]
    member: MemberNo,

    /// Remove the member even if part of the data cannot be read without it
    #[arg(long)]
    force: bool,
}

const REPLACE: &[Example] = &[
    ("stripewise replace pool 2 pool/new-2", "a file replaces member 2"),
    (
        "stripewise replace pool 2 pool/new-2 --force --wait",
        "even if the file contains data; wait for the rebuild",
    ),
];

/// Replace a failed member with a device or file, and rebuild it
///
/// The array serves requests during the rebuild, and an interrupted rebuild continues when the server is restarted. A file that
/// does not exist is created with the necessary size. The member's own device can return too. Then only the pages written after
/// its own superblocks are written to it, or all of them if its superblocks cannot be trusted or with `--force`.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(REPLACE))]
pub(crate) struct Replace {
    #[command(flatten)]
    array: Served,

    /// The member, by number
    #[arg(value_name = "MEMBER")]
    member: MemberNo,

    /// The device or file that replaces it
    #[arg(value_name = "DEVICE")]
    device: PathBuf,

    /// Use the device even if it contains data; its content is lost
    #[arg(long)]
    force: bool,

    /// Wait for the end of the rebuild; exit code 1 if the new member fails, or if data that belongs on it is lost
    #[arg(long)]
    wait: bool,
}

const SPARE: &[Example] = &[("stripewise spare pool pool/spare", "a file")];

/// Add a hot spare to a served array
///
/// The spare replaces the first member that fails. It stays a spare when the server is restarted, unless it was used.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(SPARE))]
pub(crate) struct Spare {
    #[command(flatten)]
    array: Served,

    /// The device or file; a file that does not exist is created
    #[arg(value_name = "DEVICE")]
    device: PathBuf,

    /// Use the device even if it contains data; its content is lost
    #[arg(long)]
    force: bool,
}

const SCRUB: &[Example] = &[
    ("stripewise scrub pool", "start a scrub"),
    ("stripewise scrub pool --wait", "start a scrub, show its progress and wait for its end"),
    ("stripewise scrub pool --stop", "end a scrub in progress"),
];

/// Verify all data of a served array, and repair damage
#[derive(Debug, ClapArgs)]
#[command(after_help = section(SCRUB))]
pub(crate) struct Scrub {
    #[command(flatten)]
    array: Served,

    /// Wait until it is complete, and print its findings; exit code 1 if data is lost, if damaged metadata could not be repaired,
    /// or if it ended early
    #[arg(long, conflicts_with = "stop")]
    wait: bool,

    /// End a scrub in progress
    #[arg(long)]
    stop: bool,
}

const RATE: &[Example] = &[
    ("stripewise rate pool 50MiB", "50 MiB a second"),
    ("stripewise rate pool unlimited", "without a limit"),
];

/// Limit the speed of the rebuilds and scrubs of a served array
#[derive(Debug, ClapArgs)]
#[command(after_help = section(RATE))]
pub(crate) struct Rate {
    #[command(flatten)]
    array: Served,

    /// Bytes a second, or `unlimited`
    #[arg(value_name = "SIZE|unlimited")]
    rate: Limit,
}

const STOP: &[Example] =
    &[("stripewise stop pool", "finish the requests in flight, make all data durable, end the server")];

/// Stop a server: complete all requests, flush, exit
#[derive(Debug, ClapArgs)]
#[command(after_help = section(STOP))]
pub(crate) struct Stop {
    #[command(flatten)]
    array: Served,
}

/// An array that is served.
#[derive(Debug, ClapArgs)]
pub(crate) struct Served {
    /// The array
    #[arg(value_parser = array_name)]
    name: String,

    #[command(flatten)]
    places: Places,
}

impl Served {
    fn connect(&self) -> Outcome<Client> {
        Ok(Client::connect(&self.places.control(&self.name)?)?)
    }

    fn ask(&self, command: &Command) -> Outcome {
        self.connect()?.ask(command)?;
        Ok(())
    }

    /// Sends `command`, which gives the array a file or device. `remember` records the path first, since the server
    /// may carry the command out even if no answer arrives. The path is forgotten if the array refuses it.
    fn bring(
        &self,
        client: &mut Client,
        command: &Command,
        remember: impl FnOnce(&mut Hint),
        context: &mut Context<'_>,
    ) -> Outcome {
        let before = self.places.hint_or_remark(&self.name, context)?;
        let keep = |hint: &Hint| {
            if let Err(error) = self.places.remember(&self.name, hint) {
                context.remark(error.message());
            }
        };
        if let Some(mut hint) = before.clone() {
            remember(&mut hint);
            keep(&hint);
        }
        let answer = client.ask(command);
        if let (Err(ClientError::Refused(error)), Some(before)) = (&answer, &before)
            && error.code == ControlError::REFUSED
        {
            keep(before);
        }
        answer?;
        Ok(())
    }
}

/// Adds `path` unless the list contains it.
fn add(paths: &mut Vec<PathBuf>, path: &Path) {
    if !paths.iter().any(|known| known == path) {
        paths.push(path.to_owned());
    }
}

/// A rate, in bytes a second; `None` is unlimited.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<u64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let rate: Bytes = text.parse().map_err(|error| format!("{error}, or `unlimited`"))?;
        Ok(Self(Some(rate.0)))
    }
}

pub(crate) fn fail(args: Fail) -> Outcome {
    args.array.ask(&Command::Fail { member: args.member, force: args.force })
}

pub(crate) fn replace(args: Replace, context: &mut Context<'_>) -> Outcome {
    let mut client = args.array.connect()?;
    let path = absolute(&args.device)?;
    let (member, force) = (args.member, args.force);
    let command = Command::Replace { member, path: path.clone(), force };
    args.array.bring(&mut client, &command, |hint| add(&mut hint.paths, &path), context)?;
    if args.wait {
        let status = watch::until_done(&mut client, Work::Rebuild, context)?;
        if let Some(one) = status.members.get(member.index()).filter(|one| one.state != "active") {
            let reason = one.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            return Err(Failure::failed(format!(
                "member {member} is {} again{reason}\n  put another in its place by `stripewise replace`",
                one.state
            )));
        }
        if status.rebuild_lost > 0 {
            return Err(Failure::failed(format!(
                "{} stripes lost data, as other members lost their parts of them; reads of that data fail until it is written \
                 again, and `stripewise check` names its chunks",
                count(status.rebuild_lost)
            )));
        }
    }
    Ok(())
}

pub(crate) fn spare(args: Spare, context: &mut Context<'_>) -> Outcome {
    let mut client = args.array.connect()?;
    let path = absolute(&args.device)?;
    let command = Command::AddSpare { path: path.clone(), force: args.force };
    args.array.bring(&mut client, &command, |hint| add(&mut hint.spares, &path), context)
}

pub(crate) fn scrub(args: Scrub, context: &mut Context<'_>) -> Outcome {
    if args.stop {
        return args.array.ask(&Command::StopScrub);
    }
    let mut client = args.array.connect()?;
    client.ask(&Command::Scrub)?;
    if !args.wait {
        return Ok(());
    }
    let status = watch::until_done(&mut client, Work::Scrub, context)?;
    let Some(scrubbed) = status.last_scrub else { return Ok(()) };
    writeln!(context.out, "{}", watch::scrubbed(&scrubbed))?;
    let unrepaired = scrubbed.metadata_damaged.saturating_sub(scrubbed.metadata_repaired);
    if unrepaired > 0 {
        return Err(Failure::failed(format!(
            "{} damaged copies of metadata could not be repaired: scrub again, and replace members that cannot be written",
            count(unrepaired)
        )));
    }
    match (scrubbed.lost, scrubbed.complete) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::failed(
            "the scrub was ended before it was done: nothing is known of what it had not read",
        )),
        (lost, _) => Err(Failure::failed(format!(
            "{} chunks are lost: reads of them fail until they are written again",
            count(lost)
        ))),
    }
}

pub(crate) fn rate(args: Rate) -> Outcome {
    args.array.ask(&Command::RebuildRate { bytes_per_second: args.rate.0 })
}

pub(crate) fn stop(args: Stop) -> Outcome {
    args.array.ask(&Command::Stop)
}
