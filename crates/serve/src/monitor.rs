//! The monitor of the serving thread: turns incidents of the engine and errors of members into events and health. It
//! reads counters that only grow, so it misses nothing between two looks, and it never waits.

mod bursts;

use std::time::Duration;

use stripewise_array::MemberNo;
use stripewise_array::RecoveryReport;
use stripewise_array::health::{MembersHealth, OverLimit, Recent, Troubles, Verdict, health_of};
use stripewise_base::Nanos;
use stripewise_engine::{Engine, Incident};

use crate::background_checks::{BackgroundChecks, Notice, Noticed, Subject};
use crate::error::ServeError;
use crate::events::{Events, Member, Outlet, Programs, Source, SpaceCause, What};
use crate::settings::Settings;
use bursts::{Burst, Space};

/// Time between two looks at errors while there are some.
const LOOK_NS: Nanos = 1_000_000_000;
/// The same while the health of a member may change with time alone.
const DECAY_LOOK_NS: Nanos = 60_000_000_000;

/// The monitor's state of a member.
#[derive(Debug, Default)]
struct Watched {
    /// The generation that valid findings about it have.
    generation: u64,
    damage: Damage,
}

/// The health of a member, for the status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkup {
    pub(crate) recent: Recent,
    pub(crate) is_at_risk: bool,
    pub(crate) unlinked: Option<String>,
    pub(crate) smart: Option<bool>,
    pub(crate) damaged_superblocks: u64,
}

/// Watches one array.
#[derive(Debug)]
pub(crate) struct Monitor {
    events: Events,
    outlet: Outlet,
    background_checks: BackgroundChecks,
    members: Vec<Watched>,
    health: MembersHealth,
    /// The engine's error count at the last look.
    seen: u64,
    looked: Option<Nanos>,
    /// When it looks again even if no counter grows.
    next: Option<Nanos>,
    incidents_left_out: u64,
    repairs: Burst,
    refused: Burst,
    refused_for: String,
    dropped_connections: u64,
    space: Space,
    /// Requests that were refused for lack of space, since the last look.
    no_space: u64,
}

impl Monitor {
    /// Starts monitoring `engine`.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub(crate) fn start(
        engine: &Engine,
        settings: &Settings,
        report: impl Fn(Notice) -> bool + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let status = engine.status();
        let array = Source { name: settings.name.clone(), uuid: status.uuid.map(|uuid| uuid.to_string()) };
        let outlet = Outlet::start(array, settings.events.clone(), settings.on_event.clone())?;
        let background_checks = BackgroundChecks::new(report);
        let is_there = |number: MemberNo| engine.failure(number).is_ok_and(|failure| failure.is_none());
        let members = MemberNo::first(status.members.len() as u32).map(|number| {
            let subject = subject(engine, number).filter(|_| is_there(number));
            Watched { generation: background_checks.watch(number, subject), ..Watched::default() }
        });
        let members: Vec<Watched> = members.collect();
        let health = MembersHealth::new(members.len() as u16, settings.error_limit);
        let events = outlet.events();
        let missing = status.members.iter().filter(|member| member.failure.is_some()).count();
        events.report(What::ServingBegan { read_only: status.is_read_only, missing_members: missing as u64 });
        if status.is_read_only {
            events.report(What::ArrayReadOnly { reason: "it is served read-only".to_owned() });
        }
        assembled(engine, engine.opened()).for_each(|event| events.report(event));
        Ok(Self {
            events,
            outlet,
            background_checks,
            members,
            health,
            seen: 0,
            looked: None,
            next: None,
            incidents_left_out: 0,
            repairs: Burst::default(),
            refused: Burst::default(),
            refused_for: String::new(),
            dropped_connections: 0,
            space: Space::default(),
            no_space: 0,
        })
    }

    /// Waits until the events that were reported so far are written, up to a limit.
    pub(crate) fn catch_up(&self) {
        self.outlet.catch_up();
    }

    /// Reports that serving ended, and waits up to a limit until all events are written. The program for events may
    /// still run.
    pub(crate) fn finish(self) -> Programs {
        let Self { events, outlet, background_checks, .. } = self;
        drop(background_checks);
        events.report(What::ServingEnded {});
        drop(events);
        outlet.finish()
    }

    /// Notes the reason why a connection was refused, or closed because its client broke the protocol. [`Self::look`]
    /// takes the number from a counter.
    pub(crate) fn refused(&mut self, reason: String) {
        self.refused_for = reason;
    }

    /// Notes that a request was refused for lack of space.
    pub(crate) fn no_space(&mut self) {
        self.no_space += 1;
    }

    /// Takes a finding from another thread.
    pub(crate) fn notice(&mut self, notice: Notice, engine: &Engine) {
        let Notice { number, generation, what } = notice;
        if self.members.get(number.index()).is_none_or(|it| it.generation != generation) {
            return;
        }
        let health = self.health.of_mut(number);
        let member = member(engine, number);
        let event = match what {
            Noticed::Unlinked(why) => {
                health.unlinked = why.clone();
                Some(match why {
                    Some(reason) => What::MemberUnlinked { member, reason },
                    None => What::MemberRelinked { member },
                })
            }
            Noticed::Superblocks(damaged) => {
                health.damaged_superblocks = damaged;
                (damaged > 0).then_some(What::DamageFound {
                    member,
                    read_errors: 0,
                    checksum_errors: 0,
                    damaged_superblocks: damaged,
                    last_offset_bytes: 0,
                })
            }
            Noticed::Smart(passed) => {
                health.smart = passed;
                (passed == Some(false)).then_some(What::SmartFailed { member })
            }
        };
        event.into_iter().for_each(|event| self.events.report(event));
    }

    /// Takes incidents, and looks at errors if a look is due. `dropped_connections` only grows.
    pub(crate) fn look(&mut self, now: Nanos, engine: &mut Engine, dropped_connections: u64) {
        self.take_incidents(now, engine);
        self.dropped_connections = dropped_connections;
        if self.wake_at(engine).is_none_or(|at| now < at) {
            return;
        }
        let has_grown = self.has_events(engine);
        self.looked = Some(now);
        self.seen = engine.trouble_count();
        self.look_at_members(now, engine);
        let left_out = engine.incidents_left_out();
        self.events.add_dropped(left_out - std::mem::replace(&mut self.incidents_left_out, left_out));
        self.report_repairs(now, engine);
        if let Some(connections) = self.refused.take(now, dropped_connections) {
            let why = std::mem::take(&mut self.refused_for);
            let reason = if why.is_empty() { "a guest broke the protocol".to_owned() } else { why };
            self.events.report(What::ConnectionRefused { connections, reason });
        }
        let is_refused = std::mem::take(&mut self.no_space) > 0;
        let is_full = is_refused || self.space.is_out() && engine.array().is_full();
        if let Some(event) = self.space.look(now, is_full.then_some((SpaceCause::Log, true))) {
            self.events.report(event);
        }
        // The consequences of a limit.
        self.take_incidents(now, engine);
        let is_pending = has_grown
            || self.repairs.is_pending(engine.repairs())
            || self.refused.is_pending(dropped_connections)
            || self.space.is_out()
            || (0..).map(MemberNo::new).zip(&self.members).any(|(number, watched)| {
                watched.damage.burst.is_pending(self.health.of(number).seen().bad_reads())
            });
        let is_decaying =
            MemberNo::first(self.health.count().into()).any(|number| self.health.of(number).is_decaying());
        self.next = match (is_pending, is_decaying) {
            (true, _) => Some(now + LOOK_NS),
            (false, true) => Some(now + DECAY_LOOK_NS),
            (false, false) => None,
        };
    }

    /// How long until the next look.
    pub(crate) fn wake_in(&self, now: Nanos, engine: &Engine) -> Option<Duration> {
        Some(Duration::from_nanos(self.wake_at(engine)?.saturating_sub(now)))
    }

    /// The health of member `number`, for the status.
    pub(crate) fn checkup(&self, now: Nanos, number: MemberNo) -> Checkup {
        let health = self.health.of(number);
        Checkup {
            recent: health.recent(now),
            is_at_risk: health.is_at_risk(),
            unlinked: health.unlinked.clone(),
            smart: health.smart,
            damaged_superblocks: health.damaged_superblocks,
        }
    }

    /// The health of the array, with the reasons. A scrub found `scrub_lost` chunks lost before the current one.
    pub(crate) fn verdict(&self, engine: &Engine, scrub_lost: u64) -> Verdict {
        let mut state = engine.state();
        state.scrub_lost = state.scrub_lost.max(scrub_lost);
        health_of(&state, &self.health)
    }

    /// Reports that another host took the array over.
    pub(crate) fn taken_over(&self, host: String) {
        self.events.report(What::ArrayTakenOver { host });
    }

    /// The time of the next look at errors. None while there are none.
    fn wake_at(&self, engine: &Engine) -> Option<Nanos> {
        let soon = || self.looked.map_or(0, |looked| looked + LOOK_NS);
        let due = self.has_events(engine).then(soon);
        due.into_iter().chain(self.next).min()
    }

    /// Whether a counter grew since the last look. It is called in every turn.
    fn has_events(&self, engine: &Engine) -> bool {
        engine.trouble_count() != self.seen
            || self.no_space > 0
            || engine.incidents_left_out() != self.incidents_left_out
            || self.next.is_none() && self.refused.is_pending(self.dropped_connections)
    }

    fn take_incidents(&mut self, now: Nanos, engine: &mut Engine) {
        while let Some(incident) = engine.take_incident() {
            self.take(now, incident, engine);
        }
    }

    fn take(&mut self, now: Nanos, incident: Incident, engine: &Engine) {
        let of = |number| member(engine, number);
        let event = match incident {
            Incident::Slow { member, took_ns } => {
                What::MemberSlow { member: of(member), latency_ns: took_ns }
            }
            Incident::Failed { member, reason, is_timeout } => {
                if is_timeout {
                    self.events.report(What::MemberTimedOut { member: of(member) });
                }
                self.background_checks.watch(member, None);
                What::MemberFailed { member: of(member), reason }
            }
            Incident::Returned { member } => {
                self.welcome(member, engine);
                What::MemberReturned { member: of(member) }
            }
            Incident::Replaced { member, is_spare } => {
                self.welcome(member, engine);
                match is_spare {
                    true => {
                        What::SpareTookOver { member: of(member), spares_left: engine.status().spares as u64 }
                    }
                    false => What::MemberReplaced { member: of(member) },
                }
            }
            Incident::RebuildBegan { member, total } => {
                What::RebuildBegan { member: of(member), total_units: total }
            }
            Incident::RebuildEnded { member, lost, is_complete } => {
                What::RebuildEnded { member: of(member), complete: is_complete, lost_stripes: lost }
            }
            Incident::RebuildHalted { member, reason } => What::RebuildHalted { member: of(member), reason },
            Incident::ScrubEnded {
                pages,
                bad,
                repaired,
                obsolete,
                lost,
                metadata_damaged,
                metadata_repaired,
                is_complete,
            } => {
                self.report_scrub(now, engine);
                What::ScrubEnded {
                    read_bytes: pages * u64::from(engine.page_bytes()),
                    damaged_pages: bad,
                    repaired,
                    obsolete,
                    lost,
                    damaged_metadata: metadata_damaged,
                    repaired_metadata: metadata_repaired,
                    complete: is_complete,
                }
            }
            Incident::OutOfSpace { is_beyond_parity } => return self.want_space(now, Some(is_beyond_parity)),
            Incident::SpaceBack => return self.want_space(now, None),
            Incident::Fenced => What::WritesFenced {},
            Incident::Unfenced => What::WritesResumed {},
            Incident::ReadOnly => What::ArrayReadOnly {
                reason: "its write sequence numbers are used up: stop the server and serve the array again"
                    .to_owned(),
            },
        };
        self.events.report(event);
    }

    fn want_space(&mut self, now: Nanos, is_refused: Option<bool>) {
        if let Some(event) = self.space.members(now, is_refused) {
            self.events.report(event);
        }
        self.next = Some(now + LOOK_NS);
    }

    /// Starts monitoring another device, or the same with another history, as member `number`.
    fn welcome(&mut self, number: MemberNo, engine: &Engine) {
        let generation = self.background_checks.watch(number, subject(engine, number));
        let found = engine.troubles(number);
        self.health.welcome(number, found);
        let damage = Damage { reported_reads: found.read_errors, burst: Burst::at(found.bad_reads()) };
        self.members[number.index()] = Watched { generation, damage };
    }

    fn look_at_members(&mut self, now: Nanos, engine: &mut Engine) {
        for number in MemberNo::first(self.members.len() as u32) {
            let found = engine.troubles(number);
            self.health.of_mut(number).take(now, found);
            self.report_damage(now, number, engine);
            if engine.failure(number).is_ok_and(|failure| failure.is_none()) {
                self.judge(now, number, engine);
            }
        }
        // All members were judged before: no member fails while the array depends on it because another member is
        // degrading too.
        MemberNo::first(self.health.count().into()).for_each(|number| self.enforce(now, number, engine));
    }

    /// Reports damage on a member, if a report is due.
    fn report_damage(&mut self, now: Nanos, number: MemberNo, engine: &Engine) {
        let found = engine.troubles(number);
        let damage = &mut self.members[number.index()].damage;
        if let Some((read_errors, checksum_errors)) = damage.take(now, &found) {
            self.events.report(What::DamageFound {
                member: member(engine, number),
                read_errors,
                checksum_errors,
                damaged_superblocks: 0,
                last_offset_bytes: u64::from(found.last_page) * u64::from(engine.page_bytes()),
            });
        }
    }

    /// Reports repairs, if a report is due.
    fn report_repairs(&mut self, now: Nanos, engine: &Engine) {
        if let Some(repaired_pages) = self.repairs.take(now, engine.repairs()) {
            self.events.report(What::DamageRepaired { repaired_pages });
        }
    }

    /// Reports all that a scrub found and repaired, before the event of its end.
    fn report_scrub(&mut self, now: Nanos, engine: &Engine) {
        for number in MemberNo::first(self.members.len() as u32) {
            self.members[number.index()].damage.burst.hurry();
            self.report_damage(now, number, engine);
        }
        self.repairs.hurry();
        self.report_repairs(now, engine);
    }

    /// Reports when a member begins to degrade, and when it no longer does.
    fn judge(&mut self, now: Nanos, number: MemberNo, engine: &Engine) {
        if !self.health.judge(now, number) {
            return;
        }
        let health = self.health.of(number);
        let (recent, member) = (health.recent(now), member(engine, number));
        self.events.report(match health.is_degrading() {
            false => What::MemberRecovered { member },
            true => What::MemberDegrading {
                member,
                read_errors: recent.read,
                write_errors: recent.write,
                checksum_errors: recent.checksum,
                timeouts: recent.timeouts,
                limit: self.health.limit().unwrap_or(0),
            },
        });
    }

    /// Fails a member that is beyond the limit, if the array tolerates its loss.
    fn enforce(&mut self, now: Nanos, number: MemberNo, engine: &mut Engine) {
        let Some(over) = self.health.over_limit(now, number, &engine.state()) else { return };
        let OverLimit { errors, limit, reason, kept_because, .. } = over;
        self.events.report(What::ErrorLimitReached {
            member: member(engine, number),
            errors,
            limit,
            kept_because: kept_because.map(|why| why.to_string()),
        });
        if kept_because.is_none() {
            let text = format!("it had {errors} errors of late, more than the limit of {limit}");
            // The member exists.
            let _ = engine.fail_for(number, reason, text);
        }
    }
}

/// Damage of a member that was reported.
#[derive(Clone, Copy, Debug, Default)]
struct Damage {
    burst: Burst,
    reported_reads: u64,
}

impl Damage {
    /// Read errors and checksum errors since the last report, if a report is due.
    fn take(&mut self, now: Nanos, found: &Troubles) -> Option<(u64, u64)> {
        let all = self.burst.take(now, found.bad_reads())?;
        let reads = found.read_errors - std::mem::replace(&mut self.reported_reads, found.read_errors);
        Some((reads, all - reads))
    }
}

/// A member, as named in events.
fn member(engine: &Engine, number: MemberNo) -> Member {
    Member { member: number, path: engine.member_path(number).map(Into::into) }
}

/// The events of a forced assembly that an operator must know.
fn assembled(engine: &Engine, opened: &RecoveryReport) -> impl Iterator<Item = What> {
    let losses = opened.losses.clone();
    let forced = (!losses.is_empty()).then_some(What::AssemblyForced { losses });
    let taken = opened.reconstructed.iter().filter(|one| one.is_taken());
    forced.into_iter().chain(taken.map(|one| What::SuperblockReconstructed {
        member: member(engine, one.member.unwrap_or_default()),
        reason: one.to_string(),
    }))
}

/// The properties of a member that the lookout checks. None if it has no path.
fn subject(engine: &Engine, number: MemberNo) -> Option<Subject> {
    let superblock = engine.identity_of(number).map(|(array, member)| (array, member, engine.page_bytes()));
    Some(Subject { path: engine.member_path(number)?.into(), superblock })
}

#[cfg(test)]
mod tests;
