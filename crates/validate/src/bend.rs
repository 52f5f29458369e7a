//! Deliberate flaws in the model under test: a check that cannot find them proves nothing.

use stripewise_array::Scheme;
use stripewise_array::geometry::Rotation;
use stripewise_array::update::{Tie, Update};
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{Victim, Watermark};

/// One flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// Cells and buses take 5 % longer than the specification says.
    SlowService,
    /// Collection starts while 2 % more of the blocks are free: that much spare space has no effect.
    IdleSpare,
    /// Any written block may be collected, whatever the policy.
    AnyVictim,
    /// Updates take the other routine.
    OtherRoutine,
    /// Parity does not rotate.
    FixedParity,
    /// One nanosecond of each request's latency belongs to no part.
    LostNanosecond,
    /// Each request reports twice its latency.
    DoubledLatency,
}

impl Bend {
    /// A description of the flaw.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowService => "service 5 % longer",
            Self::IdleSpare => "2 % of the blocks never used",
            Self::AnyVictim => "any block collected",
            Self::OtherRoutine => "the other update routine",
            Self::FixedParity => "parity that does not rotate",
            Self::LostNanosecond => "a nanosecond that belongs to no part",
            Self::DoubledLatency => "latencies doubled",
        }
    }

    pub(crate) fn device(self, device: &mut DeviceSpec) {
        let blocks = u64::from(device.geometry.blocks);
        match self {
            Self::SlowService => {
                let t = &mut device.timing;
                for time in [&mut t.read, &mut t.program, &mut t.erase, &mut t.read_command] {
                    *time = Span(time.0 + time.0 / 20);
                }
                t.bus.femtoseconds += t.bus.femtoseconds / 20;
            }
            Self::IdleSpare => {
                if let Watermark::BlockCount(count) = &mut device.gc.low_watermark {
                    *count += (blocks / 50).max(1) as u32;
                }
            }
            Self::AnyVictim => device.gc.victim = Victim::Random,
            Self::OtherRoutine | Self::FixedParity | Self::LostNanosecond | Self::DoubledLatency => {}
        }
    }

    pub(crate) fn scheme(self, scheme: &mut Scheme) {
        match self {
            Self::OtherRoutine => {
                scheme.update = match scheme.update {
                    Update::AlwaysRmw {} => Update::AlwaysRcw {},
                    Update::AlwaysRcw {} => Update::AlwaysRmw {},
                    Update::Baseline { tie: Tie::Rmw } => Update::Baseline { tie: Tie::Rcw },
                    _ => Update::AlwaysRmw {},
                }
            }
            Self::FixedParity => scheme.geometry.rotation = Rotation::None,
            Self::SlowService
            | Self::IdleSpare
            | Self::AnyVictim
            | Self::LostNanosecond
            | Self::DoubledLatency => {}
        }
    }
}
