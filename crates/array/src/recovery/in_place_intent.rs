//! The intent bitmap on the members: reading the newest version of each group's page, and the first one.

use super::damage::is_damaged;
use super::site::Site;
use super::{AssembleError, RecoveryReport};
use stripewise_core::ids::PlanId;
use stripewise_core::media::At;
use stripewise_format::{IntentPage, Structure};

use crate::in_place::journal::Intent;

/// The newest page of a group, if there is one.
pub(super) struct Newest {
    pub(super) version: u64,
    pub(super) words: Option<Vec<u64>>,
}

/// The content of the bitmap.
pub(super) struct IntentFindings {
    pub(super) groups: Vec<Newest>,
    /// The members that the bitmap calls missing.
    pub(super) missing: u64,
    /// Pages to write so that all copies have the newest version.
    pub(super) behind: (Vec<At>, Vec<Vec<u8>>),
}

/// The places of the copies of a group's page in a version, on members that are present.
fn places(site: &Site<'_>, group: u32, version: u64) -> Vec<At> {
    let page = site.layout.intent.first + site.layout.intent_page(version);
    site.geometry.group(group).filter_map(|member| site.at(member, page)).collect()
}

/// Writes the bitmap of an empty array.
pub(super) fn create(site: &mut Site<'_>) -> Result<(), AssembleError> {
    let mut intent = Intent::new(site.layout, site.geometry.groups, PlanId::NONE);
    (intent.array, intent.epoch) = (site.array, site.epoch);
    for group in 0..site.geometry.groups {
        let version = intent.version(group);
        let at = places(site, group, version);
        let mut page = vec![0; site.page_bytes()];
        intent.encode(group, &mut page);
        site.write(&at, &vec![page; at.len()])?;
    }
    Ok(())
}

/// Reads the bitmap of all groups.
pub(super) fn read(site: &mut Site<'_>, opened: &mut RecoveryReport) -> IntentFindings {
    let mut found = IntentFindings { groups: Vec::new(), missing: 0, behind: (Vec::new(), Vec::new()) };
    for group in 0..site.geometry.groups {
        let mut copies: Vec<(At, IntentPage, Vec<u8>)> = Vec::new();
        let mut damaged = Vec::new();
        for even in [0, 1] {
            let at = places(site, group, even);
            for (at, page) in at.iter().zip(site.read(&at)) {
                let head = page.as_deref().map(IntentPage::parse);
                if head.as_ref().is_none_or(|head| is_damaged(head.as_ref())) {
                    damaged.push(*at);
                }
                let (Some(page), Some(Ok(head))) = (page, head) else { continue };
                let is_its = head.array == site.array
                    && head.group == group
                    && head.version % 2 == even
                    && head.epoch <= site.epoch
                    && head.bits == site.layout.regions();
                if is_its {
                    copies.push((*at, head, page));
                }
            }
        }
        let Some((_, head, page)) = copies.iter().max_by_key(|(_, head, _)| head.version) else {
            found.groups.push(Newest { version: 2, words: None });
            continue;
        };
        if head.epoch == site.epoch {
            found.missing |= head.missing;
        }
        for at in places(site, group, head.version) {
            if !copies.iter().any(|copy| copy.0 == at && copy.1.version == head.version) {
                let is_bad = damaged.contains(&at);
                opened.damaged.extend(is_bad.then(|| site.damaged(at, Structure::Intent)));
                found.behind.0.push(at);
                found.behind.1.push(page.clone());
            }
        }
        found.groups.push(Newest { version: head.version, words: Some(IntentPage::words(page).collect()) });
    }
    found
}
