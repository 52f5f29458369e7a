//! Pages of metadata that are rewritten in place, in two versions: the table of checksums and the intent bitmap.

use super::fields::{Frame, put, u32_at, u64_at, uuid_at};
use super::write_seq::NUMBERS_MAX;
use super::{FormatError, Structure, Uuid};

/// The length of the head of a page of checksums: the checksums follow.
pub const CHECKSUMS_AT: usize = 48;

/// The length of the head of a page of the intent bitmap: the bits follow.
pub const INTENT_AT: usize = 56;

/// The head of a page of the table of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumPage {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the page was written.
    pub epoch: u32,
    /// Increases each time that the page is written.
    pub version: u64,
    /// The group.
    pub group: u32,
    /// The number of the page in the table of the group.
    pub number: u32,
}

/// The head of the intent bitmap of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntentPage {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the page was written.
    pub epoch: u32,
    /// Increases each time that the page is written.
    pub version: u64,
    /// The group.
    pub group: u32,
    /// The number of bits after the head.
    pub bits: u32,
    /// Members that were missing, one bit each.
    pub missing: u64,
}

const CHECKSUMS: Frame =
    Frame { structure: Structure::Checksums, magic: *b"SWCHKSUM", bytes_min: CHECKSUMS_AT, checksum_at: 28 };

const INTENT: Frame =
    Frame { structure: Structure::Intent, magic: *b"SWINTENT", bytes_min: INTENT_AT, checksum_at: 28 };

impl ChecksumPage {
    /// Writes the page over `into`: the head, then the checksums.
    ///
    /// # Panics
    /// The page has no room for the checksums.
    pub fn encode(&self, checksums: &[u32], into: &mut [u8]) {
        CHECKSUMS.begin(into);
        put(into, 8, &self.array.0);
        put(into, 24, &self.epoch.to_le_bytes());
        put(into, 32, &self.version.to_le_bytes());
        put(into, 40, &self.group.to_le_bytes());
        put(into, 44, &self.number.to_le_bytes());
        for (checksum, place) in checksums.iter().zip(into[CHECKSUMS_AT..].chunks_exact_mut(4)) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        CHECKSUMS.seal(into);
    }

    /// Parses the head in a whole page. [`Self::checksums`] returns the checksums.
    ///
    /// # Errors
    /// The page is not a page of the table.
    pub fn parse(page: &[u8]) -> Result<Self, FormatError> {
        CHECKSUMS.check(page)?;
        let version = u64_at(page, 32);
        CHECKSUMS.expect((1..NUMBERS_MAX).contains(&version), "version", version, "1 or more, of 62 bits")?;
        Ok(Self {
            array: uuid_at(page, 8),
            epoch: u32_at(page, 24),
            version,
            group: u32_at(page, 40),
            number: u32_at(page, 44),
        })
    }

    /// The checksums of a parsed page.
    pub fn checksums(page: &[u8]) -> impl Iterator<Item = u32> + '_ {
        let behind = page.get(CHECKSUMS_AT..).unwrap_or_default();
        behind.chunks_exact(4).map(|bytes| u32_at(bytes, 0))
    }
}

impl IntentPage {
    /// Writes the page over `into`: the head, then the words of bits.
    ///
    /// # Panics
    /// The page has no room for the bits.
    pub fn encode(&self, words: &[u64], into: &mut [u8]) {
        INTENT.begin(into);
        put(into, 8, &self.array.0);
        put(into, 24, &self.epoch.to_le_bytes());
        put(into, 32, &self.version.to_le_bytes());
        put(into, 40, &self.group.to_le_bytes());
        put(into, 44, &self.bits.to_le_bytes());
        put(into, 48, &self.missing.to_le_bytes());
        for (word, place) in words.iter().zip(into[INTENT_AT..].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        INTENT.seal(into);
    }

    /// Parses the head in a whole page. [`Self::words`] returns the bits.
    ///
    /// # Errors
    /// The page is not a bitmap.
    pub fn parse(page: &[u8]) -> Result<Self, FormatError> {
        INTENT.check(page)?;
        let (version, bits) = (u64_at(page, 32), u32_at(page, 44));
        INTENT.expect((1..NUMBERS_MAX).contains(&version), "version", version, "1 or more, of 62 bits")?;
        let room = (page.len() - INTENT_AT) as u64 * 8;
        INTENT.expect(u64::from(bits) <= room, "bits", bits, "as many as the page has room for")?;
        Ok(Self {
            array: uuid_at(page, 8),
            epoch: u32_at(page, 24),
            version,
            group: u32_at(page, 40),
            bits,
            missing: u64_at(page, 48),
        })
    }

    /// The words of bits of a parsed page.
    pub fn words(page: &[u8]) -> impl Iterator<Item = u64> + '_ {
        let behind = page.get(INTENT_AT..).unwrap_or_default();
        behind.chunks_exact(8).map(|bytes| u64_at(bytes, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, uuid};
    use super::*;
    use proptest::prelude::*;

    fn checksum_page() -> impl Strategy<Value = ChecksumPage> {
        (uuid(), any::<[u32; 3]>(), 1..NUMBERS_MAX).prop_map(|(array, [epoch, group, number], version)| {
            ChecksumPage { array, epoch, version, group, number }
        })
    }

    fn intent_page() -> impl Strategy<Value = IntentPage> {
        (uuid(), any::<[u32; 2]>(), 1..NUMBERS_MAX, 0..=512u32, any::<u64>()).prop_map(
            |(array, [epoch, group], version, bits, missing)| IntentPage {
                array,
                epoch,
                version,
                group,
                bits,
                missing,
            },
        )
    }

    proptest! {
        #[test]
        fn checksums_that_were_written_are_read(
            head in checksum_page(),
            checksums in prop::collection::vec(any::<u32>(), 116),
            bytes in page_bytes(),
            bit in any::<u64>(),
        ) {
            let mut page = vec![0xa5; bytes];
            head.encode(&checksums, &mut page);
            prop_assert_eq!(ChecksumPage::parse(&page), Ok(head));
            prop_assert_eq!(ChecksumPage::checksums(&page).take(116).collect::<Vec<_>>(), checksums);
            flip(&mut page, bit);
            prop_assert!(ChecksumPage::parse(&page).is_err());
        }

        #[test]
        fn bits_that_were_written_are_read(
            head in intent_page(),
            words in prop::collection::vec(any::<u64>(), 8),
            bytes in page_bytes(),
            bit in any::<u64>(),
        ) {
            let mut page = vec![0xa5; bytes];
            head.encode(&words, &mut page);
            prop_assert_eq!(IntentPage::parse(&page), Ok(head));
            prop_assert_eq!(IntentPage::words(&page).take(8).collect::<Vec<_>>(), words);
            flip(&mut page, bit);
            prop_assert!(IntentPage::parse(&page).is_err());
        }

        #[test]
        fn whatever_bytes_there_are_it_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(ChecksumPage::parse(&bytes).is_err());
            prop_assert!(IntentPage::parse(&bytes).is_err());
        }
    }

    #[test]
    fn pages_that_were_made_from_the_tables_are_read() {
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWCHKSUM"),
                (8, &[7; 16]),
                (24, &[3, 0, 0, 0]),
                (32, &[9, 0, 0, 0, 0, 0, 0, 0]),
                (40, &[1, 0, 0, 0]),
                (44, &[2, 0, 0, 0]),
                (48, &[0x44, 0x33, 0x22, 0x11]),
            ],
        );
        let head = ChecksumPage { array: Uuid([7; 16]), epoch: 3, version: 9, group: 1, number: 2 };
        assert_eq!(ChecksumPage::parse(&page), Ok(head));
        assert_eq!(ChecksumPage::checksums(&page).next(), Some(0x1122_3344));
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWINTENT"),
                (8, &[7; 16]),
                (24, &[3, 0, 0, 0]),
                (32, &[9, 0, 0, 0, 0, 0, 0, 0]),
                (40, &[1, 0, 0, 0]),
                (44, &[70, 0, 0, 0]),
                (48, &[4, 0, 0, 0, 0, 0, 0, 0]),
                (56, &[0b101, 0, 0, 0, 0, 0, 0, 0, 1]),
            ],
        );
        let head = IntentPage { array: Uuid([7; 16]), epoch: 3, version: 9, group: 1, bits: 70, missing: 4 };
        assert_eq!(IntentPage::parse(&page), Ok(head));
        assert_eq!(IntentPage::words(&page).take(2).collect::<Vec<_>>(), [5, 1]);
    }
}
