//! Permission to collect, and how far each member is with it.

use stripewise_base::Nanos;

use crate::operations::ready::Ready;

/// State of a member's permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcTurn {
    /// The member collects a block, or is about to begin a permitted one.
    pub collects: bool,
    /// Free pages of the fullest plane that waits for permission, if there is one.
    pub need: Option<u32>,
}

/// A permission to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    /// Blocks that each die may begin to collect, in planes that wait for permission, the fullest plane first.
    pub blocks: u32,
    /// A die without such planes collects planes that are at most this many blocks above their low watermark.
    pub ahead: u32,
    /// The largest number of such planes per die, the fullest first. Planes that are permitted to run ahead but get
    /// no block of the quota wait for permission from then on.
    pub ahead_planes: u32,
}

/// Permission state of a member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Permitted {
    /// Blocks being collected.
    pub(crate) in_hand: u32,
    /// Blocks above the low watermark up to which the member's planes are collected.
    pub(crate) ahead: u32,
    /// The time since which programs wait for permission.
    pub(crate) starves_from: Option<Nanos>,
}

#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) members: Vec<Permitted>,
    /// For each die, the blocks that it may still begin.
    pub(crate) quota: Vec<u32>,
    pub(crate) events: Ready,
    /// The number of blocks above its low watermark at which a plane asks for permission.
    pub(crate) asks_ahead: u32,
}
