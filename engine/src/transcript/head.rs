//! The head of a transcript: which array it is of.

use serde::{Deserialize, Serialize};
use stripewise_array::{Elements, Opening, Scheme, SchemeError};

use crate::engine::capabilities;

/// Which array a transcript is of, and how it was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the program: another one may decide differently.
    pub version: String,
    /// What people call the array.
    pub name: String,
    /// Its scheme, as TOML.
    pub scheme: String,
    /// Pages of each element, and the bytes of one.
    pub pages: (u32, u32),
    /// How many elements the array has.
    pub elements: u32,
    /// The elements that were offered: pages and bytes of one.
    pub offered: Vec<(u32, u32)>,
    /// Whether nothing was to be written, and whether losses were to be borne.
    pub opening: (bool, bool),
    /// Whether all elements take discards.
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

    pub(super) fn capabilities(&self) -> Elements {
        let known = capabilities(self.elements as usize, self.pages.0, self.pages.1);
        Elements { discard: self.discard, ..known }
    }

    pub(super) fn opening(&self) -> Opening {
        let (read_only, force) = self.opening;
        Opening { read_only, force, ..Opening::default() }
    }
}
