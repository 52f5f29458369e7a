//! Creates and assembles an array in place: `docs/design/format.md`, "In place".

use std::collections::BTreeMap;

use stripewise_code::Code;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::{At, Media};
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_exec::ArrayOf;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{MemberRecord, MemberState, NUMBERS_BEGIN_MAX, Superblock, superblock_pages};
use stripewise_scheme::Scheme;

use super::assemble::Assembly;
use super::in_place_deferred as deferred;
use super::in_place_intent as intents;
use super::in_place_journal::JournalFindings;
use super::in_place_table as tables;
use super::site::{ROUND_PAGES, Site, smallest};
use super::superblocks::{features_of, superblock_in_place, write_all};
use super::{
    AssembleError, AssemblyOptions, Identity, RecoveryReport, check_losses, check_next, take_out_absent,
};
use crate::array::Array;
use crate::array::Placed;
use crate::in_place::journal::Checksums;

/// Writes an empty array: zeros, a table of their checksums, superblocks.
pub(super) fn create(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    identity: &Identity,
    media: &mut dyn Media,
) -> Result<(), AssembleError> {
    let layout = layout_of(scheme, members, geometry)?;
    let mut superblock = superblock_in_place(scheme, members, geometry, &layout, identity);
    superblock.place_owner(smallest(media));
    superblock.check().map_err(|error| AssembleError::Refused(error.to_string()))?;
    let positions: Vec<Option<u16>> = (0..media.count()).map(Some).collect();
    let mut site = Site {
        media,
        geometry,
        layout,
        array: superblock.array,
        epoch: 0,
        positions: positions.clone(),
        pages_read: 0,
    };
    let metadata = [layout.intent, layout.table, layout.journal];
    let first = metadata.iter().filter(|area| area.pages > 0).map(|area| area.first).min();
    for member in MemberNo::first(geometry.members) {
        clear(&mut site, member, first.unwrap_or(layout.data.first)..layout.data.first + layout.data.pages)?;
    }
    if scheme.has_redo_journal() {
        let mut table = Checksums::new(&layout, geometry.groups, true);
        let all: Vec<u32> = (0..table.pages()).collect();
        tables::write(&mut site, &mut table, &all)?;
    } else {
        intents::create(&mut site)?;
    }
    write_all(site.media, &superblock, &positions)
}

/// Clears pages that are not zeros. On members that were never used, only few pages need writing.
fn clear(site: &mut Site<'_>, member: MemberNo, pages: std::ops::Range<u32>) -> Result<(), AssembleError> {
    let zeros = vec![0; site.page_bytes()];
    for first in pages.clone().step_by(ROUND_PAGES) {
        let round: Vec<u32> = (first..pages.end.min(first + ROUND_PAGES as u32)).collect();
        let at: Vec<At> = round.iter().filter_map(|&page| site.at(member, page)).collect();
        let found = site.read(&at);
        let is_used = |content: &Option<Vec<u8>>| content.as_ref() != Some(&zeros);
        let used: Vec<At> =
            at.iter().zip(&found).filter(|(_, content)| is_used(content)).map(|(at, _)| *at).collect();
        if !used.is_empty() {
            site.write(&used, &vec![&zeros; used.len()])?;
        }
    }
    Ok(())
}

fn layout_of(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
) -> Result<InPlaceLayout, AssembleError> {
    let layout = scheme.in_place_layout(members, geometry)?;
    layout.ok_or_else(|| AssembleError::Refused("the scheme keeps no metadata in place".into()))
}

/// Assembles an array in place.
pub(super) fn open<M: Memory>(
    scheme: &Scheme,
    members: Members,
    memory: &mut Option<M>,
    media: &mut dyn Media,
    assembly: &Assembly,
    opening: AssemblyOptions,
) -> Result<(Array<M>, RecoveryReport), AssembleError> {
    let geometry = scheme.resolve(&members, M::CARRIES_DATA)?;
    let layout = layout_of(scheme, &members, &geometry)?.as_upgraded(&assembly.superblock);
    let mut superblock =
        Superblock { update: assembly.update, is_clean: false, ..assembly.superblock.clone() };
    check_areas(&superblock, scheme, &layout)?;
    let mut site = Site {
        media,
        geometry: &geometry,
        layout,
        array: superblock.array,
        epoch: superblock.epoch,
        positions: assembly.positions.clone(),
        pages_read: 0,
    };
    let mut opened = RecoveryReport::default();
    let has_journal = scheme.has_redo_journal();
    let table = match scheme.code(&geometry, geometry.page_bytes)?.filter(|_| has_journal) {
        Some(code) => Some(redo(&mut site, &mut superblock, &mut opened, &code, opening)?),
        None => None,
    };
    let marks = if has_journal { None } else { Some(read_marks(&mut site, &mut opened, opening)?) };

    // The new epoch voids all records, and with them the features that they use.
    superblock.features.incompatible = features_of(scheme).incompatible;
    superblock.epoch = assembly.epoch.max(superblock.epoch) + 1;
    superblock.update += 1;
    site.fail_absent(&mut superblock);
    assembly.begin_serving(&mut superblock, opening.serving);
    if !opening.read_only {
        write_all(site.media, &superblock, &site.positions)?;
    }
    opened.epoch = superblock.epoch;
    opened.positions = site.positions;
    opened.pages_read = site.pages_read;
    let mut array = Array::new(scheme, members, memory.take().expect("it is given once"))?;
    take_out_absent(&mut array, &opened.positions);
    let span = superblock_pages(superblock.page_bytes);
    // Superblocks that are written go to the ends of members; those that are only read stay where they are.
    let last = |(member, position): (usize, &Option<u16>)| match *position {
        Some(_) if opening.read_only => assembly.backs[member],
        position => position.map_or(superblock.pages, |at| media.size(at).0) - span,
    };
    let back = opened.positions.iter().enumerate().map(last).collect();
    begin(&mut array, assembly, (superblock, back), (table, marks), opening);
    Ok((array, opened))
}

/// Gives the placement of `array` its metadata: the superblock with the pages of its back copies, the table of checksums, the
/// marks of the intent bitmap.
fn begin<M: Memory>(
    array: &mut Array<M>,
    assembly: &Assembly,
    (superblock, back): (Superblock, Vec<u32>),
    (table, marks): (Option<Checksums>, Option<intents::IntentFindings>),
    opening: AssemblyOptions,
) {
    let Placed::InPlace(array) = &mut array.0 else { return };
    let ArrayOf { exec, placement } = &mut **array;
    placement.begin_members(superblock.clone(), back, exec);
    if let Some(members) = placement.membership_mut() {
        members.note_without_back(assembly.without_back);
    }
    if opening.read_only {
        placement.has_on_members(assembly.superblock.clone());
    }
    if let Some(table) = table {
        placement.begin_journal(superblock.array, superblock.epoch, table, superblock.journal, exec);
    }
    if let Some(marks) = marks {
        placement.begin_intent(
            superblock.array,
            superblock.epoch,
            |intent| {
                for (group, newest) in (0..).zip(&marks.groups) {
                    intent.load(group, newest.version, newest.words.as_deref());
                }
            },
            exec,
        );
    }
}

/// Checks that the scheme places all areas where they are.
fn check_areas(
    superblock: &Superblock,
    scheme: &Scheme,
    layout: &InPlaceLayout,
) -> Result<(), AssembleError> {
    let areas = [
        ("redo journal", superblock.journal, layout.journal),
        ("table of checksums", superblock.table, layout.table),
        ("intent bitmap", superblock.bitmap, layout.intent),
        ("data", superblock.data, layout.data),
    ];
    match areas.iter().find(|(_, found, expected)| found != expected) {
        None => Ok(()),
        Some((what, found, expected)) => Err(AssembleError::Refused(format!(
            "the array has {} pages of {what} from page {} on, scheme `{}` asks for {} from page {} on; open it with the section \
             [journal] that it was created with",
            found.pages, found.first, scheme.name, expected.pages, expected.first
        ))),
    }
}

/// Reads the marks of the intent bitmap.
fn read_marks(
    site: &mut Site<'_>,
    opened: &mut RecoveryReport,
    opening: AssemblyOptions,
) -> Result<intents::IntentFindings, AssembleError> {
    let found = intents::read(site, opened);
    site.leave_out(found.missing);
    site.check_enough()?;
    if !opening.read_only {
        let version = found.groups.iter().map(|newest| newest.version).max().unwrap_or(0);
        check_next("version of the intent bitmap", version, NUMBERS_BEGIN_MAX)?;
        site.write(&found.behind.0, &found.behind.1)?;
    }
    Ok(found)
}

/// Replays the journal, and returns the resulting table of checksums.
fn redo(
    site: &mut Site<'_>,
    superblock: &mut Superblock,
    opened: &mut RecoveryReport,
    code: &Code,
    opening: AssemblyOptions,
) -> Result<Checksums, AssembleError> {
    let mut found = JournalFindings::read(site);
    opened.losses.extend(found.losses());
    if let Some(newest) = &found.newest {
        site.leave_out(newest.missing);
    }
    site.check_enough()?;
    let damaged = found.damaged(site);
    opened.damaged.extend(damaged);
    let tables::TableFindings { mut table, behind, lost } = tables::read(site, opened);
    check_losses(&opened.losses, opening.force)?;
    opened.dropped = found.dropped;
    opened.replayed = found.records.len() as u64;
    if opening.read_only {
        if !deferred::rows(&found, site.geometry).is_empty() {
            return Err(undone());
        }
    } else {
        check_next("record of the journal", found.newest_number(), NUMBERS_BEGIN_MAX)?;
        check_next("version of the table of checksums", table.greatest_version(), NUMBERS_BEGIN_MAX)?;
        found.secure(site)?;
        tables::make_whole(site, &table, &behind)?;
        if !deferred::rows(&found, site.geometry).is_empty() && site.fail_absent(superblock) {
            // A member that returns before this assembly is complete may have records that were dropped without it, or
            // records that an earlier assembly wrote for other rows under the same numbers.
            superblock.update += 1;
            write_all(site.media, superblock, &site.positions)?;
        }
        if !opening.has_bug(Bug::LateParityForgotten) {
            // If records are lost, the place of the next record is unknown.
            let is_recorded = found.is_whole() && !opening.has_bug(Bug::LateParityNotRecorded);
            deferred::cover(site, &mut found, &table, code, is_recorded)?;
        }
    }
    let changes = found.changes(site.geometry);
    put_pages(site, changes.pages, opening)?;
    tables::remake(site, &mut table, &lost, code);
    for ((group, page, position), checksum) in changes.checksums {
        table.set(group, page, position, checksum);
    }
    forget_left_behind(site, superblock, &found, &mut table);
    if !opening.read_only {
        deferred::remake(site, &mut table, code)?;
        let changed = table.changed().to_vec();
        tables::write(site, &mut table, &changed)?;
        found.clear_unread(site)?;
    }
    Ok(table)
}

/// The refusal of a read-only assembly that would need to write.
fn undone() -> AssembleError {
    let reason = "the journal has updates that are not done in place; open it for writing first";
    AssembleError::Refused(reason.into())
}

/// Writes the last content of `pages`, which are numbered by member and page of the data. A read-only assembly checks that the
/// members have it.
fn put_pages(
    site: &mut Site<'_>,
    pages: BTreeMap<(MemberNo, u32), Vec<u8>>,
    opening: AssemblyOptions,
) -> Result<(), AssembleError> {
    let last: Vec<(At, Vec<u8>)> = pages
        .into_iter()
        .filter_map(|((member, page), bytes)| Some((site.at(member, site.layout.data.first + page)?, bytes)))
        .collect();
    let (at, pages): (Vec<At>, Vec<Vec<u8>>) = last.into_iter().unzip();
    if !opening.read_only {
        return site.write(&at, &pages);
    }
    for (at, pages) in at.chunks(ROUND_PAGES).zip(pages.chunks(ROUND_PAGES)) {
        if site.read(at).iter().zip(pages).any(|(found, expected)| found.as_ref() != Some(expected)) {
            return Err(undone());
        }
    }
    Ok(())
}

/// Forgets the checksums of parity that the records left behind on members that lack it.
fn forget_left_behind(
    site: &Site<'_>,
    superblock: &Superblock,
    found: &JournalFindings,
    table: &mut Checksums,
) {
    for (group, page, member) in found.parity_left_behind(site.geometry) {
        let MemberRecord { state, cursor, .. } = superblock.members[member.index()];
        let lacks = match state {
            MemberState::Active => site.positions[member.index()].is_none(),
            MemberState::Rebuilding => u64::from(page) >= cursor,
            MemberState::Failed => true,
        };
        if lacks {
            table.set(group, page, site.geometry.position_of(member).1, Checksums::UNKNOWN);
        }
    }
}
