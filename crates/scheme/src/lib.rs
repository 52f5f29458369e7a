//! Schemes of Stripewise: one policy on every axis, as a TOML file; what fits together and to the members; where data and
//! metadata lie; and the schemes that are part of the program.

#![forbid(unsafe_code)]

pub mod placement;
mod presets;
mod scheme;

pub use presets::PRESETS;
pub use scheme::{
    Acknowledge, CodeSection, EachMember, GeometrySection, Merge, Metadata, Parity, Queues, Rows, Scheme,
    SchemeError, Updates, WindowSize,
};
