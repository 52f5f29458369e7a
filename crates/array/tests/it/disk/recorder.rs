//! Members that record what each call wrote, so that power can fail between any two of the writes.

use stripewise_array::{At, Found, Media, Outcome};

use super::Disk;

/// A disk that records what each call wrote.
pub(crate) struct Recorder {
    pub(crate) disk: Disk,
    pub(crate) calls: Vec<Vec<(At, Box<[u8]>)>>,
}

impl Recorder {
    pub(crate) fn new(disk: Disk) -> Self {
        Self { disk, calls: Vec::new() }
    }

    /// The disk `before` as it is after a power loss during each of the calls. A flush follows each call. Power is lost
    /// after each of the call's pages, and with its pages on some of the members only.
    pub(crate) fn cuts(self, before: &Disk) -> Vec<Disk> {
        let mut cuts = vec![before.clone()];
        let mut durable = before.clone();
        for call in self.calls {
            let mut cut = durable.clone();
            for (at, page) in &call {
                cut.put(*at, page);
                cuts.push(cut.clone());
            }
            for some in 0..1u32 << before.members.len() {
                let mut cut = durable.clone();
                call.iter()
                    .filter(|(at, _)| some >> at.member & 1 == 1)
                    .for_each(|(at, page)| cut.put(*at, page));
                cuts.push(cut);
            }
            durable = cut;
        }
        cuts
    }
}

impl Disk {
    pub(crate) fn put(&mut self, at: At, page: &[u8]) {
        self.members[usize::from(at.member)].pages[at.page as usize].copy_from_slice(page);
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
        self.disk.read(at, found);
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        self.calls.push(at.iter().copied().zip(pages.iter().map(|&page| page.into())).collect());
        self.disk.write(at, pages)
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        self.disk.flush(members)
    }
}
