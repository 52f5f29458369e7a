//! The section `[parity_logging]` of a scheme: how an array in place logs changes of parity.
//!
//! Source: Stodolsky, Gibson and Holland, "Parity logging", ISCA 1993; paper 001, sections II-A and V-F.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::Bytes;

/// The most deltas of a row: a plan that applies them reads all of them, for each parity chunk.
pub const ROW_DELTAS_MAX: u32 = 64;

/// The most rows that are committed in the background at once.
pub const COMMITS_MAX: u32 = 1024;

/// How an array in place logs changes of parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParityLoggingSection {
    /// How much of each log member the parity log uses; absent means all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Most deltas of a row. The next update of such a row updates its parity in place.
    pub row_deltas: u32,
    /// When rows are committed in the background.
    pub commit: Commit,
    /// The parity log is committed, from its oldest row on, when more than this share of it is in use ...
    pub high_watermark: Share,
    /// ... until no more than this share is in use.
    pub low_watermark: Share,
    /// Most rows that are committed in the background at once.
    pub commits: u32,
}

impl Default for ParityLoggingSection {
    fn default() -> Self {
        Self {
            capacity: None,
            row_deltas: 16,
            commit: Commit::default(),
            high_watermark: Share(750_000),
            low_watermark: Share(500_000),
            commits: 4,
        }
    }
}

impl ParityLoggingSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// When rows are committed in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commit {
    /// Between the watermarks, and everything at the end.
    #[default]
    Watermark,
    /// Only the oldest row of a parity log that is full, and nothing at the end: the overhead model of paper 001, section V-F.
    Never,
}

/// The most rows that a parity log can number: row numbers share 32 bits with two marks.
pub const ROWS_MAX: u64 = u32::MAX as u64 - 1;
