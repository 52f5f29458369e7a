//! The error limit.

use stripewise_array::MemberNo;
use stripewise_base::prng::Prng;

use super::draw::Draw;
use crate::case::{Case, ErrorLimit};
use crate::media::Faults;

/// Most cases whose members have errors get a limit for them, and so do some other cases, in which one or two members then
/// have errors: where all have them, the array needs most of them. From a separate random stream, so that no other choice
/// depends on it.
pub(crate) fn limit(seed: u64, case: &mut Case) {
    let mut draw = Draw(Prng::stream(seed, 0x6C69_6D69));
    let faults = &case.faults;
    let has_errors = faults.lost_ppm + faults.failed_read_ppm + faults.corrupt_read_ppm > 0;
    if !draw.percent(if has_errors { 70 } else { 20 }) {
        return;
    }
    let (errors, every) = (draw.one_of(&[1, 1, 2, 3, 5, 12]), draw.one_of(&[1, 1, 8, 64, 500]));
    case.error_limit = Some(ErrorLimit { errors, every });
    let Some(geometry) = case.geometry().ok().filter(|_| !has_errors) else { return };
    let last = u64::from(geometry.members + case.scheme.parity_log_members()) - 1;
    case.faults = Faults {
        lost_ppm: draw.one_of(&[0, 10_000, 50_000]),
        failed_read_ppm: draw.one_of(&[10_000, 50_000, 200_000]),
        corrupt_read_ppm: draw.one_of(&[0, 0, 10_000]),
        sick: (0..draw.one_of(&[1, 1, 2])).map(|_| MemberNo::at(draw.between(0, last) as usize)).collect(),
        ..case.faults.clone()
    };
}
