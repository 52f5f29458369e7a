//! Composition: any member of an axis with any member of every other axis.
//!
//! [`axes`] lists the axes. A [`Combination`] has one member of each axis. A combination is *accepted* if the array
//! resolves it, with the same code with which every run begins, and otherwise *refused* with the reason given by that
//! code. [`Pairs`] determines which two members refuse each other; every refusal is due to such a pair, and a test
//! verifies this over all combinations. [`covering()`] builds a covering array of strength 3: a small set of
//! combinations that contains every possible triple of members. [`case()`] builds a case from a combination and a
//! seed, and [`table::document`] builds the document.

pub mod axes;
mod bits;
pub mod case;
mod combination;
pub mod covering;
pub mod pairs;
mod review;
mod space;
pub mod table;

pub use case::case;
pub use combination::{At, Combination};
pub use covering::{covering, is_feasible, shuffle};
pub use pairs::{Pairs, Refusal};
pub use review::{REVIEW, Reviewed, Verdict, review};
pub use space::{Space, Why};
