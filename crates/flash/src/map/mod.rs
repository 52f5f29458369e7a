//! The page map of every member, and the state of its blocks.

pub(crate) mod ftl;
pub(crate) mod pins;
pub(crate) mod streams;
pub(crate) mod wear;
