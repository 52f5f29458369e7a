//! Garbage collection: its victims, its steps, and who may collect when.

pub(crate) mod collect;
pub(crate) mod control;
pub(crate) mod custom;
pub(crate) mod forecast;
pub(crate) mod gc;
pub(crate) mod permission;
pub(crate) mod preempt;
pub(crate) mod slices;
pub(crate) mod synchrony;
