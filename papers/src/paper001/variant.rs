//! What is compared: eSAP and WAS at two RAID levels, each as the paper has it and in the variants that tell why.

use std::fmt;

use stripewise_flash::Share;

use super::plan::Row;

/// A RAID level of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RAID-5.
    Raid5,
    /// RAID-6 by RDP.
    Raid6,
}

impl Level {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Raid5, Self::Raid6];

    /// Share of its array that a slice's data fills before the first request, in parts per million: a little more than
    /// what a trace of the paper's size takes of the paper's array, 1 GB of what hosts can fill of 2 GiB.
    pub(super) fn slice_fill(self) -> Share {
        match self {
            Self::Raid5 => Share(640_000),
            Self::Raid6 => Share(750_000),
        }
    }

    /// Parity chunks of a stripe.
    pub fn parity(self) -> u32 {
        match self {
            Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raid5 => "RAID-5",
            Self::Raid6 => "RAID-6",
        })
    }
}

/// A scheme of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// eSAP as the paper has it: a stripe is written once its chunks are there, or after P_wait.
    Esap,
    /// eSAP with a buffer of the size of a group of WAS, which like it waits for no time: what buffering alone gives.
    EsapGroup,
    /// eSAP that acknowledges when a write is on the members.
    EsapDurable,
    /// WAS with as many tiers, by GLRU.
    Was(u8),
    /// WAS with two tiers that acknowledges when a write is on the members, for which it needs eSAP's P_wait.
    WasDurable,
    /// WAS with two tiers by HCA.
    Hca,
    /// WAS with two tiers by a counter for every chunk.
    Direct,
    /// WAS with two tiers, hot from the fourth write on.
    Threshold,
    /// Updates in place: what elastic striping is there to spare.
    InPlace,
}

/// The main comparison.
const MAIN: [Variant; 2] = [Variant::Esap, Variant::Was(2)];

impl Variant {
    /// All: first those that the paper's figures compare, then as many as figures can tell apart.
    pub const ALL: [Self; 11] = [
        Self::Esap,
        Self::Was(2),
        Self::Was(3),
        Self::Was(4),
        Self::EsapGroup,
        Self::EsapDurable,
        Self::InPlace,
        Self::WasDurable,
        Self::Hca,
        Self::Threshold,
        Self::Direct,
    ];

    /// The scheme: a preset's name with settings, as the command line takes it.
    pub fn scheme(self, level: Level) -> String {
        let (preset, settings) = match self {
            Self::Esap => ("esap", ""),
            Self::EsapGroup => ("esap", ",elastic.buffer=group,elastic.wait=0ns"),
            Self::EsapDurable => ("esap", ",elastic.acknowledge=durable"),
            Self::Was(2) => ("was", ""),
            Self::Was(tiers) => return format!("{},hotness.tiers={tiers}", Self::Was(2).scheme(level)),
            Self::WasDurable => ("was", ",elastic.acknowledge=durable,elastic.wait=200ms"),
            Self::Hca => ("was", ",hotness.policy=hca"),
            Self::Direct => ("was", ",hotness.policy=direct"),
            Self::Threshold => ("was", ",hotness.thresholds=[4]"),
            Self::InPlace => return if level == Level::Raid5 { "baseline" } else { "raid6-rdp" }.to_owned(),
        };
        let level = if level == Level::Raid5 { "" } else { "raid6-" };
        format!("{level}{preset}{settings}")
    }

    /// Whether the result `row` needs it: as a part of what is judged, or of the reasons.
    pub(super) fn serves(self, row: Row) -> bool {
        MAIN.contains(&self)
            || match self {
                Self::Was(_) => row == Row::H,
                Self::Hca | Self::Direct => row == Row::G,
                Self::EsapDurable | Self::WasDurable => row == Row::D,
                Self::InPlace => matches!(row, Row::D | Row::E),
                _ => matches!(row, Row::A | Row::B | Row::C),
            }
    }

    /// Whether it is measured on slices of real traces too.
    pub(super) fn on_slices(self) -> bool {
        !matches!(self, Self::Direct | Self::Threshold | Self::WasDurable | Self::InPlace)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Esap => f.write_str("eSAP"),
            Self::EsapGroup => f.write_str("eSAP, group buffer"),
            Self::EsapDurable => f.write_str("eSAP, durable"),
            Self::Was(tiers) => write!(f, "WAS({tiers})"),
            Self::WasDurable => f.write_str("WAS(2), durable"),
            Self::Hca => f.write_str("WAS(2), HCA"),
            Self::Direct => f.write_str("WAS(2), direct"),
            Self::Threshold => f.write_str("WAS(2), threshold 4"),
            Self::InPlace => f.write_str("in place"),
        }
    }
}
