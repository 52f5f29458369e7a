//! A model of the chain of servings: small arrays are assembled with absent members and crashes at each write of superblocks,
//! copied as a whole, served separately, and mixed.

use stripewise_base::prng::Prng;
use stripewise_core::members::Members;
use stripewise_format::{Copy, FailReason, MemberState, Superblock, Uuid};
use stripewise_scheme::Scheme;

use super::Identity;
use super::assemble::{Assembly, assemble};
use super::superblocks::{Copies, superblock_in_place};

/// The horizon of all superblocks: a member that is trusted with its content has it in its stamp.
const HORIZON: u64 = 7;

/// The members of an array: their superblocks, and the servings in which each was written.
#[derive(Clone, PartialEq)]
struct World {
    members: Vec<Copies>,
    content: Vec<Vec<u64>>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, (copies, content)) in self.members.iter().zip(&self.content).enumerate() {
            write!(f, "\nmember {number}, written in {content:?}:")?;
            for block in [&copies.front, &copies.back].into_iter().flatten() {
                let left = block
                    .members
                    .iter()
                    .map(|its| (its.state == MemberState::Failed).then_some(its.left_serving));
                let left: Vec<Option<u64>> = left.collect();
                let Superblock { update, serving, predecessor, .. } = block;
                write!(f, " update {update} of {serving} after {predecessor}, left {left:?};")?;
            }
        }
        Ok(())
    }
}

/// An assembly for writing.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The members that are offered, as a mask.
    present: u32,
    /// The crash: which copies are being written, and which of them are on their members, as a mask.
    crash: Option<(Copy, u32)>,
}

impl World {
    fn new(level: &str, members: u16) -> Self {
        let text = format!(
            "name = 'test'\nmetadata = 'on'\n[geometry]\nlevel = '{level}'\n[journal]\npolicy = 'intent-bitmap'"
        );
        let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
        let all = Members::opaque(members.into(), 4096, 1024);
        let uuid = |number: u16| Uuid([number as u8 + 1; 16]);
        let identity =
            Identity { array: Uuid([9; 16]), members: (0..members).map(uuid).collect(), name: "test".into() };
        let geometry = scheme.resolve(&all, true).unwrap_or_else(|error| panic!("{error}"));
        let layout = scheme.in_place_layout(&all, &geometry).ok().flatten().expect("the scheme has metadata");
        let block = superblock_in_place(&scheme, &all, &geometry, &layout, &identity);
        let mut world = Self {
            members: vec![Copies::default(); usize::from(members)],
            content: vec![vec![]; members.into()],
        };
        let block = Superblock { horizon: HORIZON, ..block };
        (0..usize::from(members)).for_each(|member| {
            world.write(&block, member, Copy::Front);
            world.write(&block, member, Copy::Back);
        });
        world
    }

    fn write(&mut self, block: &Superblock, number: usize, copy: Copy) {
        let its = Superblock { number: number as u16, uuid: block.members[number].uuid, ..block.clone() };
        let copies = &mut self.members[number];
        *if copy == Copy::Front { &mut copies.front } else { &mut copies.back } = Some(its);
    }

    fn offered(&self, present: u32) -> Vec<Copies> {
        let is_there = |number: &usize| present >> number & 1 != 0;
        let offer = |number| if is_there(&number) { self.members[number].clone() } else { Copies::default() };
        (0..self.members.len()).map(offer).collect()
    }

    /// The first superblock of the next serving.
    fn next(assembly: &Assembly, serving: u64) -> Superblock {
        let mut block = Superblock { update: assembly.update + 1, ..assembly.superblock.clone() };
        block.epoch = assembly.epoch.max(block.epoch) + 1;
        let absent = (0..block.members.len()).filter(|&number| assembly.positions[number].is_none());
        absent.for_each(|number| block.fail_member(number, HORIZON, FailReason::Gone));
        assembly.begin_serving(&mut block, serving);
        block
    }

    /// Assembles and serves. Returns false if that is refused.
    fn step(&mut self, step: Step, serving: u64) -> bool {
        let offered = self.offered(step.present);
        let Ok(assembly) = assemble(&offered) else { return false };
        let used: Vec<usize> =
            (0..self.members.len()).filter(|&number| assembly.positions[number].is_some()).collect();
        let current = &assembly.superblock;
        let lacks = |number: &usize| {
            !self.members[*number].back.as_ref().is_some_and(|back| back.is_version_of(current))
        };
        for number in used.iter().copied().filter(lacks).collect::<Vec<_>>() {
            self.write(current, number, Copy::Back);
        }
        let next = Self::next(&assembly, serving);
        for copy in [Copy::Front, Copy::Back] {
            let crash = step.crash.filter(|(crashed, _)| *crashed == copy).map(|(_, mask)| mask);
            for &number in used.iter().filter(|number| crash.is_none_or(|mask| mask >> **number & 1 != 0)) {
                self.write(&next, number, copy);
            }
            if crash.is_some() {
                return true;
            }
        }
        used.iter().for_each(|&number| self.content[number].push(serving));
        true
    }

    /// The same members as of an array without the feature.
    fn unchained(&self) -> Self {
        let mut world = self.clone();
        world.members.iter_mut().for_each(Copies::forget_chain);
        world
    }
}

/// All steps over `members` with at most `parity` of them absent, with and without a crash.
fn steps(members: usize, parity: u32, crashes: bool) -> Vec<Step> {
    let all = (1u32 << members) - 1;
    let presents = (0..=all).filter(|present| (all & !present).count_ones() <= parity);
    let crash = |copy| (0..=all).map(move |mask| Some((copy, mask)));
    let outcomes: Vec<Option<(Copy, u32)>> = match crashes {
        true => [None].into_iter().chain(crash(Copy::Front)).chain(crash(Copy::Back)).collect(),
        false => vec![None],
    };
    presents.flat_map(|present| outcomes.iter().map(move |&crash| Step { present, crash })).collect()
}

/// Counts of what was seen, so that no check passes for lack of cases.
#[derive(Debug, Default)]
struct Seen {
    assembled: u64,
    refused: u64,
    left_out: u64,
    trusted: u64,
    doubted: u64,
}

/// Assembles a mixture of members, and checks that no member is used, or trusted when it returns, with content that is not
/// of the history that continues.
fn check_mix(world: &World, seen: &mut Seen) {
    let offered = world.offered(u32::MAX);
    let Ok(assembly) = assemble(&offered) else {
        seen.refused += 1;
        return;
    };
    let numbers = || 0..world.members.len();
    let used: Vec<usize> = numbers().filter(|&number| assembly.positions[number].is_some()).collect();
    let history = &world.content[used[0]];
    for &number in &used {
        assert_eq!(&world.content[number], history, "members {used:?} are mixed: {world:?}");
    }
    seen.assembled += 1;
    seen.left_out += u64::from(used.len() < world.members.len());
    let next = World::next(&assembly, u64::MAX);
    for number in numbers().filter(|number| !used.contains(number)) {
        let Copies { front, back, .. } = &world.members[number];
        let stamp = next.stamp_of(number as u16, [front.as_ref(), back.as_ref()]);
        let is_trusted = stamp.is_some_and(|stamp| stamp.horizon > 0);
        assert!(
            !is_trusted || history.starts_with(&world.content[number]),
            "member {number} is trusted by {used:?}: {world:?}"
        );
        *if is_trusted { &mut seen.trusted } else { &mut seen.doubted } += 1;
    }
}

/// A world that was not copied is assembled as without the feature: the chain refuses nothing and leaves nothing out, and the
/// newest content counts.
fn check_alone(world: &World, presents: impl Iterator<Item = u32>) {
    let plain = world.unchained();
    for present in presents {
        let found = assemble(&world.offered(present)).ok().map(|its| its.positions);
        let expected = assemble(&plain.offered(present)).ok().map(|its| its.positions);
        assert_eq!(found, expected, "with members {present:#b} of {world:?}");
    }
    if let Ok(assembly) = assemble(&world.offered(u32::MAX)) {
        let used = (0..world.members.len()).filter(|&number| assembly.positions[number].is_some());
        let longest = world.content.iter().max_by_key(|content| content.len());
        used.for_each(|number| assert_eq!(Some(&world.content[number]), longest, "{world:?}"));
    }
}

/// All worlds that `steps` lead to, from each of `worlds`; and those themselves.
fn after(worlds: &[World], steps: &[Step], serving: u64) -> Vec<World> {
    let mut all = worlds.to_vec();
    for world in worlds {
        for &step in steps {
            let mut next = world.clone();
            if next.step(step, serving) && !all.contains(&next) {
                all.push(next);
            }
        }
    }
    all
}

#[test]
fn members_of_copies_that_were_served_separately_are_never_used_together() {
    let (members, parity) = (3, 1);
    let (sure, any) = (steps(members, parity, false), steps(members, parity, true));
    let first = World::new("raid5", members as u16);
    let mut seen = Seen::default();
    // A crash of the last serving before the copies were made, of the first one of a copy, or none.
    for (before, of_one) in [(&sure, &any), (&any, &sure)] {
        for origin in after(std::slice::from_ref(&first), before, 1) {
            check_alone(&origin, 0..8);
            let one = after(&after(std::slice::from_ref(&origin), of_one, 10), &sure, 11);
            let other = after(&after(std::slice::from_ref(&origin), &sure, 20), &sure, 21);
            one.iter().for_each(|world| check_alone(world, [3, 5, 6].into_iter()));
            for (one, other) in one.iter().flat_map(|one| other.iter().map(move |other| (one, other))) {
                for from in 1..7u32 {
                    let mut mixed = one.clone();
                    for number in (0..members).filter(|number| from >> number & 1 != 0) {
                        mixed.members[number] = other.members[number].clone();
                        mixed.content[number] = other.content[number].clone();
                    }
                    check_mix(&mixed, &mut seen);
                }
            }
        }
    }
    println!("{seen:?}");
    let Seen { assembled, refused, left_out, trusted, doubted } = seen;
    assert!([assembled, refused, left_out, trusted, doubted].iter().all(|&count| count > 100), "{seen:?}");
}

#[test]
fn the_same_holds_for_two_parity_members_and_several_crashes() {
    let mut seen = Seen::default();
    for (level, members, parity) in [("raid5", 4, 1), ("raid6", 5, 2), ("raid6", 4, 2)] {
        let first = World::new(level, members as u16);
        let (sure, any) = (steps(members, parity, false), steps(members, parity, true));
        for seed in 0..4000 {
            let mut random = Prng::new(seed);
            let mut walk = |world: &mut World, most: u64, serving: u64| {
                for nth in 0..random.below(most + 1) {
                    let steps = if random.below(3) == 0 { &any } else { &sure };
                    world.step(steps[random.below(steps.len() as u64) as usize], serving + nth);
                }
                random.below(1 << members) as u32
            };
            let mut one = first.clone();
            walk(&mut one, 2, 1);
            let mut other = one.clone();
            walk(&mut one, 3, 10);
            let from = walk(&mut other, 3, 20);
            check_alone(
                &one,
                (0..1 << members).filter(|present: &u32| present.count_ones() + parity >= members as u32),
            );
            for number in (0..members).filter(|number| from >> number & 1 != 0) {
                one.members[number] = other.members[number].clone();
                one.content[number] = other.content[number].clone();
            }
            check_mix(&one, &mut seen);
        }
    }
    println!("{seen:?}");
    let Seen { assembled, refused, left_out, trusted, doubted } = seen;
    assert!([assembled, refused, left_out, trusted, doubted].iter().all(|&count| count > 100), "{seen:?}");
}

#[test]
fn an_absent_member_that_returns_is_trusted_with_its_stamp() {
    let mut world = World::new("raid6", 5);
    assert!(world.step(Step { present: 0b11111, crash: None }, 1));
    assert!(world.step(Step { present: 0b11110, crash: None }, 2));
    assert!(world.step(Step { present: 0b01110, crash: None }, 3));
    let assembly = assemble(&world.offered(0b11111)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(assembly.superblock.members[0].state, MemberState::Failed);
    let next = World::next(&assembly, 4);
    for (number, left) in [(0u16, 1), (4, 2)] {
        assert_eq!(next.members[usize::from(number)].left_serving, left);
        let Copies { front, back, .. } = &world.members[usize::from(number)];
        let stamp = next.stamp_of(number, [front.as_ref(), back.as_ref()]);
        assert_eq!(
            stamp.map(|stamp| stamp.horizon),
            Some(HORIZON),
            "member {number} left two servings ago or one"
        );
    }
}

#[test]
fn the_set_of_members_that_would_do_is_named() {
    let mut one = World::new("raid5", 4);
    one.step(Step { present: 0b1111, crash: None }, 1);
    let mut other = one.clone();
    one.step(Step { present: 0b1111, crash: None }, 10);
    other.step(Step { present: 0b1111, crash: None }, 20);
    let mix = |other: &World, numbers: &[usize]| {
        let mut mixed = one.clone();
        numbers.iter().for_each(|&number| mixed.members[number] = other.members[number].clone());
        mixed.members
    };
    // One member of the copy is left out, even if it is newer.
    other
        .members
        .iter_mut()
        .flat_map(|its| [&mut its.front, &mut its.back])
        .flatten()
        .for_each(|its| its.update += 1);
    let positions = |offered: &[Copies]| assemble(offered).map(|its| its.positions);
    assert_eq!(positions(&mix(&other, &[3])).ok(), Some(vec![Some(0), Some(1), Some(2), None]));
    let refused = positions(&mix(&other, &[2, 3])).expect_err("two of each");
    let named = "; members 0, 1; and members 2, 3 belong to copies of the array that were served separately";
    assert!(refused.to_string().ends_with(named), "{refused}");
    other.step(Step { present: 0b1111, crash: None }, 21);
    // A copy that was served twice is no fork of the others by what it says itself: they may have been set back.
    let mut twice = one.members.clone();
    twice[3] = other.members[3].clone();
    let refused = positions(&twice).expect_err("a member is newer").to_string();
    assert!(refused.contains("members 0, 1, 2 would do alone"), "{refused}");
    // The others were set back to before the serving in which member 3 took part.
    let mut back = one.clone();
    back.step(Step { present: 0b1111, crash: None }, 11);
    let mut rolled = one.members.clone();
    rolled[3] = back.members[3].clone();
    let refused = positions(&rolled).expect_err("the others are older").to_string();
    assert!(
        refused.contains("members 0, 1, 2 would do alone: the newest members were served since"),
        "{refused}"
    );
}

#[test]
#[should_panic(expected = "are mixed")]
fn without_the_chain_members_of_copies_are_mixed() {
    let mut one = World::new("raid5", 3).unchained();
    let mut other = one.clone();
    one.step(Step { present: 0b111, crash: None }, 10);
    other.step(Step { present: 0b111, crash: None }, 20);
    (one.members[2], one.content[2]) = (other.members[2].clone(), other.content[2].clone());
    check_mix(&one, &mut Seen::default());
}
