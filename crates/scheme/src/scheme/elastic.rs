//! Checks whether the settings of elastic striping have a meaning for given members.

use stripewise_base::share::Share;
use stripewise_base::units::Bytes;
use stripewise_core::geometry::{Geometry, Level};
use stripewise_core::members::Members;
use stripewise_core::memory::Persistence;

use super::{Acknowledge, Scheme, SchemeError, WindowSize};
use crate::placement::{AcknowledgeWrites, Dimensions, ElasticSection, FirstWrites, places};

/// The largest number of pages that a segment takes of a member.
const SEGMENT_ROWS_MAX: u32 = 1 << 16;

/// The largest number of chunks in flight to the log: their places are numbered with 32 bits.
const PLACES_MAX: u64 = 1 << 28;

impl Scheme {
    /// Checks that elastic striping has a meaning for these members.
    pub(super) fn check_elastic(&self, geometry: &Geometry, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: &dyn std::fmt::Display, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.to_string(), reason })
        };
        self.check_beside_elastic(geometry)?;
        let section = &self.elastic;
        if section.segment_rows < 2 || section.segment_rows > SEGMENT_ROWS_MAX {
            return refuse("elastic.segment_rows", &section.segment_rows, "must be 2 to 65536 pages");
        }
        if section.collect_above == Share::NONE || section.collect_above > Share::ALL {
            return refuse(
                "elastic.collect_above",
                &section.collect_above,
                "must be more than 0% and at most 100%",
            );
        }
        if section.reserve >= Share::ALL {
            return refuse("elastic.reserve", &section.reserve, "leaves no room for data; use 15% or so");
        }
        if section.room_for_lost > geometry.tolerance().min(geometry.width - geometry.tolerance() - 1) {
            let reason =
                "is more than parity tolerates, or leaves stripes no data; use 1 for RAID-5, or leave it out";
            return refuse("elastic.room_for_lost", &section.room_for_lost, reason);
        }
        if section.acknowledge == AcknowledgeWrites::Durable && section.wait.0 == 0 {
            let reason =
                "lets a write that fills no stripe wait forever; set elastic.wait, for example to \"200ms\"";
            return refuse("elastic.acknowledge", &"\"durable\"", reason);
        }
        self.hotness.check(geometry.pages()).or_else(|(key, value, reason)| refuse(key, &value, reason))?;
        self.check_classes(members)?;
        let summary = self.summary_room(members.page_bytes);
        if summary.is_some_and(|room| room < geometry.columns + geometry.tolerance() + 1) {
            let reason = "needs pages that can hold the summary of a stripe; use fewer members a group, or larger pages";
            return refuse("metadata", &"\"on\"", reason);
        }
        if summary.is_some() && section.acknowledge == AcknowledgeWrites::Durable {
            let reason =
                "has no meaning with metadata = \"on\", where a flush makes durable; use \"buffered\"";
            return refuse("elastic.acknowledge", &"\"durable\"", reason);
        }
        if summary.is_some() && self.placement.buffer_persistence == Persistence::Persistent {
            let reason = "is no memory that metadata = \"on\" could find again; use \"volatile\"";
            return refuse("placement.buffer_persistence", &"\"persistent\"", reason);
        }
        if Dimensions::new(section, geometry, self.tiers(), summary).capacity == 0 {
            let reason = "leaves too few segments to collect any; use fewer rows, or larger members";
            return refuse("elastic.segment_rows", &section.segment_rows, reason);
        }
        if places(section, geometry, self.tiers(), members.page_bytes) > PLACES_MAX {
            let reason = "lets too many chunks wait in memory; use fewer rows, or buffer = \"stripe\"";
            return refuse("elastic.segment_rows", &section.segment_rows, reason);
        }
        Ok(())
    }

    /// Checks that no other section has settings that have no meaning beside elastic striping.
    fn check_beside_elastic(&self, geometry: &Geometry) -> Result<(), SchemeError> {
        let refuse = |key, value: &dyn std::fmt::Display, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.to_string(), reason })
        };
        if geometry.level == Level::Raid0 {
            let reason = "has no meaning without parity; use \"in-place\" with RAID-0";
            return refuse("placement.policy", &"\"elastic\"", reason);
        }
        if geometry.chunk_pages != 1 {
            let reason = "must be a page of the member with placement.policy = \"elastic\"; leave it out";
            return refuse("geometry.chunk", &self.geometry.chunk.unwrap_or_default(), reason);
        }
        if self.update != super::default_update() {
            let reason = "has no meaning where parity is never updated; leave it out";
            return refuse("section", &"[update]", reason);
        }
        if self.parity.window != WindowSize::default() {
            let reason = "has no meaning where parity is never updated; use 0";
            return refuse("parity.window", &self.parity.window, reason);
        }
        if self.parity.acknowledge == Acknowledge::AfterData {
            let reason = "has no meaning where parity is never updated; use elastic.acknowledge";
            return refuse("parity.acknowledge", &"\"after-data\"", reason);
        }
        if self.placement.first_writes != FirstWrites::InPlace {
            let reason = "is what elastic striping does with every write; leave it out";
            let value = if self.placement.first_writes == FirstWrites::Gather { "gather" } else { "encode" };
            return refuse("placement.first_writes", &format!("\"{value}\""), reason);
        }
        if !self.cache.is_default() {
            let reason = "makes up for parity updates, of which elastic striping has none; leave it out";
            return refuse("section", &"[cache]", reason);
        }
        Ok(())
    }

    /// Checks that the classes of elastic striping have a meaning for these members.
    fn check_classes(&self, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: &dyn std::fmt::Display, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.to_string(), reason })
        };
        let section = &self.elastic;
        let tendencies = section.classes.tendencies();
        let has_mix = tendencies > 1;
        if has_mix {
            self.mix.check().or_else(|(key, value, reason)| refuse(key, &value, reason))?;
        }
        let page = u64::from(members.page_bytes);
        if section.block.0 == 0 || !section.block.0.is_multiple_of(page) {
            return refuse(
                "elastic.block",
                &format!("\"{}\"", section.block),
                "must be a multiple of the page",
            );
        }
        if !has_mix && section.block != ElasticSection::default().block {
            let reason = "is what the mix of reads and writes is counted of; use elastic.classes = \"hotness-and-mix\", or \
                leave it out";
            return refuse("elastic.block", &format!("\"{}\"", section.block), reason);
        }
        let classes = if has_mix { tendencies } else { self.tiers() };
        let list = || format!("{:?}", section.chunks.iter().map(Bytes::to_string).collect::<Vec<_>>());
        if !section.chunks.is_empty() && section.chunks.len() != classes as usize {
            let reason = "must have one size for each tier of hotness, the coldest first; or three, of read-intensive, mixed \
                and write-intensive blocks, with elastic.classes = \"hotness-and-mix\"";
            return refuse("elastic.chunks", &list(), reason);
        }
        let is_chunk = |chunk: &Bytes| {
            chunk.0 > 0 && chunk.0.is_multiple_of(page) && chunk.0 / page <= section.segment_rows.into()
        };
        if !section.chunks.iter().all(is_chunk) {
            let reason = "must be multiples of the page, of at most elastic.segment_rows pages";
            return refuse("elastic.chunks", &list(), reason);
        }
        if section.segment_rows <= tendencies {
            let reason = "must be more than the streams of live chunks, one for each tendency of blocks; use more rows";
            return refuse("elastic.segment_rows", &section.segment_rows, reason);
        }
        if section.device_streams && members.streams < (self.tiers() + 1) * tendencies {
            let reason = "needs members that distinguish the stream of each class, and those of live chunks of collection; set \
                ftl.streams of the device, or leave it out";
            return refuse("elastic.device_streams", &"true", reason);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: Members =
        Members { volatile_cache: false, old_versions: 8, gc_control: true, ..Members::opaque(6, 4096, 64) };

    fn resolve(text: &str) -> Result<Geometry, SchemeError> {
        let scheme = Scheme::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"));
        scheme.resolve(&MEMBERS, false)
    }

    fn refused(text: &str) -> String {
        resolve(text).expect_err("a refusal").to_string()
    }

    #[test]
    fn elastic_striping_without_meaning_is_refused_with_the_reason() {
        let elastic = |text: &str| {
            let rows = if text.contains("segment_rows") { "" } else { "[elastic]\nsegment_rows = 4" };
            refused(&format!("name = 'test'\n[placement]\npolicy = 'elastic'\n{text}\n{rows}"))
        };
        assert!(elastic("[geometry]\nlevel = 'raid0'").contains("has no meaning without parity"));
        assert!(elastic("[geometry]\nchunk = '8KiB'").contains("must be a page of the member"));
        assert!(elastic("[update]\npolicy = 'bpu'").contains("where parity is never updated"));
        assert!(elastic("[parity]\nwindow = 2").contains("where parity is never updated"));
        assert!(elastic("[parity]\nacknowledge = 'after-data'").contains("use elastic.acknowledge"));
        assert!(elastic("first_writes = 'gather'").contains("is what elastic striping does"));
        for cache in ["parity-caching", "isc", "wow"] {
            let text = elastic(&format!("[cache]\npolicy = '{cache}'"));
            assert!(text.contains("of which elastic striping has none"), "{text}");
        }
        assert!(elastic("[hotness]\npolicy = 'glru'\ntiers = 5").contains("hotness.tiers = 5 must be"));
        let section = |text: &str| elastic(&format!("[elastic]\nsegment_rows = 4\n{text}"));
        assert!(section("collect_above = '0%'").contains("more than 0%"));
        assert!(section("reserve = '100%'").contains("leaves no room for data"));
        assert!(section("room_for_lost = 2").contains("is more than parity tolerates"));
        assert!(section("acknowledge = 'durable'").contains("set elastic.wait"));
        assert!(section("device_streams = true").contains("set ftl.streams of the device"));
        assert!(elastic("[elastic]\nsegment_rows = 1").contains("must be 2 to 65536"));
        assert!(elastic("[elastic]\nsegment_rows = 32").contains("too few segments"));
        assert!(
            refused("name = 'test'\n[elastic]\nsegment_rows = 4").contains("has no meaning without a log")
        );
        assert!(refused("name = 'test'\n[hotness]\npolicy = 'glru'").contains("use that, or leave it out"));
    }

    #[test]
    fn classes_without_meaning_are_refused_with_the_reason() {
        let of = |text: &str| {
            resolve(&format!(
                "name = 'test'\n[placement]\npolicy = 'elastic'\n[elastic]\nsegment_rows = 4\n{text}"
            ))
        };
        let refused = |text: &str| of(text).expect_err("a refusal").to_string();
        let mix = "classes = 'hotness-and-mix'\n";
        assert!(of(&format!("{mix}chunks = ['16KiB', '8KiB', '4KiB']\nblock = '16KiB'")).is_ok());
        assert!(of("chunks = ['8KiB']").is_ok(), "one tier has one size");
        assert!(refused("chunks = ['8KiB', '4KiB']").contains("one size for each tier"));
        assert!(refused(&format!("{mix}chunks = ['8KiB']")).contains("or three"));
        assert!(refused("chunks = ['2KiB']").contains("multiples of the page"));
        assert!(refused("chunks = ['20KiB']").contains("at most elastic.segment_rows pages"));
        assert!(refused("block = '16KiB'").contains("the mix of reads and writes is counted of"));
        assert!(refused(&format!("{mix}block = '6KiB'")).contains("a multiple of the page"));
        assert!(refused("[mix]\nhistory = 4").contains("or elastic.classes"));
        assert!(refused(&format!("{mix}[mix]\nhistory = 0")).contains("mix.history = 0 must be"));
        let rows = "name = 'test'\n[placement]\npolicy = 'elastic'\n[elastic]\nsegment_rows = 3\n";
        assert!(resolve(rows).is_ok());
        let error = resolve(&format!("{rows}{mix}")).expect_err("a refusal").to_string();
        assert!(error.contains("more than the streams of live chunks"), "{error}");
    }
}
