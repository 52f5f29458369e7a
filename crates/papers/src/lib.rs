//! The papers' evaluations: which studies each takes, and what its results are beside those that it printed.
//!
//! A paper is a TOML file of study points, metrics, claims and tables (`data/`), which one engine reads. `README.md`
//! describes the file. The default scheme beside each paper's own is a module: its studies are those of the papers.
//!
//! Studies are described and results judged here. Nothing here prints or runs anything.

#![forbid(unsafe_code)]

mod break_even;
mod change;
mod claims;
mod collections;
mod decisions;
pub mod default_scheme;
mod document;
mod error;
mod explain;
mod figures;
mod gain;
mod html;
mod intervals;
mod kind;
mod language;
mod logging;
mod maps;
mod names;
mod paper;
mod plan;
mod point;
mod search;
mod seeds;
mod speed;
mod tables;
mod text;
mod times;
mod verdict;

pub use break_even::BreakEven;
pub use change::ChangeOf;
pub use claims::{Finding, Findings};
pub use decisions::{Decisions, measure_decisions};
pub use error::Error;
pub use explain::{Change, Explanation};
pub use figures::{PrintedFigure, TABLES};
pub use gain::Gain;
pub use intervals::Intervals;
pub use maps::{GainMap, MapLine, MapPanel};
pub use paper::{EvaluationOptions, Paper, Part, claims_of};
pub use point::{Columns, Measured, More, StudyPoint};
pub use search::Search;
pub use seeds::Interval;
pub use tables::Section;
pub use verdict::{Verdict, judge, judge_range};
