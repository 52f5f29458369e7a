//! The simulator: drives the array over modelled flash under simulated time.

#![forbid(unsafe_code)]

pub mod tables;
