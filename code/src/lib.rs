//! Parity codes: from the data members of a row to its parity members, and back.
//!
//! [`Code`] is one of the horizontal codes, with parity in separate members: exclusive or (RAID-5), P+Q, RDP and
//! EVENODD (RAID-6). [`XCode`] is vertical: its parity lies inside the members.

#![deny(unsafe_code)]

mod code;
mod cost;
mod evenodd;
mod field;
mod kernels;
mod parts;
mod pq;
mod rdp;
mod xcode;
mod xor;

pub use code::{Code, CodeError, Kind, TooManyLost};
pub use cost::Cost;
pub use kernels::{Level, UnknownLevel, Unsupported};
pub use xcode::XCode;
pub use xor::{xor_into, xor_of};
