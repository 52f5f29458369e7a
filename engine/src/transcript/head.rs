//! The head of a transcript: which array it is of.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use stripewise_array::format::{NAME_BYTES_MAX, SUPERBLOCK_MEMBERS_MAX};
use stripewise_array::{Members, Opening, Scheme, SchemeError};

use crate::engine::capabilities;

/// Page sizes that an array may have.
const PAGE_BYTES: RangeInclusive<u32> = 512..=32 << 10;
/// Files that an engine may be offered: it counts them in 16 bits.
const OFFERED_MAX: usize = u16::MAX as usize;
/// The longest version of a program.
const VERSION_BYTES_MAX: usize = 64;

/// Which array a transcript is of, and how it was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the program: another one may decide differently.
    pub version: String,
    /// What people call the array.
    pub name: String,
    /// Its scheme, as TOML.
    pub scheme: String,
    /// Pages of each member, and the bytes of one.
    pub pages: (u32, u32),
    /// How many members the array has.
    #[serde(rename = "elements")]
    pub members: u32,
    /// The members that were offered: pages and bytes of one.
    pub offered: Vec<(u32, u32)>,
    /// Whether nothing was to be written, and whether losses were to be borne.
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
    /// When it is none.
    pub fn parse_scheme(&self) -> Result<Scheme, SchemeError> {
        Scheme::from_toml("the scheme of the transcript", &self.scheme)
    }

    /// Looks at everything before anything is made of it: a transcript may come from anywhere.
    ///
    /// # Errors
    /// Which field no engine writes so, and what it may be.
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

    pub(super) fn opening(&self) -> Opening {
        let (read_only, force) = self.opening;
        Opening { read_only, force, ..Opening::default() }
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
