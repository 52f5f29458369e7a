//! Faults and losses of members.

use stripewise_array::MemberNo;
use stripewise_array::geometry::Geometry;
use stripewise_base::units::Span;

use super::draw::Draw;
use crate::case::Loss;
use crate::media::{Faults, Manner};

/// Errors of members.
pub(crate) fn faults(draw: &mut Draw) -> Faults {
    let rates = [0, 0, 1_000, 10_000, 50_000];
    Faults {
        lost_ppm: draw.one_of(&rates),
        failed_read_ppm: draw.one_of(&rates),
        corrupt_read_ppm: draw.one_of(&rates),
        ..Faults::default()
    }
}

/// Sometimes members stall: their reads and writes were done long before the controller is notified.
pub(crate) fn late_answers(draw: &mut Draw, faults: &mut Faults) {
    if draw.percent(40) {
        faults.late_ppm = draw.one_of(&[10_000, 100_000, 500_000]);
        faults.late = Span(draw.one_of(&[20_000, 500_000, 10_000_000]));
    }
}

/// Sometimes members are slow.
pub(super) fn slow_members(draw: &mut Draw, faults: &mut Faults) {
    if draw.percent(25) {
        faults.slow_ppm = draw.one_of(&[1_000, 20_000, 200_000]);
    }
}

/// Usually as many losses as the code tolerates in each group, sometimes more.
pub(crate) fn losses(draw: &mut Draw, geometry: &Geometry, requests: u64) -> Vec<Loss> {
    let is_beyond = draw.percent(if geometry.parity() == 0 { 30 } else { 15 });
    let mut losses = Vec::new();
    for group in 0..geometry.groups {
        let tolerable = if draw.percent(60) { geometry.tolerance() } else { 0 };
        let count = if is_beyond {
            draw.between(1, 3 + u64::from(geometry.tolerance() > 1)) as u32
        } else {
            tolerable
        };
        for _ in 0..count {
            let nth = draw.0.below(u64::from(geometry.width)) as u32;
            let member = geometry.base(group) + nth * geometry.stride;
            // Early, late, or after the end.
            let most = draw.one_of(&[20, 4, 40]) * requests;
            losses.push(Loss {
                event: draw.between(0, most),
                member: MemberNo::at(member as usize),
                manner: draw.one_of(&[Manner::Gone, Manner::Gone, Manner::Silent, Manner::FailedWrite]),
            });
        }
    }
    losses
}

/// Sometimes a log member is lost, usually instead of another member, since the code tolerates no additional loss.
pub(crate) fn parity_log_losses(draw: &mut Draw, geometry: &Geometry, requests: u64, losses: &mut Vec<Loss>) {
    if !draw.percent(35) {
        return;
    }
    if draw.percent(85) {
        let mut others = vec![0; geometry.groups as usize];
        losses.retain(|loss| {
            let count = &mut others[geometry.group_of(loss.member) as usize];
            *count += 1;
            *count < geometry.parity()
        });
    }
    losses.push(Loss {
        event: draw.between(0, 20 * requests),
        member: MemberNo::new(
            (geometry.members + draw.between(0, u64::from(geometry.parity()) - 1) as u32) as u16,
        ),
        manner: draw.one_of(&[Manner::Gone, Manner::Gone, Manner::Silent, Manner::FailedWrite]),
    });
}
