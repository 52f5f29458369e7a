//! The tests of modelled flash, in one program, because linking one program is faster than linking 22.

mod amplification;
mod collection;
mod command;
mod copy_back;
mod corpus;
mod die_interleaving;
mod disksim_suite;
mod documented;
mod forecast;
mod gc_case;
mod levels;
mod multi_plane;
mod permission;
mod phases;
mod planted_bugs;
mod precondition;
mod preemption;
mod presets;
mod read_forecast;
mod reference;
mod streams;
mod stretches;
#[path = "../support/mod.rs"]
mod support;
mod wear;
