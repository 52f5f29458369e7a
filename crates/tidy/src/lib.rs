//! The rules of the source tree that no compiler checks: layers, sizes, cited sources, consistent documents.
//!
//! Every rule is a function from the text of a file to complaints, so each is tested on a bad sample next to it;
//! `tests/it/tree.rs` applies all of them to the tree. To change a rule, change it here and in `STYLE.md`.

#![forbid(unsafe_code)]

pub mod circles;
pub mod contract;
pub mod examples;
pub mod file;
pub mod functions;
pub mod guides;
pub mod idioms;
pub mod layers;
pub mod markdown;
pub mod placements;
pub mod source;
pub mod structures;
pub mod tree;
pub mod words;

use std::fmt;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The file, from the root of the tree.
    pub path: String,
    /// Line from 1.
    pub line: usize,
    /// The rule and the remedy.
    pub text: String,
}

impl Complaint {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}
