//! The choice of damaged pages: arbitrary ones, or several of one row or stripe.

use super::case::{Example, PAGE};
use stripewise_array::format::Summary;

/// A damaged page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    pub(crate) member: usize,
    pub(crate) page: u32,
    pub(crate) is_unreadable: bool,
    /// The row of the page, counted from the first page of the members.
    pub(crate) row: u32,
}

/// Draws the pages to damage: data, parity and copies of summaries. Metadata outside of segments has its own tests.
pub(crate) fn draw(case: &mut Example) -> Vec<Damage> {
    let area = case.superblock().data;
    let members = case.disk.members.len() as u64;
    let is_used = |case: &Example, member: usize, page: u32| {
        case.disk.members[member].pages[page as usize].iter().any(|&byte| byte != 0)
    };
    let mut drawn: Vec<Damage> = Vec::new();
    let mut copies = 0;
    let clusters = case.random.below(4);
    for nth in 0..clusters + case.random.below(8) {
        let first = area.first + case.random.below(area.pages.into()) as u32;
        // Stripes of a log take slots of at most two rows.
        let count = if nth < clusters { 1 + case.random.below(case.kind.parity as u64 + 2) } else { 1 };
        for _ in 0..count {
            let member = case.random.below(members) as usize;
            let next = u32::from(case.kind.is_log && case.random.chance(1, 3));
            let page = (first + next).min(area.first + area.pages - 1);
            if !is_used(case, member, page) && case.random.chance(3, 4) {
                continue;
            }
            // If all copies of a summary are damaged, its batch is lost, and assembly is refused.
            let bytes = &case.disk.members[member].pages[page as usize];
            assert_eq!(bytes.len(), PAGE as usize);
            if Summary::parse(bytes).is_ok() {
                copies += 1;
                if copies > case.kind.parity {
                    continue;
                }
            }
            drawn.push(Damage { member, page, is_unreadable: case.random.chance(1, 3), row: page });
        }
    }
    drawn
}
