//! Little-endian numbers at fixed places, and the checksum inside a structure.

use super::checksum::crc32c_with_hole;
use super::{FormatError, Structure, Uuid};

/// The bytes from `at` on.
pub(super) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("callers check the length of what they read")
}

/// The number of 2 bytes at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

/// The number of 4 bytes at `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

/// The number of 8 bytes at `at`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

/// The identifier at `at`.
pub(super) fn uuid_at(bytes: &[u8], at: usize) -> Uuid {
    Uuid(bytes_at(bytes, at))
}

/// Stores `value` at `at`.
pub(crate) fn put(into: &mut [u8], at: usize, value: &[u8]) {
    into[at..at + value.len()].copy_from_slice(value);
}

/// The magic bytes of a structure, its minimum length and the place of its checksum.
pub(super) struct Frame {
    pub structure: Structure,
    pub(super) magic: [u8; 8],
    pub(super) bytes_min: usize,
    pub(super) checksum_at: usize,
}

impl Frame {
    /// Clears the structure and writes its magic bytes.
    pub(crate) fn begin(&self, into: &mut [u8]) {
        into.fill(0);
        put(into, 0, &self.magic);
    }

    /// Computes the checksum of everything else and stores it.
    pub(super) fn seal(&self, into: &mut [u8]) {
        let checksum = crc32c_with_hole(into, self.checksum_at);
        put(into, self.checksum_at, &checksum.to_le_bytes());
    }

    /// Checks that the bytes are a whole structure of this kind.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), FormatError> {
        let &Self { structure, magic, bytes_min, checksum_at } = self;
        if bytes.len() < bytes_min {
            let (expected, found) = (bytes_min as u64, bytes.len() as u64);
            return Err(FormatError::Length { structure, expected, found });
        }
        let found = bytes_at(bytes, 0);
        if found != magic {
            return Err(FormatError::Absent { structure, expected: magic, found });
        }
        let (stored, computed) = (u32_at(bytes, checksum_at), crc32c_with_hole(bytes, checksum_at));
        if stored != computed {
            return Err(FormatError::Checksum { structure, stored, computed });
        }
        Ok(())
    }

    /// Returns an error unless `holds`: with the value found in a field, and the allowed values.
    pub(crate) fn expect(
        &self,
        holds: bool,
        field: &'static str,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Result<(), FormatError> {
        if holds {
            return Ok(());
        }
        Err(FormatError::Field { structure: self.structure, field, expected, found: found.into() })
    }
}
