//! The array controller of Stripewise: it turns host requests into operations on an array of flash members.
//!
//! The controller uses no clock, no threads and no devices. Its [`Driver`] supplies them; [`Array`] states the contract
//! between the two. What it shares with the executor of plans, and the executor's interface, are re-exported here.

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
pub use stripewise_core::{
    Acknowledge, Acknowledgement, Admission, At, Bug, CellTimes, Class, CodeSection, Driver, EachMember,
    Found, GeometrySection, HostRequest, Loads, Media, MemberLoad, Members, Memory, Merge, Metadata,
    MixSection, NoMemory, Operation, OperationId, OperationKind, Outcome, PRESETS, PageId, PageMemory,
    PagePool, Parity, Payload, PlanId, PlanView, Purpose, RequestKind, RowLock, RowNo, RowWaits, Rows,
    SECTOR_BYTES, STEPS_MAX, Scheme, SchemeError, Step, SubmitError, Timing, WindowSize,
};
pub use stripewise_core::{
    cache, coordination, custom, dispatch, explain, format, geometry, hotness, placement, read, update,
};
pub use stripewise_exec::Controller;
pub use stripewise_exec::metadata_scrub::{MetadataScrubbed, ScrubCounts};
pub use stripewise_exec::rejoin::{RejoinError, Rejoining};
