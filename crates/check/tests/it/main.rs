//! The tests of the checkers, in one program, because linking one program is faster than linking 13.

mod cases;
mod command;
mod composition;
mod crashes;
mod deep_stripes;
mod durable_log;
mod elastic;
mod exhaustive;
mod exhaustive_caches;
mod exhaustive_power;
mod exhaustive_raid6;
mod exhaustive_reads;
mod logging;
mod oracle;
mod planted;
mod planted_journal;
mod planted_log;
mod planted_oracle;
mod round_robin_log;
mod small;
mod stress;
mod timed;
