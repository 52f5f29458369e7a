//! RAID-0: striping without redundancy.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988 (for the levels); paper 003, section 4 (its RAID-0 of 8 SSDs).

/// One member is enough; a single SSD is simulated as an array of one.
pub(super) const MEMBERS_MIN: u32 = 1;
