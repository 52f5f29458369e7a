//! RAID-6: two rotated parity chunks per stripe, P and Q, which tolerate the loss of any two columns.
//!
//! Source: H. P. Anvin, "The mathematics of RAID-6", 2004 (Linux md); paper 001, section V (its RAID-6 by RDP).

/// Two data chunks and two of parity, the least that Linux md takes; with one data chunk all would be copies.
pub(super) const MEMBERS_MIN: u32 = 4;
