//! What the tests of the controller put in place of members and hosts. Only tests and fuzz targets depend on this crate.

#![forbid(unsafe_code)]

mod disk;
mod recorder;
mod world;

pub use disk::{Disk, DiskMember};
pub use recorder::Recorder;
pub use world::{InFlight, World};
