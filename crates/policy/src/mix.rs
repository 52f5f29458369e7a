//! The mix of reads and writes that a block sees: read-intensive, mixed or write-intensive.
//!
//! Source: paper 004, sections 3.1 and 3.2: data blocks are classified "based on the access history", new blocks count as
//! read-intensive, and a reclassified block moves when it is written again. The paper does not print the thresholds, the
//! minimum history or its ageing; they are our choices, named here.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;

/// When the accesses of a block make it read-intensive or write-intensive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MixSection {
    /// Accesses of a block before it is classified; with fewer, it counts as read-intensive (choice).
    pub history: u32,
    /// The largest share of writes among a block's accesses at which it is read-intensive (choice).
    pub reads_below: Share,
    /// The smallest share of writes at which it is write-intensive (choice).
    pub writes_above: Share,
}

impl Default for MixSection {
    fn default() -> Self {
        Self { history: 8, reads_below: Share(300_000), writes_above: Share(700_000) }
    }
}

impl MixSection {
    /// Whether all keys have their defaults, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the settings. The error has the key, the value and the reason.
    pub fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        if self.history == 0 || self.history > HISTORY_MAX {
            let reason = "must be 1 to 255 accesses: counters of a block end there";
            return Err(("mix.history", self.history.to_string(), reason));
        }
        if self.reads_below >= self.writes_above {
            let reason = "must be less than mix.writes_above, or nothing is mixed";
            return Err(("mix.reads_below", self.reads_below.to_string(), reason));
        }
        Ok(())
    }
}

/// The longest history that a scheme can set.
const HISTORY_MAX: u32 = u8::MAX as u32;

/// The prevailing kind of a block's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tendency {
    /// Reads, or too few accesses to decide.
    #[default]
    Reads,
    /// Both.
    Mixed,
    /// Writes.
    Writes,
}

/// The accesses that a block has seen. Both counts are halved when one of them is full, so that old accesses fade
/// (choice).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    reads: u8,
    writes: u8,
}

impl Mix {
    /// One more read.
    #[inline]
    pub fn note_read(&mut self) {
        self.age();
        self.reads += 1;
    }

    /// One more write.
    #[inline]
    pub fn note_write(&mut self) {
        self.age();
        self.writes += 1;
    }

    #[inline]
    fn age(&mut self) {
        if self.reads == u8::MAX || self.writes == u8::MAX {
            self.reads /= 2;
            self.writes /= 2;
        }
    }

    /// The prevailing kind of the accesses.
    #[inline]
    pub fn tendency(self, section: &MixSection) -> Tendency {
        let all = u64::from(self.reads) + u64::from(self.writes);
        if all < u64::from(section.history) {
            return Tendency::Reads;
        }
        let writes = u64::from(self.writes) * u64::from(Share::ALL.0);
        if writes >= all * u64::from(section.writes_above.0) {
            Tendency::Writes
        } else if writes <= all * u64::from(section.reads_below.0) {
            Tendency::Reads
        } else {
            Tendency::Mixed
        }
    }

    /// The zone of the block, of 2 + `mixed` zones: that of reads is 0, that of writes the last, and each of the others has an
    /// equal part of the range between the thresholds (choice; paper 004 has one, and leaves "the numbers of the zone" to
    /// later experiments, section 4.3). Without others, what is mixed counts as read-intensive.
    #[inline]
    pub fn zone(self, section: &MixSection, mixed: u8) -> u8 {
        match self.tendency(section) {
            Tendency::Reads => 0,
            Tendency::Mixed if mixed < 2 => mixed,
            Tendency::Mixed => {
                let all = u64::from(self.reads) + u64::from(self.writes);
                let (low, high) = (u64::from(section.reads_below.0), u64::from(section.writes_above.0));
                let above = u64::from(self.writes) * u64::from(Share::ALL.0) - all * low;
                1 + (above * u64::from(mixed) / (all * (high - low))) as u8
            }
            Tendency::Writes => mixed + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(reads: u32, writes: u32) -> Mix {
        let mut mix = Mix::default();
        (0..reads).for_each(|_| mix.note_read());
        (0..writes).for_each(|_| mix.note_write());
        mix
    }

    #[test]
    fn a_block_is_taken_for_read_intensive_until_its_history_shows_otherwise() {
        let section = MixSection::default();
        assert_eq!(seen(0, 7).tendency(&section), Tendency::Reads);
        assert_eq!(seen(0, 8).tendency(&section), Tendency::Writes);
    }

    #[test]
    fn the_share_of_writes_decides_with_the_thresholds_themselves_on_the_outer_sides() {
        let section = MixSection::default();
        let of = |reads, writes| seen(reads, writes).tendency(&section);
        assert_eq!((of(7, 3), of(69, 31)), (Tendency::Reads, Tendency::Mixed));
        assert_eq!((of(31, 69), of(3, 7)), (Tendency::Mixed, Tendency::Writes));
    }

    #[test]
    fn zones_of_mixed_blocks_share_the_range_between_the_thresholds_equally() {
        let section = MixSection::default();
        let zones = |mixed: u8| (0..=100).map(move |writes| seen(100 - writes, writes).zone(&section, mixed));
        let widths = |mixed: u8| {
            let count = |zone: u8| zones(mixed).filter(|&found| found == zone).count();
            (0..mixed + 2).map(count).collect::<Vec<_>>()
        };
        assert!((0..5).all(|mixed| zones(mixed).is_sorted()), "more writes never lead to a zone of fewer");
        assert_eq!(widths(0), [70, 31], "without a zone of its own, what is mixed counts as read");
        assert_eq!(widths(1), [31, 39, 31]);
        assert_eq!(widths(2), [31, 19, 20, 31]);
        assert_eq!(widths(4), [31, 9, 10, 10, 10, 31]);
    }

    #[test]
    fn old_accesses_fade_when_a_counter_is_full() {
        let mut mix = seen(255, 0);
        assert_eq!(mix, Mix { reads: 255, writes: 0 });
        mix.note_write();
        assert_eq!(mix, Mix { reads: 127, writes: 1 });
        (0..400).for_each(|_| mix.note_write());
        assert_eq!(mix.tendency(&MixSection::default()), Tendency::Writes);
    }

    #[test]
    fn thresholds_that_leave_nothing_mixed_are_refused() {
        let section = MixSection { reads_below: Share(700_000), ..MixSection::default() };
        assert_eq!(section.check().unwrap_err().0, "mix.reads_below");
        assert_eq!(MixSection { history: 0, ..MixSection::default() }.check().unwrap_err().0, "mix.history");
        assert!(MixSection::default().check().is_ok());
    }
}
