//! Counters of the server, and the status built from them.

use std::path::PathBuf;

use stripewise_array::ScrubCounts;
use stripewise_array::log::StreamCounts;
use stripewise_array::{Class, Controller, MemberNo};
use stripewise_base::Nanos;
use stripewise_engine::{Engine, MemberCondition, Progress as Share};

use crate::latency::Latencies;
use crate::monitor::Monitor;
use crate::record::Recording;
use crate::status::{
    Errors, LATENCY_EDGES_NS, Log, Member, Operations, Owner, Progress, Requests, Scrubbed, Status, Stream,
};

/// The shortest time over which a rate of a rebuild or scrub is measured.
const SAMPLE_NS: Nanos = 2_000_000_000;

/// Kinds of requests that are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// Trims, and zeros.
    Trim,
    Flush,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}

/// Requests of one kind.
#[derive(Debug)]
struct Count {
    requests: u64,
    failed: u64,
    bytes: u64,
    latencies: Latencies,
}

/// The progress at some time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Nanos,
    share: Share,
}

/// The rate of a running task.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Two samples, the second at least [`SAMPLE_NS`] later, and taken when it became the first.
    first: Option<Sample>,
    second: Option<Sample>,
}

impl Pace {
    /// Records the progress.
    fn sample(&mut self, at: Nanos, share: Option<Share>) {
        let Some(share) = share else {
            *self = Self::default();
            return;
        };
        let sample = Some(Sample { at, share });
        match (self.first, self.second) {
            (None, _) => self.first = sample,
            // Another task has begun.
            (Some(first), _) if share.done < first.share.done || share.total != first.share.total => {
                *self = Self { first: sample, second: None };
            }
            (Some(first), None) if at - first.at >= SAMPLE_NS => self.second = sample,
            (_, Some(second)) if at - second.at >= SAMPLE_NS => {
                *self = Self { first: Some(second), second: sample };
            }
            _ => {}
        }
    }

    /// Seconds left. None while there is no estimate.
    fn left_seconds(&self, at: Nanos, share: Share) -> Option<u64> {
        let first = self.first?;
        let (done, past) = (share.done.checked_sub(first.share.done)?, at.checked_sub(first.at)?);
        if done == 0 || past == 0 {
            return None;
        }
        let left = u128::from(share.total.saturating_sub(share.done)) * u128::from(past) / u128::from(done);
        Some((left / 1_000_000_000) as u64)
    }
}

/// The counters of the server.
#[derive(Debug)]
pub(crate) struct Counters {
    counts: [Count; 4],
    rebuild: Pace,
    scrub: Pace,
    sampled: Nanos,
    /// Whether the scrub that was started last was not stopped. None if none was started since the server began.
    scrub_is_complete: Option<bool>,
    /// The result of the scrub before it.
    scrub_before: Option<Scrubbed>,
    pub(crate) dropped_connections: u64,
}

impl Counters {
    pub(crate) fn new(now: Nanos) -> Self {
        let count = || Count { requests: 0, failed: 0, bytes: 0, latencies: Latencies::new(now) };
        Self {
            counts: std::array::from_fn(|_| count()),
            rebuild: Pace::default(),
            scrub: Pace::default(),
            sampled: now,
            scrub_is_complete: None,
            scrub_before: None,
            dropped_connections: 0,
        }
    }

    /// Counts a completed request.
    pub(crate) fn done(&mut self, kind: Kind, bytes: u64, now: Nanos, latency_ns: Nanos, is_failed: bool) {
        let count = &mut self.counts[kind as usize];
        count.requests += 1;
        count.failed += u64::from(is_failed);
        count.bytes += bytes;
        count.latencies.record(now, latency_ns);
    }

    /// A scrub begins. `before` is the result of the last one.
    pub(crate) fn scrub_begins(&mut self, before: Option<Scrubbed>) {
        self.scrub_is_complete = Some(true);
        self.scrub_before = before;
    }

    /// The running scrub is stopped.
    pub(crate) fn scrub_stops(&mut self) {
        self.scrub_is_complete = Some(false);
    }

    /// The result of the last scrub that ended.
    pub(crate) fn last_scrub(&self, engine: &Engine) -> Option<Scrubbed> {
        let page_bytes = u64::from(engine.page_bytes());
        match (engine.array().scrub_counts(), self.scrub_is_complete) {
            ((_, true), _) => self.scrub_before,
            // A scrub that the array started itself was not stopped.
            ((counts, false), None) if counts == ScrubCounts::default() => None,
            ((counts, false), is_complete) => Some(Scrubbed {
                read_bytes: counts.pages * page_bytes,
                damaged: counts.bad,
                repaired: counts.repaired,
                obsolete: counts.obsolete,
                lost: counts.lost,
                metadata_damaged: counts.metadata_damaged,
                metadata_repaired: counts.metadata_repaired,
                complete: is_complete.unwrap_or(true),
            }),
        }
    }

    /// Records the progress of rebuild and scrub, if a sample is due.
    pub(crate) fn sample(&mut self, now: Nanos, engine: &Engine) {
        if now - self.sampled < SAMPLE_NS / 2 {
            return;
        }
        self.sampled = now;
        let array = engine.array();
        let share = |done: u32, total: u32| Share { done: done.into(), total: total.into() };
        self.rebuild.sample(now, array.rebuilding().map(|(_, done, total)| share(done, total)));
        self.scrub.sample(now, array.scrub_progress().map(|(done, total)| share(done, total)));
    }

    /// The status.
    pub(crate) fn status(
        &mut self,
        now: Nanos,
        engine: &Engine,
        monitor: &Monitor,
        surroundings: Surroundings,
    ) -> Status {
        self.sample(now, engine);
        let found = engine.status();
        let page_bytes = u64::from(engine.page_bytes());
        let progress = |member, share: Share, pace: &Pace| Progress {
            member,
            done: share.done,
            total: share.total,
            left_seconds: pace.left_seconds(now, share),
        };
        let last_scrub = self.last_scrub(engine);
        let verdict = monitor.verdict(engine, last_scrub.map_or(0, |scrubbed| scrubbed.lost));
        let members: Vec<Member> = found
            .members
            .iter()
            .zip((0..).map(MemberNo::new))
            .map(|(member, number)| (member, number, engine.troubles(number), monitor.checkup(now, number)))
            .map(|(member, number, troubles, checkup)| Member {
                number: number.number(),
                uuid: member.uuid.map(|uuid| uuid.to_string()),
                path: member.path.clone(),
                state: condition_of(member.state).to_owned(),
                reason: member.failure.clone(),
                slow: member.is_slow,
                flushed: member.is_flushed,
                queued: member.queued.into(),
                read_bytes: member.counts.reads * page_bytes,
                written_bytes: member.counts.writes * page_bytes,
                errors: member.counts.errors,
                in_doubt: number.is_in(found.in_doubt),
                degrading: checkup.is_at_risk && member.state != MemberCondition::Failed,
                total_errors: Errors {
                    read: troubles.read_errors,
                    write: troubles.write_errors,
                    checksum: troubles.mismatches,
                    timeouts: troubles.timeouts,
                },
                recent_errors: Errors {
                    read: checkup.recent.read,
                    write: checkup.recent.write,
                    checksum: checkup.recent.checksum,
                    timeouts: checkup.recent.timeouts,
                },
                repaired_pages: troubles.repairs,
                unlinked: checkup.unlinked,
                damaged_superblocks: checkup.damaged_superblocks,
                smart: checkup.smart.map(|passed| if passed { "passed" } else { "failing" }.to_owned()),
            })
            .collect();
        Status {
            name: surroundings.name,
            array: found.uuid.map_or_else(String::new, |uuid| uuid.to_string()),
            level: engine.array().scheme().geometry.level.to_string(),
            health: verdict.health,
            health_reasons: verdict.reasons.iter().map(ToString::to_string).collect(),
            scheme: found.scheme,
            read_only: found.is_read_only,
            uptime_ns: now,
            capacity_bytes: found.capacity,
            used_bytes: found.used,
            full: found.is_full,
            beyond_parity: found.is_beyond_parity,
            waits_for_members: found.waits_for_members,
            out_of_space: found.is_out_of_space,
            out_of_space_beyond_parity: found.is_out_of_space_beyond_parity,
            way: found.way.to_owned(),
            memory_bytes: found.memory.0 + found.memory.1,
            members,
            owner: engine.owner().map(|owner| Owner {
                host: owner.name.clone(),
                id: owner.host.to_string(),
                since: owner.since,
                heartbeat_ms: owner.interval_ms,
            }),
            spares: surroundings.spares,
            rebuild: found.rebuild.map(|(member, share)| progress(Some(member), share, &self.rebuild)),
            rebuild_halted: found.rebuild_halted.map(|why| why.to_string()),
            rebuild_lost: found.rebuild_lost,
            scrub: found.scrub.progress.map(|share| progress(None, share, &self.scrub)),
            metadata_damaged: found.scrub.metadata_damaged.saturating_sub(found.scrub.metadata_repaired),
            last_scrub,
            requests: Kind::ALL.map(|kind| self.requests(kind, now)).into(),
            in_flight: found.requests.into(),
            operations: operations(&found.counts.done),
            log: found.segments.map(|(free, segments)| Log {
                segments: segments.into(),
                free_segments: free.into(),
                stripes: found.log.stripes,
                short_stripes: found.log.short_stripes,
                data_chunks: found.log.data,
                parity_chunks: found.log.parity + found.log.moved_parity,
                collected_segments: found.log.collected,
                moved_chunks: found.log.moved,
                absorbed_chunks: found.log.absorbed,
                metadata_pages: found.metadata_pages,
                streams: found.streams.iter().map(stream).collect(),
            }),
            connections: surroundings.connections,
            dropped_connections: self.dropped_connections,
            addresses: surroundings.addresses,
            recording: surroundings.recording,
        }
    }

    fn requests(&mut self, kind: Kind, now: Nanos) -> Requests {
        let count = &mut self.counts[kind as usize];
        Requests {
            kind: kind.name().to_owned(),
            requests: count.requests,
            failed: count.failed,
            bytes: count.bytes,
            latency_sum_ns: count.latencies.sum_ns(),
            latency: count.latencies.total(),
            recent: count.latencies.recent(now),
            within: count.latencies.cumulative(&LATENCY_EDGES_NS),
        }
    }
}

/// State of the server outside of its engine.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) name: String,
    pub(crate) spares: Vec<PathBuf>,
    pub(crate) connections: u64,
    pub(crate) addresses: Vec<String>,
    pub(crate) recording: Option<Recording>,
}

fn stream(counts: &StreamCounts) -> Stream {
    Stream {
        filled_by: if counts.is_of_relocations { "collection" } else { "hosts" }.to_owned(),
        chunks: counts.chunks,
        opened_segments: counts.opened,
        open_segments: counts.is_open.into(),
        waiting_chunks: counts.waiting.into(),
    }
}

fn condition_of(state: MemberCondition) -> &'static str {
    match state {
        MemberCondition::Active => "active",
        MemberCondition::Rebuilding => "rebuilding",
        MemberCondition::Failed => "failed",
    }
}

fn operations(done: &[u64; Class::COUNT]) -> Vec<Operations> {
    let operations_of =
        |class: Class| Operations { class: class.name().to_owned(), operations: done[class as usize] };
    Class::ALL.map(operations_of).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn the_time_left_follows_the_rate_of_late() {
        let mut pace = Pace::default();
        let share = |done| Share { done, total: 100 };
        pace.sample(0, Some(share(0)));
        assert_eq!(pace.left_seconds(0, share(0)), None, "nothing can be reported yet");
        // A hundredth a second, then ten times as fast.
        assert_eq!(pace.left_seconds(SECOND, share(1)), Some(99));
        for (at, done) in [(2, 2), (4, 4), (6, 24), (8, 44)] {
            pace.sample(at * SECOND, Some(share(done)));
        }
        assert_eq!(pace.left_seconds(8 * SECOND, share(44)), Some(5));
        // Another task begins.
        pace.sample(9 * SECOND, Some(share(1)));
        assert_eq!(pace.left_seconds(9 * SECOND, share(1)), None);
        pace.sample(10 * SECOND, None);
        assert!(pace.first.is_none());
    }
}
