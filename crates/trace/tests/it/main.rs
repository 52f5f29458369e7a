//! The tests of traces, in one program: linking one is faster than linking 13.

mod binary;
mod columns;
mod columns_by_name;
#[path = "../common/mod.rs"]
mod common;
mod compressed;
mod corpus;
mod detection;
mod docs;
mod folding;
mod formats;
mod hostile;
mod naive_statistics;
mod obvious_names;
mod parquet_damage;
mod parquet_schema;
mod plausibility;
mod profile_of_traces;
mod profile_ranges;
mod quoted_fields;
mod real_traces;
mod round_trip;
