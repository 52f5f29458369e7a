//! RMW vs. reconstruct: read-modify-write if fewer disks are touched than a share of the group, else read-construct-write.
//!
//! Source: paper 004, section 4.1, which ran on DiskSim and prints no rule; J. S. Bucy et al., the DiskSim 4.0 reference
//! manual, CMU 2008, parameter "RMW vs. reconstruct": RMW if a request touches fewer data disks of a stripe than the share
//! times the disks, rounded down. The parameter files of DiskSim have 0.5.
//!
//! At 0.5, with whole pages and one parity chunk, this is Baseline with ties to RMW: of n columns RMW reads k + 1 and RCW n -
//! 1 - k, and k + 1 <= n - 1 - k is k < n / 2, rounded down. The rest of DiskSim's parity organisation differs here: it issues
//! each write when the read of the same disk is done; this controller does so when all pre-reads are done, since parity cannot
//! be computed before.

use stripewise_base::share::Share;

use super::{Choice, Reason, Routine};

/// The share in the parameter files that come with DiskSim.
pub(super) const POINT: Share = Share(500_000);

#[inline]
pub(crate) fn choose(choice: &Choice<'_>, point: Share) -> (Routine, Reason) {
    let touched = u64::from(choice.updated.count_ones());
    if touched < point.of(choice.geometry.columns.into()) {
        (Routine::Rmw, Reason::FewTouched)
    } else {
        (Routine::Rcw, Reason::ManyTouched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::tests::Setting;
    use crate::update::{Tie, baseline};

    /// The first `touched` of `columns`, the last of which is parity, are written as a whole.
    fn decide(columns: u32, touched: u32, point: Share) -> (Routine, Routine) {
        let setting = Setting::new(columns, 4096, &vec![0; columns as usize], &vec![0; columns as usize]);
        let (data, parity) = ((1 << (columns - 1)) - 1, 1 << (columns - 1));
        let updated = (1 << touched) - 1;
        let mut choice = setting.choice(updated | parity, data & !updated);
        choice.updated = updated;
        (choose(&choice, point).0, baseline::choose(&choice, Tie::Rmw).0)
    }

    #[test]
    fn rmw_is_for_fewer_disks_than_the_share_of_the_group_rounded_down() {
        // 4 disks: half of them is 2. 5 disks: still 2. 3 disks: 1, so that RMW is never used.
        let of = |columns, touched| decide(columns, touched, POINT).0;
        assert_eq!([of(4, 1), of(4, 2)], [Routine::Rmw, Routine::Rcw]);
        assert_eq!([of(5, 1), of(5, 2), of(5, 3)], [Routine::Rmw, Routine::Rcw, Routine::Rcw]);
        assert_eq!(of(3, 1), Routine::Rcw);
    }

    #[test]
    fn the_share_moves_the_point_from_never_to_nearly_always() {
        for touched in 1..7 {
            assert_eq!(decide(8, touched, Share::NONE).0, Routine::Rcw);
            assert_eq!(decide(8, touched, Share::ALL).0, Routine::Rmw);
        }
        assert_eq!(decide(8, 1, Share(250_000)).0, Routine::Rmw);
        assert_eq!(decide(8, 2, Share(250_000)).0, Routine::Rcw);
    }

    #[test]
    fn at_one_half_whole_pages_take_the_routine_of_fewest_pre_reads() {
        for columns in 3..=32 {
            for touched in 1..columns - 1 {
                let (ours, baseline) = decide(columns, touched, POINT);
                assert_eq!(ours, baseline, "{touched} of {columns}");
            }
        }
    }
}
