//! The section of a scheme that says how an array in place tolerates a loss of power.

use serde::{Deserialize, Serialize};
use stripewise_base::units::Bytes;

/// The journal section of a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSection {
    /// What is written ahead of an update.
    pub policy: JournalPolicy,
    /// How much of each member the redo journal takes; absent means a 32nd, at most 16 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
}

impl JournalSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What is written ahead of an update in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalPolicy {
    /// All pages that it writes, data and parity, in several copies; with a table of checksums of all pages.
    #[default]
    Redo,
    /// A bit for the region that it lies in: after a loss of power the parity of such regions is made anew.
    IntentBitmap,
}

/// The members of this axis: name in a scheme, and what it does.
pub const MEMBERS: &[(&str, &str)] = &[
    ("redo", "an update is in a journal with all its pages before it is done in place: no write hole"),
    (
        "intent-bitmap",
        "regions under update are marked, and their parity is recomputed after a loss of power: the write hole stays",
    ),
];
