//! What is compared: Async_FIFO, PIQ and BRR, and BRR in the variants that the paper sweeps or that tell why.

use std::fmt;

/// Chips of the SSD (section IV-A).
pub(super) const CHIPS: u32 = 64;
/// Operations that a chip's queue holds, and chips of a parity group, where nothing else is said (section IV-A).
const QUEUE: u32 = 64;
const LENGTH: u32 = 8;

/// Lengths of the chips' queues in Fig. 13.
pub(super) const QUEUES: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Lengths of parity groups in Fig. 14.
pub(super) const LENGTHS: [u32; 3] = [4, 8, 16];

/// A scheme of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Async_FIFO.
    Fifo,
    /// PIQ.
    Piq,
    /// BRR.
    Brr,
    /// BRR with queues of this length.
    Queue(u32),
    /// BRR with parity groups of this length.
    Length(u32),
    /// PIQ with parity groups of this length.
    PiqLength(u32),
    /// BRR without its rule about the next arrival.
    AtOff,
    /// BRR that knows all arrivals to come.
    AtOracle,
    /// BRR over groups of adjacent chips.
    Contiguous,
    /// PIQ with reads from where they are predicted to finish first.
    LeastFinish,
}

/// The paper's comparison.
pub(super) const MAIN: [Variant; 3] = [Variant::Fifo, Variant::Piq, Variant::Brr];

impl Variant {
    /// All that the sweeps take.
    pub(super) fn sweep() -> Vec<Self> {
        let mut all = MAIN.to_vec();
        all.extend([Self::AtOff, Self::AtOracle, Self::Contiguous, Self::LeastFinish]);
        all.extend(QUEUES.into_iter().filter(|queue| *queue != QUEUE).map(Self::Queue));
        let others = || LENGTHS.into_iter().filter(|length| *length != LENGTH);
        all.extend(others().map(Self::Length));
        all.extend(others().map(Self::PiqLength));
        all
    }

    /// BRR with queues of this length.
    pub(super) fn queue(length: u32) -> Self {
        if length == QUEUE { Self::Brr } else { Self::Queue(length) }
    }

    /// BRR with parity groups of this length.
    pub(super) fn length(length: u32) -> Self {
        if length == LENGTH { Self::Brr } else { Self::Length(length) }
    }

    /// The scheme: a preset's name with settings, as the command line takes it.
    pub fn scheme(self) -> String {
        let groups = |length: u32| CHIPS / length;
        match self {
            Self::Fifo => "paper002-fifo".to_owned(),
            Self::Piq => "paper002-piq".to_owned(),
            Self::Brr => "paper002-brr".to_owned(),
            Self::Queue(queue) => format!("paper002-brr,dispatch.queue={queue}"),
            Self::Length(length) => format!("paper002-brr,geometry.groups={}", groups(length)),
            Self::PiqLength(length) => format!("paper002-piq,geometry.groups={}", groups(length)),
            Self::AtOff => "paper002-brr,read.at=off".to_owned(),
            Self::AtOracle => "paper002-brr,read.at=oracle".to_owned(),
            Self::Contiguous => "paper002-brr,geometry.membership=contiguous".to_owned(),
            Self::LeastFinish => "paper002-piq,read.policy=least-finish".to_owned(),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo => f.write_str("Async_FIFO"),
            Self::Piq => f.write_str("PIQ"),
            Self::Brr => f.write_str("BRR"),
            Self::Queue(queue) => write!(f, "BRR, queue {queue}"),
            Self::Length(length) => write!(f, "BRR, groups of {length}"),
            Self::PiqLength(length) => write!(f, "PIQ, groups of {length}"),
            Self::AtOff => f.write_str("BRR, AT off"),
            Self::AtOracle => f.write_str("BRR, AT oracle"),
            Self::Contiguous => f.write_str("BRR, adjacent chips"),
            Self::LeastFinish => f.write_str("least finish"),
        }
    }
}
