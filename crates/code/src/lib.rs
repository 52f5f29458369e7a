//! Parity codes: from the data members of a row to its parity members, and back.
//!
//! [`Code`] is one of the codes over a row: exclusive or (RAID-5), P+Q, RDP and EVENODD (RAID-6) with parity in separate
//! members, or X-Code, with each part of its columns as a member. [`XCode`] has whole columns, with parity inside.

#![deny(unsafe_code)]

mod cells;
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
