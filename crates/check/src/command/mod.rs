//! The subcommands, and their common parts.

pub(crate) mod compose;
pub(crate) mod crashes;
pub(crate) mod kill;
pub(crate) mod progress;
pub(crate) mod runner;
