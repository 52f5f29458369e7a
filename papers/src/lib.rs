//! Evaluations of papers, repeated: which runs they take, what they printed, what is measured here, and a verdict.
//!
//! One module a paper. A plan lists the studies; whoever drives it makes their runs and hands back what they measured;
//! the paper's module judges. Nothing here prints or runs anything.

#![forbid(unsafe_code)]

pub mod default_scheme;
mod evaluation;
mod finding;
pub mod paper000;
pub mod paper001;
pub mod paper002;
pub mod paper003;
pub mod paper004;
mod slice;
mod text;
mod verdict;

pub use evaluation::{Cell, Options, Results, Traces, rows};
pub use finding::{Column, Finding, Findings};
pub use verdict::{Verdict, judge, judge_range};
