//! The papers' evaluations: which studies each takes, and what its results are beside those that it printed.
//!
//! A paper is a TOML file of study points, metrics, claims and tables (`papers/data/`), which one engine reads. `README.md`
//! describes the file. Papers that are modules of their own are still written in Rust.
//!
//! Studies are described and results judged here. Nothing here prints or runs anything.

#![forbid(unsafe_code)]

mod claims;
mod decisions;
pub mod default_scheme;
mod document;
mod error;
mod evaluation;
mod finding;
mod intervals;
mod language;
mod logging;
mod paper;
pub mod paper003;
mod plan;
mod point;
mod search;
mod slice;
mod speed;
mod tables;
mod text;
mod verdict;

pub use claims::{Finding as ClaimFinding, Findings as ClaimFindings};
pub use decisions::{Decisions, measure_decisions};
pub use error::Error;
pub use evaluation::{Cell, Options, Results, Traces, rows};
pub use finding::{Column, Finding, Findings};
pub use intervals::Intervals;
pub use paper::{Asked, Paper};
pub use point::{Columns, Measured, More, StudyPoint};
pub use search::Search;
pub use verdict::{Verdict, judge, judge_range};
