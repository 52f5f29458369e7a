//! Lists in sentences.

use std::fmt::{Display, Formatter, Result};

/// The items, separated by commas.
pub(crate) struct List<I>(pub(super) I);

impl<I: Iterator<Item: Display> + Clone> Display for List<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (nth, item) in self.0.clone().enumerate() {
            write!(f, "{}{item}", if nth == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
