//! The files that the rules are about.

/// A text file of the tree.
#[derive(Clone, Debug)]
pub struct File {
    /// The path from the root, with `/`.
    pub path: String,
    /// Contents.
    pub text: String,
}
