//! The head of a transcript, which describes the array.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stripewise_array::format::{NAME_BYTES_MAX, SUPERBLOCK_MEMBERS_MAX};
use stripewise_array::{AssemblyOptions, Members, Scheme, SchemeError};

use crate::engine::capabilities;

/// Page sizes that an array may have.
const PAGE_BYTES: RangeInclusive<u32> = 512..=32 << 10;
/// Most files that an engine can be offered: it counts them in 16 bits.
const OFFERED_MAX: usize = u16::MAX as usize;
/// The longest version of a program.
const VERSION_BYTES_MAX: usize = 64;

/// Why a transcript cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[error("transcript `{}`: {reason}", path.display())]
pub struct ReplayError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

/// The array of a transcript, and how it was assembled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the program. Another version may decide differently.
    pub version: String,
    /// The name of the array.
    pub name: String,
    /// Its scheme, as TOML.
    pub scheme: String,
    /// Pages of each member, and the bytes of one.
    pub pages: (u32, u32),
    /// Number of members of the array.
    pub members: u32,
    /// The offered members: pages, and bytes of a page.
    pub offered: Vec<(u32, u32)>,
    /// Whether the assembly was read-only, and whether it tolerated data loss.
    pub opening: (bool, bool),
    /// Whether all members take discards.
    pub discard: bool,
}

impl Head {
    /// The program's own version.
    pub fn current_version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// The scheme.
    ///
    /// # Errors
    /// When the text is not a valid scheme.
    pub fn parse_scheme(&self) -> Result<Scheme, SchemeError> {
        Scheme::from_toml("the scheme of the transcript", &self.scheme)
    }

    /// Checks every field before it is used: a transcript may come from any source.
    ///
    /// # Errors
    /// The field with a value that no engine writes, and the values that it may have.
    pub(super) fn check(&self) -> Result<(), String> {
        let (pages, page_bytes) = self.pages;
        within("bytes of the version", self.version.len(), &(0..=VERSION_BYTES_MAX))?;
        within("bytes of the array's name", self.name.len(), &(0..=NAME_BYTES_MAX))?;
        if !page_bytes.is_power_of_two() || !PAGE_BYTES.contains(&page_bytes) {
            return Err(wrong("page size", page_bytes, "a power of two from 512 to 32768"));
        }
        within("pages of a member", pages, &(1..=u32::MAX))?;
        within("members", self.members, &(1..=SUPERBLOCK_MEMBERS_MAX as u32))?;
        within("members offered", self.offered.len(), &(0..=OFFERED_MAX))?;
        for &(pages, its_bytes) in &self.offered {
            within("pages of a member offered", pages, &(1..=u32::MAX))?;
            within("page size of a member offered", its_bytes, &(page_bytes..=page_bytes))?;
        }
        Ok(())
    }

    pub(super) fn capabilities(&self) -> Members {
        let known = capabilities(self.members as usize, self.pages.0, self.pages.1);
        Members { discard: self.discard, ..known }
    }

    /// How the program that wrote a transcript of this format assembled the array.
    pub(super) fn opening(&self, format: u8) -> AssemblyOptions {
        let (read_only, force) = self.opening;
        let (flushes_late, unchained) = (format < 2, format < 3);
        AssemblyOptions { read_only, force, flushes_late, unchained, ..AssemblyOptions::default() }
    }
}

fn within<T: PartialOrd + fmt::Display>(
    what: &str,
    found: T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    match range.contains(&found) {
        true => Ok(()),
        false => Err(wrong(what, found, &format!("{} to {}", range.start(), range.end()))),
    }
}

fn wrong(what: &str, found: impl fmt::Display, expected: &str) -> String {
    format!(
        "its head is damaged, or no engine wrote it: {what} {found}, expected {expected}; record the run again"
    )
}
