//! What every layer of Stripewise needs and none should own: simulated time, quantities with units, a seeded
//! generator of random numbers, the agenda of future events, text of others on its way to people, and flat arrays for device
//! state.

#![forbid(unsafe_code)]

pub mod agenda;
pub mod huge;
pub mod human;
pub mod prng;
pub mod share;
pub mod suggest;
pub mod text;
pub mod units;

/// A point in time or a span of it, in integer nanoseconds.
pub type Nanos = u64;
