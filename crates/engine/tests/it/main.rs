//! The tests of the engine, in one program, because linking one is faster than linking 14.

mod any_requests;
mod controller;
mod deep_stripes;
mod errors;
mod file_backends;
mod outages;
mod raid6;
mod read_policies;
mod reopen;
mod resume;
mod same_plans;
mod serving;
mod stamps;
mod support;
mod transcripts;
mod write_cache;
