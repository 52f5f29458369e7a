//! The modelled flash device: page-level mapping, garbage collection, and time on dies and buses.
//!
//! The caller drives [`Flash`], which has no clock of its own; its documentation states the contract. A
//! [`DeviceSpec`], one TOML file, describes a device. The crate includes presets.

#![forbid(unsafe_code)]

mod admit;
mod alloc;
mod audit;
mod bugs;
mod bus;
mod collect;
mod command;
mod command_link;
mod control;
mod counters;
mod die;
mod divide;
mod flash;
mod forecast;
mod ftl;
#[cfg(test)]
mod fusing;
mod gc;
mod geometry;
mod homes;
mod link;
mod list;
mod media;
mod multi_plane;
mod op;
mod permission;
mod pins;
mod place;
mod precondition;
mod preempt;
mod rate;
mod read_forecast;
mod ready;
mod record;
mod serve;
mod service;
mod slices;
pub mod spec;
mod streams;
mod suspend;
mod suspension;
mod synchrony;
mod times;
mod validate;
mod wear;

pub use bugs::Bug;
pub use control::{GcTurn, Permit};
pub use counters::{Collected, Counters, Estimate, WearRange};
pub use flash::Flash;
pub use geometry::{Level, Shape};
pub use media::{Media, Stretch, Work};
pub use op::{Admission, Done, Op, OpKind};
pub use precondition::State;
pub use rate::Rate;
pub use slices::GcSlices;
pub use spec::{DeviceSpec, Order};
pub use stripewise_base::share::Share;
pub use validate::SpecError;
