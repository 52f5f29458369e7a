//! RAID-5: one rotated parity chunk per stripe.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988; paper 000, section II-A.

/// Two data chunks and one of parity; two columns would be a mirror.
pub(super) const MEMBERS_MIN: u32 = 3;
