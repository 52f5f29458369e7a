//! Validation of device specifications.

use crate::spec::{
    DeviceSpec, DieInterleaving, Domain, GcSpan, GcStart, Isolation, LinkUnit, Moves, MultiPlane, Preemption,
    Victim, Watermark,
};

/// Why a device cannot be modelled as specified. Every message states the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A count or a time is out of range.
    #[error("{key} is {found}; it must be from {least} to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// The given value.
        found: u64,
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// Collection could never keep up.
    #[error(
        "a plane of {raw} data pages exports {exported}, starts collecting at {low} free pages and has blocks of {open} \
         open: collection needs at least one more page of slack; raise ftl.over_provisioning, or lower gc.{watermark} or \
         ftl.streams"
    )]
    NoSlack {
        /// Data pages of a plane.
        raw: u64,
        /// Exported pages of a plane.
        exported: u64,
        /// The watermark, in pages.
        low: u64,
        /// Data pages of the blocks that are being written.
        open: u64,
        /// The name of the watermark.
        watermark: &'static str,
    },
    /// The low watermark leaves no room for the pages of a victim.
    #[error("gc.low_watermark is {found} pages; it must be at least one block of {block} pages")]
    LowWatermark {
        /// The watermark, in pages.
        found: u64,
        /// Data pages of a block.
        block: u64,
    },
    /// The high watermark lies below the low one.
    #[error("gc.high_watermark is below gc.low_watermark, or not of the same kind; raise it or leave it out")]
    HighWatermark,
    /// The soft or the hard watermark lies in a range where it has no meaning.
    #[error(
        "gc.soft_watermark must lie above gc.high_watermark (or gc.low_watermark), gc.hard_watermark at gc.low_watermark or \
         below, all of the same kind; move them or leave them out"
    )]
    SoftOrHardWatermark,
    /// An erase would block more than the collection it belongs to.
    #[error("gc.erase_blocking is wider than gc.blocking; narrow it or leave it out")]
    EraseBlocking,
    /// Two keys that contradict each other.
    #[error("{key} cannot go with {other}: {reason}")]
    Conflict {
        /// The first key.
        key: &'static str,
        /// The second key.
        other: &'static str,
        /// The reason, and the remedy.
        reason: &'static str,
    },
    /// Limits that do not increase.
    #[error("{key} must rise from each number to the next; sort them")]
    Unsorted {
        /// The key.
        key: &'static str,
    },
    /// The range between the two numbers is empty.
    #[error("age.erases runs from {from} to below {below}, where nothing lies; raise the second number")]
    AgeRange {
        /// The first.
        from: u32,
        /// The second.
        below: u32,
    },
    /// Channels and chips keep no queue.
    #[error(
        "{key} needs the queues of a whole SSD; make whole SSDs the members (`--members ssd:N`), or leave it out"
    )]
    NeedsQueue {
        /// The key.
        key: &'static str,
    },
    /// Too many members, or none.
    #[error("{found} members; there must be from 1 to {limit}: change the level or the number of devices")]
    Members {
        /// Number of members.
        found: u64,
        /// Largest number.
        limit: u32,
    },
    /// More pages than 32-bit addresses within a member allow.
    #[error("a member of {pages} pages is too large (limit {limit}); make it smaller or its pages larger")]
    MemberTooLarge {
        /// Number of pages.
        pages: u64,
        /// Largest number.
        limit: u32,
    },
}

/// The longest time of one step: 1000 s.
const MAX_TIME_NS: u64 = 1_000_000_000_000;

/// Largest number of streams of a device: as many as shipped devices have, and some more.
const MAX_STREAMS: u32 = 16;

/// A watermark, in the unit of its comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// Free pages.
    Pages(u32),
    /// Free blocks, without the one being written.
    Blocks(u32),
}

impl Threshold {
    /// The threshold `blocks` blocks above this one.
    pub(crate) fn above(self, blocks: u32, data_pages: u32) -> Self {
        match self {
            Self::Pages(pages) => Self::Pages(pages.saturating_add(blocks.saturating_mul(data_pages))),
            Self::Blocks(count) => Self::Blocks(count.saturating_add(blocks)),
        }
    }

    /// Whether this threshold is lower than another one of the same kind.
    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Pages(pages), Self::Pages(other)) => pages < other,
            (Self::Blocks(blocks), Self::Blocks(other)) => blocks < other,
            _ => false,
        }
    }
}

impl DeviceSpec {
    /// Checks everything that does not depend on the level.
    ///
    /// # Errors
    /// The first error found.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.validate_ranges()?;
        self.validate_wear()?;
        self.validate_pairs()?;
        let (raw, block) = (self.raw_per_plane(), u64::from(self.data_pages()));
        let open = block * u64::from(self.open_blocks());
        let exported = u64::from(self.logical_per_plane());
        if exported == 0 {
            return Err(SpecError::Range { key: "exported pages of a plane", found: 0, least: 1, most: raw });
        }
        let low = self.threshold(self.gc.low_watermark);
        let high = self.threshold(self.gc.high_watermark.unwrap_or(self.gc.low_watermark));
        match (low, high) {
            (Threshold::Pages(low), Threshold::Pages(high)) if low <= high => {}
            (Threshold::Blocks(low), Threshold::Blocks(high)) if low <= high => {}
            _ => return Err(SpecError::HighWatermark),
        }
        let hard = self.gc.hard_watermark.map_or(low, |hard| self.threshold(hard));
        let above_soft = self.gc.soft_watermark.is_some_and(|soft| !high.is_below(self.threshold(soft)));
        if !(hard == low || hard.is_below(low)) || above_soft {
            return Err(SpecError::SoftOrHardWatermark);
        }
        let pages = |threshold| match threshold {
            Threshold::Pages(pages) => u64::from(pages),
            Threshold::Blocks(blocks) => u64::from(blocks) * block,
        };
        if pages(low) < block {
            return Err(SpecError::LowWatermark { found: pages(low), block });
        }
        let soft = self.gc.soft_watermark.map_or(low, |soft| self.threshold(soft));
        for (threshold, watermark) in
            [(low, "low_watermark"), (high, "high_watermark"), (soft, "soft_watermark")]
        {
            // With `threshold` pages free and the open blocks half written, the full blocks must hold more pages than
            // are exported, so that at least one of them has an invalid page.
            let low = pages(threshold);
            if exported + low + open >= raw {
                return Err(SpecError::NoSlack { raw, exported, low, open, watermark });
            }
        }
        if self.gc.erase_blocking.is_some_and(|erase| erase > self.gc.blocking) {
            return Err(SpecError::EraseBlocking);
        }
        Ok(())
    }

    fn validate_ranges(&self) -> Result<(), SpecError> {
        let (g, t) = (&self.geometry, &self.timing);
        let summary = u64::from(self.ftl.summary_page.is_some());
        let d = match self.gc.victim {
            Victim::DChoices(d) => d,
            _ => 1,
        };
        let bus_bytes = g.page_bytes.0.saturating_add(g.spare_bytes.0);
        let counts = [
            ("ftl.streams", u64::from(self.ftl.streams), 1, u64::from(MAX_STREAMS)),
            ("geometry.channels", u64::from(g.channels), 1, 4096),
            ("geometry.chips", u64::from(g.chips), 1, 4096),
            ("geometry.dies", u64::from(g.dies), 1, 64),
            ("geometry.planes", u64::from(g.planes), 1, 64),
            ("geometry.blocks", u64::from(g.blocks), 3, 65_535),
            ("geometry.pages", u64::from(g.pages), 1 + summary, 16_383),
            ("geometry.page_bytes", g.page_bytes.0, 1, 1 << 24),
            ("geometry.spare_bytes", g.spare_bytes.0, 0, 1 << 24),
            ("scheduling.window", u64::from(self.scheduling.window), 1, 65_536),
            ("gc.victim.d-choices", u64::from(d), 1, 65_535),
            ("suspend.limit", self.suspend.map_or(1, |suspend| u64::from(suspend.limit)), 1, 65_536),
            ("suspend.reads", self.suspend.map_or(1, |suspend| u64::from(suspend.reads)), 1, 65_536),
            ("gc.preemption_batch", u64::from(self.gc.preemption_batch), 1, 65_536),
            ("ftl.over_provisioning (millionths)", u64::from(self.ftl.over_provisioning.0), 0, 999_999),
        ];
        let times = [
            ("timing.read (ns)", t.read.0),
            ("timing.program (ns)", t.program.0),
            ("timing.erase (ns)", t.erase.0),
            ("timing.read_command (ns)", t.read_command.0),
            ("timing.program_command (ns)", t.program_command.0),
            ("timing.erase_command (ns)", t.erase_command.0),
            ("timing.host_link_command (ns)", t.host_link_command.0),
            ("timing.host_link_per_command (ns)", t.host_link_per_command.0),
            ("suspend.overhead (ns)", self.suspend.map_or(0, |suspend| suspend.overhead.0)),
            ("suspend.resume (ns)", self.suspend.map_or(0, |suspend| suspend.resume.0)),
            ("ldpc.retry_step (ns)", self.ldpc.map_or(0, |ldpc| ldpc.retry_step.0)),
            ("timing.bus (ns a page)", t.bus.time_of(bus_bytes)),
            ("timing.host_link (ns a page)", t.host_link.time_of(g.page_bytes.0)),
        ];
        let times = times.map(|(key, found)| (key, found, 0, MAX_TIME_NS));
        let wrong =
            counts.into_iter().chain(times).find(|&(_, found, least, most)| found < least || found > most);
        wrong.map_or(Ok(()), |(key, found, least, most)| Err(SpecError::Range { key, found, least, most }))
    }

    fn validate_pairs(&self) -> Result<(), SpecError> {
        let busy = self.gc.span == GcSpan::Busy;
        let fifo = self.gc.victim == Victim::Fifo;
        let depends = self.scheduling.die_interleaving != DieInterleaving::Free;
        let on_write = self.gc.start == GcStart::OnWrite;
        let narrow = self.gc.blocking.min(self.gc.erase_blocking.unwrap_or(self.gc.blocking)) < Domain::Die;
        let levelled = self.wear.is_some_and(|wear| wear.static_gap.is_some());
        let pairs = [
            (
                on_write && narrow,
                "gc.start = \"on-write\"",
                "gc.blocking",
                "the program that waits for its collection keeps its die; block the die or more, and so the erase",
            ),
            (
                on_write && self.gc.preemption != Preemption::Never,
                "gc.start = \"on-write\"",
                "gc.preemption",
                "the program that waits for its collection keeps its die; leave one out",
            ),
            (
                on_write && self.gc.soft_watermark.is_some(),
                "gc.start = \"on-write\"",
                "gc.soft_watermark",
                "no program causes a collection in the background; leave one out",
            ),
            (
                on_write && self.suspend.is_some(),
                "gc.start = \"on-write\"",
                "[suspend]",
                "the program that waits for its collection keeps its die; leave one out",
            ),
            (
                on_write && (depends || self.scheduling.multi_plane != MultiPlane::Off),
                "gc.start = \"on-write\"",
                "scheduling.multi_plane or scheduling.die_interleaving",
                "a program that waits for its collection ends alone; leave one out",
            ),
            (
                self.gc.copy_back && busy,
                "gc.copy_back",
                "gc.span = \"busy\"",
                "a busy span uses no bus anyway; leave one out",
            ),
            (
                self.gc.copy_back && self.ldpc.is_some(),
                "gc.copy_back",
                "[ldpc]",
                "what is copied without leaving its plane is not corrected; leave one out",
            ),
            (
                self.gc.preemption != Preemption::Never && busy,
                "gc.preemption",
                "gc.span = \"busy\"",
                "a busy span has no points to stop at; use steps",
            ),
            (
                self.gc.soft_watermark.is_some() && busy,
                "gc.soft_watermark",
                "gc.span = \"busy\"",
                "a busy span has no points to stop at; use steps",
            ),
            (
                self.gc.preemption == Preemption::Phases && self.gc.copy_back,
                "gc.preemption = \"phases\"",
                "gc.copy_back",
                "a page in its plane's register cannot wait there; use `moves`",
            ),
            (
                self.gc.hard_watermark.is_some() && self.gc.preemption == Preemption::Never,
                "gc.hard_watermark",
                "gc.preemption = \"never\"",
                "nothing is preempted anyway; leave one out",
            ),
            (
                self.suspend.is_some() && !self.scheduling.read_priority,
                "[suspend]",
                "scheduling.read_priority = false",
                "reads that do not go first suspend nothing; leave one out",
            ),
            (
                self.suspend.is_some_and(|suspend| suspend.erase) && busy,
                "suspend.erase",
                "gc.span = \"busy\"",
                "a busy span cannot be suspended; use steps, or set suspend.erase = false",
            ),
            (
                self.timing.host_link_per_command.0 > 0 && self.timing.host_link_unit == LinkUnit::Page,
                "timing.host_link_per_command",
                "timing.host_link_unit = \"page\"",
                "pages do not form commands; use `command`, or host_link_command for a time a page",
            ),
            (
                self.scheduling.multi_plane != MultiPlane::Off && self.geometry.planes == 1,
                "scheduling.multi_plane",
                "geometry.planes = 1",
                "one plane has none to work with; leave it out",
            ),
            (
                depends && self.geometry.dies == 1,
                "scheduling.die_interleaving",
                "geometry.dies = 1",
                "one die has none to take turns with; leave it out",
            ),
            (
                depends && self.suspend.is_some(),
                "scheduling.die_interleaving",
                "[suspend]",
                "a die would read while other dies of its chip program; leave one out",
            ),
            (
                depends && self.gc.preemption != Preemption::Never,
                "scheduling.die_interleaving",
                "gc.preemption",
                "a chip takes host operations between its own rounds; leave one out",
            ),
            (
                depends && self.gc.soft_watermark.is_some(),
                "scheduling.die_interleaving",
                "gc.soft_watermark",
                "an idle die may have to wait for its chip; leave one out",
            ),
            (
                self.ftl.isolation == Isolation::Persistent && self.ftl.streams == 1,
                "ftl.isolation = \"persistent\"",
                "ftl.streams = 1",
                "one stream has none to be kept from; raise ftl.streams or leave it out",
            ),
            (
                levelled && fifo,
                "wear.static_gap",
                "gc.victim = \"fifo\"",
                "blocks collected in turn wear evenly as they are; leave one out",
            ),
        ];
        let wrong = pairs.into_iter().find(|pair| pair.0);
        wrong.map_or(Ok(()), |(_, key, other, reason)| Err(SpecError::Conflict { key, other, reason }))
    }

    fn validate_wear(&self) -> Result<(), SpecError> {
        if let Some(ldpc) = &self.ldpc {
            for (key, rises) in [
                ("ldpc.level_rber_ppm", ldpc.level_rber_ppm.is_sorted()),
                ("ldpc.erase_bins", ldpc.erase_bins.is_sorted()),
            ] {
                if !rises {
                    return Err(SpecError::Unsorted { key });
                }
            }
        }
        let age = self.age.unwrap_or_default();
        if age.erases[0] >= age.erases[1] {
            return Err(SpecError::AgeRange { from: age.erases[0], below: age.erases[1] });
        }
        Ok(())
    }

    /// Pages of a block that hold data.
    pub fn data_pages(&self) -> u32 {
        self.geometry.pages - u32::from(self.ftl.summary_page.is_some())
    }

    fn raw_per_plane(&self) -> u64 {
        u64::from(self.geometry.blocks) * u64::from(self.data_pages())
    }

    /// Exported pages of a plane.
    pub fn logical_per_plane(&self) -> u32 {
        let raw = self.raw_per_plane();
        // Blocks and pages are limited, so this fits in 31 bits.
        (raw - self.ftl.over_provisioning.of(raw)) as u32
    }

    pub(crate) fn threshold(&self, watermark: Watermark) -> Threshold {
        match watermark {
            Watermark::Pages(share) => Threshold::Pages(share.of(self.raw_per_plane()) as u32),
            Watermark::Blocks(share) => Threshold::Blocks(share.of(u64::from(self.geometry.blocks)) as u32),
            Watermark::BlockCount(count) => Threshold::Blocks(count),
        }
    }
}

impl DeviceSpec {
    /// Blocks of a plane that may be open at the same time: one for each stream, and those for moves of collection.
    pub(crate) fn open_blocks(&self) -> u32 {
        let streams = self.ftl.streams;
        streams
            + match (self.gc.moves, self.ftl.isolation) {
                (Moves::Shared, _) => 0,
                (Moves::Apart, Isolation::Initial) => 1,
                (Moves::Apart, Isolation::Persistent) => streams,
            }
    }

    /// The largest number of valid pages of a plane for which, at its low watermark, some full block has an invalid
    /// page.
    pub(crate) fn max_valid_per_plane(&self) -> u32 {
        let block = self.data_pages();
        let high = match self.threshold(self.gc.high_watermark.unwrap_or(self.gc.low_watermark)) {
            Threshold::Pages(pages) => pages,
            Threshold::Blocks(blocks) => blocks * block,
        };
        self.raw_per_plane() as u32 - high - block * self.open_blocks() - 1
    }
}
