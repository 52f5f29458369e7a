//! Read levels of an LDPC code: the section `[ldpc]`.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_base::units::Span;

/// Read levels: one sensing, and up to six retries.
pub const LEVELS: usize = 7;
/// Bins of wear, each with its own error rate.
pub const BINS: usize = 8;

/// Read times that grow as blocks wear and are read: seven levels of LDPC soft decision.
///
/// The raw bit error rate (RBER) of a page grows with the erases of its block and with the reads since the last erase
/// (read disturb). The rate determines the level. Level `l` senses `l` times and decodes longer with every retry, and
/// so takes `l * timing.read + retry_step * l * (l - 1) / 2`. The die is busy for all of it. Defaults are those of
/// the SSDsim fork of paper 000; the unit of its rate is assumed to be 10^-3 (a choice, since the fork does not state
/// it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LdpcSpec {
    /// The increase of decoding time from each retry to the next (paper 000, section IV-A).
    pub retry_step: Span,
    /// Error rates, in 10^-6, from which the levels 2 to 7 are needed.
    pub level_rber_ppm: [u32; LEVELS - 1],
    /// The largest number of erases of each bin of wear except the last.
    pub erase_bins: [u32; BINS - 1],
    /// Error rate of a block that was just erased, in 10^-6, by bin.
    pub rber_ppm: [u32; BINS],
    /// Increase of a block's error rate per read since the last erase, in 10^-9, by bin.
    pub rber_ppb_per_read: [u32; BINS],
    /// Each retry disturbs the block like one more read.
    pub retry_disturb: bool,
    /// Increase of the error rate by retention, in 10^-6 per 1000 erases and per factor e of 1 + days. It has an
    /// effect only with `age.retention_days`. Not calibrated.
    pub retention_ppm: u32,
}

impl Default for LdpcSpec {
    fn default() -> Self {
        Self {
            retry_step: Span(24_000),
            level_rber_ppm: [5_000, 6_000, 8_000, 9_000, 10_000, 12_000],
            erase_bins: [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000],
            rber_ppm: [557, 811, 1_073, 1_193, 1_163, 1_116, 1_328, 2_219],
            rber_ppb_per_read: [129, 175, 252, 339, 415, 459, 451, 370],
            retry_disturb: true,
            retention_ppm: 250,
        }
    }
}

impl LdpcSpec {
    /// Cell times of reads at each level, if a single sensing takes `read`.
    pub fn times(&self, read: Nanos) -> [Nanos; LEVELS] {
        std::array::from_fn(|retries| {
            let retries = retries as u64;
            (retries + 1) * read + self.retry_step.0 * (retries * (retries + 1) / 2)
        })
    }

    /// The bin of a block with this number of erases.
    pub fn bin(&self, erases: u32) -> usize {
        self.erase_bins.iter().filter(|&&most| erases > most).count()
    }

    /// Reads since the last erase from which a block of a bin needs the levels 2 to 7; `u32::MAX` means never.
    pub fn reads_to_level(&self, bin: usize) -> [u32; LEVELS - 1] {
        let per_read = u64::from(self.rber_ppb_per_read[bin]);
        self.level_rber_ppm.map(|limit| {
            let missing = u64::from(limit.saturating_sub(self.rber_ppm[bin])) * 1_000;
            match (missing, per_read) {
                (0, _) => 0,
                (_, 0) => u32::MAX,
                _ => missing.div_ceil(per_read).min(u64::from(u32::MAX)) as u32,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_take_what_paper_000_prints() {
        let times = LdpcSpec::default().times(45_000);
        assert_eq!(times.map(|time| time / 1_000), [45, 114, 207, 324, 465, 630, 819]);
    }

    #[test]
    fn bins_end_where_they_are_said_to() {
        let spec = LdpcSpec::default();
        let bins = [0, 1_000, 1_001, 4_000, 4_001, 7_000, 7_001, u32::MAX].map(|erases| spec.bin(erases));
        assert_eq!(bins, [0, 0, 1, 3, 4, 6, 7, 7]);
    }

    #[test]
    fn reads_to_a_level_are_those_of_the_error_rates() {
        let spec = LdpcSpec::default();
        // (5 - 0.557) x 10^-3 / 129 x 10^-9 = 34,441.9; (12 - 2.219) / 370 = 26,435.1.
        assert_eq!((spec.reads_to_level(0)[0], spec.reads_to_level(7)[5]), (34_442, 26_436));
        // In hundreds to level 2 and thousands to level 7, rounded like the published values.
        let thousands = |bin| (spec.reads_to_level(bin)[0] / 100, spec.reads_to_level(bin)[5] / 1_000);
        let all: Vec<(u32, u32)> = (0..BINS).map(thousands).collect();
        let known = [(344, 88), (239, 63), (155, 43), (112, 31), (92, 26), (84, 23), (81, 23), (75, 26)];
        assert_eq!(all, known);
        let flat = LdpcSpec { rber_ppb_per_read: [0; BINS], rber_ppm: [5_500; BINS], ..spec };
        assert_eq!(flat.reads_to_level(2), [0, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);
    }
}
