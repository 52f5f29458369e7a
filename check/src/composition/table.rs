//! The document of what goes together and what does not.

use super::{Pairs, Space};

/// docs/composition.md.
pub fn document(_space: &Space, _pairs: &Pairs) -> String {
    String::new()
}
