//! The executor over a placement that exists for these tests alone.

mod doors;
mod placement;
mod plans;
mod requests;
mod rig;
