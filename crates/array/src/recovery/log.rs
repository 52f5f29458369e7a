//! Creates and assembles an array with a log: `docs/design/format.md`, "Assembly of a log".

use super::assemble::Assembly;
use super::install::Install;
use super::site::{ROUND_PAGES, smallest};
use super::superblocks::{superblock_of_log, write, write_all, write_and_flush};
use super::walk::{Checkpoint, FoundBatch, Walk, WalkFindings};
use super::{
    AssembleError, AssemblyOptions, Identity, RecoveryReport, check_losses, check_next, take_out_absent,
};
use crate::array::Array;
use crate::array::Placed;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::{At, Media};
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_exec::ArrayOf;
use stripewise_format::checkpoint::{body_bytes, put_all_written, put_segment, segment};
use stripewise_format::{
    CheckpointHeader, Commit, ENDED_MAX, EndedEpoch, EntryRole, FailReason, GENERATIONS_BEGIN_MAX,
    MemberState, NUMBERS_BEGIN_MAX, SegmentEntry, Summary, Superblock, crc32c, summary, write_seq,
};
use stripewise_scheme::Scheme;

use crate::log::Log;

/// A member, and a page of it.
type Place = (MemberNo, u32);

/// Writes an empty log.
pub(super) fn create(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    identity: &Identity,
    media: &mut dyn Media,
) -> Result<(), AssembleError> {
    // A batch has the copies of its summary, skipped slots, and a stripe over all columns.
    let (columns, parity) = (geometry.columns, geometry.tolerance());
    let (room, slots) = (summary::room(members.page_bytes), columns + 2 * parity + 1);
    if room < slots {
        return Err(AssembleError::Refused(format!(
            "a summary in a page of {} bytes has room for {room} slots, and without {parity} of {columns} members a group a \
             stripe takes up to {slots}; use fewer members a group, or larger pages",
            members.page_bytes
        )));
    }
    let layout = scheme.log_layout(members).unwrap_or_default();
    let mut superblock = superblock_of_log(scheme, members, geometry, &layout, identity);
    superblock.place_owner(smallest(media));
    superblock.check().map_err(|error| AssembleError::Refused(error.to_string()))?;
    let positions: Vec<Option<u16>> = (0..media.count()).map(Some).collect();
    let page_bytes = members.page_bytes as usize;
    // Content of an earlier array on these members cannot be mistaken for this array's content, because its identifier
    // differs. But a superblock counts as soon as it is written, so it is written last.
    let (slots, ring) = (layout.checkpoint, layout.commits);
    let heads = [slots.first, slots.first + slots.pages];
    let at: Vec<At> = positions
        .iter()
        .flatten()
        .flat_map(|&member| {
            let pages = heads.into_iter().chain(ring.first..ring.first + ring.pages);
            pages.map(move |page| At { member, page })
        })
        .collect();
    write_and_flush(media, &at, &vec![vec![0; page_bytes]; at.len()])?;
    let body = vec![0; body_bytes(superblock.segments(), superblock.capacity) as usize];
    let header = header_of(&superblock, 1, (0, 0), &body);
    write_checkpoint(media, &superblock, (geometry, &positions), &header, body)?;
    write_all(media, &superblock, &positions)
}

/// The header of checkpoint `number` up to a batch and a write sequence number.
fn header_of(
    superblock: &Superblock,
    number: u64,
    (horizon, write_seq): (u64, u64),
    body: &[u8],
) -> CheckpointHeader {
    CheckpointHeader {
        array: superblock.array,
        epoch: superblock.epoch,
        number,
        horizon,
        write_seq,
        body_bytes: body.len() as u64,
        body_checksum: crc32c(body),
        segments: superblock.segments(),
        chunks: superblock.capacity,
    }
}

/// Writes a checkpoint to P + 1 members of one group: body, flush, header, flush.
fn write_checkpoint(
    media: &mut dyn Media,
    superblock: &Superblock,
    (geometry, positions): (&Geometry, &[Option<u16>]),
    header: &CheckpointHeader,
    mut body: Vec<u8>,
) -> Result<(), AssembleError> {
    let page_bytes = superblock.page_bytes as usize;
    let area = superblock.checkpoint;
    let first = area.first + (header.number % 2) as u32 * area.pages;
    let keepers = keepers(geometry, positions, header.number);
    body.resize(body.len().next_multiple_of(page_bytes), 0);
    let mut begin = first + 1;
    for round in body.chunks(ROUND_PAGES / keepers.len().max(1) * page_bytes) {
        let pages = begin..begin + (round.len() / page_bytes) as u32;
        begin = pages.end;
        let places = |&member: &u16| pages.clone().map(move |page| At { member, page });
        let at: Vec<At> = keepers.iter().flat_map(places).collect();
        let contents: Vec<&[u8]> = keepers.iter().flat_map(|_| round.chunks(page_bytes)).collect();
        write_and_flush(media, &at, &contents)?;
    }
    let mut page = vec![0; page_bytes];
    header.encode(&mut page);
    let at: Vec<At> = keepers.iter().map(|&member| At { member, page: first }).collect();
    write_and_flush(media, &at, &vec![page; keepers.len()])
}

/// The P + 1 members of one group that keep checkpoint or commit record `number`, as far as they are present.
fn keepers_of(geometry: &Geometry, positions: &[Option<u16>], number: u64) -> impl Iterator<Item = MemberNo> {
    let all = MemberNo::first(positions.len() as u32);
    let missing = all.filter(|member| positions[member.index()].is_none());
    let missing = missing.fold(0u64, |mask, member| mask | member.bit());
    geometry.keepers(geometry.tolerance() + 1, number, missing)
}

/// The positions of those members.
fn keepers(geometry: &Geometry, positions: &[Option<u16>], number: u64) -> Vec<u16> {
    let keepers = keepers_of(geometry, positions, number);
    keepers.filter_map(|member| positions[member.index()]).collect()
}

/// Writes a commit record to P + 1 members of one group, and flushes.
fn write_commit(
    media: &mut dyn Media,
    superblock: &Superblock,
    (geometry, positions): (&Geometry, &[Option<u16>]),
    commit: &Commit,
) -> Result<(), AssembleError> {
    let ring = superblock.commits;
    let page = ring.first + (commit.number % u64::from(ring.pages)) as u32;
    let keepers = keepers(geometry, positions, commit.number).into_iter();
    let at: Vec<At> = keepers.map(|member| At { member, page }).collect();
    let mut content = vec![0; superblock.page_bytes as usize];
    commit.encode(&mut content);
    write_and_flush(media, &at, &vec![content; at.len()])
}

/// Assembles a log.
pub(super) fn open<M: Memory>(
    scheme: &Scheme,
    members: Members,
    memory: &mut Option<M>,
    media: &mut dyn Media,
    assembly: &Assembly,
    opening: AssemblyOptions,
) -> Result<(Array<M>, RecoveryReport), AssembleError> {
    let geometry = scheme.resolve(&members, M::CARRIES_DATA)?;
    let (superblock, positions) = (&assembly.superblock, &assembly.positions);
    let mut found =
        WalkFindings { media, superblock, positions, last_sources: &[], geometry: &geometry, pages_read: 0 };
    let has_last_sources = assembly.last_sources.iter().any(Option::is_some);
    if has_last_sources && !opening.has_bug(Bug::LastSourceIgnored) && !is_complete(&mut found) {
        found.last_sources = &assembly.last_sources;
    }
    let Some(checkpoint) = found.checkpoint() else {
        return Err(AssembleError::Refused(
            "no checkpoint of the array can be read; offer more of its members".into(),
        ));
    };
    let metadata = (checkpoint, found.commit());
    let mut array = Array::new(scheme, members, memory.take().expect("given back when it was not opened"))?;
    match restore(&mut array, found, metadata, assembly, opening) {
        Ok(opened) => Ok((array, opened)),
        Err(error) => {
            *memory = Some(array.into_memory());
            Err(error)
        }
    }
}

/// Fills the log of `array` from its members, and begins a new epoch.
fn restore<M: Memory>(
    array: &mut Array<M>,
    mut found: WalkFindings<'_>,
    metadata: (Checkpoint, Option<Commit>),
    assembly: &Assembly,
    opening: AssemblyOptions,
) -> Result<RecoveryReport, AssembleError> {
    let log = array.as_log_mut().expect("the scheme has a log");
    let replayed = replay(log, &mut found, metadata, opening)?;
    take_out_absent(array, &assembly.positions);
    let superblock = superblock_of_epoch(assembly, &replayed, opening);
    let opened = RecoveryReport {
        epoch: superblock.epoch,
        positions: assembly.positions.clone(),
        replayed: replayed.batches,
        dropped: replayed.dropped,
        losses: replayed.losses.clone(),
        pages_read: found.pages_read,
        ..RecoveryReport::default()
    };
    let log = array.as_log_mut().expect("the scheme has a log");
    begin_epoch(log, (found.media, found.geometry), assembly, &superblock, replayed, opening)?;
    continue_rebuilds(array, &superblock);
    Ok(opened)
}

/// What was replayed into a log.
struct Replayed {
    /// The newest checkpoint.
    checkpoint: Checkpoint,
    /// The newest commit record.
    commit: Option<Commit>,
    /// The last batch that a flush covered.
    promised: u64,
    /// The last batch that counts.
    ended: u64,
    /// Number of batches after the checkpoint that count.
    batches: u64,
    /// Number of later batches, which do not count.
    dropped: u64,
    /// Durable content that cannot be found.
    losses: Vec<String>,
}

/// Puts all batches that count into `log`, which is empty.
fn replay(
    log: &mut Log,
    found: &mut WalkFindings<'_>,
    (checkpoint, commit): (Checkpoint, Option<Commit>),
    opening: AssemblyOptions,
) -> Result<Replayed, AssembleError> {
    let mut install = Install::new(log, &checkpoint);
    let mut walk = found.walk(&checkpoint, &mut |batch| {
        install.enter(&batch.header, batch.entries(), batch.tombstones());
    });
    let promised = promised(&checkpoint, commit.as_ref());
    let ignores = opening.has_bug(Bug::GapIgnored);
    let mut losses = if ignores { Vec::new() } else { losses(&walk, &checkpoint, promised) };
    losses.extend(newer_checkpoint(&checkpoint.header, commit.as_ref()));
    check_losses(&losses, opening.force)?;
    let rewrites = !opening.read_only && !opening.has_bug(Bug::EndNotRewritten);
    let ended = end_of_log(found, &walk, &checkpoint, promised, rewrites)?;
    let dropped = walk.later.split_off(&(ended + 1)).len() as u64;
    if !opening.read_only {
        check_numbers(&walk, &checkpoint, commit, ended)?;
    }
    let batches = walk.later.len() as u64;
    for batch in walk.later.into_values() {
        install.enter(&batch.header, batch.entries.into_iter(), batch.tombstones.into_iter());
    }
    let lost = install.finish();
    losses.extend(lost.iter().map(|&(first, last)| match first == last {
        true => format!("chunk {first} is lost with the summary that listed it"),
        false => format!("chunks {first} to {last} are lost with the summaries that listed them"),
    }));
    if opening.has_bug(Bug::LossForgotten) {
        lost.iter().flat_map(|&(first, last)| first..=last).for_each(|chunk| log.set_unmapped(chunk));
    }
    Ok(Replayed { checkpoint, commit, promised, ended, batches, dropped, losses })
}

/// The superblock of the epoch that begins.
fn superblock_of_epoch(assembly: &Assembly, replayed: &Replayed, opening: AssemblyOptions) -> Superblock {
    let &Replayed { promised, ended, .. } = replayed;
    let mut superblock = assembly.superblock.clone();
    // The last epoch ends here: content that it left behind must not be mistaken for content of the new epoch.
    let last_epoch = assembly.epoch.max(superblock.epoch);
    end_epoch(&mut superblock.ended, EndedEpoch { epoch: last_epoch, last: ended });
    superblock.epoch = last_epoch + 1;
    superblock.update = assembly.update + 1;
    superblock.is_clean = false;
    if superblock.version > 1 {
        // Later batches that were found are flushed with this superblock at the earliest, and may be lost on members that
        // do not have it.
        superblock.horizon = promised.min(ended);
    }
    let positions = &assembly.positions;
    let absent = (0..positions.len()).filter(|&number| positions[number].is_none());
    absent.for_each(|number| superblock.fail_member(number, promised, FailReason::Gone));
    assembly.begin_serving(&mut superblock, opening.serving);
    // Numbers after the end are reused for batches that no member has yet.
    superblock.members.iter_mut().for_each(|record| record.failed_batch = record.failed_batch.min(ended));
    superblock
}

/// Lets `log` continue after the last batch that counts, and writes the metadata of the new epoch unless the array is assembled
/// read-only.
fn begin_epoch(
    log: &mut Log,
    (media, geometry): (&mut dyn Media, &Geometry),
    assembly: &Assembly,
    superblock: &Superblock,
    replayed: Replayed,
    opening: AssemblyOptions,
) -> Result<(), AssembleError> {
    let Replayed { checkpoint, ended, .. } = replayed;
    let positions = &assembly.positions;
    let durable = log.durable_mut();
    durable.members.superblock = superblock.clone();
    durable.members.note_without_back(assembly.without_back);
    durable.resume_write_seqs(superblock.epoch);
    let reuses = opening.has_bug(Bug::NumberReused);
    durable.next_batch = if reuses { checkpoint.header.horizon + 1 } else { ended + 1 };
    durable.horizon = ended;
    let commit = Commit {
        array: superblock.array,
        epoch: superblock.epoch,
        number: replayed.commit.map_or(0, |commit| commit.number) + 1,
        horizon: ended,
        checkpoint: checkpoint.header.number + 1,
    };
    (durable.commits, durable.checkpoint) = (commit.number, commit.checkpoint);
    let its_keepers = keepers_of(geometry, positions, commit.checkpoint);
    durable.checkpoint_on = its_keepers.fold(0, |mask, member| mask | member.bit());
    // The version on the members if nothing is written.
    durable.members.on_members = Some(assembly.superblock.clone());
    let span = durable.layout.superblock_pages;
    for (member, position) in positions.iter().enumerate() {
        if let Some(position) = *position {
            // Superblocks that are written go to the ends of members; those that are only read stay where they are.
            durable.members.back[member] =
                if opening.read_only { assembly.backs[member] } else { media.size(position).0 - span };
        }
    }
    if opening.read_only {
        return Ok(());
    }
    let body = body_of(log);
    let write_seq = write_seq(superblock.epoch, 0);
    let header = header_of(superblock, commit.checkpoint, (commit.horizon, write_seq), &body);
    let is_recorded = !opening.has_bug(Bug::EpochNotDurable);
    write_epoch(media, superblock, (geometry, positions), checkpoint, (&header, body), &commit, is_recorded)?;
    let keepers = keepers_of(geometry, positions, commit.number);
    let durable = log.durable_mut();
    durable.members.on_members = Some(superblock.clone());
    durable.newest = Some(header);
    durable.commit_on = Some((commit, keepers.fold(0, |mask, member| mask | member.bit())));
    Ok(())
}

/// Writes the metadata with which an epoch begins: superblocks if `is_recorded`, a checkpoint, a commit record. `last`
/// is the checkpoint before it.
fn write_epoch(
    media: &mut dyn Media,
    superblock: &Superblock,
    (geometry, positions): (&Geometry, &[Option<u16>]),
    last: Checkpoint,
    (header, body): (&CheckpointHeader, Vec<u8>),
    commit: &Commit,
    is_recorded: bool,
) -> Result<(), AssembleError> {
    let to = (geometry, positions);
    // The next checkpoint overwrites the one before this one. Until the next one is whole, this one must be sufficient.
    let is_scarce = last.copies < keepers(geometry, positions, last.header.number).len();
    if is_scarce {
        write_checkpoint(media, superblock, to, &last.header, last.body)?;
    }
    if is_recorded {
        write_all(media, superblock, positions)?;
    }
    write_checkpoint(media, superblock, to, header, body)?;
    write_commit(media, superblock, to, commit)
}

/// Continues the rebuilds that `superblock` records.
fn continue_rebuilds<M: Memory>(array: &mut Array<M>, superblock: &Superblock) {
    if let Placed::Log(array) = &mut array.0 {
        let ArrayOf { exec, placement: log } = &mut **array;
        log.review_groups(exec);
        for (member, record) in (0..).map(MemberNo::new).zip(&superblock.members) {
            if record.state == MemberState::Rebuilding {
                log.begin_rebuild(member, record.cursor, exec);
            }
        }
    }
}

/// Refuses to continue with a log in which some number would eventually have no successor.
fn check_numbers(
    walk: &Walk,
    checkpoint: &Checkpoint,
    commit: Option<Commit>,
    ended: u64,
) -> Result<(), AssembleError> {
    check_next("batch", ended, NUMBERS_BEGIN_MAX)?;
    check_next("checkpoint", checkpoint.header.number, NUMBERS_BEGIN_MAX)?;
    check_next("commit record", commit.map_or(0, |commit| commit.number), NUMBERS_BEGIN_MAX)?;
    let named = (0..checkpoint.header.segments).map(|number| segment(&checkpoint.body, number).generation);
    let later = walk.later.values().map(|batch| batch.header.generation);
    let generation = named.chain(later).max().unwrap_or(0);
    check_next("generation of a segment", generation.into(), GENERATIONS_BEGIN_MAX.into())
}

/// Records how an epoch ended; earlier epochs ended there at the latest. For epochs before the newest checkpoint's epoch,
/// the checkpoint names the batches that count; but the stamp of a returning column may be of such an epoch.
fn end_epoch(all: &mut Vec<EndedEpoch>, end: EndedEpoch) {
    all.iter_mut().for_each(|its| its.last = its.last.min(end.last));
    // Of epochs with the same end, the last one represents all.
    all.retain(|its| its.last != end.last);
    // In epoch 0 the array was created, and nothing was written.
    if end.epoch > 0 {
        all.push(end);
    }
    if all.len() > ENDED_MAX {
        all.remove(0);
    }
}

/// A message if the checkpoint in use is not the newest. A commit record names a checkpoint of its own epoch, because an
/// epoch begins with a checkpoint. Facts that only the newer checkpoint recorded, such as trims, are lost without it.
fn newer_checkpoint(taken: &CheckpointHeader, commit: Option<&Commit>) -> Option<String> {
    let commit = commit.filter(|commit| (commit.epoch, commit.checkpoint) > (taken.epoch, taken.number))?;
    let newest = match commit.checkpoint {
        0 => "a checkpoint".into(),
        number => format!("checkpoint {number}"),
    };
    Some(format!(
        "commit record {} names {newest} of epoch {}, which cannot be read; the newest that can is {} of epoch {}",
        commit.number, commit.epoch, taken.number, taken.epoch
    ))
}

/// The last batch that a flush covered.
fn promised(checkpoint: &Checkpoint, commit: Option<&Commit>) -> u64 {
    commit.map_or(0, |commit| commit.horizon).max(checkpoint.header.horizon)
}

/// Whether the members that are read have all metadata of durable content.
fn is_complete(found: &mut WalkFindings<'_>) -> bool {
    let Some(checkpoint) = found.checkpoint() else { return false };
    let commit = found.commit();
    let walk = found.walk(&checkpoint, &mut |_| ());
    let promised = promised(&checkpoint, commit.as_ref());
    losses(&walk, &checkpoint, promised).is_empty()
        && newer_checkpoint(&checkpoint.header, commit.as_ref()).is_none()
}

/// Durable content that cannot be found.
fn losses(walk: &Walk, checkpoint: &Checkpoint, promised: u64) -> Vec<String> {
    let mut losses: Vec<String> = walk
        .short
        .iter()
        .map(|(segment, used, found)| {
            format!("segment {segment} has {used} slots in use, and no summary of those from {found} on")
        })
        .collect();
    // One line for each gap, of any length: the number in a commit record may be arbitrarily large.
    let mut next = checkpoint.header.horizon + 1;
    let found = walk.later.range(next..=promised.max(next)).map(|(&number, _)| number);
    for number in found.chain([promised + 1]).filter(|&number| number <= promised + 1) {
        if next < number {
            let last = number - 1;
            losses.push(match next == last {
                true => format!("batch {next}, which a flush covered, has no summary"),
                false => format!("batches {next} to {last}, which a flush covered, have no summary"),
            });
        }
        next = number + 1;
    }
    losses
}

/// The last batch that counts. Batches up to `promised` count; after it, batches count without a gap as long as they are
/// whole on all present members.
///
/// With `rewrites`, the batches after `promised` are written again where they are, for the next flush: a flush of them may
/// have failed before the last server was killed. What members then return may be in volatile memory only, and later flushes
/// need not make it durable.
fn end_of_log(
    found: &mut WalkFindings<'_>,
    walk: &Walk,
    checkpoint: &Checkpoint,
    promised: u64,
    rewrites: bool,
) -> Result<u64, AssembleError> {
    let mut last = promised.max(checkpoint.header.horizon);
    while let Some(batch) = walk.later.get(&(last + 1)) {
        let Some(pages) = whole(found, batch) else { break };
        if rewrites {
            let at = |&((member, page), _): &(Place, _)| {
                found.positions[member.index()].map(|member| At { member, page })
            };
            let places: Vec<At> = pages.iter().filter_map(at).collect();
            let contents: Vec<&[u8]> = pages.iter().map(|(_, content)| &**content).collect();
            write(found.media, &places, &contents)?;
        }
        last += 1;
    }
    Ok(last)
}

/// The pages of a batch with their content, if all of them are on the present members, and decode where members are absent.
/// A batch that is not whole was never durable, and would be a stripe that tolerates fewer losses than others.
fn whole(found: &mut WalkFindings<'_>, batch: &FoundBatch) -> Option<Vec<(Place, Box<[u8]>)>> {
    let header = &batch.header;
    let places: Vec<Place> =
        (header.first..header.end).map(|slot| found.member(header.segment, slot)).collect();
    let is_there = |nth: &usize| {
        let role = batch.entries[*nth].role;
        let is_written = !matches!(role, EntryRole::Skipped | EntryRole::Vain);
        is_written && found.positions[places[*nth].0.index()].is_some()
    };
    let slots: Vec<usize> = (0..places.len()).filter(is_there).collect();
    let at: Vec<Place> = slots.iter().map(|&nth| places[nth]).collect();
    let contents = found.read(&at).into_iter().collect::<Option<Vec<_>>>()?;
    let is_right = |nth: usize, content: &[u8]| {
        let entry = &batch.entries[nth];
        if entry.role == EntryRole::Copy {
            return Summary::parse(content).is_ok_and(|copy| copy.header == *header);
        }
        crc32c(content) == entry.checksum
    };
    let is_whole = slots.iter().zip(&contents).all(|(&nth, content)| is_right(nth, content));
    is_whole.then(|| at.into_iter().zip(contents).collect())
}

/// The body of a checkpoint of a log without content in memory.
fn body_of(log: &Log) -> Vec<u8> {
    let segments = log.segments.count();
    let mut body = vec![0; body_bytes(segments, log.capacity) as usize];
    let durable = log.durable();
    for number in 0..segments {
        let at = number as usize;
        let entry = SegmentEntry {
            generation: durable.generations[at],
            used: durable.used[at],
            last_batch: durable.last_batch[at],
        };
        put_segment(&mut body, number, entry);
    }
    put_all_written(&mut body, segments, &durable.written);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(all: &[(u32, u64)], end: (u32, u64)) -> Vec<(u32, u64)> {
        let of = |&(epoch, last): &(u32, u64)| EndedEpoch { epoch, last };
        let mut all: Vec<EndedEpoch> = all.iter().map(of).collect();
        end_epoch(&mut all, of(&end));
        all.iter().map(|its| (its.epoch, its.last)).collect()
    }

    #[test]
    fn invariant_d_what_was_dropped_of_earlier_epochs_does_not_revive() {
        // Forced assembly without batches 16 to 20: the array continues with a batch 16 of its own.
        assert_eq!(ended(&[(1, 10), (2, 20)], (4, 15)), [(1, 10), (4, 15)]);
        assert_eq!(ended(&[(1, 18), (2, 20)], (4, 15)), [(4, 15)]);
    }

    #[test]
    fn an_epoch_in_which_nothing_was_written_stands_for_the_one_before_it() {
        assert_eq!(ended(&[(1, 10), (2, 20)], (3, 20)), [(1, 10), (3, 20)]);
        assert_eq!(ended(&[], (0, 0)), [], "in epoch 0 nothing is written");
    }

    #[test]
    fn the_oldest_epochs_are_forgotten_when_there_are_too_many() {
        assert_eq!(ended(&[(2, 20), (3, 30)], (4, 40)), [(2, 20), (3, 30), (4, 40)]);
        let many: Vec<(u32, u64)> =
            (1..=ENDED_MAX as u32).map(|epoch| (epoch, u64::from(epoch) * 10)).collect();
        let left = ended(&many, (100, 1000));
        assert_eq!((left.len(), left[0], left[ENDED_MAX - 1]), (ENDED_MAX, (2, 20), (100, 1000)));
    }
}
