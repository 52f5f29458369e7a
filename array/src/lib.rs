//! The array controller of Stripewise: it turns host requests into operations on an array of flash members.
//!
//! The controller uses no clock, no threads and no devices. Its [`Driver`] supplies them; [`Array`] states the contract
//! between the two.

#![forbid(unsafe_code)]

mod bits;
mod bugs;
pub mod cache;
mod controller;
pub mod coordination;
pub mod dispatch;
mod driver;
pub mod explain;
pub mod format;
pub mod geometry;
pub mod hotness;
mod ids;
pub mod journal;
mod loads;
mod media;
mod member_load;
mod memory;
mod mix;
mod operation;
pub mod placement;
mod plan;
mod presets;
pub mod read;
mod recovery;
mod request;
mod row_locks;
mod scheme;
mod table;
mod times;
pub mod update;
mod window;

pub use bugs::Bug;
pub(crate) use controller::columns as controller_columns;
pub use controller::{
    Array, Halt, MetadataScrubbed, RejoinError, Rejoining, SECTOR_BYTES, StripeColumn, StripeView,
};
pub use driver::{Acknowledgement, Admission, Driver};
pub use loads::Loads;
pub use media::{At, Found, Media};
pub use member_load::MemberLoad;
pub use memory::{Memory, NoMemory, PageId, PageMemory, PagePool, Payload};
pub use mix::MixSection;
pub use operation::{Class, Operation, OperationId, OperationKind, Outcome, Timing};
pub use plan::{PlanView, Purpose, STEPS_MAX, Step};
pub use presets::PRESETS;
pub use recovery::{
    AssembleError, AssemblyOptions, Checked, DamagedCopy, Identity, NamedMembers, PAGES_PROVE, Reconstructed,
    Reconstruction, RecoveryReport, Trouble, Upgrade, create, leaves_room_for_owner,
};
pub use request::{HostRequest, RequestKind, SubmitError};
pub use row_locks::RowLock;
pub use scheme::{
    Acknowledge, CodeSection, EachMember, GeometrySection, Members, Metadata, Parity, Scheme, SchemeError,
    WindowSize,
};
pub use times::CellTimes;
