//! Upgrades an array from an older version of the format to the current one, with its features: `docs/design/format.md`,
//! "Versions 1 and 2".
//!
//! An upgrade is a single update of the superblocks. If power fails at any step, the array has either the old or the new
//! version.

use super::assemble::{Assembly, assemble};
use super::site::{ROUND_PAGES, smallest};
use super::superblocks::{check_scheme, first_serving, read_all, write_all};
use super::walk::WalkFindings;
use super::{AssembleError, check_next};
use stripewise_core::media::{At, Media};
use stripewise_core::members::Members;
use stripewise_format::{
    FeatureClass, Features, MemberState, NUMBERS_BEGIN_MAX, Placement, REDO_MAGIC, Superblock, VERSION,
    settings_bytes_max, superblock_pages,
};
use stripewise_scheme::Scheme;

/// A planned or completed upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The previous version of the array.
    pub from: u16,
    /// Whether the array had the current version and all its features before, so that there was nothing to do.
    pub is_done: bool,
    /// The superblock after the upgrade, with the number and identifier of one of its members.
    pub superblock: Superblock,
}

impl Upgrade {
    /// Upgrades the array that `media` offers; no other program may write it meanwhile. With `dry_run`, only returns what
    /// the upgrade would do.
    ///
    /// If no page is free, the owner gets the last page of the redo journal, which must have no valid record. So an array
    /// with a journal is first assembled and closed.
    ///
    /// # Errors
    /// The array is not complete, or cannot be written; the message has the remedy.
    pub fn run(
        scheme: &Scheme,
        members: Members,
        media: &mut dyn Media,
        dry_run: bool,
    ) -> Result<Self, AssembleError> {
        let offered = read_all(media);
        if let Some(newer) = offered.iter().find_map(|copies| copies.newer.as_ref()) {
            return Err(AssembleError::Refused(newer.to_string()));
        }
        let assembly = assemble(&offered)?;
        let current = &assembly.superblock;
        check_scheme(current, scheme, &members)?;
        let is_done = current.version >= VERSION && current.has_chain();
        if !is_done {
            check_whole(&assembly)?;
        }
        if !dry_run {
            // The last update may have been an upgrade; back copies of the previous update prove nothing about it.
            assembly.settle(&offered, media, false)?;
        }
        if is_done {
            return Ok(Self { from: current.version, is_done, superblock: current.clone() });
        }
        check_next("update", assembly.update, NUMBERS_BEGIN_MAX)?;
        let mut superblock = Superblock { update: assembly.update + 1, ..current.clone() };
        if current.version < VERSION {
            superblock.version = VERSION;
            superblock.horizon = horizon(&assembly, scheme, &members, media)?;
            superblock.settings = settings(current, scheme);
            superblock.place_owner(smallest(media));
            if dry_run || is_void(&assembly, media) {
                superblock.take_journal_page();
            }
        }
        // Nothing is known of the past: no member is called whole.
        superblock.features.compatible |= Features::SERVING_CHAIN;
        superblock.serving = first_serving(superblock.array);
        if let Some(member) = assembly.positions[usize::from(superblock.number)] {
            let back = media.size(member).0 - superblock_pages(superblock.page_bytes);
            superblock.assign(superblock.number, back);
        }
        superblock.check().map_err(|error| AssembleError::Refused(error.to_string()))?;
        if !dry_run {
            write_all(media, &superblock, &assembly.positions)?;
        }
        Ok(Self { from: current.version, is_done, superblock })
    }
}

/// Refuses an array with a missing member: when that member returned, it would have the old version.
fn check_whole(assembly: &Assembly) -> Result<(), AssembleError> {
    let refuse = |reason: String| Err(AssembleError::Refused(reason));
    let unknown = assembly.superblock.features.unknown(FeatureClass::ReadOnly);
    if !unknown.is_empty() {
        return refuse(format!(
            "the array has {unknown}, which this program does not know, so it cannot write the array; use a newer program"
        ));
    }
    for (number, (member, position)) in
        assembly.superblock.members.iter().zip(&assembly.positions).enumerate()
    {
        let (what, remedy) = match (member.state, position) {
            (MemberState::Active, Some(_)) => continue,
            (MemberState::Active, None) => ("is missing", "offer it too"),
            (MemberState::Failed, _) => {
                ("has failed", "serve the array, replace the member, and wait for the rebuild")
            }
            (MemberState::Rebuilding, _) => ("is being rebuilt", "serve the array, and wait for the rebuild"),
        };
        return refuse(format!("member {number} {what}, and all members are upgraded together; {remedy}"));
    }
    Ok(())
}

/// The settings in the superblock; those of `scheme` if they did not fit into the old version.
fn settings(current: &Superblock, scheme: &Scheme) -> String {
    if !current.settings.is_empty() {
        return current.settings.clone();
    }
    let room = settings_bytes_max(VERSION, current.members.len());
    Some(scheme.to_settings()).filter(|text| text.len() <= room).unwrap_or_default()
}

/// Whether the redo journal has no valid record: nothing was written in this epoch.
fn is_void(assembly: &Assembly, media: &mut dyn Media) -> bool {
    let Superblock { journal, array, epoch, .. } = assembly.superblock;
    let counts = |page: &[u8]| {
        page.starts_with(&REDO_MAGIC) && page[8..24] == array.0 && page[24..28] == epoch.to_le_bytes()
    };
    let mut is_void = true;
    for &member in assembly.positions.iter().flatten() {
        let at: Vec<At> =
            (journal.first..journal.first + journal.pages).map(|page| At { member, page }).collect();
        for round in at.chunks(ROUND_PAGES) {
            media.read(round, &mut |_, content| is_void &= content.is_ok_and(|page| !counts(page)));
        }
    }
    is_void
}

/// The last batch up to which a log is durable on all members.
fn horizon(
    assembly: &Assembly,
    scheme: &Scheme,
    members: &Members,
    media: &mut dyn Media,
) -> Result<u64, AssembleError> {
    if assembly.superblock.placement != Placement::Log {
        return Ok(0);
    }
    let geometry = scheme.resolve(members, true)?;
    let Assembly { superblock, positions, .. } = assembly;
    let mut found =
        WalkFindings { media, superblock, positions, last_sources: &[], geometry: &geometry, pages_read: 0 };
    let Some(checkpoint) = found.checkpoint() else {
        return Err(AssembleError::Refused(
            "no checkpoint of the array can be read; `stripewise check` says more".into(),
        ));
    };
    Ok(found.commit().map_or(0, |commit| commit.horizon).max(checkpoint.header.horizon))
}
