//! The errors of a comparison.

use std::fmt;
use std::io;
use std::path::PathBuf;

use stripewise_array::SchemeError;
use stripewise_base::human;
use stripewise_base::suggest::ConfigError;
use stripewise_flash::SpecError;
use stripewise_sim::{ReplayError, RunError};
use stripewise_trace::TraceError;

use crate::policy::PolicyFailure;

/// The kind of object that a name or a file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A scheme.
    Scheme,
    /// A device.
    Device,
    /// A profile of a workload.
    Profile,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "scheme",
            Self::Device => "device",
            Self::Profile => "profile",
        })
    }
}

/// Why a comparison, or one of its runs, could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request without a meaning.
    #[error("{0}")]
    Spec(String),
    /// A setting, `KEY=VALUE`, without a meaning.
    #[error("setting {setting}: {message}")]
    Setting {
        /// The setting as it was typed.
        setting: String,
        /// The error in it.
        message: String,
    },
    /// An unknown name.
    #[error("{message}")]
    Unknown {
        /// The kind of object that was looked for.
        what: What,
        /// The name.
        name: String,
        /// The message, with the nearest known names.
        message: String,
        /// The known names that the message leaves out, where none is near.
        others: Vec<String>,
    },
    /// A file that cannot be read.
    #[error("{}: cannot read the {what}: {source}", path.display())]
    Unreadable {
        /// The kind of object that the file should contain.
        what: What,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A text that is no scheme, device or profile.
    #[error("{error}")]
    Text {
        /// The kind of object that the text should describe.
        what: What,
        /// The place and the reason.
        error: ConfigError,
    },
    /// A profile that cannot be used.
    #[error("{0}")]
    Profile(TraceError),
    /// A scheme that is impossible over these members.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A device that is impossible.
    #[error(transparent)]
    Device(#[from] SpecError),
    /// A trace that cannot be read or folded.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Results that cannot be written or read.
    #[error(transparent)]
    Store(#[from] stripewise_results::Error),
    /// A place beside the directory of results that cannot be used.
    #[error("{0}")]
    Remote(String),
    /// A run that failed.
    #[error(transparent)]
    Run(RunError),
    /// A failure of the caller's own policy.
    #[error("scheme {scheme}, seed {seed}: the update policy failed: {source}")]
    Policy {
        /// The scheme's name.
        scheme: String,
        /// The run's seed.
        seed: u64,
        /// The reason.
        source: PolicyFailure,
    },
    /// A run that needs more memory than this machine has.
    #[error(
        "the devices and the array of this run take {} of memory, and this machine has {}: make the devices smaller, as with \
         geometry.blocks={blocks}, or use fewer of them",
        human::bytes(*needed_bytes),
        human::bytes(*has_bytes)
    )]
    Memory {
        /// The memory of the run.
        needed_bytes: u64,
        /// That of the machine.
        has_bytes: u64,
        /// Blocks of a plane with which the run fits.
        blocks: u32,
    },
    /// Rows that take more than the budget.
    #[error(
        "stopped: the rows of these runs exceed the budget of {0}; keep fewer of them, or raise the budget (--table-budget)"
    )]
    Budget(stripewise_base::units::Bytes),
    /// The observer stopped the comparison.
    #[error("stopped")]
    Stopped,
    /// One run of several.
    #[error("scheme {scheme}: {source}")]
    Within {
        /// The scheme's name.
        scheme: String,
        /// The reason.
        source: Box<Error>,
    },
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Device(error) => error.into(),
            RunError::Scheme(error) => error.into(),
            RunError::Replay(ReplayError::Trace(error)) => error.into(),
            RunError::Stopped { .. } => Self::Stopped,
            RunError::NoPolicy { .. } => Self::Spec(error.to_string()),
            other => Self::Run(other),
        }
    }
}

impl Error {
    pub(crate) fn too_many_seeds(count: u64, first: u64) -> Self {
        Self::spec(format!("{count} seeds from {first} on: the last one is too large"))
    }

    pub(crate) fn spec(message: impl Into<String>) -> Self {
        Self::Spec(message.into())
    }
}
