//! Consistency checks of a device's state, by exhaustive search.

use crate::flash::Flash;
use crate::map::ftl::{FREE, OPEN};
use crate::map::streams::WritePoint;
use crate::media::Media;
use crate::spec::Domain;

impl<M: Media> Flash<M> {
    /// Checks that maps, reverse maps, valid counts, free lists and pins agree. Visits every page: for tests.
    ///
    /// # Errors
    ///  The first disagreement.
    pub fn audit(&self) -> Result<(), String> {
        let shape = &self.shape;
        for member in 0..shape.members {
            let first = shape.first_plane(member);
            for plane in first..first + shape.planes_per_member {
                self.audit_plane(member, plane)?;
            }
            for logical in 0..shape.logical_pages {
                let Some(page) = self.ftl.lookup(member, logical) else { continue };
                self.audit_entry(member, logical, page, false)?;
            }
        }
        self.audit_dies()?;
        for (member, logical, version) in self.ftl.pins.iter() {
            let Some(page) = version.checked_sub(1) else { continue };
            self.audit_entry(member, logical, page, true)?;
        }
        Ok(())
    }

    fn audit_entry(&self, member: u32, logical: u32, page: u32, pinned: bool) -> Result<(), String> {
        let shape = &self.shape;
        let plane = shape.first_plane(member) + shape.plane_of_page(page);
        let count = self.ftl.valid_of(plane)[(shape.block_of_page(page) % shape.blocks_per_plane) as usize];
        let tenant = self.ftl.tenant(member, page);
        let names_it = tenant.is_some_and(|tenant| tenant.logical == logical && tenant.pinned == pinned);
        if count == FREE || !names_it {
            return Err(format!(
                "member {member}: logical page {logical} (pinned: {pinned}) leads to page {page}, which holds {tenant:?} in a \
                 block with count {count:#x}"
            ));
        }
        Ok(())
    }

    /// Each collection that holds back a die is counted there, and a preempted collection holds back no die.
    fn audit_dies(&self) -> Result<(), String> {
        for die in 0..self.shape.dies {
            let d = &self.dies[die as usize];
            let holds = |other: &u32| {
                let held = self.collections[*other as usize].held;
                held > Some(Domain::Plane) && self.dies_of(*other, held).contains(&die)
            };
            let held = (0..self.shape.dies).filter(holds).count();
            let own = &self.collections[die as usize];
            if d.held as usize != held {
                return Err(format!("die {die} counts {} collections that hold it, but {held} do", d.held));
            }
            if d.yields && (own.held.is_some() || !d.active) {
                return Err(format!("die {die} is preempted, but {own:?} holds on"));
            }
        }
        Ok(())
    }

    fn audit_plane(&self, member: u32, plane: u32) -> Result<(), String> {
        let (shape, ftl) = (&self.shape, &self.ftl);
        let local = plane - shape.first_plane(member);
        let error = |what: String| Err(format!("member {member}, plane {local}: {what}"));
        let open_pages: Vec<_> = ftl.points(plane).map(WritePoint::pages).collect();
        let (mut free, mut open, mut valid_pages) = (0, 0, 0);
        for (block, &count) in ftl.valid_of(plane).iter().enumerate() {
            ftl.wear.audit(plane as usize * shape.blocks_per_plane as usize + block)?;
            let first = (local * shape.blocks_per_plane + block as u32) * shape.pages_per_block;
            let data = first..first + shape.data_pages;
            if count == FREE {
                free += 1;
                if !ftl.is_listed_free(plane, block as u32) {
                    return error(format!("free block {block} is not in the list"));
                }
                continue;
            }
            let written = if count & OPEN != 0 {
                open += 1;
                let Some(at) = open_pages.iter().find(|at| !at.is_empty() && at.end == data.end) else {
                    return error(format!("block {block} is marked open but not being written"));
                };
                data.start..at.start
            } else {
                data.clone()
            };
            let unwritten = data.end - written.end;
            let valid = written.filter(|&page| ftl.tenant(member, page).is_some()).count() as u32;
            valid_pages += valid;
            if u32::from(count & !OPEN) != valid + unwritten {
                return error(format!(
                    "block {block} counts {count:#x}, holds {valid} and {unwritten} unwritten"
                ));
            }
        }
        let p = &ftl.planes[plane as usize];
        let expected_open = open_pages.iter().filter(|at| !at.is_empty()).count();
        if free != p.free_blocks || open != expected_open {
            return error(format!(
                "{free} free and {open} open blocks, {} and {expected_open} said",
                p.free_blocks
            ));
        }
        if p.free_pages != p.free_blocks * shape.data_pages + ftl.unwritten(plane) {
            return error(format!("{} free pages said", p.free_pages));
        }
        if !self.pools.is_static() && valid_pages != p.valid {
            return error(format!("{valid_pages} valid pages, {} counted", p.valid));
        }
        Ok(())
    }
}
