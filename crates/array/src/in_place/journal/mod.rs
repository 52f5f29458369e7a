//! The redo journal of an array in place: updates are recorded before they are done, so that a power loss leaves none half
//! done.
//!
//! Source: write-ahead logging of physical images with redo alone (Gray and Reuter, "Transaction Processing", 1993,
//! chapter 10); several updates share a record and its flush, as in group commit.

mod intent;
mod members;
mod replay;
mod ring;
mod table;

use std::collections::VecDeque;

pub(crate) use intent::Intent;
pub(crate) use members::{
    MemberEvent, NO_MEMBER, Roster, Rows, RowsOfMember, Stage, SuperblockUpdate, Unchanged,
};
pub(crate) use replay::{Change, Replay};
pub(crate) use ring::{Begun, Ring};
pub(crate) use table::Checksums;

use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::PageId;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{Area, RedoEntry, Uuid, crc32c};

/// The journal's own plans: one writes records, one frees them, one writes superblocks.
pub(crate) const PLANS: u32 = 3;

/// The state of one of the journal's own plans, except for its operations.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) is_under_way: bool,
    /// The buffer of each of its operations.
    pub(crate) pages: Vec<PageId>,
    /// The buffers among them that the plan must return itself.
    pub(crate) owned: Vec<PageId>,
}

/// The destination of the current record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copying {
    pub(crate) begun: Begun,
    /// The pages of each copy; their buffers are the first ones of the plan.
    pub(crate) pages: u32,
    /// The members that were given a copy, including those that have failed since; one bit each.
    pub(crate) keepers: u64,
    /// The members that have failed since the record was begun. They may lack parts of it, also when they return.
    pub(crate) lost: u64,
}

/// The progress of freeing records.
#[derive(Debug, Default)]
pub(crate) struct Freeing {
    /// When this is complete, records up to this one are freed.
    pub(crate) until: Option<u64>,
    /// Pages of the table that must be written first.
    pub(crate) pages: Vec<u32>,
    /// Whether these are all pages that had changed at the time of the request.
    pub(crate) is_whole: bool,
    /// Whether everything is written and the members are being flushed.
    pub(crate) is_flushing: bool,
}

/// The redo journal and the table of checksums.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) layout: InPlaceLayout,
    pub(crate) array: Uuid,
    pub(crate) epoch: u32,
    pub(crate) ring: Ring,
    /// Rows whose old content, covered by deferred parity, is in records, and whose parity is in none.
    pub(crate) late: u32,
    /// Records with such content whose parity could not be updated when its row was beyond parity, while a reader may replay
    /// them: the next assembly needs room for that parity too.
    pub(crate) abandoned: Vec<u64>,
    pub(crate) table: Checksums,
    /// Plans that wait for a record of their writes, in order.
    pub(crate) waiting: VecDeque<PlanId>,
    /// Plans whose record is durable.
    pub(crate) ready: VecDeque<PlanId>,
    /// The missing members in the newest record, one bit each.
    pub(crate) missing: u64,
    /// Whether to write a record with the members that are missing now.
    pub(crate) wants_record: bool,
    /// Whether to write all changed pages of the table.
    pub(crate) wants_table: bool,
    /// Whether the first waiting plan has no room.
    pub(crate) is_full: bool,
    /// The plan that writes records, and the one behind it, which frees them.
    pub(crate) plan: PlanId,
    pub(crate) cleaning_plan: PlanId,
    pub(crate) record: Work,
    /// Pages that no record takes and that cannot be read, to be written with zeros: the member, and the page of the ring.
    pub(crate) unread: Vec<(MemberNo, u32)>,
    /// Whether the plan of records writes zeros on such pages.
    pub(crate) is_clearing: bool,
    pub(crate) copying: Copying,
    pub(crate) cleaning: Work,
    /// The updates in the current record, and its entries.
    pub(crate) updates: Vec<PlanId>,
    pub(crate) entries: Vec<RedoEntry>,
    /// The parity that the updates change and that no member can take: its member, and its page of the data.
    pub(crate) untaken: Vec<(MemberNo, u32)>,
    /// The buffers of its images, in order.
    pub(crate) images: Vec<PageId>,
    /// The header of the current record, with all of its pages.
    pub(crate) header: Vec<u8>,
    pub(crate) freeing: Freeing,
    /// The checksum of a page of zeros.
    pub(crate) zeros: u32,
}

impl Journal {
    /// The journal of an empty array; its plans are `plan` and the one behind it.
    pub(crate) fn new(layout: InPlaceLayout, groups: u32, plan: PlanId, carries_data: bool) -> Self {
        Self {
            ring: Ring::new(layout.journal.pages, layout.header_pages(), layout.columns),
            late: 0,
            abandoned: Vec::new(),
            table: Checksums::new(&layout, groups, carries_data),
            array: Uuid::default(),
            epoch: 1,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            missing: 0,
            wants_record: false,
            wants_table: false,
            is_full: false,
            plan,
            cleaning_plan: PlanId::new(plan.number() + 1),
            record: Work::default(),
            unread: Vec::new(),
            is_clearing: false,
            copying: Copying::default(),
            cleaning: Work::default(),
            updates: Vec::with_capacity(layout.entries_max() as usize),
            entries: Vec::with_capacity(layout.entries_max() as usize),
            untaken: Vec::with_capacity(layout.entries_max() as usize),
            images: Vec::with_capacity(layout.entries_max() as usize),
            header: vec![0; (layout.header_pages() * layout.page_bytes) as usize],
            freeing: Freeing::default(),
            zeros: crc32c(&vec![0; layout.page_bytes as usize]),
            layout,
        }
    }

    /// Places the journal, which has no record yet, in `area`.
    pub(crate) fn lies_in(&mut self, area: Area) {
        self.layout.journal = area;
        self.ring = Ring::new(area.pages, self.layout.header_pages(), self.layout.columns);
    }

    /// The rows for whose parity the ring keeps room.
    pub(crate) fn deferred_rows(&self) -> u32 {
        self.late + self.abandoned.len() as u32
    }

    /// The number of operations of the largest record: its pages in all copies.
    pub(crate) fn operations_max(layout: &InPlaceLayout) -> u32 {
        (layout.header_pages() + layout.entries_max()) * layout.copies + layout.copies
    }

    /// Begins to free all records before record `number`, unless a step for that is already in progress. Returns false if
    /// there is nothing to begin now.
    pub(crate) fn leave_behind(&mut self, number: u64) -> bool {
        let wanted = if self.ring.tail() < number {
            let unwritten = usize::from(self.record.is_under_way);
            if self.freeing.until.is_some() || self.ring.finished(unwritten).is_none() {
                return false;
            }
            &mut self.wants_table
        } else if self.record.is_under_way {
            return false;
        } else {
            // A record must state what is freed.
            &mut self.wants_record
        };
        !std::mem::replace(wanted, true)
    }

    /// The buffer of operation `nth` of `plan`, one of the journal's own plans.
    pub(crate) fn page_of(&self, plan: PlanId, nth: u32) -> PageId {
        let work = if plan == self.plan { &self.record } else { &self.cleaning };
        work.pages[nth as usize]
    }
}
