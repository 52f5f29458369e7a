//! Reads that avoid members by choice: the inputs of a read policy, and the use of its answer.

use stripewise_base::Nanos;
use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::request::HostRequest;
use stripewise_policy::custom::{ChooseRead, ReadChoice};
use stripewise_policy::dispatch::QueueOrder;
use stripewise_policy::read::brr::{self, Estimate};
use stripewise_policy::read::{
    NextArrival, ReadPath, ReadPolicy, ReadWait, StateSource, Ways, gc_avoiding, least_finish,
};

use crate::driver::Driver;
use crate::plan::Purpose;
use crate::row_locks::RowLock;
use crate::{Executor, Placement};

/// Upper bound of any predicted read time: sums of predictions stay far from overflow.
const FOREVER: Nanos = Nanos::MAX / 8;

impl<M: Memory> Executor<M> {
    /// The columns that the read `plan` is to decode by choice; none of them is lost. If there are any, the plan has its row
    /// lock.
    #[inline]
    pub fn redirect<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) -> u64 {
        let slot = &mut self.plans[plan];
        if matches!(self.scheme.read.policy, ReadPolicy::Direct | ReadPolicy::Hedged)
            || slot.purpose != Purpose::Read
            || std::mem::replace(&mut slot.path.is_chosen, true)
            || !self.is_decodable(plan, placement)
        {
            return 0;
        }
        let way = match self.read_chooser.take() {
            Some(mut chooser) => {
                let way = self.way_of(&mut *chooser, plan, placement, driver);
                self.read_chooser = Some(chooser);
                way
            }
            None => self.way_around(plan, placement, driver),
        };
        let Some(way) = way else { return 0 };
        let chunks = u64::from((way.avoided & self.plans[plan].wanted).count_ones());
        if !self.hold_to_decode(plan, placement) {
            self.reads.counts.not_held += chunks;
            return 0;
        }
        self.reads.counts.redirected += chunks;
        self.plans[plan].path.around = Some(way);
        way.avoided
    }

    /// Whether the members have everything that decoding columns of the plan's stripe needs, up to date: parity was written,
    /// and is neither deferred nor in a log nor in the write cache.
    #[inline]
    pub fn is_decodable<P: Placement<M>>(&self, plan: PlanId, placement: &P) -> bool {
        if self.geometry.parity() == 0 {
            return false;
        }
        placement.is_decodable(plan, self)
    }

    /// Takes a shared lock of the plan's row for decoding, unless an update has the lock. Stripes of the log never change and
    /// need no lock.
    pub(crate) fn hold_to_decode<P: Placement<M>>(&mut self, plan: PlanId, placement: &mut P) -> bool {
        let slot = &mut self.plans[plan];
        if !placement.locks_to_decode() || slot.lock != RowLock::None {
            return true;
        }
        let row = slot.row;
        if self.has_bug(Bug::RedirectNotHeld) {
            return true;
        }
        let is_held = self.row_locks.try_take(row, RowLock::Shared);
        if is_held {
            self.plans[plan].lock = RowLock::Shared;
        }
        is_held
    }

    fn way_around<P: Placement<M>, D: Driver<M>>(
        &self,
        plan: PlanId,
        placement: &P,
        driver: &mut D,
    ) -> Option<ReadPath> {
        let section = &self.scheme.read;
        let wanted = self.plans[plan].wanted;
        let sources = |lost| placement.sources_of(plan, lost, self);
        match section.policy {
            ReadPolicy::Direct | ReadPolicy::Hedged | ReadPolicy::Custom => None,
            ReadPolicy::Brr => {
                let collection_ns = |column, driver: &D| match section.wait {
                    ReadWait::Queue => 0,
                    ReadWait::QueueAndCollection => self.gc_wait_ns(plan, column, placement, driver),
                };
                let is_idle = |column| {
                    self.loads.total(placement.home_of(plan, column, self).0) == 0
                        && collection_ns(column, driver) == 0
                };
                if columns(wanted).all(is_idle) {
                    return None;
                }
                // Estimates ask the driver, and so does the slack computation: never both at a time.
                let driver = std::cell::RefCell::new(driver);
                let estimate = |column| {
                    let driver = &**driver.borrow();
                    let Estimate { wait, read } = self.estimate(plan, column, placement, driver);
                    Estimate { wait: wait + collection_ns(column, driver), read }
                };
                let slack =
                    |column, within| self.slack(plan, column, within, placement, &mut **driver.borrow_mut());
                brr::choose(wanted, sources, estimate, slack)
            }
            ReadPolicy::GcAvoiding => {
                let cost = |column| self.gc_wait_ns(plan, column, placement, driver);
                let ways = self.ways(plan, cost, |costs| costs.iter().all(|&cost| cost == 0), placement)?;
                gc_avoiding::choose(&ways.as_ways(wanted, self.geometry.parity()), sources)
            }
            ReadPolicy::LeastFinish => {
                let (member, page) = placement.home_of(plan, wanted.trailing_zeros(), self);
                let gain = section.gain.map_or_else(|| self.read_ns(member, page, driver), |gain| gain.0);
                let cost = |column| self.finish_ns(plan, column, placement, driver);
                let ways =
                    self.ways(plan, cost, |costs| costs.iter().all(|&cost| cost <= gain), placement)?;
                least_finish::choose(&ways.as_ways(wanted, self.geometry.parity()), gain, sources)
            }
        }
    }

    /// The way that the user's own policy chooses.
    fn way_of<P: Placement<M>, D: Driver<M>>(
        &self,
        chooser: &mut dyn ChooseRead,
        plan: PlanId,
        placement: &P,
        driver: &D,
    ) -> Option<ReadPath> {
        let (wanted, all) = (self.plans[plan].wanted, placement.columns_of(plan, self));
        let mut homes = [(MemberNo::default(), 0); COLUMNS_MAX as usize];
        columns(all | wanted)
            .for_each(|column| homes[column as usize] = placement.home_of(plan, column, self));
        let parity = self.geometry.parity();
        let read = ReadChoice {
            now: self.now,
            wanted,
            all: all | wanted,
            parity,
            homes: &homes,
            loads: &self.loads,
        };
        let avoided = chooser.avoid(&read, driver) & read.all;
        (avoided & wanted != 0 && avoided.count_ones() <= parity).then_some(ReadPath {
            avoided,
            cost: 0,
            direct: 0,
        })
    }

    /// The costs of all columns of the plan's stripe; `None` if the costs of the wanted columns are already good enough.
    fn ways<P: Placement<M>>(
        &self,
        plan: PlanId,
        cost: impl Fn(u32) -> Nanos,
        is_good: impl Fn(&[Nanos]) -> bool,
        placement: &P,
    ) -> Option<Costs> {
        let wanted = self.plans[plan].wanted;
        let mut costs = [0; COLUMNS_MAX as usize];
        let mut direct = [0; COLUMNS_MAX as usize];
        for (nth, column) in columns(wanted).enumerate() {
            costs[column as usize] = cost(column);
            direct[nth] = costs[column as usize];
        }
        if is_good(&direct[..wanted.count_ones() as usize]) {
            return None;
        }
        let all = placement.columns_of(plan, self);
        columns(all & !wanted).for_each(|column| costs[column as usize] = cost(column));
        Some(Costs(costs))
    }

    /// L_r: the time that a read of this page takes once it is started.
    fn read_ns<D: Driver<M>>(&self, member: MemberNo, page: u32, driver: &D) -> Nanos {
        let reported = || driver.read_ns(member, page, false);
        self.reported(reported).unwrap_or_else(|| self.reads.observed.service_ns(member).0)
    }

    /// The member's own report, if the policy asks for it.
    fn reported<T>(&self, ask: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.scheme.read.state == StateSource::Model { ask() } else { None }
    }

    /// WT and L_r of the member of `column` (paper 002, section III-D).
    fn estimate<P: Placement<M>, D: Driver<M>>(
        &self,
        plan: PlanId,
        column: u32,
        placement: &P,
        driver: &D,
    ) -> Estimate {
        let (member, page) = placement.home_of(plan, column, self);
        let read = self.read_ns(member, page, driver);
        let write = self.reported(|| driver.write_ns(member));
        let write = write.unwrap_or_else(|| self.reads.observed.service_ns(member).1);
        let (reads, writes) = (self.loads.reads[member.index()], self.loads.writes[member.index()]);
        Estimate { wait: read * u64::from(reads) + write * u64::from(writes), read }
    }

    /// The time by which garbage collection delays a read of `column`.
    fn gc_wait_ns<P: Placement<M>, D: Driver<M>>(
        &self,
        plan: PlanId,
        column: u32,
        placement: &P,
        driver: &D,
    ) -> Nanos {
        let (member, page) = placement.home_of(plan, column, self);
        let wait = match self.scheme.read.state {
            StateSource::Model => driver.gc_wait_ns(member, page).unwrap_or(0),
            StateSource::Observed => self.reads.observed.stalled_ns(self.now, member),
        };
        wait.min(FOREVER)
    }

    /// The predicted completion time of a read of `column`: after the operations in flight in its member, and after those
    /// queued for it.
    fn finish_ns<P: Placement<M>, D: Driver<M>>(
        &self,
        plan: PlanId,
        column: u32,
        placement: &P,
        driver: &D,
    ) -> Nanos {
        let (member, page) = placement.home_of(plan, column, self);
        let Some(start) = self.reported(|| driver.start_ns(member, page)) else {
            let load = self.loads.total(member);
            return self.reads.observed.finish_ns(self.now, member, load).min(FOREVER);
        };
        let read = self.read_ns(member, page, driver);
        let (reads, writes) = self.reads.observed.in_flight(member);
        let reads = self.loads.reads[member.index()] - reads;
        let mut ahead = read * u64::from(reads);
        if self.scheme.dispatch.order != QueueOrder::ReadFirst {
            let writes = self.loads.writes[member.index()] - writes;
            ahead += u64::from(writes) * driver.write_ns(member).unwrap_or(read);
        }
        (start + ahead + read).min(FOREVER)
    }

    /// Time from the arrival of the read `plan` until the next request that needs the member of `column`. Looks ahead only as
    /// far as a helper read that takes `within` needs.
    fn slack<P: Placement<M>, D: Driver<M>>(
        &self,
        plan: PlanId,
        column: u32,
        within: Nanos,
        placement: &P,
        driver: &mut D,
    ) -> Option<Nanos> {
        let (member, _) = placement.home_of(plan, column, self);
        let arrival = self.arrival_of(plan);
        let pending = || self.earliest_pending(member);
        let next = match self.scheme.read.at {
            NextArrival::Off => None,
            NextArrival::Pending => pending(),
            NextArrival::Oracle => {
                let coming =
                    driver.next_arrival(arrival + within, &mut |host| self.targets(host, member, placement));
                pending().into_iter().chain(coming).min()
            }
        };
        next.map(|at| at.saturating_sub(arrival))
    }

    /// The arrival time of the first request that waits for `plan`.
    fn arrival_of(&self, plan: PlanId) -> Nanos {
        self.host_of(plan).map_or(self.now, |id| self.requests[id].host.arrival)
    }

    /// Whether `host` would read or write a page of `member`.
    fn targets<P: Placement<M>>(&self, host: &HostRequest, member: MemberNo, placement: &P) -> bool {
        if self.check(host, placement).is_err() || host.bytes == 0 {
            return false;
        }
        let end = host.offset + u64::from(host.bytes);
        let is_write = host.kind == stripewise_core::request::RequestKind::Write;
        (self.page_of(host.offset)..=self.page_of(end - 1))
            .any(|page| placement.targets(page, is_write, member, self))
    }
}

/// Costs of all columns of a stripe.
struct Costs([Nanos; COLUMNS_MAX as usize]);

impl Costs {
    fn as_ways(&self, wanted: u64, parity: u32) -> Ways<'_> {
        Ways { costs: &self.0, wanted, parity }
    }
}
