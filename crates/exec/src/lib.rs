//! The executor: takes requests, runs plans, and owns what they need: buffers, row locks, and the queues of members. Where
//! content lies is the business of a [`Placement`].

mod answers;
mod around_slow;
mod attachments;
pub mod bytes;
pub(crate) mod completion;
mod controller;
pub(crate) mod coordinating;
mod dispatch;
mod events;
mod executor;
pub mod getters;
pub(crate) mod hedge;
pub mod internal;
mod locks;
mod metadata;
pub mod metadata_pieces;
pub mod metadata_scrub;
mod metadata_walk;
mod new;
pub mod operations;
pub mod placement;
mod plan_handler;
mod plans;
pub(crate) mod planted;
pub mod poll;
pub mod reads;
pub mod redirect;
pub mod rejoin;
mod requests;
mod rows;
pub mod run;
pub(crate) mod scheduler;
mod slow;
pub mod split;
pub mod throttle;

pub use answers::{AfterErrors, Built, Split, TooManyLost};
pub use attachments::Attachments;
pub use controller::{ArrayOf, Controller};
pub use executor::Executor;
pub use metadata::Metadata;
pub use new::Sizes;
pub use placement::{Placement, When};
pub use plan_handler::PlanHandler;
pub use plans::{Jobs, Plans};
pub use requests::Requests;
