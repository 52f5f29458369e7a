//! Where chunks are placed: the arithmetic between the array's addresses, its rows and its members.
//!
//! An array of `n` members has `groups` parity groups of `columns` members each (RAID-0: `n` groups of one). A stripe
//! spans one group; stripes are distributed over the groups in turn. [`Membership`] determines which members form a group,
//! and which stripe the next chunk belongs to. A chunk is `chunk_pages` pages long. A *row* is the same page of every
//! chunk of a stripe: the unit of locking, merging and parity work.

mod cursor;
mod groups;
mod level;
mod membership;
mod raid0;
mod raid5;
mod raid6;
mod rotation;
mod zones;

pub use cursor::{RowCursor, RowPiece};
pub use level::Level;
pub use membership::Membership;
pub use rotation::Rotation;
pub use zones::Zone;

use crate::ids::{MemberNo, RowNo};

/// The largest number of columns of a parity group: sets of columns are 64-bit masks.
pub const COLUMNS_MAX: u32 = 64;

/// The largest number of members of an array.
pub const MEMBERS_MAX: u32 = 512;

/// The geometry section of a scheme, resolved for a number of members and their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Redundancy.
    pub level: Level,
    /// Members of the array.
    pub members: u32,
    /// Parity groups; for RAID-0 one for each member.
    pub groups: u32,
    /// Members of one group.
    pub width: u32,
    /// Rows of one stripe: 1, or as many as a group has members where parity lies along diagonals ([`Self::deep`]).
    pub depth: u32,
    /// Chunks of one stripe, data and parity: one on each member of a group in each row of the stripe.
    pub columns: u32,
    /// Data chunks of one stripe.
    pub data: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of one chunk, of the first zone.
    pub chunk_pages: u32,
    /// How parity rotates from stripe to stripe.
    pub rotation: Rotation,
    /// Stripes of a group after which parity rotates.
    pub rotate_every: u32,
    /// Which members form a group.
    pub membership: Membership,
    /// The distance in members from one column of a group to the next, which is also the number of stripes that
    /// consecutive addresses walk over before they return to the first one: 1, or the number of groups.
    pub stride: u32,
    /// Stripes of the first zone; of the whole array if there is only one zone.
    pub stripes: u64,
    /// The page of each member that holds row 0 of its group; metadata lies before it.
    pub first_page: u32,
    /// Further zones, with other chunk sizes.
    zones: Vec<Zone>,
}

/// The place of a row: it determines the member and page of each of its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// First member of the row's group.
    pub base: MemberNo,
    /// Position of the first parity column inside the group (no meaning without parity).
    pub parity: u16,
    /// The row's page on all of its members.
    pub page: u32,
}

/// Why a geometry is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// Too few or too many members, or a number that groups cannot share.
    #[error("{members} members cannot form {groups} group(s) of {level}: {remedy}")]
    Members {
        /// Members given.
        members: u32,
        /// Groups requested.
        groups: u32,
        /// Level requested.
        level: Level,
        /// A number that is possible.
        remedy: &'static str,
    },
    /// A membership that has no meaning for these groups.
    #[error("membership = \"{membership}\" {reason}")]
    Membership {
        /// Membership requested.
        membership: Membership,
        /// Why it is refused, and what to use instead.
        reason: &'static str,
    },
    /// The chunk does not fit the page or the member.
    #[error("a chunk of {chunk_bytes} bytes {reason}")]
    Chunk {
        /// Chunk size requested.
        chunk_bytes: u64,
        /// Why it is refused.
        reason: String,
    },
}

/// The input of [`Geometry::new`].
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Redundancy.
    pub level: Level,
    /// Members of the array.
    pub members: u32,
    /// Parity groups that the members form.
    pub groups: u32,
    /// Chunk size in bytes.
    pub chunk_bytes: u64,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Pages of each member.
    pub member_pages: u32,
    /// How parity rotates.
    pub rotation: Rotation,
    /// Stripes of a group after which parity rotates.
    pub rotate_every: u32,
    /// Which members form a group.
    pub membership: Membership,
}

impl Geometry {
    /// The geometry of `shape`.
    ///
    /// # Errors
    /// The members cannot form the groups, or the chunk does not fit.
    pub fn new(shape: &Shape) -> Result<Self, GeometryError> {
        let Shape { level, members, groups, chunk_bytes, page_bytes, member_pages, .. } = *shape;
        let refuse = |remedy| Err(GeometryError::Members { members, groups, level, remedy });
        if members == 0 || members > MEMBERS_MAX {
            return refuse("use 1 to 512 members");
        }
        if groups == 0 || !members.is_multiple_of(groups) {
            return refuse("use a number of groups that divides the number of members");
        }
        // Without parity, chunks are independent: each is a stripe, and a group, of its own.
        let (groups, columns) = match level {
            Level::Raid0 => (members, 1),
            Level::Raid5 | Level::Raid6 => (groups, members / groups),
        };
        if columns > COLUMNS_MAX {
            return refuse("use at most 64 members a group: raise geometry.groups");
        }
        if columns < level.columns_min() {
            return refuse("RAID-6 needs at least 4 members a group, RAID-5 at least 3, RAID-0 at least 1");
        }
        let membership = shape.membership;
        if let Err(reason) = membership.check(level, groups) {
            return Err(GeometryError::Membership { membership, reason });
        }
        let chunk = |reason: String| Err(GeometryError::Chunk { chunk_bytes, reason });
        if chunk_bytes == 0 || !chunk_bytes.is_multiple_of(u64::from(page_bytes)) {
            return chunk(format!("is not a multiple of the member's page of {page_bytes} bytes"));
        }
        let Ok(chunk_pages) = u32::try_from(chunk_bytes / u64::from(page_bytes)) else {
            return chunk("is larger than any member".into());
        };
        let stripes = u64::from(member_pages / chunk_pages) * u64::from(groups);
        if stripes == 0 {
            return chunk(format!("is larger than a member of {member_pages} pages of {page_bytes} bytes"));
        }
        Ok(Self {
            level,
            members,
            groups,
            width: columns,
            depth: 1,
            columns,
            data: columns - level.parity(),
            page_bytes,
            chunk_pages,
            rotation: shape.rotation,
            rotate_every: shape.rotate_every.max(1),
            membership,
            stride: membership.stride(groups),
            stripes,
            first_page: 0,
            zones: Vec::new(),
        })
    }

    /// The same members with stripes that are as deep as they are wide, and have parity in the last two rows (X-Code).
    /// Only a log writes such stripes; rows and columns in place have no meaning for them.
    #[must_use]
    pub fn deep(self) -> Self {
        let width = self.width;
        Self { depth: width, columns: width * width, data: width * (width - 2), ..self }
    }

    /// Parity chunks of one stripe.
    #[inline]
    pub fn parity(&self) -> u32 {
        self.columns - self.data
    }

    /// Members of a group that may be lost.
    #[inline]
    pub fn tolerance(&self) -> u32 {
        self.level.parity()
    }

    /// Data chunks of one stripe on `members` of the members of its group; 0 if too many are missing.
    #[inline]
    pub fn data_on(&self, members: u32) -> u32 {
        if self.depth == 1 {
            members.saturating_sub(self.parity())
        } else if members + self.tolerance() < self.width {
            0
        } else {
            members * (self.depth - self.tolerance())
        }
    }

    /// Pages of the array for data.
    pub fn pages(&self) -> u64 {
        self.rows() / u64::from(self.depth) * u64::from(self.data)
    }

    /// Rows of the array.
    pub fn rows(&self) -> u64 {
        match self.zones.last() {
            None => self.first_zone_rows(),
            Some(zone) => zone.row.number() + zone.stripes * u64::from(zone.chunk_pages),
        }
    }

    /// Each row of the array.
    pub fn all_rows(&self) -> impl Iterator<Item = RowNo> + use<> {
        (0..self.rows()).map(RowNo::new)
    }

    /// The place of `row`.
    #[inline]
    pub fn place(&self, row: RowNo) -> Place {
        if !self.zones.is_empty() && row.number() >= self.first_zone_rows() {
            return self.place_behind(row);
        }
        let row = row.number();
        let chunk_pages = u64::from(self.chunk_pages);
        let (stripe, page_in_chunk) =
            if chunk_pages == 1 { (row, 0) } else { (row / chunk_pages, row % chunk_pages) };
        let (local, group) = if self.groups == 1 {
            (stripe, 0)
        } else {
            (stripe / u64::from(self.groups), stripe % u64::from(self.groups))
        };
        let parity = match self.level {
            Level::Raid0 => 0,
            Level::Raid5 | Level::Raid6 => {
                self.rotation.parity(local / u64::from(self.rotate_every), self.data, self.parity())
            }
        };
        Place {
            base: MemberNo::at(self.base(group as u32) as usize),
            parity: parity as u16,
            page: self.first_page + (local * chunk_pages + page_in_chunk) as u32,
        }
    }

    /// The row on page `page` of the members of `group`, counted from the first page of the data.
    pub fn row_of(&self, group: u32, page: u32) -> RowNo {
        let chunk_pages = u64::from(self.chunk_pages);
        let (local, in_chunk) = (u64::from(page) / chunk_pages, u64::from(page) % chunk_pages);
        RowNo::new((local * u64::from(self.groups) + u64::from(group)) * chunk_pages + in_chunk)
    }

    /// The member that holds `column` of the row at `place`. Columns `0..data` are data; parity follows.
    #[inline]
    pub fn member(&self, place: Place, column: u32) -> MemberNo {
        let position = match self.level {
            Level::Raid0 => column,
            Level::Raid5 | Level::Raid6 => {
                self.rotation.position(u32::from(place.parity), column, self.data, self.parity())
            }
        };
        place.base.after(position * self.stride)
    }

    /// The code's number for `column` of the row at `place`: data in the order of Linux md's coefficients, then parity.
    #[inline]
    pub fn code_index(&self, place: Place, column: u32) -> u32 {
        let first = self.rotation.first_of_code(u32::from(place.parity), self.data);
        match column {
            _ if column >= self.data => column,
            _ if column >= first => column - first,
            _ => column + self.data - first,
        }
    }

    /// All columns of a row, as a mask.
    #[inline]
    pub fn all_columns(&self) -> u64 {
        u64::MAX >> (64 - self.columns)
    }

    /// The parity columns of a row, as a mask.
    #[inline]
    pub fn parity_columns(&self) -> u64 {
        self.all_columns() & !self.data_columns()
    }

    /// The data columns of a row, as a mask.
    #[inline]
    pub fn data_columns(&self) -> u64 {
        u64::MAX >> (64 - self.data)
    }

    /// The page of the array in the data column `column` of `row`.
    pub fn array_page(&self, row: RowNo, column: u32) -> u64 {
        if !self.zones.is_empty() && row.number() >= self.first_zone_rows() {
            return self.array_page_behind(row, column);
        }
        let row = row.number();
        let pages = self.column_pages();
        (row / pages * u64::from(self.data) + u64::from(column)) * pages + row % pages
    }

    /// The row of the array's `page`, and the data column that holds the page.
    pub fn slot(&self, page: u64) -> (RowNo, u32) {
        if !self.zones.is_empty() && page >= self.first_zone_pages() {
            return self.slot_behind(page);
        }
        let pages = self.column_pages();
        let (unit, offset) = (page / pages, page % pages);
        let data = u64::from(self.data);
        (RowNo::new(unit / data * pages + offset), (unit % data) as u32)
    }
}

#[cfg(test)]
mod tests;
