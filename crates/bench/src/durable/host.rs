//! A host with several requests in flight over an array in memory.

use anyhow::{Result, anyhow, bail};
use stripewise_array::format::Uuid;
use stripewise_array::{
    Array, AssemblyOptions, Controller, HostRequest, Identity, Members, PageMemory, RecoveryReport,
    RequestKind, Scheme, Timing, create,
};
use stripewise_base::prng::Prng;

use crate::members::{Ram, World, Written};

/// Bytes of a page and of a request.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// Simulated time of an operation, in ns; it only determines the order of events.
const OPERATION_NS: u64 = 100;

pub(crate) struct Host {
    pub(crate) array: Array<PageMemory>,
    pub(crate) opened: RecoveryReport,
    world: World,
    scheme: Scheme,
    members: Members,
    now: u64,
    tag: u64,
    under_way: u32,
    random: Prng,
}

impl Host {
    /// An empty array of `scheme` over members of `pages` pages.
    pub(crate) fn create(scheme: &Scheme, count: u32, pages: u32) -> Result<Self> {
        let members = Members { discard: false, ..Members::opaque(count, PAGE_BYTES, pages) };
        let mut ram = Ram::new(count, pages, PAGE_BYTES);
        let identity = Identity {
            array: Uuid([1; 16]),
            members: (0..count).map(|member| Uuid([member as u8 + 2; 16])).collect(),
            name: "bench".into(),
        };
        create(scheme, members, &identity, &mut ram)?;
        Self::open(scheme.clone(), members, ram)
    }

    fn open(scheme: Scheme, members: Members, mut ram: Ram) -> Result<Self> {
        let memory = PageMemory::new(PAGE_BYTES);
        let (array, opened) = Array::open(&scheme, members, memory, &mut ram, AssemblyOptions::default())?;
        let random = Prng::stream(1, 0);
        let world = World::new(ram);
        Ok(Self { array, opened, world, scheme, members, now: 0, tag: 0, under_way: 0, random })
    }

    /// Assembles the array again in its present state.
    pub(crate) fn reopen(self) -> Result<Self> {
        Self::open(self.scheme, self.members, self.world.ram)
    }

    pub(crate) fn pages(&self) -> u64 {
        self.array.capacity() / u64::from(PAGE_BYTES)
    }

    /// Pages written since the last call.
    pub(crate) fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.world.written)
    }

    /// Writes the first `pages` pages sequentially.
    pub(crate) fn fill(&mut self, pages: u64) -> Result<()> {
        for page in 0..pages {
            self.ask(RequestKind::Write, page, 32)?;
        }
        self.flush()
    }

    /// `count` random writes of a page among the first `span`, `depth` at a time, with a flush after each `flush_every`
    /// (none if 0).
    pub(crate) fn write_randomly(
        &mut self,
        count: u64,
        span: u64,
        depth: u32,
        flush_every: u64,
    ) -> Result<()> {
        for nth in 1..=count {
            let page = self.random.below(span);
            self.ask(RequestKind::Write, page, depth)?;
            if flush_every > 0 && nth % flush_every == 0 {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Flushes and waits.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.ask(RequestKind::Flush, 0, u32::MAX)?;
        self.wait(0)
    }

    /// Submits a request when fewer than `depth` are in flight.
    fn ask(&mut self, kind: RequestKind, page: u64, depth: u32) -> Result<()> {
        self.wait(depth - 1)?;
        self.tag += 1;
        let bytes = if kind == RequestKind::Flush { 0 } else { PAGE_BYTES };
        let mut payload = vec![0; bytes as usize].into_boxed_slice();
        if let Some(front) = payload.first_chunk_mut() {
            *front = self.tag.to_le_bytes();
        }
        let offset = page * u64::from(PAGE_BYTES);
        let host = HostRequest { kind, offset, bytes, arrival: self.now, tag: self.tag };
        let submitted = self.array.submit(self.now, host, payload, &mut self.world);
        submitted.map_err(|(error, _)| anyhow!("{error}"))?;
        self.under_way += 1;
        self.array.dispatch(&mut self.world);
        Ok(())
    }

    /// Continues until at most `most` requests are in flight.
    fn wait(&mut self, most: u32) -> Result<()> {
        loop {
            let over = self.world.acknowledged.drain(..);
            let (count, failed) =
                over.fold((0, 0), |sum, (_, failed, _)| (sum.0 + 1, sum.1 + u32::from(failed)));
            if failed > 0 {
                bail!("{failed} requests failed");
            }
            self.under_way -= count;
            if self.under_way <= most {
                return Ok(());
            }
            self.step()?;
        }
    }

    fn step(&mut self) -> Result<()> {
        self.now += OPERATION_NS;
        match self.world.under_way.pop_front() {
            Some((id, _)) => {
                let outcome = stripewise_array::Outcome::Done;
                self.array.completed(self.now, id, outcome, Timing::default(), &mut self.world);
            }
            None => {
                let next = self.world.timers.iter().copied().min();
                let next = next.ok_or_else(|| anyhow!("{} requests are never answered", self.under_way))?;
                self.world.timers.retain(|&at| at != next);
                self.now = self.now.max(next);
                self.array.timer(self.now, &mut self.world);
            }
        }
        self.array.dispatch(&mut self.world);
        Ok(())
    }
}
