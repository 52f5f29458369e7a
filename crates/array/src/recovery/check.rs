//! Checks whether the whole content of an array can still be read: every page against its checksum, every stripe against
//! its parity.
//!
//! Only content that hosts read counts. A chunk is lost exactly if a read of it would fail. A stripe of a log without any
//! live chunk has nothing to lose, so damage there is counted but is not a trouble. Every other trouble is missing
//! redundancy, which a scrub repairs.

use std::fmt;
use stripewise_core::ids::{MemberNo, RowNo};

use stripewise_code::Code;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::media::{At, Media};
use stripewise_core::memory::Memory;
use stripewise_core::operation::Outcome;
use stripewise_exec::Executor;
use stripewise_format::{Structure, crc32c};

use super::walk::WalkFindings;
use super::{DamagedCopy, RecoveryReport};
use crate::array::Array;
use crate::in_place::InPlace;
use crate::log::contents::{BatchContents, Content};
use crate::log::{Location, Log, Role};

/// A problem found by the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A page does not have the content that was written there.
    ///
    /// Its stripe or row has chunks that hosts read.
    Page {
        /// The member.
        member: MemberNo,
        /// The page.
        page: u32,
        /// The chunk that was written there; `None` for parity.
        chunk: Option<u64>,
        /// The outcome of the read: done but with another checksum, or no content.
        outcome: Outcome,
        /// Whether the rest of the stripe decodes the content.
        decodes: bool,
    },
    /// All checksums of a stripe are right, but its parity does not match its data.
    Parity {
        /// The member of its first page.
        member: MemberNo,
        /// The first page of the stripe.
        page: u32,
    },
    /// A copy of metadata is damaged.
    Copy(DamagedCopy),
    /// A chunk that hosts wrote and that cannot be recovered.
    Lost {
        /// The chunk's address in the array, in pages.
        chunk: u64,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Page { member, page, chunk, outcome, decodes } => {
                write!(f, "member {member}, page {page}: ")?;
                match chunk {
                    Some(chunk) => write!(f, "chunk {chunk} ")?,
                    None => write!(f, "parity ")?,
                }
                match outcome {
                    Outcome::Done => write!(f, "has another checksum than when it was written")?,
                    Outcome::Corrupt => write!(f, "is corrupt, as the member says")?,
                    _ => write!(f, "cannot be read")?,
                }
                f.write_str(match decodes {
                    true => "; the rest of its stripe gives it back",
                    false => "; too much of its stripe is gone to give it back",
                })
            }
            Self::Parity { member, page } => {
                write!(f, "stripe at member {member}, page {page}: its parity is not that of its data")
            }
            Self::Copy(copy) => write!(f, "{copy}"),
            Self::Lost { chunk } => write!(f, "chunk {chunk} is LOST: a read of it is an error"),
        }
    }
}

/// The counts of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Stripes.
    pub stripes: u64,
    /// Pages of the stripes that were read.
    pub pages: u64,
    /// Pages of the stripes on absent members.
    pub absent: u64,
    /// Chunks that hosts wrote and that can be read or decoded.
    pub chunks: u64,
    /// Chunks that hosts wrote and that are lost.
    pub lost: u64,
    /// Damage without loss: pages, parity and copies of metadata. All chunks of the stripes can be read, but the stripes
    /// tolerate fewer losses than they should. A scrub repairs stripes; assembling the array for writing repairs metadata
    /// outside of stripes.
    pub reduced: u64,
    /// Damaged pages of stripes without any live chunk: not troubles.
    pub dead: u64,
    /// Troubles that were reported.
    pub troubles: u64,
}

/// A column of a stripe.
struct Column {
    /// The column's number in the code.
    number: u32,
    member: MemberNo,
    page: u32,
    /// Whether the member has the column's content: a rebuilding member does not have everything yet.
    is_filled: bool,
    /// For data, the chunk.
    chunk: Option<u64>,
    /// Whether hosts read the chunk here.
    is_live: bool,
    /// The expected checksum, if there is one.
    checksum: Option<u32>,
    /// The outcome of the read; `None` if the member is absent.
    read: Option<Outcome>,
}

impl<M: Memory> Array<M> {
    /// Reads the whole content of the array from the members that it was assembled from, before it serves. Absent members
    /// alone are no trouble.
    ///
    /// # Panics
    /// The array's memory carries no data.
    pub fn check_all(
        &self,
        media: &mut dyn Media,
        opened: &RecoveryReport,
        report: &mut dyn FnMut(&Trouble),
    ) -> Checked {
        assert!(M::CARRIES_DATA, "without data there is nothing to be checked");
        let geometry = self.exec().geometry();
        let mut copies = opened.damaged.clone();
        if let Some(log) = self.as_log().filter(|log| log.durable.is_some()) {
            let members = &log.durable().members;
            // The version on the members: assembly, if only to read, has begun another epoch in memory.
            let superblock = members.on_members.as_ref().unwrap_or(&members.superblock);
            let positions = &opened.positions;
            let mut found =
                WalkFindings { media, superblock, positions, last_sources: &[], geometry, pages_read: 0 };
            found.damaged(&mut |copy| copies.push(copy));
        }
        let page = vec![0; geometry.page_bytes as usize];
        let mut check = Check {
            media,
            positions: &opened.positions,
            code: self.code().copied(),
            pages: vec![page; geometry.columns as usize],
            checked: Checked::default(),
            report,
        };
        copies.into_iter().for_each(|copy| check.reduced(&Trouble::Copy(copy)));
        match self.as_log() {
            Some(log) => check_log(log, &mut check),
            None => self.as_in_place().into_iter().for_each(|placement| {
                for row in geometry.all_rows() {
                    check.stripe(&mut placement.row(row, self.exec()), placement.is_encoded(row));
                }
            }),
        }
        check.checked
    }
}

impl InPlace {
    /// The columns of a row in place.
    fn row<M: Memory>(&self, row: RowNo, exec: &Executor<M>) -> Vec<Column> {
        let geometry = exec.geometry();
        let place = geometry.place(row);
        let column = |column: u32| {
            let member = geometry.member(place, column);
            let is_data = column < geometry.data;
            let chunk = if is_data { self.host_page(row, column, exec) } else { None };
            let is_filled = !self.is_stale_in_place(member, place.page, exec);
            Column {
                number: geometry.code_index(place, column),
                member,
                page: place.page,
                is_filled,
                chunk,
                is_live: chunk.is_some(),
                checksum: self.checksum_in_place(member, place.page, exec),
                read: None,
            }
        };
        (0..geometry.columns).map(column).collect()
    }
}

/// Checks the stripes of a log, and reports the chunks that were lost at assembly.
fn check_log(log: &Log, check: &mut Check<'_>) {
    let mut known = BatchContents::default();
    let mut slot = 0;
    while slot < log.slots() {
        if !log.directory.is_in_stripe(slot) {
            if log.directory.role(slot) == Role::Copy
                && !log.is_stale(slot)
                && let Some(summary) = check.summary(log, slot)
            {
                known = summary;
            }
            slot += 1;
            continue;
        }
        let stripe = log.directory.stripe(slot);
        if log.look_up(&known, slot).is_none() {
            // No copy of its summary is left.
            known = log.read_summary(log.directory.batch(slot).0, None, Vec::new());
        }
        slot = stripe.1;
        let mut columns = Vec::with_capacity(COLUMNS_MAX as usize);
        log.columns_of(stripe, |number, slot| {
            let (member, page) = log.member(slot);
            let content = log.look_up(&known, slot).unwrap_or(Content::UNKNOWN);
            let chunk = (content.chunk < log.capacity).then_some(content.chunk);
            let is_live = log.is_home(content.chunk, slot);
            let is_filled = !log.is_stale(slot);
            columns.push(Column {
                number,
                member,
                page,
                is_filled,
                chunk,
                is_live,
                checksum: content.checksum,
                read: None,
            });
        });
        check.stripe(&mut columns, true);
    }
    for chunk in (0..log.capacity).filter(|&chunk| log.location(chunk) == Location::Lost) {
        check.lost(chunk);
    }
}

/// The state of a check.
struct Check<'a> {
    media: &'a mut dyn Media,
    positions: &'a [Option<u16>],
    code: Option<Code>,
    /// The columns of a stripe, in the order of the code.
    pages: Vec<Vec<u8>>,
    checked: Checked,
    report: &'a mut dyn FnMut(&Trouble),
}

impl Check<'_> {
    fn report(&mut self, trouble: &Trouble) {
        self.checked.troubles += 1;
        (self.report)(trouble);
    }

    /// Reports a trouble that costs redundancy but no chunk.
    fn reduced(&mut self, trouble: &Trouble) {
        self.checked.reduced += 1;
        self.report(trouble);
    }

    fn lost(&mut self, chunk: u64) {
        self.checked.lost += 1;
        self.report(&Trouble::Lost { chunk });
    }

    /// Checks a stripe; checks its parity only if `has_parity` is true.
    fn stripe(&mut self, columns: &mut [Column], has_parity: bool) {
        self.read(columns);
        self.checked.stripes += 1;
        let is_right = |column: &Column| column.read == Some(Outcome::Done) && self.has_checksum(column);
        let wrong: Vec<&Column> = columns.iter().filter(|column| !is_right(column)).collect();
        if !columns.iter().any(|column| column.is_live) {
            self.checked.dead += wrong.iter().filter(|column| column.read.is_some()).count() as u64;
            return;
        }
        let lost = wrong.iter().fold(0u64, |mask, column| mask | 1 << column.number);
        let is_decoded = lost == 0 || has_parity && self.decode(lost);
        // A chunk decoded from wrong content is wrong, which its checksum shows. Updates without a member know the
        // checksums of the data that the member lacks, but not of its parity: a mismatch of parity says nothing about the
        // data.
        let is_back =
            |column: &Column| lost >> column.number & 1 == 0 || is_decoded && self.has_checksum(column);
        let back =
            columns.iter().fold(0u64, |mask, column| mask | u64::from(is_back(column)) << column.number);
        let loses = columns.iter().any(|column| column.is_live && back >> column.number & 1 == 0);
        for column in wrong {
            if let Some(outcome) = column.read {
                let &Column { member, page, chunk, number, .. } = column;
                let decodes = back >> number & 1 == 1;
                let trouble = Trouble::Page { member, page, chunk, outcome, decodes };
                if loses { self.report(&trouble) } else { self.reduced(&trouble) }
            }
        }
        if lost == 0 && has_parity && !self.is_parity_right() {
            let Column { member, page, .. } = columns[0];
            self.reduced(&Trouble::Parity { member, page });
        }
        for column in columns.iter().filter(|column| column.is_live) {
            match column.chunk.filter(|_| back >> column.number & 1 == 0) {
                Some(chunk) => self.lost(chunk),
                None => self.checked.chunks += 1,
            }
        }
    }

    /// Reads the columns of a stripe into their pages. Columns that a short stripe does not have are zeros.
    fn read(&mut self, columns: &mut [Column]) {
        self.pages.iter_mut().for_each(|page| page.fill(0));
        let position = |column: &Column| self.positions[column.member.index()].filter(|_| column.is_filled);
        let present: Vec<(usize, At)> = (0..columns.len())
            .filter_map(|nth| Some((nth, At { member: position(&columns[nth])?, page: columns[nth].page })))
            .collect();
        let at: Vec<At> = present.iter().map(|&(_, at)| at).collect();
        self.media.read(&at, &mut |nth, found| {
            let column = &mut columns[present[nth].0];
            column.read = Some(found.map_or_else(
                |outcome| outcome,
                |content| {
                    self.pages[column.number as usize].copy_from_slice(content);
                    Outcome::Done
                },
            ));
        });
        self.checked.pages += at.len() as u64;
        self.checked.absent += (columns.len() - at.len()) as u64;
    }

    /// Reads the copy of a summary in `slot` and returns its content.
    fn summary(&mut self, log: &Log, slot: u64) -> Option<BatchContents> {
        let (member, page) = log.member(slot);
        let position = self.positions[member.index()]?;
        let mut known = None;
        let at = At { member: position, page };
        self.media.read(&[at], &mut |_, found| {
            let page = found.ok().filter(|page| log.is_copy_of(slot, page));
            known = page.map(|page| log.read_summary(slot, Some(page), Vec::new()));
        });
        self.checked.pages += 1;
        if known.is_none() {
            self.reduced(&Trouble::Copy(DamagedCopy { member, page, structure: Structure::Summary }));
        }
        known
    }

    fn has_checksum(&self, column: &Column) -> bool {
        let is_right = |checksum| crc32c(&self.pages[column.number as usize]) == checksum;
        column.checksum.is_none_or(is_right)
    }

    /// Decodes the columns of `lost` from the others; returns false if too many are lost.
    fn decode(&mut self, lost: u64) -> bool {
        let Some(code) = self.code else { return false };
        let mut slices: Vec<&mut [u8]> = self.pages.iter_mut().map(Vec::as_mut_slice).collect();
        code.decode(&mut slices, lost, lost).is_ok()
    }

    /// Whether encoding the data that was read yields the parity that was read.
    fn is_parity_right(&self) -> bool {
        let Some(code) = self.code else { return true };
        let (data, parity) = self.pages.split_at(code.data() as usize);
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let mut made = vec![vec![0; data[0].len()]; parity.len()];
        let mut slices: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        code.encode(&data, &mut slices);
        made == parity
    }
}
