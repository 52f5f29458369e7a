//! Replay of the redo journal on a member that returns unchanged. Records are kept while rows are beyond parity, so they have
//! all updates that were in flight when the member left, or that it had in volatile memory only. After the replay it has all
//! rows, like the members that stayed.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;
use stripewise_exec::Executor;
use stripewise_format::{REDO_MAGIC, RedoRecord, crc32c};

use crate::in_place::InPlace;
use crate::in_place::job::WriteSuperblocks;
use crate::in_place::journal::{Change, Replay, Roster};

impl InPlace {
    /// Plans the next step of the replay on `member`. Returns false if nothing is left.
    pub(crate) fn begin_replay<M: Memory>(
        &mut self,
        roster: &mut Roster,
        member: MemberNo,
        exec: &mut Executor<M>,
    ) -> bool {
        let Some(unchanged) = roster.unchanged[member.index()].as_mut() else { return false };
        let skips = !M::CARRIES_DATA || exec.has_bug(Bug::NotReplayed);
        let Some(journal) = self.journal.as_ref().filter(|_| !skips) else {
            unchanged.is_replayed = true;
            return false;
        };
        let (ring, layout) = (&journal.ring, &journal.layout);
        let replay = roster.replay.get_or_insert_with(|| Replay::from(ring.tail(), false));
        // Other groups may write a record, which changes nothing on this member.
        let end = ring.next_number() - u64::from(journal.record.is_under_way);
        while replay.number < end {
            let kept = ring.kept(replay.number);
            let usable = kept.map_or(0, |(.., keepers)| keepers & !replay.bad);
            let others = usable & !exec.failed_members() & !member.bit();
            let keepers = if others != 0 { others } else { usable & member.bit() };
            let is_done = replay.changes.as_ref().is_some_and(|changes| changes.len() == replay.done);
            let Some((first, ..)) = kept.filter(|_| !is_done && keepers != 0) else {
                *replay = Replay::from(replay.number + 1, replay.is_partial || !is_done);
                continue;
            };
            let at = layout.journal.first + first;
            let operations: Vec<(OperationKind, MemberNo, u32)> = match &replay.changes {
                None => {
                    replay.keeper = MemberNo::at(keepers.trailing_zeros() as usize);
                    let header = at..at + layout.header_pages();
                    header.map(|page| (OperationKind::Read, replay.keeper, page)).collect()
                }
                Some(changes) if replay.contents.is_empty() => {
                    let next = changes[replay.done..].iter().take(exec.operations_each() as usize);
                    let image = |change: &Change| change.image.unwrap_or_default();
                    next.map(|change| {
                        (OperationKind::Read, replay.keeper, at + layout.header_pages() + image(change))
                    })
                    .collect()
                }
                Some(changes) => {
                    let next = changes[replay.done..].iter().take(replay.contents.len());
                    let first = layout.data.first;
                    next.map(|change| (OperationKind::Write, member, first + change.entry.page)).collect()
                }
            };
            for nth in 0..operations.len() {
                let buffer = exec.memory_mut().take();
                if let Some(content) = replay.contents.get(nth) {
                    exec.memory_mut().bytes_mut(buffer).copy_from_slice(content);
                }
                roster.work.owned.push(buffer);
                roster.work.pages.push(buffer);
            }
            roster.work.is_under_way = true;
            self.clear_own(roster.plan, WriteSuperblocks, exec);
            self.push_own(roster.plan, operations.into_iter(), exec);
            return true;
        }
        unchanged.is_replayed = !replay.is_partial;
        roster.replay = None;
        false
    }

    /// A step of the replay on `member` is over. Content counts only if it has its checksum, whatever the outcome of reading it.
    pub(crate) fn replayed<M: Memory>(&mut self, member: MemberNo, exec: &mut Executor<M>) {
        let (Some(roster), Some(journal)) = (&mut self.roster, &self.journal) else { return };
        let Some(replay) = &mut roster.replay else { return };
        let pages = roster.work.pages.iter().map(|&page| exec.memory().bytes(page));
        let Some(changes) = &replay.changes else {
            let header: Vec<u8> = pages.flatten().copied().collect();
            let is_it = |record: &RedoRecord| {
                (record.array, record.epoch, record.number) == (journal.array, journal.epoch, replay.number)
            };
            match RedoRecord::parse(&header).ok().filter(is_it) {
                Some(record) => {
                    // What a record has no image of is nowhere.
                    replay.is_partial |= Change::lacks_image(&record, member);
                    replay.changes = Some(Change::all_of(record, member));
                }
                None => replay.bad |= replay.keeper.bit(),
            }
            return;
        };
        if !replay.contents.is_empty() {
            replay.done += replay.contents.len();
            replay.contents.clear();
            return;
        }
        for (change, page) in changes[replay.done..].iter().zip(pages) {
            let mut content: Box<[u8]> = page.into();
            match change.image {
                None => content.fill(0),
                Some(_) if change.entry.is_masked => content[..REDO_MAGIC.len()].copy_from_slice(&REDO_MAGIC),
                Some(_) => {}
            }
            if change.image.is_some() && crc32c(&content) != change.entry.checksum {
                // Another member has a copy, with the same changes.
                replay.contents.clear();
                (replay.bad, replay.changes) = (replay.bad | replay.keeper.bit(), None);
                return;
            }
            replay.contents.push(content);
        }
    }
}
