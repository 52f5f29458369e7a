//! What tests of policies stand on: queues, times, and what elements tell.

use stripewise_base::Nanos;

use super::{Choice, ElementState};
use crate::geometry::{Geometry, Level, Membership, Place, Rotation, Shape};
use crate::loads::Loads;
use crate::times::CellTimes;

/// One group of elements with queues of these lengths; member `i` lies on element `i`.
pub(crate) struct Setting {
    geometry: Geometry,
    place: Place,
    page_bytes: u32,
    loads: Loads,
    pub(crate) times: CellTimes,
}

impl Setting {
    pub(crate) fn new(elements: u32, page_bytes: u32, reads: &[u32], writes: &[u32]) -> Self {
        let shape = Shape {
            level: Level::Raid5,
            elements,
            groups: 1,
            chunk_bytes: page_bytes.into(),
            page_bytes,
            element_pages: 64,
            rotation: Rotation::None,
            rotate_every: 1,
            membership: Membership::Contiguous,
        };
        let geometry = Geometry::new(&shape).expect("a geometry");
        let place = geometry.place(0);
        let columns = 0..elements;
        let elements: Vec<u32> = columns.map(|column| geometry.element(place, column).into()).collect();
        assert!(elements.is_sorted(), "{elements:?}");
        let loads = Loads { reads: reads.to_vec(), writes: writes.to_vec(), busy: 0 };
        Self { times: CellTimes::new(geometry.elements), geometry, place, page_bytes, loads }
    }

    pub(crate) fn choice(&self, rmw: u64, rcw: u64) -> Choice<'_> {
        Choice {
            now: 0,
            row: 0,
            updated: 0,
            rmw,
            rcw,
            old: 0,
            geometry: &self.geometry,
            place: self.place,
            page_bytes: self.page_bytes,
            loads: &self.loads,
            times: &self.times,
        }
    }
}

/// What elements tell.
pub(crate) struct Told {
    pub(crate) read: Option<Nanos>,
    pub(crate) average: [Nanos; 8],
    pub(crate) remaining: [Nanos; 8],
}

impl Told {
    pub(crate) fn reading(read: Nanos) -> Self {
        Self { read: Some(read), ..Self::nothing() }
    }

    pub(crate) fn nothing() -> Self {
        Self { read: None, average: [0; 8], remaining: [0; 8] }
    }
}

impl ElementState for Told {
    fn gc_average_ns(&self, element: u16) -> Nanos {
        self.average[element as usize]
    }
    fn gc_remaining_ns(&self, element: u16) -> Nanos {
        self.remaining[element as usize]
    }
    fn read_ns(&self, _: u16, _: u32, _: bool) -> Option<Nanos> {
        self.read
    }
}
