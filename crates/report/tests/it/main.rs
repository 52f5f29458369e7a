//! The tests of reports, in one program: linking one is faster than linking 2.

mod browser;
mod detailed;
mod perfetto;
mod report;
