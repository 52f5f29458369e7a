//! Runs a case against a placement that a test brings, that is not among those of `stripewise-array`.
//!
//! Flash, host, faults and oracle are those of [`crate::run`]. Of the contract, the run checks what holds for every
//! placement: each read returns an admissible version; no request fails while parity tolerates the losses; no request
//! is forgotten; no buffer leaks; and after a loss of power everything that a flush covered is there, or a later
//! version.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stripewise_array::RowNo;

use stripewise_array::{Controller as _, MemberNo, PageMemory};
use stripewise_exec::{ArrayOf, Placement};
use stripewise_flash::{Flash, Shape};
use stripewise_sim::Simulation;

use crate::case::{Ask, Case, Loss, What};
use crate::durable::{Content, Durable};
use crate::media::{Manner, PageMedia};
use crate::model::Model;
use crate::player::{Player, Seen, Tracer, words};
use crate::run::{EVENTS, EVENTS_PER_REQUEST, Failure, READ_BACK, refill, words_of_panic};
use crate::stamp::{Found, SECTOR};

/// A placement that a test brings.
pub trait Guest: Placement<PageMemory> {
    /// The row and the column that hold a host's page; `None` if it was never written.
    fn home(&self, page: u64) -> Option<(u64, u32)>;
}

/// What the members hold after a loss of power.
pub struct Members<'a> {
    durable: &'a mut Durable,
    page_bytes: usize,
    gone: Vec<MemberNo>,
}

impl std::fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("gone", &self.gone).finish_non_exhaustive()
    }
}

impl Members<'_> {
    /// Members that were lost before; they stay lost.
    pub fn gone(&self) -> &[MemberNo] {
        &self.gone
    }

    /// The content of a page of a member; `None` if the member is lost.
    pub fn read(&self, member: MemberNo, page: u32) -> Option<Vec<u8>> {
        (!self.gone.contains(&member)).then(|| match self.durable.content((member, page)) {
            Content::Bytes(bytes) => bytes.to_vec(),
            Content::Zeros | Content::Unreadable => vec![0; self.page_bytes],
        })
    }

    /// Overwrites a page of a member with zeros, durably.
    pub fn wipe(&mut self, member: MemberNo, page: u32) {
        self.durable.held((member, page), &vec![0; self.page_bytes]);
    }
}

/// Runs `case` against the controller that `make` makes: a new one, or one over what members hold after a loss of power.
///
/// # Errors
/// The first broken promise, a panic included; or the reason why there is no such controller.
pub fn run_guest<P: Guest>(
    case: &Case,
    tracer: Option<Tracer>,
    make: impl FnMut(Option<Members<'_>>) -> Result<ArrayOf<PageMemory, P>, String>,
) -> Result<Seen, Failure> {
    let event = Cell::new(0);
    let guarded = AssertUnwindSafe(|| GuestRun::new(case, tracer, make, &event)?.all());
    let result = catch_unwind(guarded).unwrap_or_else(|panic| Err(words_of_panic(panic.as_ref())));
    result.map_err(|what| Failure { event: event.get(), what })
}

struct GuestRun<'a, P: Guest, F> {
    case: &'a Case,
    make: F,
    simulation: Simulation<PageMemory, PageMedia, Player, ArrayOf<PageMemory, P>>,
    /// Losses of members and of power to come, the next one last.
    losses: Vec<Loss>,
    power_losses: Vec<u64>,
    event: &'a Cell<u64>,
    limit: u64,
}

impl<'a, P: Guest, F> GuestRun<'a, P, F>
where
    F: FnMut(Option<Members<'_>>) -> Result<ArrayOf<PageMemory, P>, String>,
{
    fn new(
        case: &'a Case,
        tracer: Option<Tracer>,
        mut make: F,
        event: &'a Cell<u64>,
    ) -> Result<Self, String> {
        let geometry = case.geometry()?;
        if case.losses_in_a_group(&geometry) > geometry.tolerance() {
            return Err("the case loses more members than parity tolerates".into());
        }
        let shape = Shape::new(&case.device, case.members.level, case.members.devices)
            .map_err(|error| error.to_string())?;
        let (pages, page_bytes) = (shape.pages_per_member, case.page_bytes());
        let mut media = PageMedia::new(shape.members, pages, page_bytes, case.faults.clone(), case.seed);
        media.note_durable(case.volatile_members);
        let flash =
            Flash::with_media(&case.device, case.members.level, case.members.devices, case.seed, media)
                .map_err(|error| error.to_string())?;
        let array = make(None)?;
        let model = Model::new(array.exec.capacity() / SECTOR as u64);
        let player = Player::new(geometry, model, case.depth, tracer);
        let mut losses = case.losses.clone();
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.event));
        let mut power_losses = case.power_losses.clone();
        power_losses.sort_unstable_by(|a, b| b.cmp(a));
        let simulation = Simulation::over(array, flash, player, 0);
        Ok(Self { case, make, simulation, losses, power_losses, event, limit: EVENTS })
    }

    fn all(mut self) -> Result<Seen, String> {
        self.ask(&self.case.requests);
        loop {
            self.play()?;
            if self.power_losses.is_empty() {
                break;
            }
            self.power_losses.pop();
            self = self.lose_power()?;
        }
        while let Some(loss) = self.losses.pop() {
            self.lose(loss);
        }
        self.read_back()?;
        // Whatever parity still tolerates is lost as well.
        let geometry = self.case.geometry()?;
        let failed = (0..geometry.members as u16)
            .filter(|&member| self.simulation.array.is_failed(MemberNo::new(member)));
        for nth in failed.count() as u32..geometry.tolerance() {
            let first = (self.case.seed as u32 + nth) % geometry.members;
            let live = (0..geometry.members).map(|nth| ((first + nth) % geometry.members) as u16);
            let mut live = live.filter(|&member| !self.simulation.array.is_failed(MemberNo::new(member)));
            let member = live.next().ok_or("there is no member to lose")?;
            self.lose(Loss { event: 0, member: MemberNo::new(member), manner: Manner::Gone });
            self.read_back().map_err(|what| format!("without member {member}, {what}"))?;
        }
        Ok(self.simulation.world.host.seen)
    }

    fn ask(&mut self, asks: &[Ask]) {
        let now = self.simulation.now();
        self.simulation.world.host.ask(now, asks);
        self.limit += EVENTS_PER_REQUEST * asks.len() as u64;
    }

    /// Runs until no work is left, or power is to be lost.
    fn play(&mut self) -> Result<(), String> {
        loop {
            while let Some(loss) = self.losses.pop_if(|loss| loss.event <= self.event.get()) {
                self.lose(loss);
            }
            if self.power_losses.last().is_some_and(|&at| at <= self.event.get()) {
                return Ok(());
            }
            self.event.set(self.event.get() + 1);
            self.simulation.world.host.event = self.event.get();
            let continues = self.simulation.step();
            self.look()?;
            if !continues {
                break;
            }
            if self.event.get() > self.limit {
                return Err(format!(
                    "no end in sight: {} requests are left",
                    self.simulation.world.host.left()
                ));
            }
        }
        match self.simulation.world.host.oldest() {
            Some(oldest) => Err(format!("the array stands still: {oldest} is left")),
            None => self.at_rest(),
        }
    }

    /// All requests have ended: no buffer is in use.
    fn at_rest(&mut self) -> Result<(), String> {
        match self.simulation.array.memory().in_use() {
            0 => Ok(()),
            pages => Err(format!("all requests have ended, but {pages} page buffers were never given back")),
        }
    }

    /// Checks the results of the last event.
    fn look(&mut self) -> Result<(), String> {
        if let Some(what) = self.simulation.world.host.broken.take() {
            return Err(what);
        }
        if let Some(what) = self.simulation.world.flash.media().wrong() {
            return Err(what.to_owned());
        }
        let ended = std::mem::take(&mut self.simulation.world.host.ended);
        match ended.iter().find(|one| one.failed) {
            Some(one) => Err(format!(
                "request {}, {}, failed though parity tolerates the losses",
                one.tag,
                words(&one.request.ask)
            )),
            None => Ok(()),
        }
    }

    fn lose(&mut self, Loss { member, manner, .. }: Loss) {
        self.simulation.world.host.trace(|| format!("member {member} is lost: {manner:?}"));
        match manner {
            Manner::Gone => self.simulation.fail_member(member),
            Manner::Silent | Manner::FailedWrite => {
                self.simulation.world.flash.media_mut().doom(member, manner);
            }
        }
    }

    fn read_back(&mut self) -> Result<(), String> {
        let sectors = self.simulation.world.host.model.sectors();
        let read = |sector: u64| {
            let sectors = READ_BACK.min(sectors - sector);
            Ask { gap_ns: 0, what: What::Read, sector, sectors }
        };
        let asks: Vec<Ask> = (0..sectors).step_by(READ_BACK as usize).map(read).collect();
        self.ask(&asks);
        self.play()
    }

    fn lose_power(mut self) -> Result<Self, String> {
        self.simulation.world.host.trace(|| "power is lost".into());
        let mut media = self.simulation.world.flash.media().clone();
        media.lose_power();
        let all = MemberNo::first(self.simulation.array.members());
        let gone: Vec<MemberNo> = all.filter(|&member| self.simulation.array.is_failed(member)).collect();
        let page_bytes = media.page_bytes();
        let durable = media.durable_mut().ok_or("the media keep no record of what is durable")?;
        let array = (self.make)(Some(Members { durable, page_bytes, gone }))?;
        let (flash, filled_at) = refill(self.case, media)?;
        let now = self.simulation.now().max(filled_at);
        let mut host = self.simulation.world.host;
        host.power_lost(!self.case.volatile_members);
        host.seen.power_losses += 1;
        let simulation = Simulation::over(array, flash, host, now);
        let mut run = Self { simulation, limit: self.limit + EVENTS, ..self };
        run.recovered().map_err(|what| format!("after a loss of power, {what}"))?;
        Ok(run)
    }

    /// Compares what recovery found with the model: from now on no other version may be read. What lies on a lost member
    /// is compared when it is read.
    fn recovered(&mut self) -> Result<(), String> {
        let Simulation { array, world, .. } = &mut self.simulation;
        let page_sectors = (world.flash.media().page_bytes() / SECTOR) as u64;
        for page in 0..array.exec.host_pages() {
            let home = array.placement.home(page).map(|(row, column)| {
                let place = array.exec.geometry().place(RowNo::new(row));
                (array.exec.geometry().member(place, column), place.page)
            });
            if home.is_some_and(|(member, _)| array.is_failed(member)) {
                continue;
            }
            let content = home.and_then(|(member, page)| {
                let physical = world.flash.lookup(member.number().into(), page);
                world.flash.media().page(member.number().into(), physical)
            });
            for (nth, sector) in (page * page_sectors..(page + 1) * page_sectors).enumerate() {
                let bytes = content.map(|bytes| &bytes[nth * SECTOR..(nth + 1) * SECTOR]);
                let found = bytes.map_or(Found::Zeros, Found::of);
                let model = &mut world.host.model;
                model.check(sector, found, model.floor(sector))?;
                model.restarted(sector, Some(found));
            }
        }
        Ok(())
    }
}
