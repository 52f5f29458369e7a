//! Errors of parsing: what the bytes of a member are instead of the expected structure.

/// A structure of `docs/design/format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The superblock of a member.
    Superblock,
    /// The summary of a batch.
    Summary,
    /// A commit record.
    Commit,
    /// The header of a checkpoint.
    Checkpoint,
    /// The body of a checkpoint.
    CheckpointBody,
    /// A record of the redo journal.
    Journal,
    /// A page of the table of checksums.
    Checksums,
    /// The intent bitmap of a group.
    Intent,
    /// The page that names the host serving the array.
    Owner,
}

impl std::fmt::Display for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Superblock => "superblock",
            Self::Summary => "summary",
            Self::Commit => "commit record",
            Self::Checkpoint => "checkpoint",
            Self::CheckpointBody => "body of a checkpoint",
            Self::Journal => "journal record",
            Self::Checksums => "table of checksums",
            Self::Intent => "intent bitmap",
            Self::Owner => "page of the owner",
        })
    }
}

impl FormatError {
    /// Whether a newer program wrote the structure: it is not damaged, but this program cannot use it.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::NewerVersion { .. } | Self::NewerFeatures { .. })
    }
}

/// Why bytes are not the expected structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The bytes do not begin like the structure: nothing, or something else, was written here.
    #[error("no {structure} here: expected it to begin with \"{}\", found \"{}\"",
        expected.escape_ascii(), found.escape_ascii())]
    Absent {
        /// The expected structure.
        structure: Structure,
        /// How the structure begins.
        expected: [u8; 8],
        /// How the bytes begin.
        found: [u8; 8],
    },
    /// There are too few bytes for the structure.
    #[error("{structure}: expected at least {expected} bytes, found {found}")]
    Length {
        /// The expected structure.
        structure: Structure,
        /// The smallest number of bytes of the structure.
        expected: u64,
        /// The number of bytes found.
        found: u64,
    },
    /// The checksum does not match the bytes: the structure is damaged, or was only written in part.
    #[error(
        "{structure}: it says that its checksum is {stored:08x}, but it is {computed:08x}: damaged, or torn"
    )]
    Checksum {
        /// The expected structure.
        structure: Structure,
        /// The checksum stored in the structure.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// A newer program wrote the structure, in a later version of the format.
    #[error(
        "{structure}: the array has version {version} of the format, and this program knows those up to {}; use a newer program",
        super::VERSION
    )]
    NewerVersion {
        /// The structure.
        structure: Structure,
        /// The version of the structure.
        version: u16,
    },
    /// A newer program wrote the structure, with features that a program must know.
    #[error(
        "{structure}: the array needs {needed}, and this program does not know that; use a newer program"
    )]
    NewerFeatures {
        /// The structure.
        structure: Structure,
        /// The unknown incompatible features.
        needed: super::Bits,
    },
    /// The checksum is right, but a field has a value that no conforming program writes.
    #[error("{structure}: {field} is {found}; expected {expected}")]
    Field {
        /// The structure.
        structure: Structure,
        /// The field.
        field: &'static str,
        /// The allowed values.
        expected: &'static str,
        /// The value found.
        found: u64,
    },
}
