//! The zones section of a scheme file, and the checks of its settings.
//!
//! Source: paper 004, sections 3.1 and 4.1; what it leaves open is marked.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stripewise_base::share::Share;
use stripewise_base::units::Bytes;

/// The zones section of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Given")]
pub struct ZonesSection {
    /// The zone of read-intensive blocks and of new blocks. Its capacity is the capacity for hosts.
    pub reads: ZoneSection,
    /// The zones of mixed blocks, from those that are read more to those that are written more: each takes an equal part of the
    /// range between `mix.reads_below` and `mix.writes_above`. Without any, mixed blocks count as read-intensive.
    pub mixed: MixedZones,
    /// The zone of write-intensive blocks.
    pub writes: ZoneSection,
    /// The unit of classification (choice; the largest chunk).
    pub block: Bytes,
    /// While less than this share of a zone is free, the blocks that were written longest ago are moved back to the zone of
    /// reads; with 0, a full zone accepts no more pages (choice).
    pub evict_below: Share,
    /// Where a page is written whose zone it is in already.
    pub writes_as: WritesAs,
    /// What parity takes a free page of a zone for.
    pub free_pages: FreePages,
    /// Rows of the zones after the first whose parity is kept in persistent memory, from their first write, if they are free as
    /// a whole then, until all their pages are written; 0 writes parity with each write (choice).
    pub open_rows: u32,
}

/// Where a write goes that covers a page of a mixed or write-intensive block as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritesAs {
    /// To the page's place, if that is in the zone of the block: a hit's "index will be retrieved to locate the data zones to
    /// service the write request" (paper 004, section 3.2).
    #[default]
    InPlace,
    /// To the next free page of the block's zone: the map is "similar to the mapping information within the FTL" (section 3.1),
    /// and blocks "are stored sequentially" (section 3.2).
    Log,
}

/// What the parity of a row takes its free pages for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreePages {
    /// For their old content, which updates pre-read like data.
    Data,
    /// For zeros, which are never read (choice).
    #[default]
    Zeros,
}

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneSection {
    /// Its chunk size.
    pub chunk: Bytes,
    /// The zone's share of each member, in proportion to the sum over the zones.
    pub parts: u32,
}

/// The zones of mixed blocks: a table where there is one, a list of tables otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedZones(pub Vec<ZoneSection>);

impl Serialize for MixedZones {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

/// The section as written in a file: settings that are left out have the zone's default.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Given {
    reads: GivenZone,
    mixed: GivenMixed,
    writes: GivenZone,
    block: Option<Bytes>,
    evict_below: Option<Share>,
    writes_as: WritesAs,
    free_pages: FreePages,
    open_rows: u32,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GivenZone {
    chunk: Option<Bytes>,
    parts: Option<u32>,
}

struct GivenMixed(Vec<GivenZone>);

impl Default for GivenMixed {
    fn default() -> Self {
        Self(vec![GivenZone::default()])
    }
}

impl<'de> Deserialize<'de> for GivenMixed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrSeveral)
    }
}

/// Reads a table, or a list of tables. (An untagged enum would lose what is wrong inside a table.)
struct OneOrSeveral;

impl<'de> Visitor<'de> for OneOrSeveral {
    type Value = GivenMixed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a zone, as { chunk = \"8KiB\", parts = 1 }, or a list of zones")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GivenMixed, A::Error> {
        let zone = GivenZone::deserialize(MapAccessDeserializer::new(map))?;
        Ok(GivenMixed(vec![zone]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<GivenMixed, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(GivenMixed)
    }
}

impl From<Given> for ZonesSection {
    fn from(given: Given) -> Self {
        let (default, default_mixed) = (Self::default(), MIXED);
        let zone = |given: GivenZone, default: ZoneSection| ZoneSection {
            chunk: given.chunk.unwrap_or(default.chunk),
            parts: given.parts.unwrap_or(default.parts),
        };
        Self {
            reads: zone(given.reads, default.reads),
            mixed: MixedZones(given.mixed.0.into_iter().map(|given| zone(given, default_mixed)).collect()),
            writes: zone(given.writes, default.writes),
            block: given.block.unwrap_or(default.block),
            evict_below: given.evict_below.unwrap_or(default.evict_below),
            writes_as: given.writes_as,
            free_pages: given.free_pages,
            open_rows: given.open_rows,
        }
    }
}

/// The zone of mixed blocks. Printed: paper 004, section 3.1 and figure 3.
const MIXED: ZoneSection = ZoneSection { chunk: Bytes(8 << 10), parts: 1 };

impl Default for ZonesSection {
    fn default() -> Self {
        // Printed: paper 004, section 3.1 and figure 3, and zones of one size in section 4.1.
        let zone = |chunk: u64| ZoneSection { chunk: Bytes(chunk << 10), parts: 1 };
        Self {
            reads: zone(32),
            mixed: MixedZones(vec![MIXED]),
            writes: zone(4),
            block: Bytes(32 << 10),
            evict_below: Share(10_000),
            writes_as: WritesAs::InPlace,
            free_pages: FreePages::Zeros,
            open_rows: 0,
        }
    }
}

/// A zone over given members, in pages: its chunk size, and its size on each member.
pub type ZonePages = (u32, u32);

/// The most pages of a block; more are refused.
const BLOCK_PAGES_MAX: u64 = 4096;

/// The most zones of mixed blocks; more are refused. With those of reads and of writes they are sixteen (choice).
const MIXED_MAX: usize = 14;

/// The most parts of a zone; more are refused.
const PARTS_MAX: u32 = 1 << 16;

impl ZonesSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The zones in their order on the members: of reads, mixed, of writes.
    pub fn zones(&self) -> impl Iterator<Item = (&'static str, ZoneSection)> + '_ {
        let mixed = self.mixed.0.iter().map(|&zone| ("zones.mixed", zone));
        let (reads, writes) = (("zones.reads", self.reads), ("zones.writes", self.writes));
        std::iter::once(reads).chain(mixed).chain(std::iter::once(writes))
    }

    /// Pages of a block.
    pub fn block_pages(&self, page_bytes: u32) -> u64 {
        self.block.0 / u64::from(page_bytes)
    }

    /// The zones over members of `member_pages` pages each. Every zone has whole chunks of the first.
    ///
    /// # Errors
    /// The first setting that is not valid for these members: key, value and reason.
    pub fn pages(
        &self,
        page_bytes: u32,
        member_pages: u32,
    ) -> Result<Vec<ZonePages>, (&'static str, String, &'static str)> {
        let page = u64::from(page_bytes);
        let largest = self.reads.chunk.0;
        let mut found = Vec::new();
        let parts: u64 = self.zones().map(|(_, zone)| u64::from(zone.parts)).sum();
        if self.mixed.0.len() > MIXED_MAX {
            let reason = "must be at most 14 zones: an array has at most 16";
            return Err(("zones.mixed", format!("{} zones", self.mixed.0.len()), reason));
        }
        for (key, zone) in self.zones() {
            let refuse = |reason| Err((key, format!("{{ chunk = \"{}\" }}", zone.chunk), reason));
            let chunk = zone.chunk.0;
            if chunk == 0 || !chunk.is_multiple_of(page) || chunk > u64::from(member_pages) * page {
                return refuse("must be a multiple of the member's page, and no more than a member");
            }
            if !largest.is_multiple_of(chunk) {
                return refuse("must divide the chunk of zones.reads");
            }
            if zone.parts == 0 || zone.parts > PARTS_MAX {
                let reason = "must be 1 to 65536 parts: every class of blocks has a zone; for mixed blocks, mixed = [] \
                    leaves it out";
                return Err((key, format!("{{ parts = {} }}", zone.parts), reason));
            }
            let chunks = u64::from(member_pages) * u64::from(zone.parts) / parts / (largest / page);
            if chunks == 0 {
                return refuse(
                    "leaves no zone a chunk on these members; use smaller chunks or larger members",
                );
            }
            found.push(((chunk / page) as u32, (chunks * (largest / page)) as u32));
        }
        let block = self.block_pages(page_bytes);
        if !self.block.0.is_multiple_of(page) || block == 0 || block > BLOCK_PAGES_MAX {
            let reason = "must be 1 to 4096 whole pages of the member";
            return Err(("zones.block", format!("\"{}\"", self.block), reason));
        }
        if self.evict_below >= Share::ALL {
            return Err((
                "zones.evict_below",
                self.evict_below.to_string(),
                "leaves no zone anything to hold",
            ));
        }
        Ok(found)
    }
}
