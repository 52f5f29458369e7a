//! Content of written sectors: it identifies the write and the sector, so that an error message can state what is
//! wrong with a sector.

use std::fmt;

/// Bytes of a sector.
pub const SECTOR: usize = stripewise_array::SECTOR_BYTES as usize;

const WORDS: usize = SECTOR / 8;
/// Magic number in the first word of every stamped sector.
const MAGIC: u64 = 0x5354_5257 << 32;
/// Every byte of a page that has not been programmed since its erase.
pub(crate) const ERASED: u8 = 0xE5;
/// Every byte of a host's buffer before the array fills it.
pub(crate) const UNFILLED: u8 = 0xA7;

/// Fills `bytes`, whole sectors from `first`, with the content of write `write`.
pub(crate) fn fill(bytes: &mut [u8], first: u64, write: u32) {
    for (sector, place) in (first..).zip(bytes.chunks_exact_mut(SECTOR)) {
        let (words, _) = place.as_chunks_mut::<8>();
        words.iter_mut().enumerate().for_each(|(at, word)| *word = word_of(write, sector, at).to_le_bytes());
    }
}

/// The first two words identify write and sector. All others depend on both, so that no sum of sectors looks like a
/// sector.
fn word_of(write: u32, sector: u64, at: usize) -> u64 {
    match at {
        0 => MAGIC | u64::from(write),
        1 => sector,
        _ => {
            let seed = (u64::from(write) << 32 | sector).wrapping_add((at as u64) << 58);
            let mixed = (seed ^ seed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed ^ mixed >> 32).wrapping_mul(0x94D0_49BB_1331_11EB) | 1
        }
    }
}

/// The actual content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Zeros.
    Zeros,
    /// The content of write `write` for sector `sector`.
    Stamp {
        /// The write.
        write: u32,
        /// The sector it was written for.
        sector: u64,
    },
    /// Content that begins like that of a write, but only `agreeing` of its words match.
    Torn {
        /// The write.
        write: u32,
        /// The sector it was written for.
        sector: u64,
        /// Words that match this write.
        agreeing: usize,
    },
    /// A page after its erase.
    Erased,
    /// A buffer that was not filled.
    Unfilled,
    /// None of these, for example a wrong sum of sectors.
    Garbage,
}

impl Found {
    /// The content of `sector`, 512 bytes.
    pub(crate) fn of(sector: &[u8]) -> Self {
        let (bytes, _) = sector.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(bytes[at]);
        // Most sectors that are read hold zeros: a comparison of whole words finds that at once.
        let all = |byte: u8| {
            bytes
                .iter()
                .fold(0, |sum, word| sum | (u64::from_le_bytes(*word) ^ u64::from_le_bytes([byte; 8])))
                == 0
        };
        if word(0) & !u64::from(u32::MAX) == MAGIC {
            let (write, stamped) = (word(0) as u32, word(1));
            let agreeing = (0..WORDS).filter(|&at| word(at) == word_of(write, stamped, at)).count();
            return match agreeing {
                WORDS => Self::Stamp { write, sector: stamped },
                _ if agreeing > 2 => Self::Torn { write, sector: stamped, agreeing },
                _ => Self::Garbage,
            };
        }
        match sector[0] {
            0 if all(0) => Self::Zeros,
            ERASED if all(ERASED) => Self::Erased,
            UNFILLED if all(UNFILLED) => Self::Unfilled,
            _ => Self::Garbage,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zeros => write!(f, "zeros"),
            Self::Stamp { write, sector } => write!(f, "write {write} of sector {sector}"),
            Self::Torn { write, sector, agreeing } => {
                write!(f, "{agreeing} of the {WORDS} words of write {write} of sector {sector}, and others")
            }
            Self::Erased => write!(f, "an erased page"),
            Self::Unfilled => write!(f, "the old content of the host's buffer, which was not filled"),
            Self::Garbage => write!(f, "content that no request wrote, such as a wrong sum of sectors"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(first: u64, write: u32) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR];
        fill(&mut bytes, first, write);
        bytes
    }

    #[test]
    fn every_sector_records_its_write_and_its_place() {
        let mut bytes = vec![0; 3 * SECTOR];
        fill(&mut bytes, 7, 42);
        let found: Vec<Found> = bytes.chunks(SECTOR).map(Found::of).collect();
        assert_eq!(found, [7, 8, 9].map(|sector| Found::Stamp { write: 42, sector }));
        assert_eq!(Found::of(&[0; SECTOR]), Found::Zeros);
        assert_eq!(Found::of(&[ERASED; SECTOR]), Found::Erased);
        assert_eq!(Found::of(&[UNFILLED; SECTOR]), Found::Unfilled);
    }

    #[test]
    fn sums_of_sectors_are_garbage_and_never_some_other_write() {
        for write in 1..40 {
            let (mut sum, other, third) = (sector(3, write), sector(4, write + 1), sector(3, 2 * write));
            stripewise_code::xor_into(&mut sum, &other);
            assert_eq!(Found::of(&sum), Found::Garbage);
            // Three magic numbers sum to one.
            stripewise_code::xor_into(&mut sum, &third);
            assert_eq!(Found::of(&sum), Found::Garbage);
        }
    }

    #[test]
    fn a_torn_sector_is_distinguished_from_a_whole_one() {
        let mut torn = sector(5, 1);
        torn[SECTOR / 2..].copy_from_slice(&sector(5, 2)[SECTOR / 2..]);
        assert_eq!(Found::of(&torn), Found::Torn { write: 1, sector: 5, agreeing: WORDS / 2 });
        let mut flipped = sector(5, 1);
        flipped[SECTOR - 1] ^= 1;
        assert_eq!(Found::of(&flipped), Found::Torn { write: 1, sector: 5, agreeing: WORDS - 1 });
        let mut zeroed = sector(5, 1);
        zeroed[..8].fill(0);
        assert_eq!(Found::of(&zeroed), Found::Garbage);
    }
}
