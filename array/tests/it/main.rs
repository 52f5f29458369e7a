//! The tests of the controller, in one program: linking one is quicker than linking 28.

mod assembly;
mod caches;
#[cfg(debug_assertions)]
mod charges;
mod check_all;
mod classes;
mod corpus;
mod disk;
mod dispatch;
mod durable_log;
mod encode;
mod format_1;
mod hostile;
mod in_place;
mod invariants;
mod journal_cost;
mod log_faults;
mod log_rebuild;
mod members;
mod metadata_scrub;
mod one_answer;
mod openings;
mod reads;
mod reconstruct;
mod restart;
mod room;
mod rounds;
mod scheme_keys;
mod stamps;
mod summaries;
mod support;
mod troubles;
mod wide_groups;
mod write_order;
mod zones;
