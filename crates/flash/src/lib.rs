//! The modelled flash device: page-level mapping, garbage collection, and time on dies and buses.
//!
//! The caller drives [`Flash`], which has no clock of its own; its documentation states the contract. A
//! [`DeviceSpec`], one TOML file, describes a device. The crate includes presets.

#![forbid(unsafe_code)]

mod allocation;
mod audit;
mod bugs;
mod collection;
mod counters;
mod divide;
mod flash;
#[cfg(test)]
mod fusing;
mod geometry;
mod list;
mod map;
mod media;
mod memory;
mod operations;
mod precondition;
mod rate;
mod record;
pub mod spec;
mod validate;

pub use bugs::Bug;
pub use collection::control::{GcTurn, Permit};
pub use collection::custom::{Blocks, ChooseBlock, WrittenBlock};
pub use collection::slices::GcSlices;
pub use counters::{Collected, Counters, Estimate, WearRange};
pub use flash::Flash;
pub use geometry::{Level, Shape};
pub use media::{Media, Stretch, Work};
pub use operations::holds::Hold;
pub use operations::op::{Admission, Done, Op, OpKind};
pub use precondition::State;
pub use rate::Rate;
pub use spec::{DeviceSpec, Order};
pub use stripewise_base::share::Share;
pub use validate::SpecError;
