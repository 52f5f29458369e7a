//! `stripewise status`: the condition of served arrays.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_base::human::{bytes, count, time};
use stripewise_base::text::{Visible, visible};
use stripewise_base::units::Span;
use stripewise_serve::{Client, ClientError, Errors, Health, Member, Progress, Status};

use super::places::{Places, array_name};
use super::watch;
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] =
    &[("stripewise status", "all arrays"), ("stripewise status pool --json", "one array, as JSON")];

const EXIT_CODES: &str = "\
Exit codes, the worst of all arrays shown:
    0  clean
    1  degraded, rebuilding, degrading (a member may be lost soon), or impaired (data was lost, metadata is damaged, a
       member is in doubt, or there is no space for writes)
    2  failed, not served, or no answer in time";

/// Show the state of served arrays: members, rebuild, latencies
///
/// The exit code reports the state too, for monitoring.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    /// The array [default: all arrays that are remembered or served]
    #[arg(value_parser = array_name)]
    name: Option<String>,

    /// Print JSON with everything that the server reports
    #[arg(long)]
    json: bool,

    /// How long to wait for a server's answer
    #[arg(long, value_name = "TIME", default_value = "5s")]
    timeout: Span,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let names = args.name.map_or_else(|| args.places.names(), |name| Ok(vec![name]))?;
    if names.is_empty() {
        context.remark("no array is remembered or served here; `stripewise scan` finds arrays on devices");
    }
    let mut listed = Vec::new();
    let mut worst = 0;
    for name in names {
        let patience = Duration::from_nanos(args.timeout.0.max(1));
        let answer = Client::connect_within(&args.places.control(&name)?, patience);
        let answer = answer.and_then(|mut client| client.status());
        let state =
            if matches!(answer, Err(ClientError::NoAnswer { .. })) { "no-answer" } else { "not-served" };
        let status = answer.map_err(Failure::from);
        worst = worst.max(match &status {
            Ok(status) => code(status.health),
            Err(_) => 2,
        });
        match (&status, args.json) {
            (Ok(status), true) => listed.push(serde_json::to_value(status).unwrap_or_default()),
            (Err(error), true) => {
                listed.push(json!({ "name": name, "health": state, "reason": error.message() }));
            }
            (Ok(status), false) => print(status, context)?,
            (Err(error), false) => {
                writeln!(context.out, "{name}: {}: {}", state.replace('-', " "), error.message())?
            }
        }
    }
    if args.json {
        context.json(&Value::from(listed))?;
    }
    if worst == 0 { Ok(()) } else { Err(Failure::Reported(worst)) }
}

fn code(health: Health) -> u8 {
    match health {
        Health::Clean => 0,
        Health::Impaired | Health::Degrading | Health::Rebuilding | Health::Degraded => 1,
        Health::Failed => 2,
    }
}

/// The block devices that no flush reaches. Files in memory, which no flush reaches either, are not worth a line.
fn spared(members: &[Member]) -> String {
    let is_device = |path: &Path| path.metadata().is_ok_and(|found| found.file_type().is_block_device());
    let is_spared = |member: &&Member| !member.flushed && member.path.as_deref().is_some_and(is_device);
    let numbers: Vec<String> =
        members.iter().filter(is_spared).map(|member| member.number.to_string()).collect();
    numbers.join(", ")
}

fn print(status: &Status, context: &mut Context<'_>) -> Outcome {
    let out = &mut *context.out;
    let used = status.used_bytes.map_or(String::new(), |used| format!(", {} used", bytes(used)));
    let read_only = if status.read_only { ", read-only" } else { "" };
    writeln!(
        out,
        "{}: {}, {}, {}{used}, {}, served for {}{read_only}",
        visible(&status.name),
        status.health.name().to_uppercase(),
        status.level,
        bytes(status.capacity_bytes),
        visible(&status.scheme),
        time(status.uptime_ns)
    )?;
    if status.beyond_parity {
        let meanwhile = if status.waits_for_members { "wait" } else { "fail" };
        writeln!(
            out,
            "  BEYOND PARITY: too many members are lost, or lack content; writes and flushes {meanwhile} until some return"
        )?;
    }
    if status.out_of_space {
        let meanwhile = if status.out_of_space_beyond_parity { "are refused" } else { "wait" };
        writeln!(out, "  NO SPACE on members: writes {meanwhile} until their file systems have some")?;
    } else if status.full {
        writeln!(out, "  FULL: writes are refused until something is trimmed")?;
    }
    for member in &status.members {
        let path = member.path.as_deref().unwrap_or_else(|| "-".as_ref()).display();
        let path = Visible(path);
        let reason = member.reason.as_ref().map_or(String::new(), |reason| format!(": {}", Visible(reason)));
        let slow = if member.slow { ": does not answer, reads go around it" } else { "" };
        writeln!(out, "  member {:<3} {:<10}  {path}{reason}{slow}", member.number, member.state)?;
        for remark in remarks(member) {
            writeln!(out, "  {:<24}{}", "", visible(&remark))?;
        }
    }
    let spared = spared(&status.members);
    if !spared.is_empty() {
        writeln!(
            out,
            "  no flush reaches members {spared}: their devices say that they write through (--flush auto)"
        )?;
    }
    match &status.owner {
        Some(owner) => writeln!(out, "  owned by host {} ({})", owner.host.escape_debug(), owner.id)?,
        None if status.read_only => {}
        None => writeln!(
            out,
            "  NO OWNER: the array has no page for it, and nothing keeps a second host from serving it"
        )?,
    }
    for spare in &status.spares {
        writeln!(out, "  spare                   {}", Visible(spare.display()))?;
    }
    if let Some(progress) = &status.rebuild {
        writeln!(out, "  rebuild of member {}", progress_line(progress))?;
        if let Some(reason) = &status.rebuild_halted {
            writeln!(out, "  rebuild HALTED: {reason}; {}", watch::HALTED_REMEDY)?;
        }
    }
    if status.rebuild_lost > 0 {
        writeln!(out, "  last rebuild: {} stripes LOST data", count(status.rebuild_lost))?;
    }
    if status.metadata_damaged > 0 {
        let copies = count(status.metadata_damaged);
        writeln!(
            out,
            "  METADATA: {copies} copies are damaged and not repaired; `stripewise scrub` repairs them"
        )?;
    }
    if let Some(progress) = &status.scrub {
        writeln!(out, "  scrub: {}", progress_line(progress))?;
    }
    if let Some(scrubbed) = &status.last_scrub {
        writeln!(out, "  last scrub: {}", watch::scrubbed(scrubbed))?;
    }
    for kind in status.requests.iter().filter(|kind| kind.requests > 0) {
        let failed = if kind.failed > 0 { format!(", {} FAILED", count(kind.failed)) } else { String::new() };
        let latency = kind.latency;
        writeln!(
            out,
            "  {:<5}  {} requests, {}, median {}, 99 % {}, longest {}{failed}",
            kind.kind,
            count(kind.requests),
            bytes(kind.bytes),
            time(latency.p50_ns),
            time(latency.p99_ns),
            time(latency.max_ns)
        )?;
    }
    for address in &status.addresses {
        writeln!(out, "  serves {}", visible(address))?;
    }
    if let Some(recording) = &status.recording {
        let (requests, left_out) = (count(recording.requests), count(recording.left_out));
        writeln!(
            out,
            "  records to {}: {requests} requests, {left_out} left out",
            Visible(recording.folder.display())
        )?;
    }
    Ok(())
}

/// Remarks about the health of a member.
fn remarks(member: &Member) -> Vec<String> {
    let Errors { read, write, checksum, timeouts } = member.recent_errors;
    let kinds = [
        (read, "read errors"),
        (write, "write errors"),
        (checksum, "checksum errors"),
        (timeouts, "timeouts"),
    ];
    let recent = kinds.iter().filter(|(errors, _)| *errors > 0);
    let recent: Vec<String> = recent.map(|(errors, kind)| format!("{} {kind}", count(*errors))).collect();
    let mut remarks = Vec::new();
    if !recent.is_empty() {
        let degrading = if member.degrading { "DEGRADING: " } else { "" };
        remarks.push(format!("{degrading}recently {}", recent.join(", ")));
    }
    remarks.extend(
        member.unlinked.as_ref().map(|why| format!("UNLINKED: {why}; it is lost when the server ends")),
    );
    if member.damaged_superblocks > 0 && member.state != "failed" {
        let damaged = member.damaged_superblocks;
        remarks
            .push(format!("SUPERBLOCK: {damaged} of 2 copies are damaged; `stripewise scrub` repairs them"));
    }
    if member.in_doubt {
        remarks.push("IN DOUBT: it may lack content; `stripewise scrub` verifies it".to_owned());
    }
    remarks.extend(member.smart.as_ref().map(|smart| match smart.as_str() {
        "failing" => "SMART: FAILING".to_owned(),
        other => format!("SMART: {other}"),
    }));
    remarks
}

fn progress_line(progress: &Progress) -> String {
    let member = progress.member.map_or(String::new(), |member| format!("{member}: "));
    let share = 100.0 * progress.done as f64 / progress.total.max(1) as f64;
    let left = watch::left(progress);
    format!("{member}{share:.1} %, {} of {}{left}", count(progress.done), count(progress.total))
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::NoServer(_) => {
                Self::failed(format!("{error}; `stripewise serve NAME` serves an array"))
            }
            ClientError::NoAnswer { .. }
            | ClientError::Refused(_)
            | ClientError::Io(_)
            | ClientError::Answer(_) => Self::failed(error.to_string()),
        }
    }
}
