//! The host link when it transfers whole commands, as do interfaces that do not queue single pages.
//!
//! All reads, or all programs, that an SSD is given for one request at one instant form one command. Commands take
//! the link in the order in which they were given. The data of a program command cross before the first of its pages
//! starts; a read command takes no time but waits its turn. The data of a read command cross after its last page has
//! been read, and go before commands that wait. A transfer is never interrupted.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::list::List;
use crate::media::Media;
use crate::operations::command::Command;
use crate::operations::op::{Done, OpKind};

impl<M: Media> Flash<M> {
    /// An operation that is part of `request` arrives at the link from outside.
    pub(crate) fn give(&mut self, now: Nanos, device: u32, slot: u32, request: u32, agenda: &mut Agenda) {
        let kind = self.slots[slot as usize].kind;
        let commands = &mut self.commands[device as usize];
        let id = commands.of(kind, request, now);
        let command = &mut commands.table[id as usize];
        command.slots.push(&mut self.slot_next, slot);
        command.pages += 1;
        command.left += 1;
        let s = &mut self.slots[slot as usize];
        s.command = id;
        s.link = self.times.link + self.times.link_command;
        s.bus += s.link;
        self.wake_link(now, device, agenda);
    }

    /// The flash has finished a read.
    pub(crate) fn give_back(&mut self, now: Nanos, device: u32, slot: u32, agenda: &mut Agenda) {
        let commands = &mut self.commands[device as usize];
        let id = self.slots[slot as usize].command;
        let command = &mut commands.table[id as usize];
        command.slots.push(&mut self.slot_next, slot);
        command.left -= 1;
        if command.left == 0 {
            commands.read.push_back(id);
            self.wake_link(now, device, agenda);
        }
    }

    /// Schedules an idle link to look for work, after all events of this instant.
    fn wake_link(&mut self, now: Nanos, device: u32, agenda: &mut Agenda) {
        let commands = &mut self.commands[device as usize];
        if commands.moving.is_none() && !std::mem::replace(&mut commands.event, true) {
            agenda.schedule(now, self.event_of_link(device));
        }
    }

    /// Handles the link's event: a transfer ended, or the link was woken.
    pub(crate) fn handle_commands(
        &mut self,
        now: Nanos,
        device: u32,
        agenda: &mut Agenda,
        done: &mut Vec<Done>,
    ) {
        self.commands[device as usize].event = false;
        if let Some(id) = self.commands[device as usize].moving.take() {
            self.end_transfer(now, device, id, agenda, done);
        }
        loop {
            let commands = &mut self.commands[device as usize];
            let Some(id) = commands.read.pop_front().or_else(|| commands.given.pop_front()) else { return };
            let command = &mut commands.table[id as usize];
            if command.kind == OpKind::Read && command.left > 0 {
                // Only the command crosses; its slots return one by one.
                let slots = std::mem::take(&mut command.slots);
                self.let_in_all(now, slots, agenda);
                continue;
            }
            commands.moving = Some(id);
            commands.event = true;
            let time = u64::from(command.pages) * self.times.link + self.times.link_command;
            return agenda.schedule(now + time, self.event_of_link(device));
        }
    }

    fn end_transfer(&mut self, now: Nanos, device: u32, id: u32, agenda: &mut Agenda, done: &mut Vec<Done>) {
        let commands = &mut self.commands[device as usize];
        commands.vacant.push(id);
        let Command { kind, mut slots, .. } = commands.table[id as usize];
        if kind == OpKind::Program {
            return self.let_in_all(now, slots, agenda);
        }
        while let Some(slot) = slots.pop(&self.slot_next) {
            let finished = self.slots[slot as usize].done(now);
            self.vacant.push(slot);
            self.leave(finished, done);
        }
    }

    /// Sends operations to their dies, in the order in which they were given.
    fn let_in_all(&mut self, now: Nanos, mut slots: List, agenda: &mut Agenda) {
        while let Some(slot) = slots.pop(&self.slot_next) {
            self.arrive(now, slot, agenda);
        }
    }
}
