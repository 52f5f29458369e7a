//! What the parts of the controller of Stripewise share: geometry, operations and plans, policies, schemes, the on-disk
//! format, and the interface of drivers.
//!
//! The crate uses no clock, no threads and no devices. Users of the controller name all this through `stripewise_array`.

#![forbid(unsafe_code)]

pub mod bits;
pub mod bugs;
pub mod cache;
pub mod coordination;
pub mod custom;
pub mod dispatch;
pub mod driver;
pub mod explain;
pub mod format;
pub mod geometry;
pub mod hotness;
pub mod ids;
pub mod loads;
pub mod media;
pub mod member_load;
pub mod memory;
pub mod mix;
pub mod operation;
pub mod placement;
pub mod plan;
pub mod presets;
pub mod read;
pub mod request;
pub mod row_locks;
pub mod scheme;
pub mod table;
pub mod times;
pub mod update;

pub use bugs::Bug;
pub use driver::{Acknowledgement, Admission, Driver};
pub use ids::{PlanId, RowNo};
pub use loads::Loads;
pub use media::{At, Found, Media};
pub use member_load::MemberLoad;
pub use memory::{Memory, NoMemory, PageId, PageMemory, PagePool, Payload};
pub use mix::MixSection;
pub use operation::{Class, Operation, OperationId, OperationKind, Outcome, Timing};
pub use plan::{PlanView, Purpose, STEPS_MAX, Step};
pub use presets::PRESETS;
pub use request::{HostRequest, RequestKind, SECTOR_BYTES, SubmitError};
pub use row_locks::{RowLock, RowWaits};
pub use scheme::{
    Acknowledge, CodeSection, EachMember, GeometrySection, Members, Merge, Metadata, Parity, Rows, Scheme,
    SchemeError, WindowSize,
};
pub use times::CellTimes;
