//! The base of every layer of Stripewise, which belongs to none of them: simulated time, quantities with units, a
//! seeded generator of random numbers, the agenda of future events, the display of foreign text, and flat arrays for
//! device state.

#![forbid(unsafe_code)]

pub mod agenda;
pub mod huge;
pub mod human;
pub mod prng;
pub mod renamed;
pub mod share;
pub mod suggest;
pub mod text;
pub mod units;

/// A point in time or a span of it, in integer nanoseconds.
pub type Nanos = u64;
