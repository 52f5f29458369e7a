//! What the members of an array can do, and their size.

/// The abilities and sizes of the members of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// The number of members.
    pub count: u32,
    /// The page of the members in bytes, the unit of an operation.
    pub page_bytes: u32,
    /// The number of pages of each member.
    pub pages: u32,
    /// Whether the members keep acknowledged writes in volatile memory until a flush.
    pub volatile_cache: bool,
    /// Whether the members accept discards of pages and return zeros for them afterwards.
    pub discard: bool,
    /// The number of replaced versions that each member can keep until they are released; 0 if it cannot keep any.
    pub old_versions: u32,
    /// Whether the members collect garbage only when they have permission.
    pub gc_control: bool,
    /// Whether the members report when they collect garbage and when an operation could start.
    pub gc_state: bool,
    /// The number of write streams that the members distinguish; 1 if all writes go to the same erase blocks.
    pub streams: u32,
}

impl Members {
    /// Files and devices that report nothing about themselves: they have a volatile cache and accept discards.
    pub const fn opaque(count: u32, page_bytes: u32, pages: u32) -> Self {
        Self {
            count,
            page_bytes,
            pages,
            volatile_cache: true,
            discard: true,
            old_versions: 0,
            gc_control: false,
            gc_state: false,
            streams: 1,
        }
    }
}
