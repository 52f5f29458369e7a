//! Volumes that a format names: the names become numbers, in order of appearance.

use std::collections::BTreeMap;

/// The most names in one trace, which bounds the memory for them.
pub(super) const NAMES: u32 = 1 << 16;

#[derive(Default)]
pub(super) struct Names {
    known: BTreeMap<Vec<u8>, u32>,
    /// The name on the previous line, nearly always this line's too.
    last: (Vec<u8>, u32),
}

impl Names {
    /// The number of a name; nothing if there are too many.
    pub(super) fn number(&mut self, name: &[u8]) -> Option<u32> {
        if self.last.0 == name && !name.is_empty() {
            return Some(self.last.1);
        }
        let count = self.count();
        let number = match self.known.get(name) {
            Some(&number) => number,
            None if count < NAMES => {
                self.known.insert(name.to_vec(), count);
                count
            }
            None => return None,
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = number;
        Some(number)
    }

    /// How many names there are.
    pub(super) fn count(&self) -> u32 {
        self.known.len() as u32
    }
}
