//! Members that record the calls of creation and assembly.

use stripewise_core::media::{At, Found, Media};
use stripewise_core::operation::Outcome;

use crate::Disk;

/// A disk that records what each call wrote, so that power can fail between any two of the writes.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The members.
    pub disk: Disk,
    /// The writes of each call, in order.
    pub calls: Vec<Vec<(At, Box<[u8]>)>>,
    /// The largest number of pages that one call read or wrote.
    pub pages_max: usize,
}

impl Recorder {
    /// Nothing is recorded yet.
    pub fn new(disk: Disk) -> Self {
        Self { disk, calls: Vec::new(), pages_max: 0 }
    }

    /// The disk `before` as it is after a power loss during each of the calls. A flush follows each call. Power is lost
    /// after each of the call's pages, and with its pages on some of the members only.
    pub fn cuts(self, before: &Disk) -> Vec<Disk> {
        let put = |cut: &mut Disk, (at, page): &(At, Box<[u8]>)| {
            cut.members[usize::from(at.member)].pages[at.page as usize].copy_from_slice(page);
        };
        let mut cuts = vec![before.clone()];
        let mut durable = before.clone();
        for call in self.calls {
            let mut cut = durable.clone();
            for one in &call {
                put(&mut cut, one);
                cuts.push(cut.clone());
            }
            for some in 0..1u32 << before.members.len() {
                let mut cut = durable.clone();
                call.iter().filter(|(at, _)| some >> at.member & 1 == 1).for_each(|one| put(&mut cut, one));
                cuts.push(cut);
            }
            durable = cut;
        }
        cuts
    }
}

impl Media for Recorder {
    fn count(&self) -> u16 {
        self.disk.count()
    }

    fn size(&self, member: u16) -> (u32, u32) {
        self.disk.size(member)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        self.pages_max = self.pages_max.max(at.len());
        self.disk.read(at, found);
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        self.pages_max = self.pages_max.max(at.len());
        self.calls.push(at.iter().copied().zip(pages.iter().map(|&page| page.into())).collect());
        self.disk.write(at, pages)
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        self.disk.flush(members)
    }
}
