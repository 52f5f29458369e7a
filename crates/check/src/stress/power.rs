//! Power losses.

use stripewise_array::cache::CachePolicy;
use stripewise_base::prng::Prng;

use super::draw::Draw;
use crate::case::{Ask, Case, What};

/// Gives a case power losses, if its scheme can restart, and members with volatile caches. Both come from a separate
/// random stream, so that the other choices do not depend on them.
pub(crate) fn power(seed: u64, case: &mut Case) {
    let mut draw = Draw(Prng::stream(seed, 0x706F_7765));
    if case.scheme.check_restart().is_err() {
        return;
    }
    case.volatile_members = draw.percent(30);
    // The main question is which content survives in which cache.
    let has_cache = case.scheme.cache.policy != CachePolicy::None;
    if !draw.percent(if has_cache { 85 } else { 50 }) {
        return;
    }
    if draw.percent(60) {
        // Without flushes, little content is durable.
        for ask in &mut case.requests {
            if draw.percent(8) {
                *ask = Ask { gap_ns: ask.gap_ns, what: What::Flush, sector: 0, sectors: 0 };
            }
        }
    }
    let requests = case.requests.len() as u64;
    let count = draw.one_of(&[1, 1, 2, 4]);
    // Early, late, after the end, or during recovery.
    case.power_losses = (0..count).map(|_| draw.between(0, draw_most(requests, count))).collect();
    if draw.percent(30) {
        let first = case.power_losses[0];
        case.power_losses.push(first + draw.between(1, 40));
    }
}

fn draw_most(requests: u64, count: u64) -> u64 {
    requests * if count > 1 { 12 } else { 25 }
}
