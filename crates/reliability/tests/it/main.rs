//! The tests of the estimates, in one program: linking one is faster than linking 2.

mod common;
mod formulas;
mod monte_carlo;
