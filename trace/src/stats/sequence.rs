//! Whether a request continues a recent one.

/// A request is sequential when it starts where one of this many requests before it ended: enough to follow some
/// interleaved streams, few enough that chance does not count.
pub const RECENT: usize = 8;

/// Where the last [`RECENT`] requests ended.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    ends: [(u32, u64); RECENT],
    next: usize,
}

impl Default for Recent {
    fn default() -> Self {
        // No request ends at byte 0, since it would have no bytes.
        Self { ends: [(0, 0); RECENT], next: 0 }
    }
}

impl Recent {
    /// Whether a request at `offset` of `volume` continues one of the recent ones.
    pub(crate) fn continues(&self, volume: u32, offset: u64) -> bool {
        offset > 0 && self.ends.contains(&(volume, offset))
    }

    /// Remembers that a request ended before byte `end` of `volume`.
    pub(crate) fn push(&mut self, volume: u32, end: u64) {
        self.ends[self.next] = (volume, end);
        self.next = (self.next + 1) % RECENT;
    }

    /// Recent ends, youngest first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> + '_ {
        (1..=RECENT).map(|age| self.ends[(self.next + RECENT - age) % RECENT].1).filter(|&end| end > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sequential_to_the_last_eight_and_no_further() {
        let mut recent = Recent::default();
        assert!(!recent.continues(0, 0), "nothing came before");
        recent.push(3, 4096);
        assert!(recent.continues(3, 4096));
        assert!(!recent.continues(2, 4096), "another volume");
        for end in 0..7 {
            recent.push(3, 1_000_000 + end);
        }
        assert!(recent.continues(3, 4096));
        recent.push(3, 2_000_000);
        assert!(!recent.continues(3, 4096));
        assert_eq!(recent.ends().next(), Some(2_000_000));
        assert_eq!(recent.ends().count(), 8);
    }
}
