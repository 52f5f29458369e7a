//! Write caches: what is kept in controller memory before it goes to the elements.
//!
//! A cache decides what stays and which row leaves next. All that concerns requests, plans and holds is the controller's
//! (`controller/caching.rs`), and the same for each of them.

pub(crate) mod parity_caching;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use stripewise_base::units::Span;

use crate::placement::Persistence;
use parity_caching::ParityCaching;

/// The cache section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSection {
    /// Which cache.
    pub policy: CachePolicy,
    /// Chunks that it keeps: of each the page of one row.
    pub chunks: u32,
    /// The most chunks on their way to the elements at once, which memory holds beside those that it keeps. A row goes
    /// whatever it has if no other is on its way. Absent means as many as `chunks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destaging: Option<u32>,
    /// Whether it survives a loss of power.
    pub persistence: Persistence,
    /// Time of an access. Where first writes are gathered too, it stands for both memories.
    pub latency: Span,
}

impl Default for CacheSection {
    fn default() -> Self {
        Self {
            policy: CachePolicy::default(),
            // 4 MiB of pages of 4 KiB: as much as a small capacitor can save.
            chunks: 1024,
            destaging: None,
            persistence: Persistence::default(),
            latency: Span(1_000),
        }
    }
}

/// The most chunks of a cache.
pub(crate) const CHUNKS_MAX: u32 = 1 << 24;

impl CacheSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The most chunks on their way to the elements at once.
    pub fn destaging(&self) -> u32 {
        self.destaging.unwrap_or(self.chunks)
    }
}

/// Write caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Writes go to the elements at once.
    #[default]
    None,
    /// Updated chunks stay in memory until the least recently updated ones leave, with all of their row.
    ParityCaching,
}

/// The members of this axis: name in a scheme, and what it does.
pub const MEMBERS: &[(&str, &str)] = &[
    ("none", "writes go to the elements at once"),
    (
        "parity-caching",
        "updated chunks wait in memory; the least recently updated one leaves with all of its row (paper 001)",
    ),
];

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Chunks that hosts wrote into it, wholly or in part.
    pub written: u64,
    /// Of those, the ones that were in it already: writes that the elements never see.
    pub absorbed: u64,
    /// Chunks that hosts read from it without an element being asked.
    pub hits: u64,
    /// Rows that were destaged.
    pub destages: u64,
    /// Chunks that were destaged.
    pub destaged: u64,
}

impl CacheCounts {
    /// What came after `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            written: self.written - base.written,
            absorbed: self.absorbed - base.absorbed,
            hits: self.hits - base.hits,
            destages: self.destages - base.destages,
            destaged: self.destaged - base.destaged,
        }
    }
}

/// A cache at work.
#[derive(Debug)]
pub(crate) struct Cache {
    /// What it keeps, and what leaves next.
    pub(crate) kept: ParityCaching,
    pub(crate) is_volatile: bool,
    /// Chunks on their way to the elements, and the most of them.
    pub(crate) leaving: u32,
    leaving_max: u32,
    /// Everything is to leave: the end of a run.
    pub(crate) draining: bool,
    /// Chunks (row and member) whose acknowledged content is lost, because too much of their row was lost when they
    /// left. Reads of them fail until they are written as a whole.
    pub(crate) lost: BTreeSet<(u64, u32)>,
    pub(crate) counts: CacheCounts,
}

impl Cache {
    /// The cache of a scheme over rows of `data` data members; none where it has none.
    pub(crate) fn new(section: &CacheSection, data: u32) -> Option<Self> {
        (section.policy == CachePolicy::ParityCaching).then(|| Self {
            kept: ParityCaching::new(section.chunks, data),
            is_volatile: section.persistence == Persistence::Volatile,
            leaving: 0,
            leaving_max: section.destaging(),
            draining: false,
            lost: BTreeSet::new(),
            counts: CacheCounts::default(),
        })
    }

    /// The row that is to leave now, if there is one and there is room for it on the way.
    pub(crate) fn due(&self) -> Option<u64> {
        let row = if self.draining { self.kept.oldest()? } else { self.kept.victim()? };
        let fits = || self.leaving + self.kept.members(row).count_ones() <= self.leaving_max;
        (self.leaving == 0 || fits()).then_some(row)
    }
}
