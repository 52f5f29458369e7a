//! The array controller of Stripewise: it turns host requests into operations on an array of flash members.
//!
//! The controller uses no clock, no threads and no devices. Its [`Driver`] supplies them; [`Array`] states the contract
//! between the two.

#![forbid(unsafe_code)]

mod array;
mod bits;
mod bugs;
pub mod cache;
pub mod coordination;
pub mod dispatch;
mod driver;
mod exec;
pub mod explain;
pub mod format;
pub mod geometry;
pub mod hotness;
mod ids;
pub mod in_place;
mod loads;
pub mod log;
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
pub mod zones;

pub use array::{Array, Halt};
pub use bugs::Bug;
pub use driver::{Acknowledgement, Admission, Driver};
pub use exec::metadata_scrub::{MetadataScrubbed, ScrubCounts};
pub use exec::rejoin::{RejoinError, Rejoining};
pub use loads::Loads;
pub use log::{StripeColumn, StripeView};
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
pub use request::{HostRequest, RequestKind, SECTOR_BYTES, SubmitError};
pub use row_locks::RowLock;
pub use scheme::{
    Acknowledge, CodeSection, EachMember, GeometrySection, Members, Metadata, Parity, Scheme, SchemeError,
    WindowSize,
};
pub use times::CellTimes;
