//! Evaluations of papers, repeated: which runs they take, what they printed, what is measured here, and a verdict.
//!
//! One module a paper. A plan lists the studies; whoever drives it makes their runs and hands back what they measured;
//! the paper's module judges. Nothing here prints or runs anything.

#![forbid(unsafe_code)]

pub mod paper000;
mod verdict;

pub use verdict::{Verdict, judge};
