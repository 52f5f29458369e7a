//! The status of a server and its array: one value for the control socket, the metrics and the status page.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;
use stripewise_array::health::Health;

use crate::latency::Quantiles;
use crate::record::Recording;

/// The status of a server and its array. Counters begin with the server.
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
    /// Its health.
    pub health: Health,
    /// The reasons why it is not clean, the worst first. Absent in the status of older servers.
    #[serde(default)]
    pub health_reasons: Vec<String>,
    /// Whether it takes no writes.
    pub read_only: bool,
    /// Nanoseconds since the server started.
    pub uptime_ns: u64,
    /// Bytes that the array offers.
    pub capacity_bytes: u64,
    /// Bytes of them that have data. None if the placement does not track them.
    pub used_bytes: Option<u64>,
    /// Whether more members are lost than parity tolerates: flushes fail, and writes of a log.
    #[serde(default)]
    pub beyond_parity: bool,
    /// Whether they wait for members to return instead (`--failmode wait=TIME`).
    #[serde(default)]
    pub waits_for_members: bool,
    /// Whether a log has no space, and no work in flight that could free some.
    pub full: bool,
    /// Whether members are out of space: their files are thin, and their file system is full.
    #[serde(alias = "starved")]
    pub out_of_space: bool,
    /// Whether more members are out of space than parity tolerates, so that writes are refused. Otherwise they wait.
    #[serde(alias = "starved_beyond_parity")]
    pub out_of_space_beyond_parity: bool,
    /// The backend that reaches members.
    pub way: String,
    /// Bytes of memory for pages and maps.
    pub memory_bytes: u64,
    /// Its members, in order.
    #[serde(alias = "elements")]
    pub members: Vec<Member>,
    /// The host that owns the array: this one. None if the array has no owner page, or is read-only.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// Hot spares.
    pub spares: Vec<PathBuf>,
    /// A running rebuild.
    pub rebuild: Option<Progress>,
    /// Why the rebuild stopped until the server is restarted.
    pub rebuild_halted: Option<String>,
    /// Stripes or rows in which the last rebuild found data lost, until a complete scrub finds no lost data.
    pub rebuild_lost: u64,
    /// A running scrub.
    pub scrub: Option<Progress>,
    /// The result of the last scrub that ended.
    pub last_scrub: Option<Scrubbed>,
    /// Copies of metadata that are known to be damaged: those that a scrub found and has not repaired yet, or could not
    /// repair.
    #[serde(default)]
    pub metadata_damaged: u64,
    /// Requests of hosts, by kind.
    pub requests: Vec<Requests>,
    /// Requests in flight.
    pub in_flight: u64,
    /// Operations on members, by class.
    pub operations: Vec<Operations>,
    /// The log, if the placement is one.
    pub log: Option<Log>,
    /// Connections of clients.
    pub connections: u64,
    /// Connections that were closed because their client broke the protocol, or because there were too many.
    pub dropped_connections: u64,
    /// The addresses for clients.
    pub addresses: Vec<String>,
    /// A running recording.
    pub recording: Option<Recording>,
}

fn all_are_flushed() -> bool {
    true
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
    /// Whether it has completed nothing for a while, so that reads avoid it. Absent in the status of older servers.
    #[serde(default)]
    pub slow: bool,
    /// Whether flushes reach it: it may keep writes in volatile memory, as far as the system says (`--flush`). Absent in the
    /// status of older servers, which flush every member.
    #[serde(default = "all_are_flushed")]
    pub flushed: bool,
    /// Operations in its queue.
    pub queued: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Whether it serves and is not known to have all of its content, until a scrub has read everything.
    #[serde(default)]
    pub in_doubt: bool,
    /// Whether it may be lost soon.
    #[serde(default)]
    pub degrading: bool,
    /// Its errors since the server started.
    #[serde(default)]
    pub total_errors: Errors,
    /// Its recent errors: the weight of an error halves every hour.
    #[serde(default)]
    pub recent_errors: Errors,
    /// Pages that it could not return and that were written to it again.
    #[serde(default)]
    pub repaired_pages: u64,
    /// Why its file will be lost when the server ends: its path does not lead to it any more.
    #[serde(default)]
    pub unlinked: Option<String>,
    /// Number of its two superblocks that are damaged.
    #[serde(default)]
    pub damaged_superblocks: u64,
    /// The SMART verdict: `passed` or `failing`. None if there is none.
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
    /// Reads that it answered with content that does not match its checksum.
    pub checksum: u64,
    /// Operations that it did not answer in time.
    pub timeouts: u64,
}

/// The host that owns an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its name.
    pub host: String,
    /// Its identifier in the owner page of the array.
    pub id: String,
    /// When it claimed the array, in seconds since 1970.
    pub since: u64,
    /// Milliseconds between two heartbeats.
    pub heartbeat_ms: u32,
}

/// The progress of a rebuild or a scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The member that is rebuilt. None for a scrub.
    #[serde(alias = "element")]
    pub member: Option<MemberNo>,
    /// Segments of the log, or rows, that are done.
    pub done: u64,
    /// All segments or rows.
    pub total: u64,
    /// Seconds left at the recent rate. None while there is no estimate.
    pub left_seconds: Option<u64>,
}

/// The result of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Bytes read.
    pub read_bytes: u64,
    /// Pages that could not be read, or did not match their checksum.
    pub damaged: u64,
    /// Of those: pages whose content is readable again, because it was written again or elsewhere.
    pub repaired: u64,
    /// Of those: pages that nothing depends on any more. The rest of the damaged pages stays as it is.
    #[serde(default)]
    pub obsolete: u64,
    /// Chunks of hosts that cannot be read.
    pub lost: u64,
    /// Copies of metadata that could not be read or had wrong content: superblocks, checkpoints, commit records,
    /// records of the journal, the table of checksums, the bitmap.
    #[serde(default)]
    pub metadata_damaged: u64,
    /// Of those: copies that were written again and read back.
    #[serde(default)]
    pub metadata_repaired: u64,
    /// Whether it read everything. False if it was stopped before.
    pub complete: bool,
}

/// The findings of a scrub in words: damaged pages and what became of each, and chunks that are lost.
pub fn findings([damaged, repaired, obsolete, lost]: [u64; 4], count: impl Fn(u64) -> String) -> String {
    let left = damaged.saturating_sub(repaired + obsolete);
    let of_rest = [(obsolete, "obsolete"), (left, "left")];
    let rest = of_rest.iter().filter(|(pages, _)| *pages > 0);
    let rest: String = rest.map(|&(pages, what)| format!(", {} {what}", count(pages))).collect();
    format!("{} damaged, {} repaired{rest}, {} lost", count(damaged), count(repaired), count(lost))
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// `read`, `write`, `trim` (which includes write-zeroes) or `flush`.
    pub kind: String,
    /// Requests completed.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their latencies, in nanoseconds.
    pub latency_sum_ns: u64,
    /// Latencies since the start.
    pub latency: Quantiles,
    /// Latencies of the last 5 to 10 seconds.
    pub recent: Quantiles,
    /// The number of requests that took no longer than each of [`LATENCY_EDGES_NS`], in that order.
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
    /// All segments.
    pub segments: u64,
    /// Segments that are free.
    pub free_segments: u64,
    /// Stripes written.
    pub stripes: u64,
    /// Of those: stripes with fewer chunks than the serving members have room for.
    pub short_stripes: u64,
    /// Data chunks of hosts in them.
    pub data_chunks: u64,
    /// Parity chunks, including those of garbage collection.
    pub parity_chunks: u64,
    /// Segments that were collected.
    pub collected_segments: u64,
    /// Live chunks that garbage collection relocated.
    pub moved_chunks: u64,
    /// Chunks that were overwritten in memory, so that no member received the first write.
    pub absorbed_chunks: u64,
    /// Pages of metadata written.
    pub metadata_pages: u64,
    /// Its streams: those of hosts first, from cold to hot, then those of the live chunks of garbage collection.
    pub streams: Vec<Stream>,
}

/// A stream of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// The source of its chunks: `hosts` or `collection`.
    pub filled_by: String,
    /// Data chunks that it wrote.
    pub chunks: u64,
    /// Segments that it opened.
    pub opened_segments: u64,
    /// Of those: segments that are open now, at most one.
    pub open_segments: u64,
    /// Chunks in memory that wait for a stripe.
    pub waiting_chunks: u64,
}

/// Upper edges of the latency classes: 1 µs · 4^n, up to 17 s.
pub const LATENCY_EDGES_NS: [u64; 13] = {
    let mut edges = [1000; 13];
    let mut nth = 1;
    while nth < edges.len() {
        edges[nth] = edges[nth - 1] * 4;
        nth += 1;
    }
    edges
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_findings_of_a_scrub_add_up() {
        let text = |numbers| findings(numbers, |number| number.to_string());
        assert_eq!(text([0, 0, 0, 0]), "0 damaged, 0 repaired, 0 lost");
        assert_eq!(text([522, 475, 47, 0]), "522 damaged, 475 repaired, 47 obsolete, 0 lost");
        assert_eq!(text([9, 2, 3, 5]), "9 damaged, 2 repaired, 3 obsolete, 4 left, 5 lost");
    }
}
