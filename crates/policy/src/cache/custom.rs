//! Custom: WOW's write groups and rate, and the user's own choice of the group that leaves next. Without one, groups leave by
//! address.
//!
//! Source: the hook for user-defined policies; the groups are those of Gill and Modha, FAST 2005.

use std::collections::BTreeMap;

use stripewise_base::Nanos;
use stripewise_core::ids::NONE;

use super::law::Filling;
use super::rings::{Rings, Writer};
use crate::custom::{CacheState, CachedGroup, ChooseGroup};

/// The requests that wrote a group since it entered.
#[derive(Clone, Copy, Debug)]
struct Written {
    writes: u32,
    first_ns: Nanos,
    last: Writer,
}

/// The policy by which groups leave the only ring.
#[derive(Debug, Default)]
pub(super) struct Custom {
    outstanding: u32,
    chooser: Option<Box<dyn ChooseGroup>>,
    /// By position.
    written: BTreeMap<u64, Written>,
    /// The groups that may leave, for one call.
    groups: Vec<CachedGroup>,
    units: Vec<u32>,
}

impl Custom {
    pub(crate) fn new(outstanding: u32) -> Self {
        Self { outstanding, ..Self::default() }
    }

    pub(super) fn install(&mut self, chooser: Box<dyn ChooseGroup>) {
        self.chooser = Some(chooser);
    }

    /// A request writes the group at `position`, of which the cache may have nothing yet.
    pub(super) fn wrote(&mut self, position: u64, writer: Writer, is_new: bool) {
        if is_new {
            self.written.remove(&position);
        }
        let fresh = Written { writes: 0, first_ns: writer.arrival, last: Writer::default() };
        let written = self.written.entry(position).or_insert(fresh);
        if written.writes == 0 || written.last != writer {
            written.writes += 1;
            written.last = writer;
        }
    }

    /// The group at `position` leaves.
    pub(super) fn left(&mut self, position: u32) {
        self.written.remove(&u64::from(position));
    }

    /// The group that leaves now.
    pub(crate) fn next(&mut self, now: Nanos, rings: &Rings, filling: &Filling, size: u32) -> Option<u32> {
        if rings.rings[0].is_empty() || rings.rings[0].leaving >= filling.rate(self.outstanding) {
            return None;
        }
        self.groups.clear();
        self.units.clear();
        for (&group, written) in &self.written {
            let unit = rings.find(0, group);
            if unit == NONE {
                continue;
            }
            let found = rings.unit(unit);
            if found.kept > 0 && found.under_way == 0 {
                self.units.push(unit);
                let Written { writes, first_ns, last } = *written;
                let last_ns = last.arrival;
                self.groups.push(CachedGroup { group, pages: found.kept, writes, first_ns, last_ns });
            }
        }
        let state = CacheState {
            now,
            occupied: filling.occupied,
            size,
            is_pressed: filling.is_pressed,
            groups: &self.groups,
        };
        let chooser = self.chooser.as_mut().filter(|_| !state.groups.is_empty());
        let chosen = chooser.and_then(|chooser| chooser.destage(&state)).unwrap_or(0);
        self.units.get(chosen).copied().or_else(|| self.units.first().copied())
    }
}
