//! What a server tells of its array: one value for the control socket, the metrics and the status page.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::latency::Quantiles;
use crate::record::Recording;

/// How an array is, in a word; the worst that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// All members serve, with all their redundancy, and nothing is known to be wrong.
    Clean,
    /// All members serve, but something needs a hand: the last rebuild or scrub lost something, or there is no space for writes.
    Impaired,
    /// All members serve, but one may be lost soon: by its recent errors, by SMART, or because its file was deleted.
    Degrading,
    /// A member is being rebuilt.
    Rebuilding,
    /// Members are out of service, and no more than parity tolerates.
    Degraded,
    /// More members are out of service than parity tolerates: something cannot be read.
    Failed,
}

impl Health {
    /// All of them, the best first.
    pub const ALL: [Self; 6] =
        [Self::Clean, Self::Impaired, Self::Degrading, Self::Rebuilding, Self::Degraded, Self::Failed];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Impaired => "impaired",
            Self::Degrading => "degrading",
            Self::Rebuilding => "rebuilding",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

/// All that a server knows of its array. Counters begin with the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The array's name.
    pub name: String,
    /// Its UUID.
    pub array: String,
    /// Its level: `RAID-5` …
    pub level: String,
    /// Its scheme.
    pub scheme: String,
    /// How it is.
    pub health: Health,
    /// Whether it takes no writes.
    pub read_only: bool,
    /// Nanoseconds since it is served.
    pub uptime_ns: u64,
    /// Bytes that hosts see.
    pub capacity_bytes: u64,
    /// Bytes of them that hold data; none where placement does not tell.
    pub used_bytes: Option<u64>,
    /// Whether a log has no space, and nothing under way that could make some.
    pub full: bool,
    /// Whether members have no space for what is written to them: their files are thin, and their file system full.
    #[serde(rename = "starved")]
    pub out_of_space: bool,
    /// Whether those are more than parity tolerates, so that writes are refused. Otherwise they wait.
    #[serde(rename = "starved_beyond_parity")]
    pub out_of_space_beyond_parity: bool,
    /// How operations reach members.
    pub way: String,
    /// Bytes of memory for pages and maps.
    pub memory_bytes: u64,
    /// Its members, in order.
    #[serde(rename = "elements")]
    pub members: Vec<Member>,
    /// The host that owns the array: this one; none where the array has no page for an owner, or is read-only.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// Hot spares.
    pub spares: Vec<PathBuf>,
    /// A rebuild that goes on.
    pub rebuild: Option<Progress>,
    /// Why the rebuild goes no further until the array is served again.
    pub rebuild_halted: Option<String>,
    /// Stripes or rows in which the last rebuild found data lost, until a complete scrub finds nothing lost.
    pub rebuild_lost: u64,
    /// A scrub that goes on.
    pub scrub: Option<Progress>,
    /// What the last scrub that ended came to.
    pub last_scrub: Option<Scrubbed>,
    /// Copies of metadata that are known to be damaged now: what a scrub found and has not repaired yet, or could not.
    #[serde(default)]
    pub metadata_damaged: u64,
    /// Requests of hosts, by kind.
    pub requests: Vec<Requests>,
    /// Requests that are under way.
    pub in_flight: u64,
    /// Operations on members, by class.
    pub operations: Vec<Operations>,
    /// The log, where placement is one.
    pub log: Option<Log>,
    /// Connections of clients.
    pub connections: u64,
    /// Connections that were ended because their client broke the protocol, or because there were too many.
    pub dropped_connections: u64,
    /// Where clients connect.
    pub addresses: Vec<String>,
    /// A recording that goes on.
    pub recording: Option<Recording>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number.
    pub number: u16,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Its file or device; none while it is absent.
    pub path: Option<PathBuf>,
    /// `active`, `rebuilding` or `failed`.
    pub state: String,
    /// Why it is out of service.
    pub reason: Option<String>,
    /// Whether it has not answered for a while: reads go around it. Absent in the status of older servers.
    #[serde(default)]
    pub slow: bool,
    /// Operations in its queue.
    pub queued: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Whether it may be lost soon.
    #[serde(default)]
    pub degrading: bool,
    /// What went wrong on it since the array is served.
    #[serde(default)]
    pub total_errors: Errors,
    /// What went wrong of late: each error counts half after an hour.
    #[serde(default)]
    pub recent_errors: Errors,
    /// Pages that it could not return and that were written to it again.
    #[serde(default)]
    pub repaired_pages: u64,
    /// Why its file goes with the server: its path does not lead to it any more.
    #[serde(default)]
    pub unlinked: Option<String>,
    /// How many of its two superblocks are damaged now.
    #[serde(default)]
    pub damaged_superblocks: u64,
    /// What SMART says: `passed` or `failing`; none where it says nothing.
    #[serde(default)]
    pub smart: Option<String>,
}

/// Errors of a member, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Reads that it answered with an error.
    pub read: u64,
    /// Writes, trims and flushes that it answered with an error.
    pub write: u64,
    /// Reads that it answered with content that has not its checksum.
    pub checksum: u64,
    /// Operations that it did not answer in time.
    pub timeouts: u64,
}

/// The host that owns an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its name.
    pub host: String,
    /// Its identifier, which the array knows it by.
    pub id: String,
    /// Seconds since 1970 at which it claimed the array.
    pub since: u64,
    /// Milliseconds between two heartbeats.
    pub heartbeat_ms: u32,
}

/// How far a rebuild or a scrub is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The member that is rebuilt; none for a scrub.
    #[serde(rename = "element")]
    pub member: Option<u16>,
    /// What is done: segments of the log, or rows.
    pub done: u64,
    /// What there is to be done.
    pub total: u64,
    /// Seconds left at the rate of late; none while nothing can be told.
    pub left_seconds: Option<u64>,
}

/// What a scrub came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Bytes read.
    pub read_bytes: u64,
    /// Pages that could not be read, or had not their checksum.
    pub damaged: u64,
    /// Damages that were repaired.
    pub repaired: u64,
    /// Damages that nothing could repair.
    pub lost: u64,
    /// Copies of metadata that could not be read or did not hold what they should: superblocks, checkpoints, commit records,
    /// records of the journal, the table of checksums, the bitmap.
    #[serde(default)]
    pub metadata_damaged: u64,
    /// Of those: copies that were written again and read back.
    #[serde(default)]
    pub metadata_repaired: u64,
    /// Whether it read everything: it was not ended before.
    pub complete: bool,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// `read`, `write`, `trim` (write-zeroes among them) or `flush`.
    pub kind: String,
    /// Those done.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their latencies, in nanoseconds.
    pub latency_sum_ns: u64,
    /// Latencies since the start.
    pub latency: Quantiles,
    /// Latencies of the last 5 to 10 seconds.
    pub recent: Quantiles,
    /// How many took no longer than [`LATENCY_EDGES_NS`], in that order.
    pub within: Vec<u64>,
}

/// Operations on members, of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// The class: `host read`, `parity`, `array GC write` …
    pub class: String,
    /// Operations that succeeded.
    pub operations: u64,
}

/// Array-level log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Segments in all.
    pub segments: u64,
    /// Segments that are free.
    pub free_segments: u64,
    /// Stripes written.
    pub stripes: u64,
    /// Of those: the ones of fewer chunks than the living members have room for.
    pub short_stripes: u64,
    /// Data chunks of hosts in them.
    pub data_chunks: u64,
    /// Parity chunks, those of collection among them.
    pub parity_chunks: u64,
    /// Segments that were collected.
    pub collected_segments: u64,
    /// Valid chunks that collection wrote anew.
    pub moved_chunks: u64,
    /// Chunks that were written anew in memory, so that no member saw the first write.
    pub absorbed_chunks: u64,
    /// Pages of metadata written.
    pub metadata_pages: u64,
    /// Its streams: those of hosts first, from cold to hot, then those of live chunks of collection.
    pub streams: Vec<Stream>,
}

/// A stream of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Who fills it: `hosts` or `collection`.
    pub filled_by: String,
    /// Data chunks that it wrote.
    pub chunks: u64,
    /// Segments that it opened.
    pub opened_segments: u64,
    /// Of those: the ones that are open now, at most one.
    pub open_segments: u64,
    /// Chunks that wait in memory for a stripe.
    pub waiting_chunks: u64,
}

/// Upper edges of the latencies that are counted apart: 1 µs · 4^n, up to 17 s.
pub const LATENCY_EDGES_NS: [u64; 13] = {
    let mut edges = [1000; 13];
    let mut nth = 1;
    while nth < edges.len() {
        edges[nth] = edges[nth - 1] * 4;
        nth += 1;
    }
    edges
};
