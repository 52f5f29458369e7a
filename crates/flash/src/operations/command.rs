//! Commands: the operations that cross the host link together.

use std::collections::VecDeque;

use stripewise_base::Nanos;

use crate::list::List;
use crate::operations::op::OpKind;

/// Operations of one kind that were given for one request at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) kind: OpKind,
    pub(crate) given: Nanos,
    pub(crate) request: u32,
    pub(crate) pages: u32,
    /// Reads that are not done yet.
    pub(crate) left: u32,
    /// The slots of its operations: first on entry, later on return.
    pub(crate) slots: List,
}

/// The commands of one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    pub(crate) table: Vec<Command>,
    pub(crate) vacant: Vec<u32>,
    /// Commands that wait for the link, oldest first.
    pub(crate) given: VecDeque<u32>,
    /// Commands whose data were read and wait for the link.
    pub(crate) read: VecDeque<u32>,
    /// The command that crosses the link now.
    pub(crate) moving: Option<u32>,
    /// The link's event is on the agenda.
    pub(crate) event: bool,
}

impl Commands {
    /// The command that an operation given now belongs to.
    pub(crate) fn of(&mut self, kind: OpKind, request: u32, now: Nanos) -> u32 {
        if let Some(&last) = self.given.back() {
            let command = &self.table[last as usize];
            if command.kind == kind && command.request == request && command.given == now {
                return last;
            }
        }
        let command = Command { kind, given: now, request, pages: 0, left: 0, slots: List::default() };
        let id = self.vacant.pop().unwrap_or(self.table.len() as u32);
        match self.table.get_mut(id as usize) {
            Some(vacant) => *vacant = command,
            None => self.table.push(command),
        }
        self.given.push_back(id);
        id
    }
}
