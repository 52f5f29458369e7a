//! Members in memory, and a driver for many writes in flight: the rest of the time is the controller's.

use std::collections::VecDeque;

use stripewise_array::coordination::GcControl;
use stripewise_array::{
    Acknowledgement, Admission, At, Class, Driver, Found, Media, MemberLoad, Operation, OperationId,
    OperationKind, Outcome, PageMemory, PlanId, Timer,
};

/// Members in memory.
#[derive(Clone, Debug)]
pub(crate) struct Ram {
    page_bytes: usize,
    members: Vec<Vec<u8>>,
}

impl Ram {
    pub(crate) fn new(members: u32, pages: u32, page_bytes: u32) -> Self {
        let bytes = pages as usize * page_bytes as usize;
        Self { page_bytes: page_bytes as usize, members: vec![vec![0; bytes]; members as usize] }
    }

    fn page(&mut self, member: u16, page: u32) -> &mut [u8] {
        let at = page as usize * self.page_bytes;
        &mut self.members[member as usize][at..at + self.page_bytes]
    }
}

impl Media for Ram {
    fn count(&self) -> u16 {
        self.members.len() as u16
    }

    fn size(&self, member: u16) -> (u32, u32) {
        ((self.members[member as usize].len() / self.page_bytes) as u32, self.page_bytes as u32)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate() {
            found(nth, Ok(self.page(at.member, at.page)));
        }
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        for (at, page) in at.iter().zip(pages) {
            self.page(at.member, at.page).copy_from_slice(page);
        }
        vec![Outcome::Done; at.len()]
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        vec![Outcome::Done; members.len()]
    }
}

/// Pages written, by purpose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) data: u64,
    pub(crate) parity: u64,
    pub(crate) moved: u64,
    pub(crate) metadata: u64,
    pub(crate) flushes: u64,
    pub(crate) reads: u64,
}

impl Written {
    /// All pages written.
    pub(crate) fn pages(&self) -> u64 {
        self.data + self.parity + self.moved + self.metadata
    }
}

/// Executes operations in the order in which they were started.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) ram: Ram,
    pub(crate) under_way: VecDeque<(OperationId, OperationKind)>,
    pub(crate) timers: Vec<u64>,
    pub(crate) acknowledged: Vec<(u64, bool, Box<[u8]>)>,
    pub(crate) written: Written,
}

impl World {
    pub(crate) fn new(ram: Ram) -> Self {
        Self {
            ram,
            under_way: VecDeque::new(),
            timers: Vec::new(),
            acknowledged: Vec::new(),
            written: Written::default(),
        }
    }
}

impl MemberLoad for World {}

impl Timer for World {
    fn set_timer(&mut self, at: u64) {
        self.timers.push(at);
    }
}

impl GcControl for World {}

impl Driver<PageMemory> for World {
    fn admits(&mut self, _: &Operation) -> Admission {
        Admission::Admitted
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut PageMemory) {
        let Operation { member, page: at, kind, class, .. } = *operation;
        match kind {
            OperationKind::Write => {
                self.ram.page(member.number(), at).copy_from_slice(memory.page(page));
                let written = &mut self.written;
                *match class {
                    Class::Metadata => &mut written.metadata,
                    Class::Parity => &mut written.parity,
                    Class::ArrayGcWrite => &mut written.moved,
                    _ => &mut written.data,
                } += 1;
            }
            OperationKind::Read => {
                memory.page_mut(page).copy_from_slice(self.ram.page(member.number(), at));
                self.written.reads += 1;
            }
            OperationKind::Flush => self.written.flushes += 1,
            OperationKind::Trim => {}
        }
        self.under_way.push_back((id, kind));
    }

    fn compute(&mut self, _: PlanId, _: u32) -> bool {
        true
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        self.acknowledged.push((acknowledgement.tag, acknowledgement.failed, payload));
    }
}
