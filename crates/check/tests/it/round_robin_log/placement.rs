//! A log as small as it can be: a stripe is a row, rows are used in turn, and one stripe is written at a time.
//!
//! A stripe has a chunk for its record (`record.rs`), chunks for pages of the host, and parity. A write is acknowledged when
//! the stripes with its pages are written; the rows with the pages that it replaces keep them until they are used
//! again. When few rows are free, the pages of the two rows with the fewest go to one new stripe.
//!
//! # Why nothing is lost
//! - A stripe is never changed. A row is used again when no page of it is current and no read of it is in flight.
//! - Members with volatile caches are flushed before a row is used again, so what replaced its pages is durable.
//! - Collection begins when all rows but two have pages. A stripe takes n pages. If every two of those rows had more than n
//!   together, all but one would have more than n / 2 each, which is more than hosts can fill (`capacity`). So the two rows
//!   with the fewest pages fit into one stripe, and moving them frees a row.
//!
//! Source: Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1992, without
//! segments; a stripe that describes itself is the summary block of section 3.2.

use stripewise_core::bits::columns;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::{Memory as _, PageId, PageMemory};
use stripewise_core::operation::{Class, OperationKind};
use stripewise_core::request::RequestKind;
use stripewise_exec::bytes::Version;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;
use stripewise_exec::{Built, Executor, Metadata, Placement, PlanHandler, Split, TooManyLost, When};
use stripewise_format::crc32c;

use super::record::Record;

type Exec = Executor<PageMemory>;

/// Rows that only collection may use.
const RESERVE: usize = 2;

/// Bugs that the checking simulation must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// Stripes that are written while a member is lost get no parity.
    ParityDropped,
    /// Recovery overlooks the last stripe.
    TailForgotten,
}

/// A row of the array: for each chunk the current page of the host that it holds, and the reads in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) pages: Vec<Option<u64>>,
    readers: u32,
}

impl Row {
    fn live(&self) -> usize {
        self.pages.iter().flatten().count()
    }
}

/// The placement.
#[derive(Debug)]
pub(crate) struct RoundRobinLog {
    /// For each page of the host its row and its chunk.
    pub(crate) map: Vec<Option<(u32, u32)>>,
    pub(crate) rows: Vec<Row>,
    /// The row after the last one that was written.
    pub(crate) head: u32,
    /// The number of the last stripe.
    pub(crate) sequence: u64,
    /// Whether a stripe is being written, or pages for the next one are being read.
    is_busy: bool,
    /// The stripe that is being written: its row and the pages.
    stripe: (u32, Vec<u64>),
    /// Old content of pages that the next write covers in part.
    old: Vec<(u64, PageId)>,
    /// Rows that are collected, and those of their pages that have been read.
    victims: Vec<u32>,
    moving: Vec<(u64, PageId)>,
    /// For each plan that reads, the page of the host.
    page_of: Vec<u64>,
    pub(crate) planted: Option<Planted>,
}

impl RoundRobinLog {
    /// An empty log over `rows` rows with `data` data columns, for `plans` plans.
    pub(crate) fn new(rows: u64, data: u32, plans: u32, planted: Option<Planted>) -> Self {
        let row = Row { pages: vec![None; data as usize - 1], readers: 0 };
        Self {
            map: vec![None; Self::capacity(rows, data) as usize],
            rows: vec![row; rows as usize],
            head: 0,
            sequence: 0,
            is_busy: false,
            stripe: (0, Vec::new()),
            old: Vec::new(),
            victims: Vec::new(),
            moving: Vec::new(),
            page_of: vec![0; plans as usize],
            planted,
        }
    }

    /// Pages that hosts may fill.
    pub(crate) fn capacity(rows: u64, data: u32) -> u64 {
        (rows - 3) * u64::from((data - 1) / 2 + 1)
    }

    /// Makes `page` current in this chunk.
    pub(crate) fn install(&mut self, page: u64, row: u32, chunk: u32) {
        if let Some((row, chunk)) = self.map[page as usize].replace((row, chunk)) {
            self.rows[row as usize].pages[chunk as usize] = None;
        }
        self.rows[row as usize].pages[chunk as usize] = Some(page);
    }

    fn chunks(&self) -> usize {
        self.rows[0].pages.len()
    }

    fn free_rows(&self) -> usize {
        self.rows.iter().filter(|row| row.live() == 0).count()
    }

    /// The next row in turn that can be written.
    fn next_row(&self) -> Option<u32> {
        let count = self.rows.len() as u32;
        let in_turn = (0..count).map(|nth| (self.head + nth) % count);
        in_turn.into_iter().find(|&row| {
            let row = &self.rows[row as usize];
            row.live() == 0 && row.readers == 0
        })
    }

    /// Begins to read chunks of `row`: for a host, for a write of part of a page, or to move them.
    fn read<D: Driver<PageMemory>>(
        &mut self,
        purpose: Purpose,
        row: u32,
        chunks: u64,
        host: Option<RequestId>,
        exec: &mut Exec,
        driver: &mut D,
    ) {
        let plan = exec.take_plan(RowNo::new(row.into()), purpose);
        exec.want(plan, chunks << 1);
        if let Some(id) = host {
            exec.attach(plan, id);
            let chunk = chunks.trailing_zeros() as usize;
            self.page_of[plan.index()] = self.rows[row as usize].pages[chunk].expect("a current page");
        }
        self.is_busy |= host.is_none();
        self.rows[row as usize].readers += 1;
        exec.begin(plan, self, driver);
    }

    /// Begins to write a stripe with these pages into `row`.
    fn append<D: Driver<PageMemory>>(
        &mut self,
        row: u32,
        pages: Vec<(u64, PageId)>,
        host: Option<RequestId>,
        exec: &mut Exec,
        driver: &mut D,
    ) {
        let plan = exec.take_plan(RowNo::new(row.into()), Purpose::Append);
        exec.want(plan, exec.geometry().data_columns());
        self.sequence += 1;
        let sum = |&(page, buffer): &(u64, PageId)| (page, crc32c(exec.memory().bytes(buffer)));
        let record = Record { sequence: self.sequence, chunks: pages.iter().map(sum).collect() };
        let buffer = exec.buffer(plan, 0, Version::New);
        record.put(exec.memory_mut().bytes_mut(buffer));
        for chunk in 0..self.chunks() {
            let column = chunk as u32 + 1;
            match pages.get(chunk) {
                Some(&(_, buffer)) => exec.adopt_buffer(plan, column, buffer),
                None => {
                    let buffer = exec.buffer(plan, column, Version::New);
                    exec.memory_mut().zero(buffer);
                }
            }
        }
        self.stripe = (row, pages.into_iter().map(|(page, _)| page).collect());
        self.is_busy = true;
        if let Some(id) = host {
            exec.attach(plan, id);
        }
        exec.begin(plan, self, driver);
    }

    fn split_read<D: Driver<PageMemory>>(&mut self, id: RequestId, exec: &mut Exec, driver: &mut D) -> Split {
        while let Some(page) = exec.request(id).cursor.first_page() {
            match self.map[page as usize] {
                Some(_) if !exec.has_free_plan() => return Split::WantsPlans,
                Some((row, chunk)) => self.read(Purpose::Read, row, 1 << chunk, Some(id), exec, driver),
                None => {
                    let zeros = exec.memory_mut().take();
                    exec.memory_mut().zero(zeros);
                    exec.store_host(zeros, page, id);
                    exec.memory_mut().give(zeros);
                }
            }
            exec.request_mut(id).cursor = exec.request(id).cursor.skip(1);
        }
        Split::Done
    }

    fn split_write<D: Driver<PageMemory>>(
        &mut self,
        id: RequestId,
        exec: &mut Exec,
        driver: &mut D,
    ) -> Split {
        while let Some(first) = exec.request(id).cursor.first_page() {
            if exec.has_lost_data(self) {
                exec.request_mut(id).failed = true;
                return Split::Done;
            }
            let is_free = !self.is_busy && self.victims.is_empty() && self.free_rows() > RESERVE;
            let Some(row) = self.next_row().filter(|_| is_free && exec.has_free_plan()) else {
                return Split::WantsPlans;
            };
            let end = exec.request(id).cursor.end_page().min(first + self.chunks() as u64);
            for page in first..end {
                let is_part = exec.sectors_of_page(id, page) != exec.whole_page();
                let has_old = self.old.iter().any(|(old, _)| *old == page);
                if let Some((row, chunk)) = self.map[page as usize].filter(|_| is_part && !has_old) {
                    self.read(Purpose::Merge, row, 1 << chunk, None, exec, driver);
                    return Split::WantsPlans;
                }
            }
            let mut pages = Vec::new();
            for page in first..end {
                let old = self.old.iter().position(|(old, _)| *old == page);
                let buffer = old.map(|old| self.old.swap_remove(old).1).unwrap_or_else(|| {
                    let buffer = exec.memory_mut().take();
                    exec.memory_mut().zero(buffer);
                    buffer
                });
                exec.load_host(buffer, page, id, exec.sectors_of_page(id, page));
                pages.push((page, buffer));
            }
            exec.request_mut(id).cursor = exec.request(id).cursor.skip(end - first);
            self.append(row, pages, Some(id), exec, driver);
        }
        Split::Done
    }

    /// Takes the next step of moving the pages of two rows to a new one. Returns false if there is nothing to do now.
    fn collect<D: Driver<PageMemory>>(&mut self, exec: &mut Exec, driver: &mut D) -> bool {
        let is_due = !self.victims.is_empty() || self.free_rows() <= RESERVE;
        if !is_due || self.is_busy || !exec.has_free_plan() || exec.has_lost_data(self) {
            return false;
        }
        if self.victims.len() < 2 {
            let live = |row: &u32| self.rows[*row as usize].live();
            let rows = (0..self.rows.len() as u32).filter(|row| live(row) > 0 && !self.victims.contains(row));
            let victim = rows.min_by_key(live).expect("most rows have pages");
            let chunks = (0..).zip(&self.rows[victim as usize].pages).filter(|(_, page)| page.is_some());
            let chunks = chunks.fold(0, |mask, (chunk, _)| mask | 1 << chunk);
            self.victims.push(victim);
            self.read(Purpose::Collect, victim, chunks, None, exec, driver);
            return true;
        }
        let Some(row) = self.next_row() else { return false };
        let moving = std::mem::take(&mut self.moving);
        assert!(moving.len() <= self.chunks(), "two rows with few pages fit into one");
        self.append(row, moving, None, exec, driver);
        true
    }

    /// Returns the buffers of pages that were read in vain: too many members are lost.
    fn drop_reads(&mut self, exec: &mut Exec) {
        for (_, buffer) in self.old.drain(..).chain(self.moving.drain(..)) {
            exec.memory_mut().give(buffer);
        }
        self.victims.clear();
    }

    /// The chunks that `plan` read for a write or a move, with their pages.
    fn take_read(&mut self, plan: PlanId, exec: &mut Exec) {
        let (row, wanted) = (exec.plan(plan).row, exec.plan(plan).wanted);
        for column in columns(wanted) {
            let page = self.rows[row.index()].pages[column as usize - 1].expect("a current page");
            let buffer = exec.take_buffer(plan, column, Version::Old);
            match exec.plan(plan).purpose {
                Purpose::Merge => self.old.push((page, buffer)),
                _ => self.moving.push((page, buffer)),
            }
        }
    }
}

impl Placement<PageMemory> for RoundRobinLog {
    fn split<D: Driver<PageMemory>>(&mut self, id: RequestId, exec: &mut Exec, driver: &mut D) -> Split {
        match exec.request(id).host.kind {
            RequestKind::Read => self.split_read(id, exec, driver),
            RequestKind::Write => self.split_write(id, exec, driver),
            // A trim is advice.
            RequestKind::Trim => Split::Done,
            RequestKind::Flush if self.is_busy => Split::WantsPlans,
            RequestKind::Flush => {
                let is_done = !exec.wants_members_flushed(id, self) || exec.flush_members(id, self, driver);
                if is_done { Split::Done } else { Split::WantsPlans }
            }
        }
    }

    fn poll<D: Driver<PageMemory>>(&mut self, when: When, exec: &mut Exec, driver: &mut D) -> bool {
        when == When::BeforeHosts && self.collect(exec, driver)
    }
}

impl PlanHandler<PageMemory> for RoundRobinLog {
    fn build<D: Driver<PageMemory>>(
        &mut self,
        plan: PlanId,
        exec: &mut Exec,
        _driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        match exec.plan(plan).purpose {
            Purpose::Flush => exec.build_flush_of(plan, |_| true),
            Purpose::Append => {
                if exec.members().volatile_cache {
                    exec.build_flush_of(plan, |_| true);
                }
                exec.push_compute(plan, self.chunks() as u16 + 1);
                let is_dropped = self.planted == Some(Planted::ParityDropped) && exec.is_any_failed();
                let written =
                    if is_dropped { exec.geometry().data_columns() } else { exec.geometry().all_columns() };
                let place = exec.plan(plan).place;
                exec.push_operations(plan, written, OperationKind::Write, |_| Class::HostWrite, place);
                exec.acknowledge_here(plan);
            }
            Purpose::Read => exec.build_row_read(plan, Class::HostRead)?,
            Purpose::Merge => exec.build_row_read(plan, Class::PreRead)?,
            _ => exec.build_row_read(plan, Class::ArrayGcRead)?,
        }
        Ok(Built::Ready)
    }

    fn combine(&mut self, plan: PlanId, exec: &mut Exec) {
        match exec.plan(plan).purpose {
            Purpose::Append => exec.encode_parity_pages(plan),
            _ => exec.decode_row(plan),
        }
    }

    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Exec) {
        let column = exec.plan(plan).wanted.trailing_zeros();
        if let Some(buffer) = exec.content_of_old(plan, column) {
            exec.store_host(buffer, self.page_of[plan.index()], id);
        }
    }

    fn finished<D: Driver<PageMemory>>(&mut self, plan: PlanId, exec: &mut Exec, _driver: &mut D) {
        let slot = exec.plan(plan);
        let (row, purpose, is_good) = (slot.row.index(), slot.purpose, !slot.is_abandoned);
        match purpose {
            Purpose::Append => {
                self.is_busy = false;
                self.victims.clear();
                let (row, pages) = std::mem::take(&mut self.stripe);
                self.head = (row + 1) % self.rows.len() as u32;
                for (chunk, page) in (0..).zip(pages).filter(|_| is_good) {
                    self.install(page, row, chunk);
                }
            }
            Purpose::Read => self.rows[row].readers -= 1,
            Purpose::Merge | Purpose::Collect => {
                self.is_busy = false;
                self.rows[row].readers -= 1;
                if is_good {
                    self.take_read(plan, exec);
                } else {
                    self.drop_reads(exec);
                }
            }
            _ => {}
        }
    }

    fn locks_to_decode(&self) -> bool {
        // Stripes never change.
        false
    }
}

/// It keeps no metadata.
impl Metadata<PageMemory> for RoundRobinLog {}
