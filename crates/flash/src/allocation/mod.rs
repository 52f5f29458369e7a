//! Where a program goes: the plane, and the pages that share a cell time.

pub(crate) mod alloc;
pub(crate) mod multi_plane;
pub(crate) mod place;
