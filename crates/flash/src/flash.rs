//! A set of equal flash devices under simulated time.

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_base::agenda::{Agenda, Event};
use stripewise_base::prng::Prng;

use crate::allocation::alloc::Pools;
use crate::bugs::Planted;
use crate::collection::control::Control;
use crate::collection::custom::Chooser;
use crate::collection::slices::Synchrony;
use crate::counters::{Collected, Counters, Estimate, WearRange};
use crate::geometry::{Level, Shape};
use crate::list::NONE;
use crate::map::ftl::{Ftl, OPEN};
use crate::media::Media;
use crate::operations::bus::Buses;
use crate::operations::chip::Chip;
use crate::operations::command::Commands;
use crate::operations::die::{Collection, Die};
use crate::operations::holds::Holds;
use crate::operations::link::Link;
use crate::operations::op::{Done, Op, Slot};
use crate::operations::ready::Ready;
use crate::operations::service::Service;
use crate::operations::suspension::Suspension;
use crate::operations::times::Times;
use crate::spec::{DeviceSpec, DieInterleaving, Domain, GcSpec, LinkUnit, MultiPlane, Preemption};
use crate::validate::SpecError;

/// Work of collection, for averages that survive a reset of counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) moves: u64,
    pub(crate) erases: u64,
    /// Cell time of the reads of all moves, both before and since the last reset.
    pub(crate) sense: Nanos,
}

/// The state of one member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Member {
    pub(crate) counters: Counters,
    /// Work of collection before counters were last reset.
    pub(crate) carried: Carried,
    /// Page operations inside it (counted for whole SSDs only).
    pub(crate) in_flight: u32,
    /// Number of dies with garbage collection on them; the start of the current such period; the total of earlier
    /// periods.
    pub(crate) gc_count: u32,
    pub(crate) gc_since: Nanos,
    pub(crate) gc_total: Nanos,
    /// `gc_total` when counters were reset.
    pub(crate) gc_origin: Nanos,
}

impl Member {
    fn gc_clock(&self, now: Nanos) -> Nanos {
        if self.gc_count > 0 { self.gc_total + (now - self.gc_since) } else { self.gc_total }
    }
}

/// Modelled flash: `devices` equal devices, divided into members of one [`Level`].
///
/// This is a state machine without a clock. The caller
/// 1. asks [`Self::admits`] and calls [`Self::start`] for each admitted operation;
/// 2. pops events from the agenda; events below [`Self::event_count`] belong to the flash and go to [`Self::handle`],
///    which appends the finished operations;
/// 3. after every [`Self::handle`], takes the members that [`Self::next_ready`] reports (they refused an operation
///    before and may admit one now) and continues at 1 for each.
///
/// A map entry changes when a program begins service: at once on a channel or a chip; in an SSD, when the die starts
/// the program. A caller that drives an SSD must therefore not start a second operation on a page while a program of
/// that page is inside the SSD. Reads are the exception: they return either version.
#[derive(Clone, Debug)]
pub struct Flash<M = ()> {
    pub(crate) spec: DeviceSpec,
    pub(crate) shape: Shape,
    pub(crate) times: Times,
    pub(crate) gc: GcSpec,
    /// The user's own policy for victims.
    pub(crate) chooser: Chooser,
    pub(crate) erase_blocking: Domain,
    /// Host operations may start on a die with a collection in progress, if no collection is due.
    pub(crate) lets_in: bool,
    /// See [`crate::spec::WearSpec::static_gap`].
    pub(crate) static_gap: Option<u32>,
    pub(crate) window: u32,
    pub(crate) read_priority: bool,
    /// No two dies share a bus: no transfer waits, and phases need no events of their own.
    pub(crate) exclusive: bool,
    /// A plane with more valid and promised pages than this is unfit for dynamic allocation: collection could not
    /// keep up.
    pub(crate) max_valid: u32,
    pub(crate) ftl: Ftl,
    pub(crate) pools: Pools,
    /// For each member and pool, the position of the last allocation.
    pub(crate) turns: Vec<u32>,
    pub(crate) dies: Vec<Die>,
    pub(crate) collections: Vec<Collection>,
    /// For each die, the pages of its victim that were valid when its collection began.
    pub(crate) valid_lists: Vec<u16>,
    pub(crate) buses: Buses,
    /// For each die; empty unless operations are suspended.
    pub(crate) suspensions: Vec<Suspension>,
    /// Planes used by the multi-plane operation that is being assembled, one bit each.
    pub(crate) taken: u64,
    pub(crate) multi_plane: MultiPlane,
    pub(crate) interleaving: DieInterleaving,
    /// Empty unless the dies of a chip depend on each other.
    pub(crate) chips: Vec<Chip>,
    /// An idle die starts what arrives at once, because no other operation of the same instant matters to it.
    pub(crate) starts_at_once: bool,
    /// One for each device with a host link: a link for pages, or one for commands.
    pub(crate) links: Vec<Link>,
    pub(crate) commands: Vec<Commands>,
    pub(crate) members: Vec<Member>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) slot_next: Vec<u32>,
    /// Slots without an operation, for whole SSDs; a channel or chip has one operation per die.
    pub(crate) vacant: Vec<u32>,
    /// Operations that need no flash, with the times at which they complete, in order of time.
    pub(crate) immediate: VecDeque<(Nanos, Done)>,
    pub(crate) ready: Ready,
    pub(crate) holds: Holds,
    /// The program that a channel or chip admitted last, with its plane, until the state changes.
    pub(crate) admitted: Option<(u32, Op, u32)>,
    /// The slot that a die of a whole SSD is about to serve, and the plane found for it.
    pub(crate) fitting: Option<(u32, u32)>,
    /// Planes whose collection was abandoned for lack of an invalid page.
    pub(crate) stalled: Vec<u32>,
    /// External permission to collect, if collection needs it.
    pub(crate) control: Option<Control>,
    pub(crate) log: Option<Vec<Collected>>,
    pub(crate) synchrony: Option<Synchrony>,
    pub(crate) random: Prng,
    pub(crate) service: Service,
    pub(crate) planted: Planted,
    pub(crate) media: M,
}

impl Flash<()> {
    /// Creates `devices` devices without content. `seed` drives all random choices.
    ///
    /// # Errors
    /// The specification is invalid, or its members are too large or too many.
    pub fn new(spec: &DeviceSpec, level: Level, devices: u32, seed: u64) -> Result<Self, SpecError> {
        Self::with_media(spec, level, devices, seed, ())
    }
}

impl<M: Media> Flash<M> {
    /// Creates `devices` devices; `media` keeps the content of physical pages.
    ///
    /// # Errors
    /// As [`Flash::new`].
    pub fn with_media(
        spec: &DeviceSpec,
        level: Level,
        devices: u32,
        seed: u64,
        media: M,
    ) -> Result<Self, SpecError> {
        let shape = Shape::of_flash(spec, level, devices)?;
        let pools = Pools::new(spec, &shape);
        let window = spec.scheduling.window;
        // A die of a channel or a chip has one operation in progress, and one more while the first is suspended.
        let a_die = 1 + u32::from(spec.suspend.is_some());
        // The slots of a whole SSD grow with the operations in flight: windows are large and rarely full.
        let slots = if level == Level::Ssd { 0 } else { shape.dies * a_die };
        let times = Times::new(spec);
        let linked = level == Level::Ssd && times.link + times.link_command > 0;
        let free = spec.scheduling.die_interleaving == DieInterleaving::Free;
        let chips = if free { 0 } else { shape.dies / spec.geometry.dies };
        let by_command = spec.timing.host_link_unit == LinkUnit::Command;
        let mut ftl = Ftl::new(spec, &shape, !pools.is_static());
        ftl.age(spec.age);
        Ok(Self {
            spec: spec.clone(),
            times,
            gc: spec.gc,
            chooser: Chooser::default(),
            erase_blocking: spec.gc.erase_blocking.unwrap_or(spec.gc.blocking),
            lets_in: spec.gc.preemption != Preemption::Never
                || spec.gc.soft_watermark.is_some()
                || spec.wear.is_some_and(|wear| wear.static_gap.is_some()),
            static_gap: spec.wear.and_then(|wear| wear.static_gap),
            window,
            read_priority: spec.scheduling.read_priority,
            exclusive: shape.dies_per_bus == 1,
            max_valid: spec.max_valid_per_plane(),
            ftl,
            turns: vec![0; (shape.members * pools.count.get()) as usize],
            pools,
            dies: vec![Die::new(); shape.dies as usize],
            collections: vec![Collection::NONE; shape.dies as usize],
            valid_lists: vec![0; shape.dies as usize * shape.data_pages as usize],
            buses: Buses::new(shape.buses, shape.dies, shape.members, spec.scheduling.read_priority),
            suspensions: if spec.suspend.is_some() {
                vec![Suspension::NONE; shape.dies as usize]
            } else {
                Vec::new()
            },
            taken: 0,
            multi_plane: spec.scheduling.multi_plane,
            interleaving: spec.scheduling.die_interleaving,
            chips: vec![Chip::default(); chips as usize],
            starts_at_once: spec.scheduling.multi_plane == MultiPlane::Off && free,
            links: if linked && !by_command { vec![Link::new(window); devices as usize] } else { Vec::new() },
            commands: if linked && by_command {
                vec![Commands::default(); devices as usize]
            } else {
                Vec::new()
            },
            members: vec![Member::default(); shape.members as usize],
            slots: vec![Slot::VACANT; slots as usize],
            slot_next: vec![NONE; slots as usize],
            vacant: Vec::new(),
            immediate: VecDeque::with_capacity(64),
            ready: Ready::new(shape.members),
            // A die that can be suspended must be notified of every read for it.
            holds: Holds::new(level != Level::Ssd && spec.suspend.is_none()),
            admitted: None,
            fitting: None,
            stalled: Vec::new(),
            control: None,
            log: None,
            synchrony: None,
            random: Prng::stream(seed, 0x666C_6173),
            service: Service::default(),
            planted: Planted::default(),
            media,
            shape,
        })
    }

    /// The specification of each device.
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// The counts of members, dies, planes, blocks and pages.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Logical pages of each member.
    pub fn logical_pages(&self) -> u32 {
        self.shape.logical_pages
    }

    /// The events of the flash are the numbers below this one.
    pub fn event_count(&self) -> u32 {
        self.shape.dies + self.shape.buses + self.shape.devices + 1
    }

    /// The content of physical pages.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The content of physical pages, mutable.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Takes a member that refused an operation since it was last reported and may admit one now; the longest-waiting
    /// member first.
    #[inline]
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.take()
    }

    /// Whether [`Self::next_ready`] or [`Self::next_gc_event`] may have something to report.
    #[inline(always)]
    pub fn has_reports(&self) -> bool {
        self.ready.has_any() || self.control.as_ref().is_some_and(|control| control.events.has_any())
    }

    /// The physical page of a member that holds a logical page.
    pub fn lookup(&self, member: u32, page: u32) -> Option<u32> {
        self.ftl.lookup(member, page)
    }

    /// The physical page of a member that holds the pinned old version of a logical page, or the current version if
    /// none is pinned.
    pub fn lookup_old(&self, member: u32, page: u32) -> Option<u32> {
        self.ftl.lookup_old(member, page)
    }

    /// Loads the map entries of pages that will be used soon into the processor's caches. A driver that knows its
    /// next requests takes their cache misses at the same time instead of one after the other. All pages are passed
    /// in one call, because the driver's own work to find the next page would keep the processor from seeing the next
    /// miss. The call changes no state.
    #[inline]
    pub fn touch_all(&self, pages: &[(u32, u32)]) {
        let entries = pages.iter().map(|&(member, page)| self.ftl.lookup(member, page).unwrap_or(0));
        std::hint::black_box(entries.fold(0, |all, entry| all ^ entry));
    }

    /// The state that a member reports. Takes time in proportion to the number of its planes.
    pub fn estimate(&self, member: u32) -> Estimate {
        Estimate {
            collecting: self.is_collecting(member),
            free_pages: self.planes_of(member).map(|plane| self.ftl.free_pages(plane)).sum(),
            in_flight: self.members[member as usize].in_flight,
        }
    }

    /// Whether garbage collection is active on a die of the member, or holds one back.
    #[inline]
    pub fn is_collecting(&self, member: u32) -> bool {
        self.members[member as usize].gc_count > 0
    }

    /// Total time during which garbage collection was active on a die of the member, or held one back. For a queue in
    /// front of the member, the difference of two readings is the part of a wait that is due to garbage collection.
    #[inline]
    pub fn gc_clock(&self, now: Nanos, member: u32) -> Nanos {
        self.members[member as usize].gc_clock(now)
    }

    /// Activity of a member since the last [`Self::reset_counters`]. Cell and bus time of operations in service count
    /// as if they were finished.
    pub fn counters(&self, now: Nanos, member: u32) -> Counters {
        let e = &self.members[member as usize];
        let (t, c) = (&self.times, e.counters);
        let busy_span = self.gc.span == crate::spec::GcSpan::Busy;
        let moves_bus = if busy_span { 0 } else { t.read_command + t.move_bus(false) };
        Counters {
            gc_busy_ns: e.gc_clock(now) - e.gc_origin,
            cell_busy_ns: self.ftl.wear.time_of(&c.level_reads).unwrap_or(c.flash_read_pages() * t.read)
                + c.flash_program_pages() * t.program
                + c.erase_blocks * t.erase
                - c.shared_cell_ns,
            bus_busy_ns: c.read_pages * (t.read_command + t.page)
                + c.program_pages * (t.program_command + t.page)
                + c.summary_pages * t.summary_bus
                + c.gc_move_pages * moves_bus
                + if busy_span { 0 } else { c.erase_blocks * t.erase_command },
            ..c
        }
    }

    /// The cell time of each die of a member since the last [`Self::reset_counters`], counted when the cells begin. A
    /// real SSD hides these figures.
    pub fn dies_busy_ns(&self, member: u32) -> impl Iterator<Item = Nanos> {
        let first = (member * self.shape.dies_per_member) as usize;
        let dies = &self.dies[first..first + self.shape.dies_per_member as usize];
        // A program that began before the reset and was suspended since subtracts the rest of its time.
        dies.iter().map(|die| die.cell_busy.saturating_sub(die.cell_origin))
    }

    /// The erase count of each block of a member, the erases of its initial age included. Empty if the device does
    /// not keep erase counts, see [`DeviceSpec::wear`].
    pub fn erases(&self, member: u32) -> impl Iterator<Item = u32> {
        let kept = if self.ftl.wear.is_kept() { self.shape.blocks_per_member() as usize } else { 0 };
        let first = member as usize * kept;
        (first..first + kept).map(|block| self.ftl.wear.erases(block))
    }

    /// The erase counts of a member's blocks, the erases of their initial age included. Takes time in proportion to
    /// the number of blocks. `None` if the device does not keep erase counts, see [`DeviceSpec::wear`].
    pub fn wear(&self, member: u32) -> Option<WearRange> {
        if !self.ftl.wear.is_kept() {
            return None;
        }
        let mut range = WearRange { least_erases: u32::MAX, ..WearRange::default() };
        for erases in self.erases(member) {
            range.least_erases = range.least_erases.min(erases);
            range.most_erases = range.most_erases.max(erases);
            range.total_erases += u64::from(erases);
        }
        Some(range)
    }

    /// Resets the counters of all members.
    pub fn reset_counters(&mut self, now: Nanos) {
        for member in &mut self.members {
            member.carried.moves += member.counters.gc_move_pages;
            member.carried.erases += member.counters.erase_blocks;
            member.counters = Counters::default();
            member.gc_origin = member.gc_clock(now);
        }
        for die in &mut self.dies {
            die.cell_origin = die.cell_busy;
        }
        self.restart_synchrony(now);
    }

    /// Records a row for every block that is collected from now on.
    pub fn enable_gc_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The rows since the last call, in order of their end times.
    pub fn drain_gc_log(&mut self) -> impl Iterator<Item = Collected> + '_ {
        self.log.iter_mut().flat_map(|log| log.drain(..))
    }

    /// Number of old versions that are pinned.
    pub fn pinned(&self) -> usize {
        self.ftl.pins.len()
    }

    /// Numbers of valid pages of every full block of a member.
    pub fn valid_pages(&self, member: u32) -> impl Iterator<Item = u32> + '_ {
        let counts = self.planes_of(member).flat_map(|plane| self.ftl.valid_of(plane));
        counts.filter(|&&count| count < OPEN).map(|&count| count.into())
    }

    /// Bytes of state for each physical page.
    pub fn bytes_per_page(&self) -> f64 {
        let pages = f64::from(self.shape.members) * f64::from(self.shape.pages_per_member);
        self.ftl.bytes() as f64 / pages
    }

    /// From now on, cell times of reads are exponential with the specified time as their mean, so that queues in
    /// front of the device are those of queueing theory. [`Self::counters`] continues to count reads with the
    /// specified time.
    #[cfg(feature = "service-override")]
    pub fn draw_read_times(&mut self, seed: u64) {
        self.service.draw(seed);
    }

    /// Plants a bug, to test a checker.
    #[cfg(debug_assertions)]
    pub fn plant(&mut self, bug: Option<crate::bugs::Bug>) {
        self.planted.set(bug);
    }

    #[inline(always)]
    pub(crate) fn event_of_bus(&self, bus: u32) -> Event {
        self.shape.dies + bus
    }

    #[inline(always)]
    pub(crate) fn event_of_link(&self, device: u32) -> Event {
        self.shape.dies + self.shape.buses + device
    }

    /// Ends the current phase of a die at `at`.
    #[inline(always)]
    pub(crate) fn schedule_die(&mut self, at: Nanos, die: u32, agenda: &mut Agenda) {
        self.dies[die as usize].due = at;
        agenda.schedule(at, die);
    }
}
