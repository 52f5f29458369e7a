//! The engine: drives the array over files and block devices with real bytes.
//!
//! [`Engine`] runs the same controller as the simulator. A [`Backend`] carries its operations to the members. There are
//! two backends:
//!
//! - [`Plain`] runs `pread` and `pwrite`, one operation after the other. It is simple enough to be checked by reading,
//!   and is the oracle of the faster backend.
//! - [`Files`] is the backend that serves.
//!
//! # What the engine expects of its media
//! A page that was never written reads as zeros, and so does a trimmed page: the parity of an untouched row is then
//! right without a first pass over the array. A completed flush makes durable all writes that completed before it.
//!
//! [`Engine::resume`] assembles an array that `stripewise_array::create` made with a scheme of `metadata = "on"`. The
//! superblocks identify the members, and all durable data is there however the engine before ended.
//!
//! Other arrays have no metadata: nothing on the media records which array a member belongs to, or that a member
//! failed. The caller names the same files in the same order, and names the failed members with [`Engine::fail`] before
//! the first request. An update of such an array is not atomic across a loss of power: a row that was being written may
//! then have parity that does not match its data (the write hole). The mismatch matters when a member of that row is
//! lost as well.
//!
//! ```
//! use stripewise_array::{MemberNo, Scheme};
//! use stripewise_engine::{Engine, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let scheme = Scheme::from_toml("mine.toml", "name = \"RAID-5 over three files\"")?;
//! let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
//! let mut engine = Engine::create(&scheme, &paths, 1 << 20, Options::default())?;
//! engine.write(4096, &[7; 512])?;
//! engine.fail(MemberNo::new(0))?;
//! let mut sector = [0; 512];
//! engine.read(4096, &mut sector)?;
//! assert_eq!(sector, [7; 512]);
//! # Ok(())
//! # }
//! ```

mod backend;
mod clock;
mod discards;
mod engine;
mod error;
mod failure;
mod file_backend;
mod files;
mod flushing;
mod handle;
mod incidents;
mod jobs;
mod media;
mod member_io;
mod out_of_space;
pub mod owner;
mod plain;
mod record;
mod recording;
mod ring;
mod stalls;
mod store;
pub mod transcript;
mod uuid;

pub use backend::{Backend, BackendCompletion, Pages, Payload};
pub use clock::Timekeeping;
pub use discards::Trims;
pub use engine::{
    Engine, FailMode, IoMode, MemberCondition, MemberStatus, Options, Progress, Rate, ScrubStatus, Status,
    capabilities,
};
pub use error::{EngineError, Failed, FileError, FileTrouble, Rejected};
pub use failure::Failure;
pub use file_backend::Files;
pub use files::MemberFile;
pub use flushing::Flushes;
pub use incidents::Incident;
pub use jobs::{Completion, Request, Ticket};
pub use media::{FileMedia, Returning, superblocks_of};
pub use member_io::{Counts, MemberCounts, Observer};
pub use plain::{Order, Plain};
pub use record::{PlanRecord, StepRecord};
pub use ring::Ring;
pub use store::{Store, outcome_of};
pub use uuid::random_uuid;
