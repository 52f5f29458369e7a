//! Parity codes: from the data chunks of a stripe to its parity chunks, and back.

#![forbid(unsafe_code)]

mod xor;

pub use xor::{xor_into, xor_of};
