//! The array controller of Stripewise: it turns host requests into operations on an array of flash members.
//!
//! The controller uses no clock, no threads and no devices. Its [`Driver`] supplies them; [`Array`] states the contract
//! between the two. What drivers and users of a controller need of the crates below is re-exported here.

#![forbid(unsafe_code)]

mod array;
pub mod health;
pub mod in_place;
mod job;
pub mod log;
mod membership;
mod recovery;
pub mod zones;

pub use array::{Array, Halt};
pub use log::{StripeColumn, StripeView};
pub use recovery::{
    AssembleError, AssemblyOptions, Checked, DamagedCopy, Identity, NamedMembers, PAGES_PROVE, Reconstructed,
    Reconstruction, RecoveryReport, Trouble, Upgrade, create, leaves_room_for_owner,
};
pub use stripewise_core::bugs::Bug;
pub use stripewise_core::ids::{MemberNo, PlanId, RowNo};
pub use stripewise_core::loads::Loads;
pub use stripewise_core::media::{At, Found, Media};
pub use stripewise_core::member_load::MemberLoad;
pub use stripewise_core::members::Members;
pub use stripewise_core::memory::{Memory, NoMemory, PageId, PageMemory, PagePool, Payload, Persistence};
pub use stripewise_core::operation::{Class, Operation, OperationId, OperationKind, Outcome, Timing};
pub use stripewise_core::request::{HostRequest, RequestKind, SECTOR_BYTES, SubmitError};
pub use stripewise_core::timer::Timer;
pub use stripewise_core::times::CellTimes;
pub use stripewise_core::{bits, geometry};
pub use stripewise_exec::Controller;
pub use stripewise_exec::driver::{Acknowledgement, Admission, Driver};
pub use stripewise_exec::explain;
pub use stripewise_exec::metadata_scrub::{MetadataScrubbed, ScrubCounts};
pub use stripewise_exec::plan::{PlanView, Purpose, STEPS_MAX, Step};
pub use stripewise_exec::rejoin::{RejoinError, Rejoining};
pub use stripewise_exec::row_locks::{RowLock, RowWaits};
pub use stripewise_format as format;
pub use stripewise_policy::mix::MixSection;
pub use stripewise_policy::{cache, coordination, custom, dispatch, hotness, read, update};
pub use stripewise_scheme::placement;
pub use stripewise_scheme::{
    Acknowledge, CodeSection, EachMember, GeometrySection, Merge, Metadata, PRESETS, Parity, Rows, Scheme,
    SchemeError, Updates, WindowSize,
};
