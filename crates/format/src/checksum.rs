//! The checksum of everything on the members. Only this module uses the checksum library.

/// CRC-32C (Castagnoli) of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC-32C of `bytes` as if the four bytes from `hole` on were zeros: the checksum of a structure that stores it there.
pub(super) fn crc32c_with_hole(bytes: &[u8], hole: usize) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&bytes[..hole]);
    digest.update(&[0; 4]);
    digest.update(&bytes[hole + 4..]);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn it_is_that_of_iscsi() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
    }

    proptest! {
        #[test]
        fn a_hole_counts_as_zeros(mut bytes in prop::collection::vec(any::<u8>(), 4..300), at in any::<u64>()) {
            let hole = (at % (bytes.len() as u64 - 3)) as usize;
            let with_hole = crc32c_with_hole(&bytes, hole);
            bytes[hole..hole + 4].fill(0);
            prop_assert_eq!(with_hole, crc32c(&bytes));
        }
    }
}
