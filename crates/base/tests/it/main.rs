//! The agenda, suggestions and quantities.

mod agenda;
#[allow(unreachable_pub, reason = "shared by tests and benchmarks")]
mod heap;
mod suggest;
mod units;
