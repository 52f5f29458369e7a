//! Read policies.

use stripewise_array::geometry::Level;
use stripewise_array::read::{HedgeMode, NextArrival, ReadPolicy, ReadSection, ReadWait, StateSource};
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;

use super::draw::Draw;

/// The read section of the case of `seed`, from a separate random stream, so that the other choices do not depend on
/// it.
pub(super) fn reading(seed: u64, level: Level) -> ReadSection {
    let mut draw = Draw(Prng::stream(seed, 0x7265_6164));
    if level == Level::Raid0 {
        return ReadSection::default();
    }
    let policy = draw.one_of(&[
        ReadPolicy::Direct,
        ReadPolicy::Brr,
        ReadPolicy::GcAvoiding,
        ReadPolicy::Hedged,
        ReadPolicy::Hedged,
        ReadPolicy::LeastFinish,
    ]);
    keys(&mut draw, policy)
}

/// The read section of a policy, with its keys.
pub(crate) fn keys(draw: &mut Draw, policy: ReadPolicy) -> ReadSection {
    let mut section = ReadSection { policy, ..ReadSection::default() };
    section.state = draw.one_of(&[StateSource::Model, StateSource::Observed]);
    section.slow = draw.one_of(&[1, 1, 2, 3]);
    match section.policy {
        ReadPolicy::Brr => {
            section.at = draw.one_of(&[NextArrival::Pending, NextArrival::Oracle, NextArrival::Off]);
            section.wait = draw.one_of(&[ReadWait::Queue, ReadWait::QueueAndCollection]);
        }
        ReadPolicy::Hedged => {
            section.hedge = draw.one_of(&[HedgeMode::Reactive, HedgeMode::Proactive, HedgeMode::Adaptive]);
        }
        ReadPolicy::LeastFinish => {
            section.gain = draw.one_of(&[None, Some(Span(0)), Some(Span(1)), Some(Span(100_000))]);
        }
        ReadPolicy::Direct | ReadPolicy::GcAvoiding | ReadPolicy::Custom => {}
    }
    section
}
