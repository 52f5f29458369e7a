//! Estimates the mean time to data loss (MTTDL) of parity groups whose members fail and are repaired, in three
//! independent ways:
//!
//! - [`closed_forms`]: the formulas that paper 001 prints for RAID-5 and RAID-6;
//! - [`chain`]: the Markov chain behind them, solved for any number of parities and three ways of repair;
//! - [`monte_carlo`]: failures and repairs as events, member by member, with a confidence interval.
//!
//! Times are years, rates are events a year, both as floats: they are not the simulated time of an array's requests.

#![forbid(unsafe_code)]

pub mod chain;
pub mod closed_forms;
mod model;
pub mod monte_carlo;
mod rates;

pub use model::{Model, ModelError, Repair};
pub use rates::{Rate, RateError, YEAR_NS, years};
