//! Consistent results: after any damage, `check`, reads, scrub and rebuild agree about every chunk.
//!
//! With checksums, `check` calls a chunk lost exactly if a read of it fails, and every other read returns the last written
//! content. With the intent bitmap, the first half holds too; if a page of a row was changed without an error, the content
//! of that row is undefined.
//!
//! A case is drawn from its seed. `ONE_ANSWER_SEED=17` runs a single case. To run more of them:
//! `ONE_ANSWER_CASES=5000 cargo test --release -p stripewise-array --test it one_answer`.

mod case;
mod damage;

use std::cell::Cell;
use std::collections::BTreeSet;

use case::{Example, check};
use stripewise_array::format::Uuid;
use stripewise_array::health::{MembersHealth, Reason, health_of};
use stripewise_array::{Controller, Rejoining, Trouble};
use stripewise_base::prng::Prng;
use stripewise_core::ids::MemberNo;

use crate::host::Host;

/// Prints which case failed.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case of ONE_ANSWER_SEED={} failed", self.0);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Runs `judge` over cases, and returns the number of cases that it could judge.
fn each_case(judge: impl Fn(&mut Example) -> bool) -> u64 {
    let first = number("ONE_ANSWER_SEED");
    let seeds = first.map_or(0..number("ONE_ANSWER_CASES").unwrap_or(60), |seed| seed..seed + 1);
    let judged = seeds.filter(|&seed| {
        let _named = Named(seed);
        judge(&mut Example::new(seed))
    });
    judged.count() as u64
}

#[test]
fn check_says_that_a_chunk_is_lost_exactly_if_a_read_of_it_fails() {
    let [lossy, reduced, dead] = [0; 3].map(Cell::new);
    let judged = each_case(|case| {
        let Some((checked, troubles)) = case.checked() else { return false };
        for (count, damages) in [(&lossy, checked.lost), (&reduced, checked.reduced), (&dead, checked.dead)] {
            count.set(count.get() + u64::from(damages > 0));
        }
        let lost = lost_of(&troubles);
        assert_eq!(checked.lost, lost.len() as u64);
        let mut host = case.open().expect("what can be checked can be opened");
        case.reads_fail_exactly_of(&mut host, &lost, "as check says");
        true
    });
    let [lossy, reduced, dead] = [lossy, reduced, dead].map(Cell::into_inner);
    println!(
        "of {judged} cases {lossy} lost chunks, {reduced} had reduced redundancy, {dead} damaged pages that do not count"
    );
    assert!(judged > 0);
}

#[test]
fn what_a_scrub_calls_whole_has_no_trouble_and_what_it_calls_lost_is_lost() {
    let judged = each_case(|case| {
        let Some((_, troubles)) = case.checked() else { return false };
        let lost = lost_of(&troubles);
        let mut host = case.open().expect("what can be checked can be opened");
        let counts = host.scrub();
        settle(&mut host);
        assert_eq!(counts.lost, lost.len() as u64, "{counts:?}, {troubles:?}");
        // Each damaged page is repaired or obsolete, or its content is lost.
        let left = counts.bad - counts.repaired - counts.obsolete;
        assert!(left == 0 || !lost.is_empty(), "{counts:?}, {troubles:?}");
        let lost_now = Reason::ScrubLost(lost.len() as u64);
        let reasons =
            health_of(&host.array.state(), &MembersHealth::new(host.array.members() as u16, None)).reasons;
        assert_eq!(reasons.contains(&lost_now), !lost.is_empty(), "{reasons:?}");
        case.after(&mut host, &lost, "after a scrub");
        true
    });
    assert!(judged > 0);
}

#[test]
fn a_rebuild_could_not_make_something_exactly_if_a_chunk_of_it_is_lost() {
    let judged = each_case(|case| {
        let is_scrubbed = case.random.chance(1, 2);
        let Some((_, troubles)) = case.checked() else { return false };
        let mut host = case.open().expect("what can be checked can be opened");
        if is_scrubbed && lost_of(&troubles).is_empty() {
            assert_eq!(host.scrub().lost, 0);
            settle(&mut host);
            assert_eq!(troubles_of_stripes(&host.copy_of_disk(), case), []);
        }
        let is_scrubbed = is_scrubbed && lost_of(&troubles).is_empty();
        let members = host.array.members() as u16;
        let absent: Vec<u16> =
            (0..members).filter(|&member| host.array.is_failed(MemberNo::new(member))).collect();
        let coming = if absent.is_empty() { vec![case.random.below(members.into()) as u16] } else { absent };
        let mut unrecovered = 0;
        let mut lost = BTreeSet::new();
        for (turn, &member) in (0..).zip(&coming) {
            if !host.array.is_failed(MemberNo::new(member)) {
                host.fail(member);
            }
            settle(&mut host);
            let before = host.copy_of_disk();
            let Some((_, troubles)) = check(&case.scheme, &before) else { return false };
            lost = lost_of(&troubles);
            let expected = case.has_lost_on(&host, &lost, member);
            replace(&mut host, member, turn);
            assert_eq!(host.array.rebuilding(), None);
            assert_eq!(host.array.rebuild_lost() > unrecovered, expected, "{lost:?} lost without {member}");
            unrecovered = host.array.rebuild_lost();
            settle(&mut host);
            if unrecovered > 0 && !case.kind.is_log {
                break;
            }
        }
        let after = host.copy_of_disk();
        let (_, troubles) = check(&case.scheme, &after).expect("it was opened");
        assert_eq!(lost_of(&troubles), lost, "a rebuild loses nothing");
        let mut host = case.reopened(&after);
        case.reads_fail_exactly_of(&mut host, &lost, "after a rebuild");
        if !lost.is_empty() {
            return true;
        }
        if !is_scrubbed {
            assert_eq!(host.scrub().lost, 0);
            settle(&mut host);
        }
        case.tolerates_any_loss(&host.copy_of_disk());
        true
    });
    assert!(judged > 0);
}

/// The chunks that are lost.
fn lost_of(troubles: &[Trouble]) -> BTreeSet<u64> {
    let chunk = |trouble: &Trouble| match *trouble {
        Trouble::Lost { chunk } => Some(chunk),
        _ => None,
    };
    troubles.iter().filter_map(chunk).collect()
}

fn troubles_of_stripes(disk: &stripewise_testkit::Disk, case: &Example) -> Vec<Trouble> {
    check(&case.scheme, disk).expect("it was opened").1
}

/// Waits until all begun work is complete and on the members.
fn settle(host: &mut Host) {
    host.begin_checkpoint();
    host.finish();
    host.flush();
    host.finish();
}

/// Another device replaces a member and is completely rebuilt.
fn replace(host: &mut Host, member: u16, turn: u8) {
    let pages = {
        let disk = host.disk();
        let device = &mut disk.members[usize::from(member)];
        device.is_gone = false;
        device.unreadable.clear();
        // Content that is no chunk and no sum of chunks.
        let mut random = Prng::new(u64::from(turn) + 1);
        for byte in device.pages.iter_mut().flatten() {
            *byte = random.next_u64() as u8;
        }
        device.pages.len() as u32
    };
    host.rejoin(member, Rejoining::Replacement { uuid: Uuid([0x70 + turn; 16]), pages });
    host.finish_rebuild();
}
