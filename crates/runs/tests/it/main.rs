//! The tests of comparisons, in one program: linking one is faster than linking 4.

mod bibliography;
mod intervals;
mod logging;
mod overhead;
mod runs;
mod span;
mod threads;
