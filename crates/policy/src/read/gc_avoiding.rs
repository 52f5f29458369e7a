//! GC-avoiding reads: a chunk whose member collects garbage is decoded from others that do not, or that finish collecting
//! sooner.
//!
//! Source: IODA (SOSP 2021), where a device fails a read fast that garbage collection would delay and the host decodes it;
//! TTFLASH (FAST 2017), where the planes of one SSD do the same among themselves.

use super::{ReadPath, Ways};

/// The way around collections. The costs in `ways` are the delays of reads by garbage collection.
pub fn choose(ways: &Ways<'_>, sources: impl Fn(u64) -> u64) -> Option<ReadPath> {
    ways.least(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three data columns, P and Q; two columns may be missing.
    fn sources(avoided: u64) -> u64 {
        let lost = (avoided & 0b111).count_ones() as usize;
        let parity = stripewise_core::bits::columns(0b11000 & !avoided).take(lost);
        parity.fold(0b111 & !avoided, |mask, column| mask | 1 << column)
    }

    fn around(costs: [u64; 5], wanted: u64) -> Option<u64> {
        choose(&Ways { costs: &costs, wanted, parity: 2 }, sources).map(|way| way.avoided)
    }

    #[test]
    fn nothing_is_decoded_while_no_member_collects() {
        assert_eq!(around([0; 5], 0b001), None);
        assert_eq!(around([0, 9, 9, 9, 9], 0b001), None, "others may");
    }

    #[test]
    fn a_collecting_member_is_read_around() {
        assert_eq!(around([5, 0, 0, 0, 0], 0b001), Some(0b00001));
        assert_eq!(around([5, 0, 0, 0, 0], 0b111), Some(0b00001), "the others are read anyway");
    }

    #[test]
    fn a_second_one_is_done_without_too_where_the_code_tolerates_it() {
        assert_eq!(around([5, 0, 0, 7, 0], 0b001), Some(0b01001), "Q stands in for P");
        assert_eq!(around([5, 4, 0, 0, 0], 0b001), Some(0b00011), "P and Q for two data members");
    }

    #[test]
    fn of_collecting_members_those_that_are_done_first_are_read() {
        assert_eq!(around([5, 6, 6, 6, 6], 0b001), None, "nothing is gained");
        assert_eq!(around([9, 6, 6, 6, 6], 0b001), Some(0b00001));
    }
}
