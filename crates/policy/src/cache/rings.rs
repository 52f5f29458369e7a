//! The units that leave a write cache together, and their order: units on rings sorted by address, each with a destage pointer
//! that circles the ring and gives units that were hit one more turn.
//!
//! Source: Gill and Modha, "WOW: Wise Ordering for Writes", FAST 2005 (a sorted circular list, recency bits); paper 003,
//! section 3, which gives each SSD a ring of its own.

use stripewise_base::Nanos;
use stripewise_core::bits::Bits;
use stripewise_core::ids::{NONE, RequestId};
use stripewise_core::table::Table;

use super::store::List;

/// Chunks that leave together: a write group, a strip, or a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub ring: u32,
    position: u32,
    /// Its kept chunks.
    pub chunks: List,
    pub kept: u32,
    /// Number of its chunks, or older versions of them, in flight. While there are any, no other chunk leaves.
    pub under_way: u32,
    /// Number of those that are written, while others of the unit are not, and that keep their room.
    pub written: u32,
    /// Whether the unit was hit since the pointer last passed it.
    is_recent: bool,
    /// Whether a sequential write wrote it.
    pub is_sequential: bool,
    /// The request that wrote it last.
    writer: Writer,
    next: u32,
}

/// A request that writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Its slot and its arrival, which identify it.
    pub id: RequestId,
    /// The time of its arrival.
    pub arrival: Nanos,
    /// Whether it continues where an earlier write ended.
    pub is_sequential: bool,
}

/// One ring.
#[derive(Debug)]
pub(crate) struct Ring {
    /// Positions of units that may leave.
    eligible: Bits,
    pointer: u32,
    /// Number of units that are leaving.
    pub leaving: u32,
    /// Number of units, in the cache or leaving.
    pub units: u32,
}

impl Ring {
    /// Whether no unit may leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.eligible.is_empty()
    }
}

/// All rings of a cache and their units.
#[derive(Debug)]
pub(super) struct Rings {
    pub(super) rings: Vec<Ring>,
    units: Vec<Unit>,
    free: u32,
    table: Table,
}

impl Rings {
    /// A ring for each of `lengths`.
    pub(crate) fn new(lengths: impl Iterator<Item = u64>) -> Self {
        let ring = |length| Ring { eligible: Bits::new(length as usize), pointer: 0, leaving: 0, units: 0 };
        Self { rings: lengths.map(ring).collect(), units: Vec::new(), free: NONE, table: Table::new(1024) }
    }

    pub(crate) fn unit(&self, unit: u32) -> &Unit {
        &self.units[unit as usize]
    }

    pub(super) fn unit_mut(&mut self, unit: u32) -> &mut Unit {
        &mut self.units[unit as usize]
    }

    /// The position of the unit on its ring.
    pub(crate) fn position(&self, unit: u32) -> u32 {
        self.units[unit as usize].position
    }

    /// The unit at `position` of `ring`, or [`NONE`].
    pub(crate) fn find(&self, ring: u32, position: u64) -> u32 {
        self.table.get(u64::from(ring) << 40 | position)
    }

    /// The unit at `position` of `ring`, created if there is none, which `writer` writes now. A hit by another writer gives
    /// the unit another turn; sequential writes never do.
    pub(crate) fn write(&mut self, ring: u32, position: u64, writer: Writer) -> u32 {
        let found = self.find(ring, position);
        if found != NONE {
            let unit = &mut self.units[found as usize];
            if unit.writer != writer {
                unit.is_recent |= !writer.is_sequential;
                unit.is_sequential = writer.is_sequential;
                unit.writer = writer;
            }
            return found;
        }
        let unit = Unit {
            ring,
            position: position as u32,
            chunks: List::EMPTY,
            kept: 0,
            under_way: 0,
            written: 0,
            is_recent: false,
            is_sequential: writer.is_sequential,
            writer,
            next: NONE,
        };
        let id = self.free;
        let id = if id == NONE {
            self.units.push(unit);
            self.units.len() as u32 - 1
        } else {
            self.free = self.units[id as usize].next;
            self.units[id as usize] = unit;
            id
        };
        self.table.put(u64::from(ring) << 40 | position, id);
        self.rings[ring as usize].units += 1;
        id
    }

    /// The unit has one more kept chunk.
    pub(crate) fn kept(&mut self, unit: u32) {
        let Unit { ring, position, kept, under_way, .. } = &mut self.units[unit as usize];
        *kept += 1;
        if *kept == 1 && *under_way == 0 {
            self.rings[*ring as usize].eligible.set(*position as usize);
        }
    }

    /// A kept chunk of the unit is removed without being written.
    pub(crate) fn lost(&mut self, unit: u32) {
        let Unit { ring, position, kept, under_way, .. } = &mut self.units[unit as usize];
        *kept -= 1;
        if *kept == 0 && *under_way == 0 {
            self.rings[*ring as usize].eligible.clear(*position as usize);
            self.forget(unit);
        }
    }

    /// All kept chunks of the unit are in flight now.
    pub(crate) fn left(&mut self, unit: u32) {
        let Unit { ring, position, kept, under_way, .. } = &mut self.units[unit as usize];
        *under_way += std::mem::take(kept);
        let ring = &mut self.rings[*ring as usize];
        ring.eligible.clear(*position as usize);
        ring.leaving += 1;
    }

    /// A chunk of the unit, or an older version of one, is written. Returns whether it was the last in flight.
    pub(crate) fn arrived(&mut self, unit: u32) -> bool {
        let Unit { ring, position, kept, under_way, .. } = &mut self.units[unit as usize];
        *under_way -= 1;
        if *under_way > 0 {
            return false;
        }
        let ring = &mut self.rings[*ring as usize];
        ring.leaving -= 1;
        if *kept > 0 {
            ring.eligible.set(*position as usize);
        } else {
            self.forget(unit);
        }
        true
    }

    fn forget(&mut self, unit: u32) {
        let Unit { ring, position, .. } = self.units[unit as usize];
        self.table.put(u64::from(ring) << 40 | u64::from(position), NONE);
        self.rings[ring as usize].units -= 1;
        self.units[unit as usize].next = self.free;
        self.free = unit;
    }

    /// The next unit on `ring` that may leave and was not hit since the pointer passed it; moves the pointer behind the unit.
    pub(crate) fn advance(&mut self, ring: u32) -> Option<u32> {
        if self.rings[ring as usize].is_empty() {
            return None;
        }
        loop {
            let unit = self.next(ring)?;
            self.rings[ring as usize].pointer = self.units[unit as usize].position + 1;
            if !std::mem::take(&mut self.units[unit as usize].is_recent) {
                return Some(unit);
            }
        }
    }

    /// The first unit that may leave at the pointer of `ring` or after it.
    pub(crate) fn next(&self, ring: u32) -> Option<u32> {
        let Ring { eligible, pointer, .. } = &self.rings[ring as usize];
        let position = eligible.next(*pointer as usize).or_else(|| eligible.first())?;
        Some(self.find(ring, position as u64))
    }

    /// Whether the unit that left `ring` last was written sequentially, and the next one was too.
    pub(super) fn continues_sequentially(&self, ring: u32, last_was_sequential: bool) -> bool {
        last_was_sequential && self.next(ring).is_some_and(|unit| self.unit(unit).is_sequential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(id: u32) -> Writer {
        Writer { id: RequestId::new(id), ..Writer::default() }
    }

    fn write(rings: &mut Rings, position: u64, by: Writer) -> u32 {
        let unit = rings.write(0, position, by);
        rings.kept(unit);
        unit
    }

    #[test]
    fn the_pointer_goes_round_by_address_and_gives_those_that_were_hit_one_more_turn() {
        let mut rings = Rings::new([100].into_iter());
        let units = [70, 10, 40].map(|position| write(&mut rings, position, writer(1)));
        write(&mut rings, 10, writer(2));
        let mut order = Vec::new();
        while let Some(unit) = rings.advance(0) {
            rings.left(unit);
            order.push(unit);
        }
        assert_eq!(order, [units[2], units[0], units[1]]);
    }

    #[test]
    fn a_request_over_several_rows_does_not_hit_its_own_group_and_sequential_writes_hit_none() {
        let mut rings = Rings::new([100].into_iter());
        let [first, second] = [5, 6].map(|position| write(&mut rings, position, writer(1)));
        write(&mut rings, 5, writer(1));
        write(&mut rings, 6, Writer { is_sequential: true, ..writer(2) });
        assert_eq!(rings.advance(0), Some(first));
        assert_eq!(rings.advance(0), Some(second));
    }

    #[test]
    fn a_unit_that_is_leaving_does_not_leave_again_before_it_has_arrived() {
        let mut rings = Rings::new([100].into_iter());
        let unit = write(&mut rings, 5, writer(1));
        rings.left(unit);
        write(&mut rings, 5, writer(2));
        assert_eq!(rings.advance(0), None);
        assert!(rings.arrived(unit));
        assert_eq!(rings.advance(0), Some(unit));
    }
}
