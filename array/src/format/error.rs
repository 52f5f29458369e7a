//! What bytes of a member can be instead of the structure that was expected there.

/// A structure of `docs/format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The superblock of a member.
    Superblock,
    /// The summary of a batch.
    Summary,
    /// A record of a commit.
    Commit,
    /// The header of a checkpoint.
    Checkpoint,
    /// What stands behind the header of a checkpoint.
    CheckpointBody,
    /// A record of the redo journal.
    Journal,
    /// A page of the table of checksums.
    Checksums,
    /// The intent bitmap of a group.
    Intent,
    /// The page that names the host which serves the array.
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
    /// Whether a newer program wrote the structure, so that it is not damaged, and not for this program.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::NewerVersion { .. } | Self::NewerFeatures { .. })
    }
}

/// Why bytes are not the structure that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// They do not begin as it does: nothing was written here, or something else.
    #[error("no {structure} here: expected it to begin with \"{}\", found \"{}\"",
        expected.escape_ascii(), found.escape_ascii())]
    Absent {
        /// What was expected.
        structure: Structure,
        /// How it begins.
        expected: [u8; 8],
        /// How the bytes begin.
        found: [u8; 8],
    },
    /// There are too few bytes for it.
    #[error("{structure}: expected at least {expected} bytes, found {found}")]
    Length {
        /// What was expected.
        structure: Structure,
        /// Bytes that it takes at least.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Its checksum is not that of its bytes: it is damaged, or was written in part.
    #[error(
        "{structure}: it says that its checksum is {stored:08x}, but it is {computed:08x}: damaged, or torn"
    )]
    Checksum {
        /// What was expected.
        structure: Structure,
        /// The checksum that it carries.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// A newer program wrote it, by a later version of the format.
    #[error(
        "{structure}: the array has version {version} of the format, and this program knows those up to {}; use a newer program",
        super::VERSION
    )]
    NewerVersion {
        /// What was found.
        structure: Structure,
        /// Its version.
        version: u16,
    },
    /// A newer program wrote it, with features that a program must know.
    #[error(
        "{structure}: the array needs {needed}, and this program does not know that; use a newer program"
    )]
    NewerFeatures {
        /// What was found.
        structure: Structure,
        /// The incompatible features that are not known.
        needed: super::Bits,
    },
    /// The checksum is right, but a field has a value that nothing which follows the format writes.
    #[error("{structure}: {field} is {found}; expected {expected}")]
    Field {
        /// What was found.
        structure: Structure,
        /// The field.
        field: &'static str,
        /// What it can be.
        expected: &'static str,
        /// What it is.
        found: u64,
    },
}
