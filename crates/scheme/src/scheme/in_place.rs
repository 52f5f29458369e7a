//! Checks the metadata settings of an array in place, and computes where its metadata lies.

use stripewise_core::geometry::{Geometry, Level};
use stripewise_core::members::Members;
use stripewise_format::in_place::{InPlaceLayout, InPlaceShape};
use stripewise_format::{Placement, SUPERBLOCK_MEMBERS_MAX};
use stripewise_policy::cache::CachePolicy;

use super::{Acknowledge, Metadata, Scheme, SchemeError, WindowSize};
use crate::placement::{FirstWrites, JournalPolicy};

impl Scheme {
    /// Whether the section `[journal]` has a meaning.
    pub(super) fn has_journal_section(&self) -> bool {
        self.metadata == Metadata::On && self.placement.facts().format == Some(Placement::InPlace)
    }

    /// Whether updates in place go through the redo journal.
    pub fn has_redo_journal(&self) -> bool {
        self.has_journal_section() && self.journal.policy == JournalPolicy::Redo
    }

    /// Checks metadata together with all other settings, except for those of the log.
    pub(super) fn check_in_place(&self, members: &Members) -> Result<(), SchemeError> {
        let refuse = |key, value: &dyn std::fmt::Display, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.to_string(), reason })
        };
        if !self.has_journal_section() && !self.journal.is_default() {
            let reason = "is about updates in place of an array that can be assembled again; use metadata = \"on\" with \
                placement.policy = \"in-place\", or leave it out";
            return refuse("section", &"[journal]", reason);
        }
        if !self.has_journal_section() {
            return Ok(());
        }
        let on = &"\"on\"";
        if self.geometry.level == Level::Raid0 {
            let reason = "keeps one copy of its metadata more than the losses that parity tolerates, and there is no parity; \
                use RAID-5 or RAID-6";
            return refuse("metadata", on, reason);
        }
        if members.count as usize > SUPERBLOCK_MEMBERS_MAX {
            return refuse("metadata", on, "has room for 64 members in a superblock; use fewer");
        }
        if self.cache.policy != CachePolicy::None {
            let reason = "has no format for a write cache in memory; leave out the section [cache]";
            return refuse("metadata", on, reason);
        }
        if self.placement.first_writes != FirstWrites::InPlace {
            let reason =
                "has no format for rows that wait in memory; use placement.first_writes = \"in-place\"";
            return refuse("metadata", on, reason);
        }
        if self.journal.policy == JournalPolicy::IntentBitmap {
            if self.journal.capacity.is_some() {
                let reason = "has no meaning without a redo journal; leave it out";
                return refuse("journal.capacity", &self.journal.capacity.unwrap_or_default(), reason);
            }
            if self.parity.window != WindowSize::default() {
                let reason = "would leave rows open to the write hole for as long as their parity is late; use 0, or \
                    journal.policy = \"redo\"";
                return refuse("parity.window", &self.parity.window, reason);
            }
            if self.parity.acknowledge == Acknowledge::AfterData {
                let reason = "would leave it open whether parity is that of acknowledged data; use \"after-parity\" with \
                    journal.policy = \"intent-bitmap\"";
                return refuse("parity.acknowledge", &"\"after-data\"", reason);
            }
        }
        Ok(())
    }

    /// The layout of the metadata of an array in place, on members that would have this geometry without metadata.
    pub fn in_place_layout(
        &self,
        members: &Members,
        geometry: &Geometry,
    ) -> Result<Option<InPlaceLayout>, SchemeError> {
        if !self.has_journal_section() {
            return Ok(None);
        }
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        let shape = InPlaceShape {
            page_bytes: members.page_bytes,
            pages: members.pages,
            columns: geometry.columns,
            copies: geometry.parity() + 1,
            chunk_pages: geometry.chunk_pages,
        };
        let layout = if self.has_redo_journal() {
            let pages = self.journal.capacity.map(|bytes| bytes.0 / u64::from(members.page_bytes));
            let capacity = || self.journal.capacity.unwrap_or_default().to_string();
            if pages.is_some_and(|pages| pages >= members.pages.into()) {
                return refuse("journal.capacity", capacity(), "leaves no room for data; use less");
            }
            let layout = InPlaceLayout::with_journal(&shape, pages.map(|pages| pages as u32));
            if layout.journal.pages < layout.journal_pages_min() {
                let reason = "has no room for four records of the greatest size; leave it out, or use more";
                return refuse("journal.capacity", capacity(), reason);
            }
            layout
        } else {
            InPlaceLayout::with_bitmap(&shape)
        };
        if layout.data.pages == 0 {
            let reason = "leaves no room for data beside it; use larger members";
            return refuse("metadata", "\"on\"".into(), reason);
        }
        Ok(Some(layout))
    }
}

#[cfg(test)]
mod tests {
    use stripewise_core::ids::RowNo;

    use super::*;

    const MEMBERS: Members = Members { old_versions: 8, ..Members::opaque(5, 4096, 1 << 14) };

    fn resolve(text: &str) -> Result<Geometry, SchemeError> {
        let text = format!("name = 'test'\n{text}");
        let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
        scheme.resolve(&MEMBERS, true)
    }

    #[test]
    fn what_metadata_in_place_does_not_tolerate_is_refused_with_the_reason() {
        let refused = |text: &str| resolve(text).expect_err("a refusal").to_string();
        let on = |text: &str| refused(&format!("metadata = 'on'\n{text}"));
        assert!(on("[geometry]\nlevel = 'raid0'").contains("there is no parity"));
        assert!(on("[cache]\npolicy = 'parity-caching'").contains("no format for a write cache"));
        assert!(on("[placement]\nfirst_writes = 'gather'").contains("use placement.first_writes"));
        assert!(on("[journal]\ncapacity = '64KiB'").contains("four records of the greatest size"));
        assert!(on("[journal]\ncapacity = '1GiB'").contains("leaves no room for data"));
        let bitmap = |text: &str| on(&format!("[journal]\npolicy = 'intent-bitmap'\n{text}"));
        assert!(bitmap("capacity = '1MiB'").contains("has no meaning without a redo journal"));
        assert!(bitmap("[parity]\nwindow = 2").contains("open to the write hole"));
        assert!(bitmap("[parity]\nacknowledge = 'after-data'").contains("use \"after-parity\""));
        assert!(refused("[journal]\npolicy = 'intent-bitmap'").contains("use metadata = \"on\""));
    }

    #[test]
    fn parity_may_be_late_where_a_journal_has_what_it_covers() {
        assert!(resolve("metadata = 'on'\n[parity]\nwindow = 2").is_ok());
    }

    #[test]
    fn data_begins_behind_the_metadata() {
        let geometry = resolve("metadata = 'on'").unwrap();
        // A superblock, the table, and a journal of 512 pages.
        assert!(geometry.first_page > 512 && geometry.first_page < 700, "{}", geometry.first_page);
        assert_eq!(geometry.place(RowNo::new(0)).page, geometry.first_page);
        assert_eq!(resolve("").unwrap().place(RowNo::new(0)).page, 0);
    }
}
