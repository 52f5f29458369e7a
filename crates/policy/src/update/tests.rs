//! Fixtures for tests of policies: queues, times, and reports of members.

use stripewise_base::Nanos;
use stripewise_core::geometry::{Geometry, Level, Membership, Place, Rotation, Shape};
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_core::loads::Loads;
use stripewise_core::member_load::MemberLoad;
use stripewise_core::times::CellTimes;

use super::Choice;

/// One group of members with queues of these lengths; column `i` lies on member `i`.
pub(crate) struct Setting {
    geometry: Geometry,
    place: Place,
    page_bytes: u32,
    loads: Loads,
    pub(crate) times: CellTimes,
}

impl Setting {
    pub(crate) fn new(members: u32, page_bytes: u32, reads: &[u32], writes: &[u32]) -> Self {
        let shape = Shape {
            level: Level::Raid5,
            members,
            groups: 1,
            chunk_bytes: page_bytes.into(),
            page_bytes,
            member_pages: 64,
            rotation: Rotation::None,
            rotate_every: 1,
            membership: Membership::Contiguous,
        };
        let geometry = Geometry::new(&shape).expect("a geometry");
        let place = geometry.place(RowNo::new(0));
        let columns = 0..members;
        let members: Vec<u32> =
            columns.map(|column| geometry.member(place, column).number().into()).collect();
        assert!(members.is_sorted(), "{members:?}");
        let loads = Loads { reads: reads.to_vec(), writes: writes.to_vec(), busy: 0 };
        Self { times: CellTimes::new(geometry.members), geometry, place, page_bytes, loads }
    }

    pub(crate) fn choice(&self, rmw: u64, rcw: u64) -> Choice<'_> {
        Choice {
            now: 0,
            row: RowNo::new(0),
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

/// Reports of members.
pub(crate) struct FakeLoad {
    pub(crate) read: Option<Nanos>,
    pub(crate) average: [Nanos; 8],
    pub(crate) remaining: [Nanos; 8],
}

impl FakeLoad {
    pub(crate) fn reading(read: Nanos) -> Self {
        Self { read: Some(read), ..Self::nothing() }
    }

    pub(crate) fn nothing() -> Self {
        Self { read: None, average: [0; 8], remaining: [0; 8] }
    }
}

impl MemberLoad for FakeLoad {
    fn gc_average_ns(&self, member: MemberNo) -> Nanos {
        self.average[member.index()]
    }
    fn gc_remaining_ns(&self, member: MemberNo) -> Nanos {
        self.remaining[member.index()]
    }
    fn read_ns(&self, _: MemberNo, _: u32, _: bool) -> Option<Nanos> {
        self.read
    }
}
