//! Making an array of an older version of the format one of this version: `docs/format.md`, "Versions 1 and 2".
//!
//! It is one update of the superblocks, so that power may go at any step: the array is of one version or of the other then.

use super::assemble::{Assembly, assemble};
use super::superblocks::{check_scheme, flush, read_all, write_all, write_copies};
use super::walk::Found;
use super::{OpenError, ROUND_PAGES, check_next, smallest};
use crate::format::{
    Copy, FeatureClass, MemberState, NUMBERS_BEGIN_MAX, Placement, REDO_MAGIC, Superblock, VERSION,
    settings_bytes_max,
};
use crate::media::{At, Media};
use crate::scheme::{Members, Scheme};

/// What an upgrade does, or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The version that the array had. That of this program where there is nothing to do.
    pub from: u16,
    /// The superblock of the array as it is then, with the number and identifier of one of its members.
    pub superblock: Superblock,
}

impl Upgrade {
    /// The upgrade of the array that `media` offers, which nothing writes meanwhile. Unless `dry_run` says that it is only to be
    /// told, it is done.
    ///
    /// Where no page is free, the owner gets the last one of a redo journal, of which no record may count: so an array with a
    /// journal is assembled and closed before.
    ///
    /// # Errors
    /// When the array is not whole, or cannot be written, with the remedy.
    pub fn run(
        scheme: &Scheme,
        members: Members,
        media: &mut dyn Media,
        dry_run: bool,
    ) -> Result<Self, OpenError> {
        let offered = read_all(media);
        if let Some(newer) = offered.iter().find_map(|copies| copies.newer.as_ref()) {
            return Err(OpenError::Refused(newer.to_string()));
        }
        let assembly = assemble(&offered)?;
        let current = &assembly.superblock;
        check_scheme(current, scheme, &members)?;
        if current.version < VERSION {
            check_whole(&assembly)?;
        }
        if !dry_run && assembly.is_unfinished(&offered) {
            // The last update was cut short, which may have been an upgrade; back copies of the one before it prove nothing.
            let present: Vec<u16> = assembly.positions.iter().flatten().copied().collect();
            flush(media, &present)?;
            write_copies(media, current, &assembly.positions, Copy::Back)?;
        }
        if current.version >= VERSION {
            return Ok(Self { from: current.version, superblock: current.clone() });
        }
        check_next("update", assembly.update, NUMBERS_BEGIN_MAX)?;
        let mut superblock = Superblock {
            version: VERSION,
            update: assembly.update + 1,
            horizon: horizon(&assembly, scheme, &members, media)?,
            settings: settings(current, scheme),
            ..current.clone()
        };
        superblock.place_owner(smallest(media));
        if dry_run || is_void(&assembly, media) {
            superblock.take_journal_page();
        }
        superblock.check().map_err(|error| OpenError::Refused(error.to_string()))?;
        if !dry_run {
            write_all(media, &superblock, &assembly.positions)?;
        }
        Ok(Self { from: current.version, superblock })
    }
}

/// Refuses an array of which something is missing: a member that is back later would have the version before.
fn check_whole(assembly: &Assembly) -> Result<(), OpenError> {
    let refuse = |reason: String| Err(OpenError::Refused(reason));
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

/// The settings in the superblock; those of `scheme` where they did not fit into the version before.
fn settings(current: &Superblock, scheme: &Scheme) -> String {
    if !current.settings.is_empty() {
        return current.settings.clone();
    }
    let room = settings_bytes_max(VERSION, current.members.len());
    Some(scheme.to_settings()).filter(|text| text.len() <= room).unwrap_or_default()
}

/// Whether no record of the redo journal counts: nothing was written in this epoch.
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

/// Up to which batch all is durable on all members, of a log.
fn horizon(
    assembly: &Assembly,
    scheme: &Scheme,
    members: &Members,
    media: &mut dyn Media,
) -> Result<u64, OpenError> {
    if assembly.superblock.placement != Placement::Log {
        return Ok(0);
    }
    let geometry = scheme.resolve(members, true)?;
    let Assembly { superblock, positions, .. } = assembly;
    let mut found = Found { media, superblock, positions, geometry: &geometry, pages_read: 0 };
    let Some(checkpoint) = found.checkpoint() else {
        return Err(OpenError::Refused(
            "no checkpoint of the array can be read; `stripewise check` says more".into(),
        ));
    };
    Ok(found.commit().map_or(0, |commit| commit.horizon).max(checkpoint.header.horizon))
}
