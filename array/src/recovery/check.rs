//! Whether all that an array holds can still be read: every page against its checksum, every stripe against its parity.

use std::fmt;

use stripewise_code::Code;

use super::Opened;
use crate::controller::Array;
use crate::format::crc32c;
use crate::geometry::MEMBERS_MAX;
use crate::media::{At, Media};
use crate::memory::Memory;
use crate::operation::Outcome;
use crate::placement::elastic::{Elastic, Home};

/// Something that should not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A page does not hold what was written there.
    Page {
        /// The element.
        element: u16,
        /// The page.
        page: u32,
        /// The chunk that was written there; none for parity.
        chunk: Option<u64>,
        /// How reading it ended: done, but with another checksum, or without content.
        outcome: Outcome,
        /// Whether the rest of its stripe gives it back.
        decodes: bool,
    },
    /// All checksums of a stripe are right, but its parity is not that of its data.
    Parity {
        /// The element of its first page.
        element: u16,
        /// That page.
        page: u32,
    },
    /// A chunk that hosts wrote and that nothing gives back.
    Lost {
        /// The chunk's address in the array, in pages.
        chunk: u64,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Page { element, page, chunk, outcome, decodes } => {
                write!(f, "element {element}, page {page}: ")?;
                match chunk {
                    Some(chunk) => write!(f, "chunk {chunk} ")?,
                    None => write!(f, "parity ")?,
                }
                match outcome {
                    Outcome::Done => write!(f, "has another checksum than when it was written")?,
                    Outcome::Corrupt => write!(f, "is corrupt, as the element says")?,
                    _ => write!(f, "cannot be read")?,
                }
                f.write_str(match decodes {
                    true => "; the rest of its stripe gives it back",
                    false => "; too much of its stripe is gone to give it back",
                })
            }
            Self::Parity { element, page } => {
                write!(f, "stripe at element {element}, page {page}: its parity is not that of its data")
            }
            Self::Lost { chunk } => write!(f, "chunk {chunk} is LOST: a read of it is an error"),
        }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Stripes.
    pub stripes: u64,
    /// Pages of them that were read.
    pub pages: u64,
    /// Pages of them on elements that are not there.
    pub absent: u64,
    /// Chunks that hosts wrote and that can be read, or be decoded.
    pub chunks: u64,
    /// Chunks that hosts wrote and that are lost.
    pub lost: u64,
    /// Troubles that were told.
    pub troubles: u64,
}

/// A member of a stripe: its number in the code, its slot, and where that is.
struct Member {
    number: u32,
    slot: u64,
    element: u16,
    page: u32,
    chunk: Option<u64>,
    read: Option<Outcome>,
}

impl<M: Memory> Array<M> {
    /// Reads all that a log holds from the elements that it was opened from, before it serves. Elements that are not there are
    /// no trouble of their own.
    ///
    /// # Panics
    /// When the array has no log.
    pub fn check_log(
        &mut self,
        media: &mut dyn Media,
        opened: &Opened,
        told: &mut dyn FnMut(&Trouble),
    ) -> Checked {
        let code = *self.code().expect("a log has parity");
        let page_bytes = self.geometry().page_bytes as usize;
        let log = self.log_to_recover();
        let mut check = Check {
            log,
            media,
            positions: &opened.positions,
            code,
            pages: Vec::new(),
            checked: Checked::default(),
        };
        check.pages = vec![vec![0; page_bytes]; (code.data() + code.parity()) as usize];
        let told = &mut |trouble: Trouble| told(&trouble);
        let mut slot = 0;
        while slot < check.log.slots() {
            if check.log.directory.is_member(slot) {
                let stripe = check.log.directory.stripe(slot);
                check.stripe(stripe, told);
                slot = stripe.1;
            } else {
                slot += 1;
            }
        }
        for chunk in (0..check.log.capacity).filter(|&chunk| check.log.home(chunk) == Home::Lost) {
            check.checked.lost += 1;
            check.tell(Trouble::Lost { chunk }, told);
        }
        check.checked
    }
}

/// A check that is going on.
struct Check<'a> {
    log: &'a Elastic,
    media: &'a mut dyn Media,
    positions: &'a [Option<u16>],
    code: Code,
    /// The members of a stripe.
    pages: Vec<Vec<u8>>,
    checked: Checked,
}

impl Check<'_> {
    fn tell(&mut self, trouble: Trouble, told: &mut dyn FnMut(Trouble)) {
        self.checked.troubles += 1;
        told(trouble);
    }

    /// Checks the stripe in these slots.
    fn stripe(&mut self, stripe: (u64, u64), told: &mut dyn FnMut(Trouble)) {
        let members = self.read(stripe);
        self.checked.stripes += 1;
        let is_right = |member: &Member| member.read == Some(Outcome::Done) && self.has_checksum(member);
        let wrong: Vec<&Member> = members.iter().filter(|member| !is_right(member)).collect();
        let lost = wrong.iter().fold(0u64, |mask, member| mask | 1 << member.number);
        let decodes = self.decode(&wrong, lost);
        for member in &wrong {
            if let Some(outcome) = member.read {
                let &&Member { element, page, chunk, .. } = member;
                self.tell(Trouble::Page { element, page, chunk, outcome, decodes }, told);
            }
        }
        if let (true, Some(first)) = (lost == 0 && !self.is_parity_right(), members.first()) {
            self.tell(Trouble::Parity { element: first.element, page: first.page }, told);
        }
        for member in &members {
            let Some(chunk) = member.chunk.filter(|&chunk| self.log.home(chunk) == Home::Slot(member.slot))
            else {
                continue;
            };
            if lost >> member.number & 1 == 0 || decodes {
                self.checked.chunks += 1;
            } else {
                self.checked.lost += 1;
                self.tell(Trouble::Lost { chunk }, told);
            }
        }
    }

    /// Reads the members of a stripe into their pages. Those that a short stripe does not have are zeros.
    fn read(&mut self, stripe: (u64, u64)) -> Vec<Member> {
        self.pages.iter_mut().for_each(|page| page.fill(0));
        let mut members = Vec::with_capacity(MEMBERS_MAX as usize);
        self.log.members_of(stripe, |number, slot| {
            let (element, page) = self.log.element(slot);
            let chunk = (number < self.code.data()).then(|| self.log.directory.chunk(slot));
            members.push(Member { number, slot, element, page, chunk, read: None });
        });
        let position = |member: &Member| self.positions[usize::from(member.element)];
        let present: Vec<usize> =
            (0..members.len()).filter(|&nth| position(&members[nth]).is_some()).collect();
        let at = |&nth: &usize| At { element: position(&members[nth]).unwrap_or(0), page: members[nth].page };
        let at: Vec<At> = present.iter().map(at).collect();
        self.media.read(&at, &mut |nth, found| {
            let member = &mut members[present[nth]];
            member.read = Some(found.map_or_else(
                |outcome| outcome,
                |content| {
                    self.pages[member.number as usize].copy_from_slice(content);
                    Outcome::Done
                },
            ));
        });
        self.checked.pages += present.len() as u64;
        self.checked.absent += (members.len() - present.len()) as u64;
        members
    }

    fn has_checksum(&self, member: &Member) -> bool {
        crc32c(&self.pages[member.number as usize]) == self.log.durable().checksums[member.slot as usize]
    }

    /// Makes the members of `lost` from the others, and says whether they are what was written.
    fn decode(&mut self, wrong: &[&Member], lost: u64) -> bool {
        if lost.count_ones() > self.code.parity() {
            return false;
        }
        let mut slices: Vec<&mut [u8]> = self.pages.iter_mut().map(Vec::as_mut_slice).collect();
        lost == 0
            || self.code.decode(&mut slices, lost, lost).is_ok()
                && wrong.iter().all(|member| self.has_checksum(member))
    }

    /// Whether encoding the data that was read makes the parity that was read.
    fn is_parity_right(&self) -> bool {
        let (data, parity) = self.pages.split_at(self.code.data() as usize);
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let mut made = vec![vec![0; data[0].len()]; parity.len()];
        let mut slices: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        self.code.encode(&data, &mut slices);
        made == parity
    }
}
