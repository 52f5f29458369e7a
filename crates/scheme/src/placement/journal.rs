//! The section of a scheme that controls how an array in place tolerates a power loss.
//!
//! Source: write-ahead logging of physical images with redo alone (Gray and Reuter, "Transaction Processing", 1993,
//! chapter 10).

use serde::{Deserialize, Serialize};
use stripewise_base::units::Bytes;

/// The journal section of a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSection {
    /// The record that is written before an update.
    pub policy: JournalPolicy,
    /// The size of the redo journal on each member; absent means a 32nd of the member, at most 16 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
}

impl JournalSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The record that is written before an update in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalPolicy {
    /// All pages that the update writes, data and parity, in several copies; with a table of checksums of all pages.
    #[default]
    Redo,
    /// A bit for the region of the update: after a power loss, the parity of marked regions is recomputed.
    IntentBitmap,
}

/// The values of this axis: name in a scheme, and description.
pub const JOURNAL_MEMBERS: &[(&str, &str)] = &[
    ("redo", "an update is in a journal with all its pages before it is done in place: no write hole"),
    (
        "intent-bitmap",
        "regions under update are marked, and their parity is recomputed after a loss of power: the write hole stays",
    ),
];
