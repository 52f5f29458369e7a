//! The section `[cache]` of a scheme.
//!
//! Source: paper 001, section V-F; paper 003, sections 2 and 3; FAST 2005 for what paper 003 leaves open.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_core::memory::Persistence;

/// The cache section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSection {
    /// The cache policy.
    pub policy: CachePolicy,
    /// For `parity-caching`: number of chunks that it keeps, with one page of one row each.
    pub chunks: u32,
    /// For `parity-caching`: the most chunks in flight to the members at once, which memory holds besides those that it keeps.
    /// A row may always leave if no other is in flight. Absent means as many as `chunks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destaging: Option<u32>,
    /// For the others: the maximum size, including content in flight to the members, and parity where parity is computed
    /// before pages enter the cache. For `isc`, the size for all SSDs together. Choice: paper 003 prints no size.
    #[serde(skip_serializing_if = "is_size_default")]
    pub size: Bytes,
    /// For the others: up to this share of `size` nothing leaves. Choice: WOW's, paper 003 prints none.
    #[serde(skip_serializing_if = "is_low_default")]
    pub low_threshold: Share,
    /// For the others: from this share on, content leaves at the maximum rate; in between, the rate grows linearly.
    #[serde(skip_serializing_if = "is_high_default")]
    pub high_threshold: Share,
    /// For `wow`, `stow`, `hybrid`: the most write groups in flight at once; for `isc`: the most pages in flight to each SSD;
    /// for `siw`: the absolute maximum of strips to each SSD. WOW's MAXQUEUE; paper 003's figure 2 shows one.
    #[serde(skip_serializing_if = "is_outstanding_default")]
    pub outstanding: u32,
    /// For `siw`: the most strips in flight to each SSD at the high threshold. Choice: with 9 SSDs about WOW's MAXQUEUE.
    #[serde(skip_serializing_if = "is_strips_default")]
    pub strips: u32,
    /// For each period of this length for which the cache was full, `siw` may have one more strip in flight, and `hybrid`
    /// twice as much. Choice.
    #[serde(skip_serializing_if = "is_patience_default")]
    pub patience: Span,
    /// For `siw`: the longest time that a strip waits for strips of other SSDs, to leave together with them. Choice: about one
    /// collection and one strip's write.
    #[serde(skip_serializing_if = "is_sync_wait_default")]
    pub sync_wait: Span,
    /// For `siw`: time to split a request into strips before it is acknowledged. Choice: the time that paper 003 prints for
    /// small writes over RAID-0 (section 4).
    #[serde(skip_serializing_if = "is_striping_default")]
    pub striping: Span,
    /// For `siw`: which sub-caches found strips wait for.
    #[serde(skip_serializing_if = "is_waits_for_default")]
    pub waits_for: WaitsFor,
    /// For `wow`, `stow`, `siw`, `hybrid`: when the room of content that leaves is free again.
    #[serde(skip_serializing_if = "is_frees_default")]
    pub frees: Frees,
    /// For `wow`, `stow`, `siw`, `hybrid`: what thresholds count.
    #[serde(skip_serializing_if = "is_count_default")]
    pub count: Count,
    /// For all but `parity-caching`: whether reads pass writes that wait for room.
    #[serde(skip_serializing_if = "is_reads_pass_default")]
    pub reads_pass: bool,
    /// For `siw`, `isc`: whether a write is acknowledged once its parity is computed, or before.
    #[serde(skip_serializing_if = "is_pre_parity_default")]
    pub pre_parity: PreParity,
    /// Whether the cache survives a loss of power.
    pub persistence: Persistence,
    /// Time of an access. Where first writes are gathered too, it applies to both memories.
    pub latency: Span,
}

impl Default for CacheSection {
    fn default() -> Self {
        Self {
            policy: CachePolicy::default(),
            // 4 MiB of pages of 4 KiB: as much as a small capacitor can save.
            chunks: 1024,
            destaging: None,
            size: Bytes(32 << 20),
            low_threshold: Share(800_000),
            high_threshold: Share(900_000),
            outstanding: 20,
            strips: 2,
            patience: Span(50_000_000),
            sync_wait: Span(5_000_000),
            striping: Span(10_000),
            waits_for: WaitsFor::Busy,
            frees: Frees::Page,
            count: Count::Pages,
            reads_pass: false,
            pre_parity: PreParity::BeforeAck,
            persistence: Persistence::default(),
            latency: Span(1_000),
        }
    }
}

fn is_size_default(size: &Bytes) -> bool {
    *size == CacheSection::default().size
}

fn is_low_default(share: &Share) -> bool {
    *share == CacheSection::default().low_threshold
}

fn is_high_default(share: &Share) -> bool {
    *share == CacheSection::default().high_threshold
}

fn is_outstanding_default(groups: &u32) -> bool {
    *groups == CacheSection::default().outstanding
}

fn is_strips_default(strips: &u32) -> bool {
    *strips == CacheSection::default().strips
}

fn is_patience_default(time: &Span) -> bool {
    *time == CacheSection::default().patience
}

fn is_sync_wait_default(wait: &Span) -> bool {
    *wait == CacheSection::default().sync_wait
}

fn is_striping_default(time: &Span) -> bool {
    *time == CacheSection::default().striping
}

fn is_waits_for_default(waits_for: &WaitsFor) -> bool {
    *waits_for == CacheSection::default().waits_for
}

fn is_frees_default(frees: &Frees) -> bool {
    *frees == CacheSection::default().frees
}

fn is_count_default(count: &Count) -> bool {
    *count == CacheSection::default().count
}

fn is_reads_pass_default(passes: &bool) -> bool {
    *passes == CacheSection::default().reads_pass
}

fn is_pre_parity_default(pre_parity: &PreParity) -> bool {
    *pre_parity == CacheSection::default().pre_parity
}

/// The sub-caches that found strips wait for, at most `sync_wait`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// Those that have no strip: "a write cache may need to wait until other write caches get to have one strip to destage"
    /// (paper 003, section 4). A busy SSD is not waited for: the others "accept a strip" (section 3).
    NoStrip,
    /// Those whose SSD takes no strip now; those that have no strip are left out.
    #[default]
    Busy,
}

/// When the room of content that leaves is free again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frees {
    /// When all of its group or strip is written: "the destage write cannot be committed until" the last SSD has its strip
    /// (paper 003, section 3).
    Group,
    /// Row by row of pages, as each is written.
    #[default]
    Page,
}

/// What thresholds count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Entries: "the number of write groups (N)" (paper 003, section 3); with `siw`, strips of the fullest sub-cache, each of
    /// which has an equal part of the size.
    Entries,
    /// Pages.
    #[default]
    Pages,
}

/// When a write is acknowledged whose parity is computed before it enters the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreParity {
    /// When its parity is computed: "the delay taken by parity computation is always added to the response time" (paper 003,
    /// section 3).
    #[default]
    BeforeAck,
    /// When it has arrived; parity follows. Only simulated without bytes.
    BehindAck,
}

/// The most chunks of a cache.
const CHUNKS_MAX: u32 = 1 << 24;

impl CacheSection {
    /// Whether all keys have their defaults, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The most chunks in flight to the members at once, for `parity-caching`.
    pub fn destaging(&self) -> u32 {
        self.destaging.unwrap_or(self.chunks)
    }

    /// The most pages of `page_bytes` that the cache holds; for `parity-caching`, that it keeps.
    pub fn pages(&self, page_bytes: u32) -> u32 {
        match self.policy {
            CachePolicy::None | CachePolicy::ParityCaching => self.chunks,
            _ => (self.size.0 / u64::from(page_bytes)) as u32,
        }
    }

    /// The most pages of `page_bytes` in memory: those that it keeps, and for `parity-caching` those in flight besides. The last
    /// row that enters may exceed this.
    pub fn pages_in_memory(&self, page_bytes: u32) -> u64 {
        let in_flight = if self.policy == CachePolicy::ParityCaching { self.destaging() } else { 0 };
        u64::from(self.pages(page_bytes)) + u64::from(in_flight)
    }

    /// Checks its settings over pages of `page_bytes`. The error has the key, its value and the reason.
    pub fn check(&self, page_bytes: u32) -> Result<(), (&'static str, String, &'static str)> {
        for (key, chunks) in [("cache.chunks", self.chunks), ("cache.destaging", self.destaging())] {
            if !(1..=CHUNKS_MAX).contains(&chunks) {
                let reason = "must be 1 to 16777216 chunks; for no cache at all use policy = \"none\"";
                return Err((key, chunks.to_string(), reason));
            }
        }
        let defaults = Self::default();
        if matches!(self.policy, CachePolicy::None | CachePolicy::ParityCaching) {
            let kept = Self {
                policy: self.policy,
                chunks: self.chunks,
                destaging: self.destaging,
                persistence: self.persistence,
                latency: self.latency,
                ..defaults
            };
            if kept != *self {
                let reason = "has keys that only isc, wow, stow, siw and hybrid read; use one of them, or chunks and destaging";
                return Err(("section", "[cache]".into(), reason));
            }
            return Ok(());
        }
        if (self.chunks, self.destaging) != (defaults.chunks, None) {
            let reason = "is parity-caching's; this cache has a size in bytes: cache.size";
            return Err(("cache.chunks", self.chunks.to_string(), reason));
        }
        let pages = self.size.0 / u64::from(page_bytes);
        if !(1..=u64::from(CHUNKS_MAX)).contains(&pages) {
            let reason = "must hold one page of the members at least, and 16777216 of them at most";
            return Err(("cache.size", format!("\"{}\"", self.size), reason));
        }
        if self.waits_for != defaults.waits_for && self.policy != CachePolicy::Siw {
            return Err((
                "cache.waits_for",
                "\"busy\"".into(),
                "is for siw, whose strips wait for each other",
            ));
        }
        if self.pre_parity != defaults.pre_parity && !self.policy.makes_parity_first() {
            let reason = "is for siw and isc, which compute parity before content enters the cache";
            return Err(("cache.pre_parity", "\"behind-ack\"".into(), reason));
        }
        let has_units = !matches!(self.policy, CachePolicy::Isc);
        if !has_units && (self.frees, self.count) != (defaults.frees, defaults.count) {
            let reason = "is for caches whose entries have several pages; leave it out with isc";
            let (key, value) = if self.frees == defaults.frees {
                ("cache.count", "entries")
            } else {
                ("cache.frees", "group")
            };
            return Err((key, format!("\"{value}\""), reason));
        }
        if self.low_threshold > self.high_threshold {
            let reason = "must not be above cache.high_threshold";
            return Err(("cache.low_threshold", format!("\"{}\"", self.low_threshold), reason));
        }
        for (key, count) in [("cache.outstanding", self.outstanding), ("cache.strips", self.strips)] {
            if !(1..=65_536).contains(&count) {
                return Err((key, count.to_string(), "must be 1 to 65536, or nothing ever leaves"));
            }
        }
        Ok(())
    }
}

/// Write cache policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Writes go to the members at once.
    #[default]
    None,
    /// Updated chunks stay in memory until the least recently updated ones leave, with all chunks of their row.
    ParityCaching,
    /// Each member has its own cache, which writes back independently.
    Isc,
    /// Wise ordering for writes: write groups leave in the order of their addresses.
    Wow,
    /// WOW with separate lists for sequential and random writes.
    Stow,
    /// Synchronous independent write caches: parity is computed first, strips leave on all members together.
    Siw,
    /// WOW's groups and SIW's short queues: as much at a time as the load requires.
    Hybrid,
    /// WOW's groups, in the user's own order, which only a program can give.
    #[serde(skip_deserializing)]
    Custom,
}

impl CachePolicy {
    /// Whether parity is computed before pages enter the cache.
    pub fn makes_parity_first(self) -> bool {
        matches!(self, Self::Isc | Self::Siw)
    }
}

/// The cache policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("none", "writes go to the members at once"),
    (
        "parity-caching",
        "updated chunks wait in memory; the least recently updated one leaves with all of its row (paper 001)",
    ),
    (
        "isc",
        "each member has a cache of its own; parity is updated before pages reach it (paper 003, figure 4b)",
    ),
    ("wow", "write groups leave by address, those that were hit a turn later (FAST 2005; paper 003)"),
    ("stow", "WOW with sequential and random writes apart, each with a share that adapts (ATC 2009)"),
    ("siw", "a cache for each member, parity made first; strips leave together on all members (paper 003)"),
    (
        "hybrid",
        "WOW's groups and SIW's short queues, in bursts, as much at a time as the load asks for (paper 003, section 4)",
    ),
];
