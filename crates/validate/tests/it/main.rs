//! The tests of the validation, in one program: linking one is faster than linking 2.

mod checks;
mod page;
