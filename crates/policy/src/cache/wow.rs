//! WOW, wise ordering for writes: one ring of write groups. A group leaves as a whole, and its room is freed when all of it is
//! written, parity included.
//!
//! Source: Gill and Modha, FAST 2005; paper 003, section 3. A write group is a stripe; without parity, the strips of all
//! members at the same place (paper 003, section 4: 8 strips of 128 KB are a group of 1 MB over RAID-0).

use super::law::Filling;
use super::rings::Rings;

/// The most groups in flight while sequential groups continue below the low threshold (FAST 2005).
const SEQUENTIAL: u32 = 4;

/// The policy by which groups leave a ring.
#[derive(Debug)]
pub(super) struct Wow {
    outstanding: u32,
    last_was_sequential: bool,
}

impl Wow {
    pub(crate) fn new(outstanding: u32) -> Self {
        Self { outstanding, last_was_sequential: false }
    }

    /// The group that leaves `ring` now.
    pub(crate) fn next(&mut self, rings: &mut Rings, ring: u32, filling: &Filling) -> Option<u32> {
        let mut target = filling.rate(self.outstanding);
        if target == 0 && rings.continues_sequentially(ring, self.last_was_sequential) {
            target = SEQUENTIAL.min(self.outstanding);
        }
        if rings.rings[ring as usize].leaving >= target {
            return None;
        }
        let unit = rings.advance(ring)?;
        self.last_was_sequential = rings.unit(unit).is_sequential;
        Some(unit)
    }
}
