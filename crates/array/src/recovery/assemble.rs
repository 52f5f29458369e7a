//! Finds the members of the array, from the superblocks of all offered devices, in any order.

use std::collections::BTreeMap;

use super::AssembleError;
use super::superblocks::{Copies, flush, write_copies};
use stripewise_core::geometry::Membership;
use stripewise_core::media::Media;
use stripewise_format::{Copy, MemberState, Placement, Superblock};

/// The array that was found.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    /// The superblock that takes effect.
    pub(crate) superblock: Superblock,
    /// For each member of the array, its position among the offered devices; `None` if the member is absent or must not be
    /// read.
    pub(crate) positions: Vec<Option<u16>>,
    /// For each member that is read, the page at which its back copy was found or belongs.
    pub(crate) backs: Vec<u32>,
    /// The greatest update and epoch of all superblocks, including those that never took effect.
    pub(crate) update: u64,
    pub(crate) epoch: u32,
    /// Members whose superblocks were reconstructed, one bit each: nothing proves that they have all of their content.
    pub(crate) reconstructed: u64,
    /// Members that are offered and not read, and that have a front copy alone, one bit each.
    pub(crate) without_back: u64,
    /// For each member, whether it can be a last source of metadata.
    pub(crate) last_sources: Vec<Option<LastSource>>,
}

/// A member of a log that is offered and not read, because it failed, but not for damage, or has an older version of the
/// superblocks: what it is known to have is a last source of metadata that no member has that is read. A member that
/// returned and is not rebuilt yet lacks older copies, so others may hold the last ones although parity tolerates their
/// absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastSource {
    /// Its position among the offered devices.
    pub(crate) position: u16,
    /// The last batch that it is known to have.
    pub(crate) known: u64,
}

impl Assembly {
    /// Makes `superblock`, in which absent members have failed, the first of a new serving.
    pub(crate) fn begin_serving(&self, superblock: &mut Superblock, serving: u64) {
        superblock.begin_serving(serving);
        for (number, member) in superblock.members.iter_mut().enumerate() {
            member.is_whole &= self.reconstructed >> number & 1 == 0;
        }
    }

    /// The positions of the members that lack a back copy of the superblock that takes effect, or have it where their end was
    /// before they grew: it moves before a front copy is overwritten. Only these are to be written:
    /// a member with neither a back copy nor a front copy of this version, because a write of it was interrupted, could
    /// look like a proof of the version of its front copy.
    fn unfinished(&self, offered: &[Copies]) -> Vec<Option<u16>> {
        let lacks = |at: &u16| {
            let its = &offered[usize::from(*at)];
            its.is_behind() || !its.back.as_ref().is_some_and(|back| back.is_version_of(&self.superblock))
        };
        self.positions.iter().map(|position| position.filter(lacks)).collect()
    }

    /// Makes the content of the members durable before any of it is overwritten, and completes an update of superblocks that
    /// was interrupted: if the last server was killed while power stayed on, what its members return may be in volatile
    /// memory. With `flushes_late`, members are flushed only if an update was interrupted.
    ///
    /// # Errors
    /// A member cannot be flushed or written.
    pub(crate) fn settle(
        &self,
        offered: &[Copies],
        media: &mut dyn Media,
        flushes_late: bool,
    ) -> Result<(), AssembleError> {
        let unfinished = self.unfinished(offered);
        let is_interrupted = unfinished.iter().any(Option::is_some);
        if is_interrupted || !flushes_late {
            let present: Vec<u16> = self.positions.iter().flatten().copied().collect();
            flush(media, &present)?;
        }
        // Until the update is complete, some members have only front copies of it.
        if is_interrupted {
            write_copies(media, &self.superblock, &unfinished, Copy::Back)?;
        }
        Ok(())
    }
}

/// Finds the array in `offered`, the copies of the superblock of each offered device.
///
/// A version takes effect when its front copies are on all members that it calls active. Each back copy is written after
/// that, so one back copy proves the version. If power is lost while all back copies are written, the front copies prove
/// the version: either all its active members have them, or more than P members of a group have them and no back copy at
/// all.
///
/// # Errors
/// There is no array or more than one, too few of its members are offered, or absent members may have continued without
/// the offered ones.
pub(crate) fn assemble(offered: &[Copies]) -> Result<Assembly, AssembleError> {
    let refuse = |reason: String| Err(AssembleError::Refused(reason));

    let found: Vec<(u16, &Superblock)> =
        (0..).zip(offered).filter_map(|(at, copies)| Some((at, copies.newest()?))).collect();
    let troubles = troubles(offered);
    let Some(&(_, any)) = found.first() else {
        return refuse(match &*troubles {
            "" => "none of the members has a superblock of Stripewise; create an array first".into(),
            _ => format!(
                "none of the members has a superblock that counts{troubles}; offer others of the array"
            ),
        });
    };
    if let Some((at, other)) = found.iter().find(|(_, other)| other.array != any.array) {
        return refuse(format!(
            "member {at} belongs to array {}, others to {}; offer the members of one array",
            other.array, any.array
        ));
    }
    for (at, superblock) in &found {
        let twin = found.iter().find(|(other, its)| other < at && its.number == superblock.number);
        if let Some((other, _)) = twin {
            return refuse(format!(
                "offered members {other} and {at} are both member {} of array {}; one is a copy: take it out",
                superblock.number, superblock.array
            ));
        }
    }
    // A back copy of a stale member proves only an old version: the newest version with a proof takes effect.
    let has_back = |superblock: &Superblock| {
        offered.iter().filter_map(|copies| copies.back.as_ref()).any(|back| back.is_version_of(superblock))
    };
    // A newer version proves nothing here: it may have been derived from an older one, because this one never took effect.
    let is_everywhere = |superblock: &Superblock| {
        found.iter().all(|&(at, its)| {
            let member = superblock.members.get(usize::from(its.number));
            member.is_none_or(|member| member.state == MemberState::Failed)
                || offered[usize::from(at)].has(superblock)
        })
    };
    let is_being_proved = |superblock: &Superblock| were_backs_being_written(superblock, offered);
    let all = offered.iter().flat_map(|copies| [&copies.front, &copies.back]).flatten();
    let effective: Vec<&Superblock> = all
        .filter(|superblock| has_back(superblock) || is_everywhere(superblock) || is_being_proved(superblock))
        .collect();
    let Some(&newest) = effective.iter().max_by_key(|superblock| superblock.update) else {
        return refuse(format!(
            "no version of the superblocks is on all of the members{troubles}; offer all of the array, or create it again if \
             that was cut short"
        ));
    };
    let numbers: Vec<u16> = found.iter().map(|(_, its)| its.number).collect();
    if let Some(number) = numbers.iter().find(|&&number| usize::from(number) >= newest.members.len()) {
        return refuse(format!("the array has no member {number}; its superblocks contradict each other"));
    }
    let update = found.iter().map(|(_, its)| its.update).max().unwrap_or(0);
    let epoch = found.iter().map(|(_, its)| its.epoch).max().unwrap_or(0);
    let head = Head { offered, found: &found, troubles: &troubles };
    let (superblock, positions) = head.choose(newest, &effective)?;
    let back = |position: &Option<u16>| position.map_or(0, |at| offered[usize::from(at)].back_page);
    let backs = positions.iter().map(back).collect();
    let last_sources = last_sources(superblock, &positions, offered);
    let has_front_alone = |copies: &&Copies| copies.back.is_none();
    let fronts = offered.iter().filter(has_front_alone).filter_map(|copies| copies.front.as_ref());
    let left_out = fronts.filter(|front| positions[usize::from(front.number)].is_none());
    let without_back = left_out.fold(0, |mask, front| mask | 1 << front.number);
    Ok(Assembly {
        superblock: superblock.clone(),
        positions,
        backs,
        update,
        epoch,
        reconstructed: 0,
        without_back,
        last_sources,
    })
}

/// The offered members from which the version that continues is chosen: the newest superblock of each, with the position of
/// the member.
struct Head<'a> {
    offered: &'a [Copies],
    found: &'a [(u16, &'a Superblock)],
    troubles: &'a str,
}

impl<'a> Head<'a> {
    /// The version that continues, and the positions of its members: the newest one of those that took effect. If that one
    /// has too few members, the one before it, if nothing relies on the newest; or, if others were served separately since
    /// the same serving, theirs.
    fn choose(
        &self,
        newest: &'a Superblock,
        effective: &[&'a Superblock],
    ) -> Result<(&'a Superblock, Vec<Option<u16>>), AssembleError> {
        let refused = match self.members_of(newest) {
            Ok(positions) => return Ok((newest, positions)),
            Err(AssembleError::Refused(reason)) => reason,
            Err(error) => return Err(error),
        };
        if let Some(found) = self.version_before(newest, effective) {
            return Ok(found);
        }
        // The newest version of each other serving.
        let mut others: BTreeMap<u64, &Superblock> = BTreeMap::new();
        for &its in effective.iter().filter(|its| its.serving != newest.serving) {
            let known = others.entry(its.serving).or_insert(its);
            *known = if known.update < its.update { its } else { *known };
        }
        let would_do = others.into_values().filter_map(|its| Some((its, self.members_of(its).ok()?)));
        let would_do: Vec<(&Superblock, Vec<Option<u16>>)> = would_do.collect();
        if let Some(found) = would_do.iter().find(|(its, _)| its.is_fork_of(newest)) {
            return Ok(found.clone());
        }
        let of = |(its, positions): &(&Superblock, Vec<Option<u16>>)| {
            let positions: Vec<u16> = positions.iter().flatten().copied().collect();
            let numbers =
                self.found.iter().filter(|(at, _)| positions.contains(at)).map(|(_, its)| its.number);
            let mut numbers: Vec<u16> = numbers.collect();
            numbers.sort_unstable();
            let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
            // A version that follows another in the next serving is no copy.
            let others = if newest.may_follow(its) {
                "the newest members were served since without these, or these were set back"
            } else {
                "the other members belong to a copy of the array that was served separately"
            };
            format!("; members {} would do alone: {others}", numbers.join(", "))
        };
        let mut hints: Vec<String> = would_do.iter().filter(|(its, _)| its.serving != 0).map(of).collect();
        if hints.is_empty() {
            hints.extend(self.copies(newest));
        }
        Err(AssembleError::Refused(refused + &hints.concat()))
    }

    /// The version of a log that took effect before `newest`, if nothing relies on that one: a member with its front copy has
    /// an older back copy, so the update was never complete. A device that joined with `newest` may have neither copy. A back
    /// copy that cannot be read shows nothing.
    fn version_before(
        &self,
        newest: &Superblock,
        effective: &[&'a Superblock],
    ) -> Option<(&'a Superblock, Vec<Option<u16>>)> {
        let is_of = |copy: &Option<Superblock>, version: &Superblock| {
            copy.as_ref().is_some_and(|copy| copy.is_version_of(version))
        };
        let has_back = |version: &Superblock| self.offered.iter().any(|its| is_of(&its.back, version));
        let is_incomplete = |its: &Copies| {
            its.back.as_ref().is_some_and(|back| back.update < newest.update) && is_of(&its.front, newest)
        };
        let was_never_complete = !has_back(newest) && self.offered.iter().any(is_incomplete);
        if newest.placement != Placement::Log || !was_never_complete {
            return None;
        }
        let is_before =
            |its: &&&Superblock| its.serving == newest.serving && its.update < newest.update && has_back(its);
        let before = effective.iter().filter(is_before).max_by_key(|its| its.update)?;
        Some((before, self.members_of(before).ok()?))
    }

    /// The members that were served together, if some belong to a copy of the array of `newest`.
    fn copies(&self, newest: &Superblock) -> Option<String> {
        let mut servings: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
        for (_, its) in
            self.found.iter().filter(|(_, its)| its.is_fork_of(newest) || its.serving == newest.serving)
        {
            servings.entry(its.serving).or_default().push(its.number);
        }
        servings.values_mut().for_each(|numbers| numbers.sort_unstable());
        let of = |numbers: &Vec<u16>| {
            let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
            format!("members {}", numbers.join(", "))
        };
        let all: Vec<String> = servings.values().map(of).collect();
        let message =
            || format!("; {} belong to copies of the array that were served separately", all.join("; and "));
        (all.len() > 1).then(message)
    }

    /// The positions of the members that `superblock` is the current version of.
    ///
    /// # Errors
    /// There are too few, or the absent ones may have continued without them.
    fn members_of(&self, superblock: &Superblock) -> Result<Vec<Option<u16>>, AssembleError> {
        // A version that only absent members have remains unknown, and another version gets its number.
        let has_it = |its: &Superblock| {
            its.is_version_of(superblock) || its.update > superblock.update && its.may_follow(superblock)
        };
        let of = |number: usize| self.found.iter().find(|(_, its)| usize::from(its.number) == number);
        // A back copy proves that its version took effect.
        let is_beyond = |at: u16| {
            let back = self.offered[usize::from(at)].back.as_ref();
            back.is_some_and(|back| back.update > superblock.update)
        };
        let is_usable = |number: usize| {
            let member = &superblock.members[number];
            // A member with an older version, although the current one was on all members, has returned with old content.
            let is_its = |its: &Superblock| its.uuid == member.uuid && has_it(its);
            let position = of(number).filter(|(at, its)| is_its(its) && !is_beyond(*at))?;
            (member.state != MemberState::Failed).then_some(position.0)
        };
        let positions: Vec<Option<u16>> = (0..superblock.members.len()).map(is_usable).collect();
        check_enough(superblock, &positions, &|number| of(number).is_some(), self.troubles)?;
        Ok(positions)
    }
}

/// The last sources of metadata among the offered members: see [`Superblock::last_source`].
fn last_sources(
    superblock: &Superblock,
    positions: &[Option<u16>],
    offered: &[Copies],
) -> Vec<Option<LastSource>> {
    let mut sources = vec![None; positions.len()];
    for (position, copies) in (0..).zip(offered) {
        let Some(number) = copies.newest().map(|block| block.number) else { continue };
        if superblock.placement != Placement::Log || positions[usize::from(number)].is_some() {
            continue;
        }
        let known = superblock.last_source(number, [copies.front.as_ref(), copies.back.as_ref()]);
        sources[usize::from(number)] = (known > 0).then_some(LastSource { position, known });
    }
    sources
}

/// Whether more than P members of a group have the front copy of a version and no valid back copy. Damage alone destroys
/// at most P back copies. Back copies are written only when all front copies are durable, so this proves the version.
fn were_backs_being_written(superblock: &Superblock, offered: &[Copies]) -> bool {
    let mut alone = vec![0; usize::from(superblock.groups).max(1)];
    for front in offered.iter().filter(|its| its.back.is_none()).filter_map(|its| its.front.as_ref()) {
        if front.is_version_of(superblock) {
            let group = group_of(superblock, front.number.into());
            alone[group] += 1;
        }
    }
    alone.iter().any(|&count| count > superblock.level.parity())
}

/// The group of a member.
pub(super) fn group_of(superblock: &Superblock, number: usize) -> usize {
    match superblock.membership {
        Membership::Contiguous => number / usize::from(superblock.members_of_group).max(1),
        Membership::LongestCodeInterval => number % usize::from(superblock.groups).max(1),
    }
}

/// What is wrong with offered devices that have no valid superblock, as a supplement to an error message.
fn troubles(offered: &[Copies]) -> String {
    let silent = (0..).zip(offered).filter(|(_, copies)| copies.newest().is_none());
    let describe = |(at, copies): (usize, &Copies)| {
        copies.trouble.as_ref().map(|trouble| format!("; of offered member {at}, {trouble}"))
    };
    silent.filter_map(describe).collect()
}

/// Checks that enough members of each group are present, and that absent members cannot have continued without these.
fn check_enough(
    superblock: &Superblock,
    positions: &[Option<u16>],
    is_offered: &dyn Fn(usize) -> bool,
    troubles: &str,
) -> Result<(), AssembleError> {
    let parity = superblock.level.parity() as usize;
    let missing: Vec<usize> = (0..positions.len()).filter(|&number| positions[number].is_none()).collect();
    let describe = |numbers: &[usize]| {
        let words = numbers.iter().map(|&number| {
            let member = &superblock.members[number];
            match (member.state, is_offered(number)) {
                (MemberState::Failed, true) => {
                    format!(
                        "{number} (stale: the array continued without it in epoch {})",
                        member.failed_epoch
                    )
                }
                (MemberState::Failed, false) => format!("{number} (failed in epoch {})", member.failed_epoch),
                (_, true) => format!("{number} (holds an older version of the array)"),
                _ => format!("{number} (absent, {})", member.uuid),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let groups = usize::from(superblock.groups).max(1);
    let members = usize::from(superblock.members_of_group);
    let of_group = |group: usize, numbers: &[usize]| -> Vec<usize> {
        numbers.iter().filter(|&&number| group_of(superblock, number) == group).copied().collect()
    };
    for group in 0..groups {
        let gone = of_group(group, &missing);
        if gone.len() > parity {
            return Err(AssembleError::Refused(format!(
                "too few members: {} of a group of {members} cannot be read, and {} tolerates {parity}: member {}{troubles}; \
                 offer those that are missing",
                gone.len(),
                superblock.level,
                describe(&gone)
            )));
        }
    }
    let unknown = |number: &&usize| superblock.members[**number].state != MemberState::Failed;
    let absent: Vec<usize> = missing.iter().filter(unknown).copied().collect();
    // The absent members could have been assembled if they were enough of each group.
    let could_continue = |group: usize| of_group(group, &absent).len() + parity >= members;
    if parity > 0 && (0..groups).all(could_continue) {
        return Err(AssembleError::Refused(format!(
            "members that are absent could have continued without these: {}{troubles}; offer one of them, or all",
            describe(&absent)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stripewise_core::members::Members;
    use stripewise_format::Uuid;
    use stripewise_scheme::Scheme;

    use super::*;
    use crate::recovery::Identity;
    use crate::recovery::superblocks::superblock_in_place;

    const MEMBERS: u16 = 4;

    /// The superblock of member `number` of a RAID-5 array in its version `update`, in which member 0 has failed if the
    /// version is even.
    fn superblock(update: u64, number: u16) -> Superblock {
        let scheme =
            Scheme::from_toml("test", "name = 'test'\nmetadata = 'on'\n[journal]\npolicy = 'intent-bitmap'");
        let scheme = scheme.unwrap_or_else(|error| panic!("{error}"));
        let members = Members {
            count: MEMBERS.into(),
            page_bytes: 4096,
            pages: 1024,
            volatile_cache: true,
            discard: true,
            old_versions: 0,
            streams: 1,
            gc_control: false,
            gc_state: true,
        };
        let uuid = |number: u16| Uuid([number as u8 + 1; 16]);
        let identity =
            Identity { array: Uuid([9; 16]), members: (0..MEMBERS).map(uuid).collect(), name: "test".into() };
        let geometry = scheme.resolve(&members, true).unwrap_or_else(|error| panic!("{error}"));
        let layout = scheme.in_place_layout(&members, &geometry).unwrap_or_else(|error| panic!("{error}"));
        let layout = layout.expect("the scheme has metadata");
        let mut superblock = superblock_in_place(&scheme, &members, &geometry, &layout, &identity);
        if update.is_multiple_of(2) {
            superblock.members[0].state = MemberState::Failed;
        }
        Superblock { update, number, uuid: uuid(number), ..superblock }
    }

    /// Each member with these versions of its front and its back copy; 0 is a copy that was torn.
    fn offered(versions: [(u64, u64); MEMBERS as usize]) -> Vec<Copies> {
        let copy = |update: u64, number: u16| (update > 0).then(|| superblock(update, number));
        let copies = |(number, (front, back)): (u16, (u64, u64))| Copies {
            front: copy(front, number),
            back: copy(back, number),
            ..Copies::default()
        };
        (0..).zip(versions).map(copies).collect()
    }

    fn assembled(versions: [(u64, u64); MEMBERS as usize]) -> Assembly {
        assemble(&offered(versions)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_version_counts_once_its_front_copies_are_on_all_members() {
        assert_eq!(assembled([(2, 1), (2, 1), (2, 1), (1, 1)]).superblock.update, 1);
        assert_eq!(assembled([(2, 1), (2, 1), (2, 1), (2, 1)]).superblock.update, 2);
    }

    #[test]
    fn a_version_does_not_count_because_the_other_members_have_newer_ones() {
        // Version 2 never took effect, and version 3 was made from version 1.
        let found = assembled([(1, 1), (2, 1), (3, 1), (3, 1)]);
        assert_eq!((found.superblock.update, found.update), (1, 3), "the next version is newer than all");
        assert_eq!(found.unfinished(&offered([(1, 1), (2, 1), (3, 1), (3, 1)])), [None; MEMBERS as usize]);
    }

    #[test]
    fn a_log_that_lacks_members_of_a_version_without_back_copies_has_the_one_before() {
        // Version 4 calls member 0 failed, and member 3 is new: power was lost before it had a superblock.
        let of = |placement, versions| {
            let mut offered = offered(versions);
            let copies = offered.iter_mut().flat_map(|its| [&mut its.front, &mut its.back]);
            copies.flatten().for_each(|copy| copy.placement = placement);
            assemble(&offered).ok().map(|its| (its.superblock.update, its.update, its.positions))
        };
        let (incomplete, expected) =
            ([(3, 3), (4, 3), (4, 3), (0, 0)], vec![Some(0), Some(1), Some(2), None]);
        assert_eq!(of(Placement::Log, incomplete), Some((3, 4, expected.clone())));
        assert_eq!(of(Placement::Log, [(3, 3), (4, 3), (4, 0), (0, 0)]), Some((3, 4, expected)));
        assert_eq!(of(Placement::InPlace, incomplete), None, "only logs have this rule");
        assert_eq!(of(Placement::Log, [(3, 3), (4, 4), (4, 3), (0, 0)]), None, "a back copy proves it");
        assert_eq!(of(Placement::Log, [(3, 3), (4, 0), (4, 0), (0, 0)]), None, "back copies may have rotted");
    }

    #[test]
    fn only_back_copies_that_are_missing_are_written() {
        // One back copy rotted while version 2 was being written.
        let versions = [(2, 1), (2, 0), (1, 1), (1, 1)];
        let found = assembled(versions);
        assert_eq!(found.superblock.update, 1);
        assert_eq!(found.unfinished(&offered(versions)), [None, Some(1), None, None]);
    }
}
