//! Dispatch disciplines.

use stripewise_array::Scheme;
use stripewise_array::dispatch::{Discipline, QueueOrder};
use stripewise_array::placement::FirstWrites;
use stripewise_base::prng::Prng;

use super::draw::Draw;

/// Gives `scheme` a discipline with all its keys, from a separate random stream, so that the other choices do not
/// depend on it.
pub(super) fn dispatch(seed: u64, scheme: &mut Scheme) {
    let mut draw = Draw(Prng::stream(seed, 0x6469_7370));
    // Otherwise a request does not determine its members.
    let has_targets =
        !scheme.placement.facts().locates_on_write && scheme.placement.first_writes == FirstWrites::InPlace;
    let dispatch = &mut scheme.dispatch;
    dispatch.policy = draw.one_of(&[
        Discipline::AsyncFifo,
        Discipline::AsyncFifo,
        Discipline::SyncFifo,
        Discipline::Piq,
        Discipline::Piq,
    ]);
    if !has_targets && dispatch.policy == Discipline::Piq {
        dispatch.policy = Discipline::AsyncFifo;
    }
    if has_targets && draw.percent(60) {
        dispatch.queue = draw.one_of(&[Some(1), Some(1), Some(2), Some(5), Some(64)]);
    }
    if draw.percent(30) {
        dispatch.order = QueueOrder::Rounds;
    }
    match dispatch.policy {
        Discipline::AsyncFifo => {}
        Discipline::SyncFifo => dispatch.strict = !has_targets || draw.percent(50),
        Discipline::Piq => {
            dispatch.sync = draw.percent(30);
            dispatch.overtake = draw.one_of(&[0, 1, 2, 16, 1000]);
        }
    }
}
