//! A placement of whole rows: a write takes its row exclusively, and writes its pages with new parity from all of the row.

use stripewise_core::bits::columns;
use stripewise_core::ids::{MemberNo, PlanId, RequestId};
use stripewise_core::members::Members;
use stripewise_core::memory::PageMemory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_core::request::RequestKind;
use stripewise_exec::bytes::Version;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::split::mask_of;
use stripewise_exec::{
    ArrayOf, Built, Executor, Metadata, Placement, PlanHandler, Sizes, Split, TooManyLost,
};
use stripewise_scheme::Scheme;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;

/// Pages of a member.
pub(crate) const PAGES: u32 = 16;

/// Whole rows of RAID-5.
#[derive(Default)]
pub(crate) struct WholeRows {
    /// Members that the executor reported lost.
    pub(crate) lost: Vec<u16>,
}

/// An array of `count` members, with `settings` added to the scheme.
pub(crate) fn array(count: u32, settings: &str) -> ArrayOf<PageMemory, WholeRows> {
    let text = format!("name = 'whole rows'\n{settings}\n[geometry]\nlevel = 'raid5'\n");
    let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
    let members = Members { volatile_cache: true, ..Members::opaque(count, PAGE as u32, PAGES) };
    let geometry = scheme.resolve(&members, true).unwrap_or_else(|error| panic!("{error}"));
    let code = scheme.code(&geometry, members.page_bytes).unwrap_or_else(|error| panic!("{error}"));
    let sizes = Sizes::plain(&scheme, &geometry, &members);
    let (memory, pages) = (PageMemory::new(PAGE as u32), scheme.pages(&geometry));
    let exec = Executor::new(&scheme, geometry, code, members, memory, pages, sizes);
    ArrayOf { exec, placement: WholeRows::default() }
}

impl WholeRows {
    fn row_plan(id: RequestId, exec: &mut Executor<PageMemory>) -> Option<PlanId> {
        if !exec.has_free_plan() {
            return None;
        }
        let mut cursor = exec.request(id).cursor;
        let piece = cursor.next(exec.geometry())?;
        exec.request_mut(id).cursor = cursor;
        let purpose = match exec.request(id).host.kind {
            RequestKind::Read => Purpose::Read,
            _ => Purpose::Write,
        };
        let plan = exec.take_plan(piece.row, purpose);
        exec.want(plan, mask_of(&piece));
        exec.attach(plan, id);
        Some(plan)
    }

    fn load(plan: PlanId, id: RequestId, exec: &mut Executor<PageMemory>) {
        for column in columns(exec.plan(plan).wanted) {
            let page = exec.buffer(plan, column, Version::New);
            let array_page = exec.geometry().array_page(exec.plan(plan).row, column);
            exec.load_host(page, array_page, id, exec.whole_page());
        }
    }
}

impl Placement<PageMemory> for WholeRows {
    fn split<D: Driver<PageMemory>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<PageMemory>,
        driver: &mut D,
    ) -> Split {
        let kind = exec.request(id).host.kind;
        if kind == RequestKind::Flush {
            let is_done = !exec.wants_members_flushed(id, self) || exec.flush_members(id, self, driver);
            return if is_done { Split::Done } else { Split::WantsPlans };
        }
        while !exec.request(id).cursor.is_done() {
            let Some(plan) = Self::row_plan(id, exec) else { return Split::WantsPlans };
            let lock = if kind == RequestKind::Read { RowLock::Shared } else { RowLock::Exclusive };
            if kind == RequestKind::Write {
                Self::load(plan, id, exec);
            }
            exec.acquire(plan, lock, self, driver);
        }
        Split::Done
    }

    fn lost(&mut self, member: MemberNo, _exec: &mut Executor<PageMemory>) {
        self.lost.push(member.number());
    }
}

impl PlanHandler<PageMemory> for WholeRows {
    fn build<D: Driver<PageMemory>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<PageMemory>,
        _driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        let slot = exec.plan(plan);
        let (wanted, place) = (slot.wanted, slot.place);
        match slot.purpose {
            Purpose::Flush => exec.build_flush_of(plan, |_| true),
            Purpose::Read => exec.build_row_read(plan, Class::HostRead)?,
            _ => {
                let rest = exec.geometry().data_columns() & !wanted;
                if rest & exec.columns_on_failed(plan) != 0 {
                    return Err(TooManyLost);
                }
                exec.push_operations(plan, rest, OperationKind::Read, |_| Class::PreRead, place);
                exec.push_compute(plan, 1);
                let written = wanted | exec.geometry().parity_columns();
                exec.push_operations(plan, written, OperationKind::Write, |_| Class::HostWrite, place);
                exec.acknowledge_here(plan);
            }
        }
        Ok(Built::Ready)
    }

    fn combine(&mut self, plan: PlanId, exec: &mut Executor<PageMemory>) {
        match exec.plan(plan).purpose {
            Purpose::Read => exec.decode_row(plan),
            _ => exec.encode_parity_pages(plan),
        }
    }

    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<PageMemory>) {
        for column in columns(exec.plan(plan).wanted) {
            let array_page = exec.geometry().array_page(exec.plan(plan).row, column);
            if let Some(page) = exec.content_of_old(plan, column).filter(|_| exec.means(id, array_page)) {
                exec.store_host(page, array_page, id);
            }
        }
    }
}

impl Metadata<PageMemory> for WholeRows {}
