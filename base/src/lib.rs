//! What every layer of Stripewise needs and none should own: simulated time, a seeded generator of random
//! numbers, and the agenda of future events.

#![forbid(unsafe_code)]

pub mod agenda;
pub mod prng;

/// A point in time or a span of it, in integer nanoseconds.
pub type Nanos = u64;
