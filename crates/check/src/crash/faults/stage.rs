//! What the new faults are made of: load, damage, members that leave and return, and the judgement at the end.

use stripewise_array::MemberNo;
use stripewise_array::ScrubCounts;
use stripewise_array::format::FailReason;
use stripewise_base::prng::Prng;

use crate::case::{Ask, What};
use crate::crash::case::Comeback;
use crate::crash::corruption::superblock;
use crate::crash::scenario::{EVENTS, EVENTS_PER_REQUEST, Scenario};
use crate::crash::server::{FLUSH, Server};
use crate::crash::survival::Survival;
use crate::crash::system_under_test::SystemUnderTest;

/// An array that serves, and the fault that strikes it.
pub(super) struct Stage<'a, S> {
    pub(super) scenario: &'a mut Scenario,
    pub(super) server: Server<S>,
    pub(super) random: Prng,
}

impl<'a, S: SystemUnderTest> Stage<'a, S> {
    /// Brings all members back, scrubs, and makes that durable. `None` if a fault of the life before is still to strike.
    pub(super) fn prepare(scenario: &'a mut Scenario, choice: u64) -> Result<Option<Self>, String> {
        let mut server = scenario.begin::<S>(0, 4)?;
        scenario.mend(&mut server)?;
        server.checkpoint(EVENTS)?;
        scenario.note(&mut server)?;
        let Some(claims) = server.claims() else { return Ok(None) };
        if scenario.suspects.members() != 0 || claims.missing != 0 || claims.rebuilding != 0 {
            return Ok(None);
        }
        scenario.judge_recovery(&server)?;
        scenario.judge_redundancy(&server, Some(choice))?;
        (scenario.lost, scenario.wronged, scenario.rolled, scenario.outdated) = (0, 0, 0, 0);
        (scenario.replaced, scenario.wiped, scenario.coming, scenario.said) = (0, 0, 0, None);
        scenario.counts.played += 1;
        let random = Prng::stream(choice, 0x6e65_7766);
        Ok(Some(Self { scenario, server, random }))
    }

    pub(super) fn parity(&self) -> u32 {
        self.scenario.shape.kind.parity()
    }

    /// A member, for which `is_meant` returns true.
    pub(super) fn member(&mut self, is_meant: impl Fn(MemberNo) -> bool) -> MemberNo {
        let all: Vec<MemberNo> =
            MemberNo::first(self.scenario.shape.members.into()).filter(|&member| is_meant(member)).collect();
        all[self.random.below(all.len() as u64) as usize]
    }

    /// Different members of one parity group.
    pub(super) fn members(&mut self, count: u32) -> Vec<MemberNo> {
        let width = self.scenario.shape.members / self.scenario.shape.groups;
        let group = self.random.below(self.scenario.shape.groups.into()) as u16;
        let mut all: Vec<MemberNo> = (group * width..(group + 1) * width).map(MemberNo::new).collect();
        self.random.shuffle(&mut all);
        all.truncate(count as usize);
        all
    }

    /// Host pages.
    pub(super) fn pages(&self) -> u64 {
        self.server.model.sectors() / self.page_sectors()
    }

    fn page_sectors(&self) -> u64 {
        u64::from(self.scenario.shape.page_bytes) / 512
    }

    /// Asks for writes of whole pages: of each page once, in order.
    pub(super) fn ask_fill(&mut self) {
        let sectors = self.page_sectors();
        let writes: Vec<Ask> = (0..self.pages()).map(|page| write(page * sectors, sectors)).collect();
        self.server.ask(&writes);
    }

    /// Asks for `count` writes and reads of any pages, with some flushes.
    pub(super) fn ask_load(&mut self, count: u64) {
        let sectors = self.page_sectors();
        let asks: Vec<Ask> = (0..count)
            .map(|_| {
                let page = self.random.below(self.pages());
                match self.random.below(10) {
                    0 => FLUSH,
                    1 | 2 => Ask { what: What::Read, ..write(page * sectors, sectors) },
                    _ => write(page * sectors, sectors),
                }
            })
            .collect();
        self.server.ask(&asks);
    }

    /// Runs until all requests are answered, within bounded events.
    pub(super) fn finish(&mut self, count: u64) -> Result<(), String> {
        self.server.finish(EVENTS + EVENTS_PER_REQUEST * count)?;
        self.note()
    }

    /// Runs at most `count` events.
    pub(super) fn run(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            if !self.server.step()? {
                break;
            }
            self.note()?;
        }
        Ok(())
    }

    pub(super) fn note(&mut self) -> Result<(), String> {
        self.scenario.note(&mut self.server)
    }

    pub(super) fn flush(&mut self) -> Result<(), String> {
        self.server.ask(&[FLUSH]);
        self.finish(1)
    }

    /// Writes out what waits in memory, with a checkpoint and a flush.
    pub(super) fn checkpoint(&mut self) -> Result<(), String> {
        self.server.checkpoint(EVENTS)?;
        self.note()
    }

    /// Damages `percent` of the pages of `member` in the rows, counted within the data area, for which `is_meant` returns
    /// true. Returns the number of damaged pages.
    pub(super) fn damage(&mut self, member: MemberNo, percent: u64, is_meant: impl Fn(u32) -> bool) -> u64 {
        let members = &mut self.server.driver.members;
        let Some(data) = superblock(&self.scenario.shape, members).map(|block| block.data) else { return 0 };
        let is_in_data = |page: u32| (data.first..data.first + data.pages).contains(&page);
        let is_reported = !self.scenario.shape.kind.has_checksums() || self.random.chance(1, 4);
        let damaged = members.damage(member, percent, is_reported, &mut self.random, |page| {
            is_in_data(page) && is_meant(page - data.first)
        });
        if damaged > 0 {
            self.scenario.suspects.add(member.bit());
            self.scenario.counts.wrongs += 1;
        }
        damaged
    }

    /// Makes `percent` of all pages of `member` that hold anything unreadable.
    pub(super) fn damage_anywhere(&mut self, member: MemberNo, percent: u64) {
        let members = &mut self.server.driver.members;
        if members.damage(member, percent, true, &mut self.random, |_| true) > 0 {
            self.scenario.suspects.add(member.bit());
            self.scenario.counts.wrongs += 1;
        }
    }

    /// Takes `member` out, because of damage found on it or for another reason.
    pub(super) fn fail(&mut self, member: MemberNo, is_damaged: bool) {
        self.scenario.lost |= member.bit();
        self.server.may_be_full = true;
        let reason = if is_damaged { FailReason::Damage } else { FailReason::Requested };
        self.server.fail(member, reason);
    }

    /// Schedules the return of `member`, or of a replacement, as soon as the array takes it.
    pub(super) fn will_return(&mut self, member: MemberNo, is_another: bool) {
        self.server.comebacks.push(Comeback { event: 0, member, is_another, is_older: false });
    }

    /// Lets members return until none waits and none is rebuilt, or no work is left. False if the array lacks one of
    /// them: it was not taken, or its rebuild is halted.
    pub(super) fn rebuild(&mut self) -> Result<bool, String> {
        for _ in 0..EVENTS {
            self.scenario.comes_back(&mut self.server, 0);
            if self.server.joining.members() == 0 && self.server.comebacks.is_empty() {
                return Ok(true);
            }
            if self.server.joining.written() != 0 && self.server.is_idle() {
                self.server.ask(&[FLUSH]);
            }
            let continues = self.server.step()?;
            self.note()?;
            if !continues && self.server.is_idle() && self.server.driver.flights.is_empty() {
                let is_taken = self.server.comebacks.len();
                self.scenario.comes_back(&mut self.server, 0);
                if self.server.comebacks.len() == is_taken {
                    return Ok(false);
                }
            }
        }
        Err("no end in sight of the return of members".into())
    }

    /// Scrubs, and returns the counts.
    pub(super) fn scrub(&mut self) -> Result<ScrubCounts, String> {
        self.scenario.scrub(&mut self.server);
        self.server.finish_scrub(EVENTS)?;
        let counts = self.server.scrub_counts();
        self.note()?;
        Ok(counts)
    }

    /// Power is lost, and the array is assembled from all members. `false`: power stays on and the array is stopped.
    pub(super) fn restart(mut self, loses_power: bool) -> Result<Self, String> {
        let keep = Survival::Seed(self.random.next_u64());
        if loses_power {
            self.scenario.end(self.server, keep);
            self.scenario.said = None;
        } else {
            // The same number decides, so that the other choices do not change.
            let halts = matches!(keep, Survival::Seed(seed) if seed >> 40 & 1 != 0);
            self.scenario.stop(self.server, EVENTS, halts)?;
        }
        let server = self.scenario.begin::<S>(0, 4)?;
        Ok(Self { server, ..self })
    }

    /// The judgement: the array is redundant if it says so. Then a scrub must leave it CLEAN, and a restart too.
    pub(super) fn judge(mut self) -> Result<(), String> {
        self.server.is_beyond = false;
        self.flush()?;
        self.scenario.judge_redundancy(&self.server, None)?;
        let counts = self.scrub()?;
        self.checkpoint()?;
        if counts.lost > 0 {
            return Err(format!(
                "a scrub calls {} pages lost, and no stripe lost more than parity tolerates",
                counts.lost
            ));
        }
        self.scenario.judge_recovery(&self.server)?;
        self.scenario.judge_redundancy(&self.server, None)?;
        let loses_power = self.random.chance(1, 2);
        let stage = self.restart(loses_power)?;
        stage.scenario.judge_redundancy(&stage.server, None)
    }
}

fn write(sector: u64, sectors: u64) -> Ask {
    Ask { gap_ns: 0, what: What::Write, sector, sectors }
}
