//! Requests to an engine, a fixed number at a time, and their cost.

use std::time::Instant;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, Payload, Rejected, Request};

/// The addresses of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Random,
    Sequential,
}

/// The requests of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) pattern: Pattern,
    pub(crate) write: bool,
    /// Bytes of a request.
    pub(crate) bytes: usize,
    /// Requests in flight.
    pub(crate) depth: usize,
    /// Total number of requests.
    pub(crate) count: u64,
    /// Bytes of the range that they cover.
    pub(crate) span: u64,
    /// Number of requests between flushes, each of which is waited for; 0 for no flushes.
    pub(crate) flush_every: u64,
}

impl Load {
    /// The offset of request `nth`.
    pub(crate) fn offset(&self, nth: u64, random: &mut Prng) -> u64 {
        let places = self.span / self.bytes as u64;
        let place = match self.pattern {
            Pattern::Random => random.below(places),
            Pattern::Sequential => nth % places,
        };
        place * self.bytes as u64
    }
}

/// The cost of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Processor time.
    pub(crate) cpu_seconds: f64,
    /// Pages that members wrote and read meanwhile.
    pub(crate) pages_written: u64,
    pub(crate) pages_read: u64,
    /// Per request: the median time, and the 99th percentile.
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Taken {
    pub(crate) fn per_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }
}

/// Measures time.
pub(crate) struct Watch {
    begun: Instant,
    cpu: f64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), cpu: cpu_seconds() }
    }

    /// Seconds, and seconds of processor time.
    pub(crate) fn stop(&self) -> (f64, f64) {
        (self.begun.elapsed().as_secs_f64(), cpu_seconds() - self.cpu)
    }
}

fn cpu_seconds() -> f64 {
    // Of the whole process, since the kernel's threads may work for it.
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Pages that members have written and read so far.
pub(crate) fn pages(engine: &Engine) -> (u64, u64) {
    let status = engine.status();
    let sum = |of: fn(&stripewise_engine::MemberCounts) -> u64| {
        status.members.iter().map(|member| of(&member.counts)).sum()
    };
    (sum(|counts| counts.writes), sum(|counts| counts.reads))
}

/// Runs a load to its end, including the last flush.
pub(crate) fn drive(engine: &mut Engine, load: &Load, random: &mut Prng) -> Result<Taken> {
    let mut buffers = vec![Payload::zeroed(load.bytes); load.depth];
    let mut responses = Vec::with_capacity(load.count as usize);
    let before = pages(engine);
    let watch = Watch::start();
    let mut begun = 0;
    while begun < load.count {
        let group = if load.flush_every > 0 { load.flush_every } else { load.count };
        let end = load.count.min(begun + group);
        while begun < end || buffers.len() < load.depth {
            if begun < end
                && let Some(buffer) = buffers.pop()
            {
                submit(engine, load, begun, buffer, random)?;
                begun += 1;
                continue;
            }
            let completion = engine.poll().context("a request is never answered")?;
            completion.result?;
            responses.push(completion.response_ns);
            buffers.push(completion.payload);
        }
        if load.flush_every > 0 {
            engine.flush()?;
        }
    }
    let (seconds, cpu_seconds) = watch.stop();
    let after = pages(engine);
    responses.sort_unstable();
    let quantile =
        |percent| responses.get(responses.len() * percent / 100).map_or(0.0, |&ns| ns as f64 / 1e3);
    Ok(Taken {
        requests: load.count,
        bytes: load.count * load.bytes as u64,
        seconds,
        cpu_seconds,
        pages_written: after.0 - before.0,
        pages_read: after.1 - before.1,
        p50_us: quantile(50),
        p99_us: quantile(99),
    })
}

fn submit(engine: &mut Engine, load: &Load, nth: u64, mut buffer: Payload, random: &mut Prng) -> Result<()> {
    let offset = load.offset(nth, random);
    if let Some(front) = buffer.first_chunk_mut() {
        *front = nth.to_le_bytes();
    }
    let request = match load.write {
        true => Request::Write { offset, data: buffer, fua: false },
        false => Request::Read { offset, into: buffer },
    };
    engine.submit(request).map_err(|Rejected { error, .. }| error)?;
    Ok(())
}
