//! The tests of traces, in one program: linking one is faster than linking 13.

mod binary;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod compressed;
mod corpus;
mod docs;
mod folding;
mod formats;
mod hostile;
mod naive_statistics;
mod parquet_damage;
mod parquet_schema;
mod plausibility;
mod profile_of_traces;
mod profile_ranges;
mod real_traces;
mod round_trip;
