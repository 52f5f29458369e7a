//! Resolves zones over given members, or explains why they have no meaning there.

use stripewise_core::geometry::Geometry;
use stripewise_core::members::Members;

use super::{Scheme, SchemeError};
use crate::placement::{FirstWrites, FreePages, ZonePages};

impl Scheme {
    /// The zones of this scheme, if it has any: for each zone its chunk and its share of each member, in pages.
    pub(super) fn zones_over(&self, members: &Members) -> Result<Option<Vec<ZonePages>>, SchemeError> {
        if !self.placement.facts().has_zones {
            return Ok(None);
        }
        let refuse = |(key, value, reason)| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        if let Some(chunk) = self.geometry.chunk {
            let reason = "is one size for all, and each zone has its own; leave it out, and set zones.reads.chunk and so on";
            return refuse(("geometry.chunk", format!("\"{chunk}\""), reason));
        }
        self.zones.pages(members.page_bytes, members.pages).map(Some).or_else(refuse)
    }

    /// Checks that zones have a meaning, once they are laid out.
    pub(super) fn check_zones(&self, geometry: &Geometry) -> Result<(), SchemeError> {
        let refuse = |key, value: String, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value, reason })
        };
        if self.placement.first_writes != FirstWrites::InPlace {
            let reason = "looks for a place for pages that zones have a home for; use \"in-place\"";
            let value = if self.placement.first_writes == FirstWrites::Gather { "gather" } else { "encode" };
            return refuse("placement.first_writes", format!("\"{value}\""), reason);
        }
        if self.zones.open_rows > 0 && self.zones.free_pages == FreePages::Data {
            let reason = "opens rows whose pages are all free, of which parity must take nothing for data; use \"zeros\"";
            return refuse("zones.free_pages", "\"data\"".into(), reason);
        }
        if geometry.pages() >= u64::from(u32::MAX) {
            let reason = "can distinguish 4294967294 pages of the array; use larger pages or smaller members";
            return refuse("placement.policy", "\"mc-rais\"".into(), reason);
        }
        self.mix.check().or_else(|(key, value, reason)| refuse(key, value, reason))
    }
}
