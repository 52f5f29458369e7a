//! Events of an array that its operator must know (docs/reference/events.md). The serving thread passes them to a thread that
//! writes them to the log and to a bounded file, and starts the operator's program.

mod file;
mod outlet;
mod program;

use std::path::PathBuf;

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;

use crate::status::findings;

pub use file::{EventFile, Follower, RotatingFile};
pub(crate) use outlet::{Events, Outlet, Programs};
pub use program::check_program;

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// No action is needed.
    Info,
    /// An operator should look.
    Warning,
    /// Redundancy or data is at risk, or lost.
    Error,
}

impl Severity {
    /// The name of the severity.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The member of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number.
    pub member: MemberNo,
    /// Its file or device, if known.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "readable")]
    pub path: Option<PathBuf>,
}

/// A path need not be valid text, and JSON must be.
fn readable<S: serde::Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}

/// The content of an event. The names of kinds and fields are stable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "snake_case")]
#[allow(
    missing_docs,
    reason = "docs/reference/events.md says what each field means, and a test holds it to that"
)]
pub enum What {
    ArrayCreated {},
    ServingBegan {
        read_only: bool,
        missing_members: u64,
    },
    ServingEnded {},
    MemberSlow {
        #[serde(flatten)]
        member: Member,
        latency_ns: u64,
    },
    MemberTimedOut {
        #[serde(flatten)]
        member: Member,
    },
    MemberFailed {
        #[serde(flatten)]
        member: Member,
        reason: String,
    },
    MemberReturned {
        #[serde(flatten)]
        member: Member,
    },
    MemberReplaced {
        #[serde(flatten)]
        member: Member,
    },
    SpareTookOver {
        #[serde(flatten)]
        member: Member,
        spares_left: u64,
    },
    MemberDegrading {
        #[serde(flatten)]
        member: Member,
        read_errors: u64,
        write_errors: u64,
        checksum_errors: u64,
        timeouts: u64,
        limit: u64,
    },
    MemberRecovered {
        #[serde(flatten)]
        member: Member,
    },
    ErrorLimitReached {
        #[serde(flatten)]
        member: Member,
        errors: u64,
        limit: u64,
        kept_because: Option<String>,
    },
    MemberUnlinked {
        #[serde(flatten)]
        member: Member,
        reason: String,
    },
    MemberRelinked {
        #[serde(flatten)]
        member: Member,
    },
    SmartFailed {
        #[serde(flatten)]
        member: Member,
    },
    RebuildBegan {
        #[serde(flatten)]
        member: Member,
        total_units: u64,
    },
    RebuildEnded {
        #[serde(flatten)]
        member: Member,
        complete: bool,
        lost_stripes: u64,
    },
    RebuildHalted {
        #[serde(flatten)]
        member: Member,
        reason: String,
    },
    ScrubEnded {
        read_bytes: u64,
        damaged_pages: u64,
        repaired: u64,
        #[serde(default)]
        obsolete: u64,
        lost: u64,
        #[serde(default)]
        damaged_metadata: u64,
        #[serde(default)]
        repaired_metadata: u64,
        complete: bool,
    },
    DamageFound {
        #[serde(flatten)]
        member: Member,
        read_errors: u64,
        checksum_errors: u64,
        #[serde(default)]
        damaged_superblocks: u64,
        last_offset_bytes: u64,
    },
    DamageRepaired {
        repaired_pages: u64,
    },
    OutOfSpace {
        cause: SpaceCause,
        writes_refused: bool,
    },
    SpaceReturned {},
    ArrayReadOnly {
        reason: String,
    },
    SuperblockReconstructed {
        #[serde(flatten)]
        member: Member,
        reason: String,
    },
    AssemblyForced {
        losses: Vec<String>,
    },
    WritesFenced {},
    WritesResumed {},
    ArrayTakenOver {
        host: String,
    },
    ConnectionRefused {
        connections: u64,
        reason: String,
    },
    EventsDropped {
        events: u64,
    },
}

/// Where space is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpaceCause {
    /// In the file systems of members.
    Members,
    /// In the log: all of its segments are in use.
    Log,
}

impl What {
    /// The name of its kind.
    pub fn kind(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// The member of the event.
    pub fn member(&self) -> Option<&Member> {
        match self {
            Self::MemberSlow { member, .. }
            | Self::MemberTimedOut { member }
            | Self::MemberFailed { member, .. }
            | Self::MemberReturned { member }
            | Self::MemberReplaced { member }
            | Self::SpareTookOver { member, .. }
            | Self::MemberDegrading { member, .. }
            | Self::MemberRecovered { member }
            | Self::ErrorLimitReached { member, .. }
            | Self::MemberUnlinked { member, .. }
            | Self::MemberRelinked { member }
            | Self::SmartFailed { member }
            | Self::RebuildBegan { member, .. }
            | Self::RebuildEnded { member, .. }
            | Self::RebuildHalted { member, .. }
            | Self::SuperblockReconstructed { member, .. }
            | Self::DamageFound { member, .. } => Some(member),
            Self::ArrayCreated {}
            | Self::ServingBegan { .. }
            | Self::ServingEnded {}
            | Self::ScrubEnded { .. }
            | Self::DamageRepaired { .. }
            | Self::OutOfSpace { .. }
            | Self::SpaceReturned {}
            | Self::ArrayReadOnly { .. }
            | Self::AssemblyForced { .. }
            | Self::WritesFenced {}
            | Self::WritesResumed {}
            | Self::ArrayTakenOver { .. }
            | Self::ConnectionRefused { .. }
            | Self::EventsDropped { .. } => None,
        }
    }

    /// The severity of the event.
    pub fn severity(&self) -> Severity {
        match self {
            Self::MemberFailed { .. }
            | Self::MemberTimedOut { .. }
            | Self::ErrorLimitReached { .. }
            | Self::MemberUnlinked { .. }
            | Self::SmartFailed { .. }
            | Self::RebuildHalted { .. }
            | Self::AssemblyForced { .. }
            | Self::ArrayTakenOver { .. }
            | Self::OutOfSpace { writes_refused: true, .. } => Severity::Error,
            Self::RebuildEnded { lost_stripes, .. } if *lost_stripes > 0 => Severity::Error,
            Self::ScrubEnded { lost, .. } if *lost > 0 => Severity::Error,
            Self::MemberSlow { .. }
            | Self::SpareTookOver { .. }
            | Self::MemberDegrading { .. }
            | Self::RebuildEnded { complete: false, .. }
            | Self::ScrubEnded { complete: false, .. }
            | Self::DamageFound { .. }
            | Self::OutOfSpace { .. }
            | Self::ArrayReadOnly { .. }
            | Self::SuperblockReconstructed { .. }
            | Self::WritesFenced {}
            | Self::ConnectionRefused { .. }
            | Self::EventsDropped { .. } => Severity::Warning,
            Self::ServingBegan { missing_members, .. } if *missing_members > 0 => Severity::Warning,
            Self::ArrayCreated {}
            | Self::ServingBegan { .. }
            | Self::ServingEnded {}
            | Self::MemberReturned { .. }
            | Self::MemberReplaced { .. }
            | Self::MemberRecovered { .. }
            | Self::MemberRelinked { .. }
            | Self::RebuildBegan { .. }
            | Self::RebuildEnded { .. }
            | Self::ScrubEnded { .. }
            | Self::DamageRepaired { .. }
            | Self::WritesResumed {}
            | Self::SpaceReturned {} => Severity::Info,
        }
    }

    /// The event as a sentence.
    pub fn message(&self) -> String {
        let of = self.member().map_or(String::new(), |member| format!("member {}", member.member));
        match self {
            Self::ArrayCreated {} => "the array was created".to_owned(),
            Self::ServingBegan { missing_members: 0, read_only: false } => "serving began".to_owned(),
            Self::ServingBegan { missing_members: 0, .. } => "serving began, read-only".to_owned(),
            Self::ServingBegan { missing_members, .. } => {
                format!("serving began without {missing_members} members")
            }
            Self::ServingEnded {} => "serving ended".to_owned(),
            Self::MemberSlow { latency_ns, .. } => {
                format!("{of} took {} ms or longer for an operation", latency_ns / 1_000_000)
            }
            Self::MemberTimedOut { .. } => format!("{of} did not answer in time"),
            Self::MemberFailed { reason, .. } => format!("{of} failed: {reason}"),
            Self::MemberReturned { .. } => format!("{of} returned"),
            Self::MemberReplaced { .. } => format!("{of} was replaced"),
            Self::SpareTookOver { spares_left, .. } => {
                format!("a spare took the place of {of}; {spares_left} spares are left")
            }
            Self::MemberDegrading { read_errors, write_errors, checksum_errors, timeouts, .. } => format!(
                "{of} is degrading: recently {read_errors} read errors, {write_errors} write errors, {checksum_errors} checksum \
                 errors, {timeouts} timeouts"
            ),
            Self::MemberRecovered { .. } => format!("{of} is no longer degrading"),
            Self::ErrorLimitReached { errors, limit, kept_because, .. } => {
                let then = kept_because.as_ref().map_or_else(
                    || "the array continues without it".to_owned(),
                    |why| format!("it stays in service: {why}"),
                );
                format!("{of} has {errors} recent errors, more than the limit of {limit}; {then}")
            }
            Self::MemberUnlinked { reason, .. } => format!(
                "{of} will be lost when the server ends: {reason}; put another in its place by `stripewise fail` and `replace`"
            ),
            Self::MemberRelinked { .. } => format!("the path of {of} leads to it again"),
            Self::SmartFailed { .. } => format!("SMART predicts that {of} fails soon"),
            Self::RebuildBegan { .. } => format!("the rebuild of {of} began"),
            Self::RebuildEnded { complete: false, .. } => {
                format!("the rebuild of {of} ended: it failed again")
            }
            Self::RebuildEnded { lost_stripes: 0, .. } => format!("the rebuild of {of} ended"),
            Self::RebuildEnded { lost_stripes, .. } => {
                format!("the rebuild of {of} ended; {lost_stripes} stripes are lost")
            }
            Self::RebuildHalted { reason, .. } => format!("the rebuild of {of} halted: {reason}"),
            Self::ScrubEnded {
                damaged_pages,
                repaired,
                obsolete,
                lost,
                damaged_metadata,
                repaired_metadata,
                complete,
                ..
            } => {
                let end = if *complete { "" } else { " before it was done" };
                let found =
                    findings([*damaged_pages, *repaired, *obsolete, *lost], |number| number.to_string());
                format!(
                    "scrub ended{end}: {found}; copies of metadata: {damaged_metadata} damaged, {repaired_metadata} \
                     repaired"
                )
            }
            Self::DamageFound { damaged_superblocks, .. } if *damaged_superblocks > 0 => format!(
                "{damaged_superblocks} of the 2 copies of the superblock of {of} are damaged; `stripewise scrub` repairs them"
            ),
            Self::DamageFound { read_errors, checksum_errors, last_offset_bytes, .. } => format!(
                "damage on {of}: {read_errors} read errors, {checksum_errors} checksum errors, the last at byte \
                 {last_offset_bytes}"
            ),
            Self::DamageRepaired { repaired_pages } => {
                format!("{repaired_pages} damaged pages were repaired")
            }
            Self::OutOfSpace { cause, writes_refused } => {
                let what = match cause {
                    SpaceCause::Members => "the file systems of members have no space",
                    SpaceCause::Log => "the log is full",
                };
                format!("{what}: writes {}", if *writes_refused { "are refused" } else { "wait" })
            }
            Self::SpaceReturned {} => "there is space again".to_owned(),
            Self::ArrayReadOnly { reason } => format!("the array is read-only: {reason}"),
            Self::SuperblockReconstructed { reason, .. } => {
                format!("{of} had no superblock: {reason}")
            }
            Self::AssemblyForced { losses } => {
                format!("the array was assembled by --force, and data is lost: {}", losses.join("; "))
            }
            Self::WritesFenced {} => {
                "this host cannot confirm that it owns the array: writes wait until it has".to_owned()
            }
            Self::WritesResumed {} => {
                "this host has confirmed that it owns the array: writes continue".to_owned()
            }
            Self::ArrayTakenOver { host } => {
                format!("{host} took the array over: this host writes nothing more to it")
            }
            Self::ConnectionRefused { connections, reason } => {
                format!("{connections} connections were refused or dropped, the last one: {reason}")
            }
            Self::EventsDropped { events } => format!("{events} events came too fast and are missing here"),
        }
    }
}

/// The array of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Its UUID, if it has metadata. Another array may have had the same name before.
    pub uuid: Option<String>,
}

impl From<&str> for Source {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), uuid: None }
    }
}

/// An event, as written to a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time of the event: UTC, RFC 3339, milliseconds.
    pub time: String,
    /// The severity.
    pub severity: Severity,
    /// The name of the array.
    pub array: String,
    /// The UUID of the array. None without metadata, and in events of programs that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The event as a sentence.
    pub message: String,
    /// The content.
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// An event of `array` that happens now.
    pub fn now(array: &Source, what: What) -> Self {
        Self {
            time: Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true),
            severity: what.severity(),
            array: array.name.clone(),
            uuid: array.uuid.clone(),
            message: what.message(),
            what,
        }
    }

    /// The line of the event, including the line end.
    pub fn line(&self) -> Vec<u8> {
        // It has no maps with keys other than strings, which alone could fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Records in the event file that `array` was created. Events of an earlier array of this name precede this one.
///
/// # Errors
/// The errors of the operating system.
pub fn note_created(at: EventFile, array: &Source) -> std::io::Result<()> {
    RotatingFile::open(at)?.append(&Event::now(array, What::ArrayCreated {}).line())
}

#[cfg(test)]
mod tests;
