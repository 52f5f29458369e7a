//! How long an array keeps its data: the mean time to data loss (MTTDL) of parity groups whose members fail and are
//! repaired, three ways that know nothing of each other:
//!
//! - [`closed_forms`]: the formulas that paper 001 prints for RAID-5 and RAID-6;
//! - [`chain`]: the Markov chain behind them, solved for any number of parities and three ways of repair;
//! - [`monte_carlo`]: failures and repairs as events, member by member, with a confidence interval.
//!
//! Times are years, rates are events a year, both as floats: nothing here is simulated time of an array's requests.

#![forbid(unsafe_code)]

pub mod chain;
pub mod closed_forms;
mod model;
pub mod monte_carlo;
mod rates;

pub use model::{Model, ModelError, Repair};
pub use rates::{Rate, RateError, YEAR_NS, years};
