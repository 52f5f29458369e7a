//! Schemes whose arrays can be assembled again: `metadata = "on"`.

use stripewise_core::members::Members;
use stripewise_format::layout::Layout;
use stripewise_format::{Placement, SUPERBLOCK_MEMBERS_MAX, summary};

use super::{Metadata, Scheme, SchemeError};

impl Scheme {
    /// Checks that the on-media format supports everything that this scheme keeps.
    pub(super) fn check_metadata(&self, members: &Members) -> Result<(), SchemeError> {
        if self.metadata == Metadata::Off {
            return Ok(());
        }
        let refuse = |reason| {
            let value = "\"on\"".into();
            Err(SchemeError::Setting { scheme: self.name.clone(), key: "metadata", value, reason })
        };
        if members.count as usize > SUPERBLOCK_MEMBERS_MAX {
            return refuse("is for 64 members at most, which a superblock can name; use fewer, or \"off\"");
        }
        if self.placement.facts().format.is_none() {
            return refuse(
                "knows no format of this placement; use placement.policy = \"elastic\" or \"in-place\"",
            );
        }
        Ok(())
    }

    /// The areas of the members of a log with metadata.
    pub fn log_layout(&self, members: &Members) -> Option<Layout> {
        let is_log = self.placement.facts().format == Some(Placement::Log) && self.metadata == Metadata::On;
        let (groups, rows) = (self.geometry.groups.max(1), self.elastic.segment_rows.max(1));
        let chunks = u64::from(rows) * u64::from(members.count / groups);
        is_log.then(|| Layout::of_log(members.page_bytes, members.pages, groups, rows, chunks))
    }

    /// The number of entries that a summary has room for, if the scheme has summaries.
    pub(crate) fn summary_room(&self, page_bytes: u32) -> Option<u32> {
        (self.metadata == Metadata::On).then(|| summary::room(page_bytes))
    }
}
