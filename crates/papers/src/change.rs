//! What a column changes against another.

use serde::Deserialize;

/// What a column changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOf {
    /// A rule of the scheme or of the device.
    Rule,
    /// Where requests go, and how large they are.
    Skew,
    /// When requests come.
    Load,
    /// What the members hold before the first request.
    State,
    /// What a side of the comparison is given.
    Means,
}

impl ChangeOf {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Skew => "skew",
            Self::Load => "load",
            Self::State => "state",
            Self::Means => "means",
        }
    }
}
