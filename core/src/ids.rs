//! Numbers that stand for entries of flat tables.

/// No entry: ends a list, or marks what is absent.
pub const NONE: u32 = u32::MAX;
