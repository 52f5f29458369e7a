//! Chips whose dies do not work independently: one command at a time, or commands of one kind at a time.
//!
//! Source: the transaction scheduling unit of MQSim (Tavakkol et al., FAST 2018). It sends commands to idle chips only,
//! and all of them are of one kind. As published, it sends one command to each die that has an operation of that kind;
//! later revisions (as that of October 2022) send one command to one die.
//!
//! A die of such a chip starts nothing by itself. When a die has no more work, it asks its chip ([`Flash::next`]), and
//! when all dies of the chip are idle, the chip begins a round: it chooses a kind and starts operations on its dies.
//! The kinds are reads, programs and steps of collection (a move or an erase). Steps of collection that are due go
//! first, as everywhere; if they block their plane only, host operations go between two of them. Then reads go before
//! programs, or the kind of the oldest operation goes first if reads have no priority. The die with the oldest
//! operation of the kind is served first.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::media::Media;
use crate::operations::die::{NEVER, Phase};
use crate::operations::op::OpKind;
use crate::spec::{DieInterleaving, Domain, GcStart};

/// A chip between two rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chip {
    /// The last round was a step of collection.
    stepped: bool,
    /// The die, counted within the chip, whose collection goes first.
    turn: u32,
}

impl<M: Media> Flash<M> {
    /// A die has no more work: its chip begins the next round if all of its dies are idle.
    #[inline(never)]
    pub(crate) fn next_of_chip(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &mut self.dies[die as usize];
        (d.phase, d.due) = (Phase::Idle, NEVER);
        let chip = die / self.spec.geometry.dies;
        // A die with an offer begins the round at the end of this instant.
        if !self.is_chip_idle(chip) {
            return;
        }
        let lets_in = self.chips[chip as usize].stepped && self.gc.blocking == Domain::Plane;
        self.chips[chip as usize].stepped = false;
        if !lets_in && self.step_chip(now, chip, agenda) {
            return;
        }
        let (read, program) = (OpKind::Read, OpKind::Program);
        let reads = self.oldest(chip, read).map(|(start, _)| start);
        let programs = self.oldest(chip, program).map(|(start, _)| start);
        let program_first = !self.read_priority && programs.is_some_and(|program| Some(program) < reads);
        let kinds = if program_first { [program, read] } else { [read, program] };
        if kinds.into_iter().any(|kind| self.serve_chip(now, chip, kind, agenda)) || !lets_in {
            return;
        }
        self.step_chip(now, chip, agenda);
    }

    fn dies_of_chip(&self, chip: u32) -> std::ops::Range<u32> {
        chip * self.spec.geometry.dies..(chip + 1) * self.spec.geometry.dies
    }

    fn is_chip_idle(&self, chip: u32) -> bool {
        self.dies_of_chip(chip).all(|die| self.dies[die as usize].phase == Phase::Idle)
    }

    /// The dies of a chip, beginning with `first`.
    fn dies_from(&self, chip: u32, first: u32) -> impl Iterator<Item = u32> + use<M> {
        let dies = self.dies_of_chip(chip);
        (first..dies.end).chain(dies.start..first)
    }

    /// The start of the oldest waiting operation of a kind that a die of the chip could start, and the die.
    fn oldest(&self, chip: u32, kind: OpKind) -> Option<(Nanos, u32)> {
        let first = |die: u32| {
            let d = &self.dies[die as usize];
            let mut waiting = d.queues[self.queue_of(kind)].entries(&self.slot_next);
            let slot = waiting.find(|&slot| d.held == 0 && self.runs_as(die, slot, kind))?;
            Some((self.slots[slot as usize].start, die))
        };
        self.dies_of_chip(chip).filter_map(first).min()
    }

    fn queue_of(&self, kind: OpKind) -> usize {
        usize::from(self.read_priority && kind == OpKind::Program)
    }

    fn runs_as(&self, die: u32, slot: u32, kind: OpKind) -> bool {
        self.slots[slot as usize].kind == kind && self.may_run(die, slot)
    }

    /// Starts waiting operations of one kind. False if there are none.
    fn serve_chip(&mut self, now: Nanos, chip: u32, kind: OpKind, agenda: &mut Agenda) -> bool {
        let Some((_, first)) = self.oldest(chip, kind) else {
            if kind == OpKind::Program {
                self.dies_of_chip(chip).for_each(|die| self.note_waiting(now, die));
            }
            return false;
        };
        for die in self.dies_from(chip, first) {
            // A program that made a page invalid may have begun a collection.
            let idle = self.dies[die as usize].phase == Phase::Idle;
            if idle && self.serve_kind(now, die, kind, agenda) && self.interleaving == DieInterleaving::Off {
                break;
            }
        }
        true
    }

    /// A die starts its first waiting operation of a kind that may run.
    fn serve_kind(&mut self, now: Nanos, die: u32, kind: OpKind, agenda: &mut Agenda) -> bool {
        let d = &self.dies[die as usize];
        if d.held > 0 {
            return false;
        }
        let mut queue = d.queues[self.queue_of(kind)];
        let mut next = std::mem::take(&mut self.slot_next);
        let found = queue.take(&mut next, |slot| self.runs_as(die, slot, kind));
        self.slot_next = next;
        let Some(slot) = found else { return false };
        let level = self.queue_of(kind);
        self.dies[die as usize].queues[level] = queue;
        let waited = self.dies[die as usize].gc_clock(now).wrapping_sub(self.slots[slot as usize].gc);
        self.slots[slot as usize].gc = waited;
        self.serve(now, die, slot, agenda);
        true
    }

    /// Starts the next steps of collections that are due. False if there are none.
    fn step_chip(&mut self, now: Nanos, chip: u32, agenda: &mut Agenda) -> bool {
        let first = self.dies_of_chip(chip).start;
        let turn = first + self.chips[chip as usize].turn;
        let mut began = false;
        for die in self.dies_from(chip, turn) {
            let d = &self.dies[die as usize];
            let at_once = self.gc.start == GcStart::AtOnce || self.control.is_some();
            let due = d.active || d.collecting != 0 && (at_once || self.is_wanted(die));
            if !due || d.phase != Phase::Idle {
                continue;
            }
            if self.collect(now, die, agenda) {
                began = true;
                let turn = (die + 1 - first) % self.spec.geometry.dies;
                self.chips[chip as usize] = Chip { stepped: true, turn };
                if self.interleaving == DieInterleaving::Off {
                    break;
                }
            } else if !began && !self.is_chip_idle(chip) {
                // The end of this collection released dies, and the chip has begun a round for them.
                return true;
            }
        }
        began
    }
}
