//! The verifying client: draws requests, knows the admissible content of each sector, and checks everything that it
//! reads.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stripewise_base::prng::Prng;
use stripewise_nbd::client::Found as Answered;

use super::link::{Change, HostRequest, Link};
use super::{Broken, Counts};
use crate::model::Model;
use crate::stamp::{self, Found, SECTOR};

/// Sectors per read of the verification of all sectors.
const LOOKUP_SECTORS: u64 = 256;
/// The largest number of sectors of a drawn request, usually and occasionally.
const SECTORS: u64 = 32;
const MANY_SECTORS: u64 = 256;
/// How long the server may stay without an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The client's state, which outlives servers.
#[derive(Debug)]
pub(super) struct Load {
    random: Prng,
    depth: usize,
    trims: bool,
    /// The admissible content of sectors, once the array's size is known.
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    model: Model,
    /// Sectors that are being changed. The client sends no other change to them, since requests in flight have no
    /// order.
    busy: Vec<bool>,
    /// Sectors of the unit in which trims apply.
    block: u64,
}

impl Load {
    pub(super) fn new(random: Prng, depth: usize, trims: bool) -> Self {
        Self { random, depth, trims, known: None }
    }

    /// Reads everything after a start: the content must be admissible, and is fixed from now on.
    pub(super) fn verify(&mut self, mut links: Vec<Link>, counts: &mut Counts) -> anyhow::Result<()> {
        greet(&mut links)?;
        let export = *links[0].export().expect("it was waited for");
        let sectors = export.bytes / SECTOR as u64;
        let block = export.block.map_or(8, |block| u64::from(block.preferred) / SECTOR as u64).max(1);
        let Known { model, .. } = self.known.get_or_insert_with(|| Known {
            model: Model::new(sectors).with_binding_trims(),
            busy: vec![false; sectors as usize],
            block,
        });
        if model.sectors() != sectors {
            return Err(Broken(format!("the array had {} sectors and has {sectors}", model.sectors())).into());
        }
        let mut next = 0;
        loop {
            for link in &mut links {
                while next < sectors && link.in_flight() < self.depth {
                    let count = LOOKUP_SECTORS.min(sectors - next);
                    let cookie = link.client.read(next * SECTOR as u64, (count * SECTOR as u64) as u32);
                    let floors = (next..next + count).map(|sector| model.floor(sector)).collect();
                    link.ask(cookie, HostRequest::Read { first: next, floors });
                    next += count;
                }
            }
            if next == sectors && links.iter().all(|link| link.in_flight() == 0) {
                links.iter_mut().for_each(|link| link.client.disconnect());
                return turn(&mut links, Instant::now(), |_, _| Ok(())).map(drop);
            }
            let lives = turn(&mut links, Instant::now() + PATIENCE, |request, found| {
                let (HostRequest::Read { first, floors }, Answered::Data(data)) = (request, found) else {
                    return Ok(());
                };
                for ((sector, floor), content) in (first..).zip(floors).zip(data.chunks_exact(SECTOR)) {
                    let found = Found::of(content);
                    model
                        .check(sector, found, floor)
                        .map_err(|what| Broken(format!("after kill {}: {what}", counts.kills)))?;
                    counts.sectors += 1;
                    counts.later += u64::from(matches!(found, Found::Stamp { write, .. } if write > floor));
                    model.restarted(sector, Some(found));
                }
                Ok(())
            })?;
            if !lives {
                return Err(Broken("the server closed a connection that only read".into()).into());
            }
        }
    }

    /// Drives the server for some time. Requests may be in flight at the end.
    pub(super) fn run(
        &mut self,
        links: &mut [Link],
        time: Duration,
        counts: &mut Counts,
    ) -> anyhow::Result<()> {
        greet(links)?;
        let until = Instant::now() + time;
        let Self { random, depth, trims, known } = self;
        let known = known.as_mut().expect("the array was looked at before");
        while Instant::now() < until {
            for link in &mut *links {
                // Up to `depth` requests, or until a request finds its sectors busy.
                while link.in_flight() < *depth && known.ask(link, random, *trims) {}
            }
            if !turn(links, until, |request, found| known.answered(request, found, counts))? {
                return Err(Broken("the server closed a connection under load".into()).into());
            }
        }
        Ok(())
    }

    /// Records the answers that the server had sent before it was killed; they are promises. The other requests were
    /// cut off.
    pub(super) fn cut_off(&mut self, mut links: Vec<Link>, counts: &mut Counts) -> anyhow::Result<()> {
        let known = self.known.as_mut().expect("the array was looked at before");
        for link in &mut links {
            while link.turn(|request, found| known.answered(request, found, counts))? {}
        }
        let unanswered = links.into_iter().flat_map(Link::into_unanswered);
        counts.cut_short +=
            unanswered.filter(|request| matches!(request, HostRequest::Change { .. })).count() as u64;
        known.busy.fill(false);
        known.model.power_lost(false);
        Ok(())
    }
}

impl Known {
    /// Draws and sends a request; false if its sectors are busy.
    fn ask(&mut self, link: &mut Link, random: &mut Prng, trims: bool) -> bool {
        let what = random.below(100);
        if what < 4 {
            let promised = (0..self.model.sectors()).map(|sector| self.model.promised(sector)).collect();
            let cookie = link.client.flush();
            link.ask(cookie, HostRequest::Flush { promised });
            return true;
        }
        let (mut first, mut count) = self.range(random);
        let kind = match what {
            4..30 => {
                let cookie = link.client.read(first * SECTOR as u64, (count * SECTOR as u64) as u32);
                let floors = (first..first + count).map(|sector| self.model.floor(sector)).collect();
                link.ask(cookie, HostRequest::Read { first, floors });
                return true;
            }
            30..34 if trims => Change::Trim,
            34..40 => Change::Zeroes,
            40..50 => Change::DurableWrite,
            _ => Change::Write,
        };
        if kind == Change::Trim {
            // Only a trim of whole blocks is binding.
            first -= first % self.block;
            count = count.next_multiple_of(self.block).min(self.model.sectors() - first);
        }
        let sectors = first as usize..(first + count) as usize;
        if self.busy[sectors.clone()].contains(&true) {
            return false;
        }
        self.busy[sectors].fill(true);
        let (offset, bytes) = (first * SECTOR as u64, (count * SECTOR as u64) as u32);
        let (update, cookie) = match kind {
            Change::Write | Change::DurableWrite => {
                let update = self.model.write(first, count);
                let mut content = vec![0; bytes as usize];
                stamp::fill(&mut content, first, update);
                (update, link.client.write(offset, &content, kind == Change::DurableWrite))
            }
            Change::Trim => (self.model.trim(first, count), link.client.trim(offset, bytes, false)),
            Change::Zeroes => (self.model.trim(first, count), link.client.write_zeroes(offset, bytes, false)),
        };
        link.ask(cookie, HostRequest::Change { update, first, count, kind });
        true
    }

    /// The sectors of a request: half of the requests cover whole blocks, and half lie in an eighth of the array.
    fn range(&self, random: &mut Prng) -> (u64, u64) {
        let sectors = self.model.sectors();
        let most = if random.chance(1, 16) { MANY_SECTORS } else { SECTORS }.min(sectors);
        let count = 1 + random.below(most);
        let within = if random.chance(1, 2) { sectors / 8 } else { sectors };
        let first = random.below(within.max(1)).min(sectors - count);
        if random.chance(1, 2) {
            return (first, count);
        }
        let first = first - first % self.block;
        (first, count.next_multiple_of(self.block).min(sectors - first))
    }

    /// Handles an answer.
    fn answered(&mut self, request: HostRequest, found: Answered, counts: &mut Counts) -> anyhow::Result<()> {
        match (request, found) {
            (HostRequest::Read { first, floors }, Answered::Data(data)) => {
                for ((sector, floor), content) in (first..).zip(floors).zip(data.chunks_exact(SECTOR)) {
                    let found = Found::of(content);
                    self.model.check(sector, found, floor).map_err(Broken)?;
                    self.model.seen(sector, found);
                }
                counts.reads += 1;
            }
            (HostRequest::Flush { promised }, _) => {
                self.model.flushed(&promised);
                counts.flushes += 1;
            }
            (HostRequest::Change { update, first, count, kind }, _) => {
                self.busy[first as usize..(first + count) as usize].fill(false);
                self.model.acknowledged(update);
                let counted = match kind {
                    Change::Write => &mut counts.writes,
                    Change::DurableWrite => {
                        self.model.durable(update);
                        &mut counts.durable_writes
                    }
                    Change::Trim => &mut counts.trims,
                    Change::Zeroes => &mut counts.zeroes,
                };
                *counted += 1;
            }
            (request, found) => {
                return Err(Broken(format!("{request:?} was answered by {found:?}")).into());
            }
        }
        Ok(())
    }
}

/// Waits until all connections have completed the handshake.
fn greet(links: &mut [Link]) -> anyhow::Result<()> {
    while links.iter().any(|link| link.export().is_none()) {
        if !turn(links, Instant::now() + PATIENCE, |_, _| Ok(()))? {
            return Err(Broken("the server closed a connection in the handshake".into()).into());
        }
    }
    Ok(())
}

/// Waits until data can be sent or received, or until `until`, and handles it. False if the server is gone.
fn turn(
    links: &mut [Link],
    until: Instant,
    mut answered: impl FnMut(HostRequest, Answered) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let wanted: Vec<PollFlags> = links
        .iter_mut()
        .map(|link| if link.wants_to_send() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN })
        .collect();
    let mut ready: Vec<PollFd<'_>> = links
        .iter()
        .zip(&wanted)
        .map(|(link, &flags)| PollFd::from_borrowed_fd(link.socket(), flags))
        .collect();
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    match poll(&mut ready, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready: Vec<bool> = ready.iter().map(|ready| !ready.revents().is_empty()).collect();
    let mut all_live = true;
    for (link, _) in links.iter_mut().zip(ready).filter(|(_, is_ready)| *is_ready) {
        all_live &= link.turn(&mut answered)?;
    }
    Ok(all_live)
}
