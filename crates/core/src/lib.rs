//! What all parts of the controller of Stripewise share: geometry, operations, requests, memory, and access to members.
//!
//! The controller uses no clock, no threads and no devices. Users of the controller name all this through
//! `stripewise_array`.

#![forbid(unsafe_code)]

pub mod bits;
pub mod bugs;
pub mod geometry;
pub mod ids;
pub mod loads;
pub mod media;
pub mod member_load;
pub mod members;
pub mod memory;
pub mod operation;
pub mod request;
pub mod table;
pub mod timer;
pub mod times;
