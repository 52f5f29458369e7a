//! The tests of results, in one program: linking one is faster than linking 6.

#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod damage;
mod documentation;
mod store;
mod summary;
mod tables;
