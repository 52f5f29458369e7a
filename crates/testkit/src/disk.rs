//! Members that store bytes, and that fail as a test demands.

use std::collections::BTreeSet;

use stripewise_core::media::{At, Found, Media};
use stripewise_core::operation::Outcome;
use stripewise_format::{Superblock, superblock_pages};

/// A member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskMember {
    /// Its content.
    pub pages: Vec<Box<[u8]>>,
    /// Whether each operation ends as [`Outcome::Gone`].
    pub is_gone: bool,
    /// Pages that cannot be read until they are written again.
    pub unreadable: BTreeSet<u32>,
    /// The outcome of the next write.
    pub next_write: Option<Outcome>,
    /// The same for the next write of an assembly.
    pub next_assembly_write: Option<Outcome>,
    /// Whether every trim fails.
    pub refuses_trims: bool,
}

impl DiskMember {
    pub(crate) fn read(&self, page: u32) -> Result<&[u8], Outcome> {
        match self {
            Self { is_gone: true, .. } => Err(Outcome::Gone),
            Self { unreadable, .. } if unreadable.contains(&page) => Err(Outcome::MediumError),
            Self { pages, .. } => Ok(&pages[page as usize]),
        }
    }

    pub(crate) fn write(&mut self, page: u32, content: &[u8]) {
        self.pages[page as usize].copy_from_slice(content);
        self.unreadable.remove(&page);
    }
}

/// Members that store all writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// The members.
    pub members: Vec<DiskMember>,
    /// Bytes of a page.
    pub page_bytes: u32,
}

impl Disk {
    /// Members of `pages` pages of zeros.
    pub fn new(members: usize, pages: u32, page_bytes: u32) -> Self {
        let page = vec![0; page_bytes as usize].into_boxed_slice();
        let member = DiskMember { pages: vec![page; pages as usize], ..DiskMember::default() };
        Self { members: vec![member; members], page_bytes }
    }

    /// The pages that the array uses of each member; all of them if there is no array.
    pub fn used_pages(&self) -> u32 {
        let span = superblock_pages(self.page_bytes) as usize;
        let front = |member: &DiskMember| Superblock::parse(&member.pages[..span].concat()).ok();
        let all = self.members[0].pages.len() as u32;
        let fits = |block: &Superblock| block.page_bytes == self.page_bytes && block.pages <= all;
        self.members.iter().find_map(front).filter(fits).map_or(all, |block| block.pages)
    }
}

impl Media for Disk {
    fn count(&self) -> u16 {
        self.members.len() as u16
    }

    fn size(&self, member: u16) -> (u32, u32) {
        (self.members[usize::from(member)].pages.len() as u32, self.page_bytes)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate() {
            found(nth, self.members[usize::from(at.member)].read(at.page));
        }
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        let one = |(at, page): (&At, &&[u8])| {
            let member = &mut self.members[usize::from(at.member)];
            if member.is_gone {
                return Outcome::Gone;
            }
            if let Some(outcome) = member.next_assembly_write.take() {
                return outcome;
            }
            member.write(at.page, page);
            Outcome::Done
        };
        at.iter().zip(pages).map(one).collect()
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        vec![Outcome::Done; members.len()]
    }
}
