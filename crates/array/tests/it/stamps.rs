//! A member returns with content of an earlier time: the array trusts the stamp in the member's own superblocks, not its
//! own record (row `rollback` of `docs/design/fault-contract.md`).

use stripewise_array::format::{
    Area, Copy, ENDED_MAX, FailReason, Features, MemberRecord, MemberState, Superblock, Uuid,
};
use stripewise_array::{RejoinError, Rejoining};
use stripewise_testkit::{Disk, DiskMember};

use crate::format_1::as_version_1;
use crate::host::Host;

const LOG5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const LOG6: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid6\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const JOURNAL: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\nchunk = \"1KiB\"\n";
const BITMAP: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\nchunk = \"1KiB\"\n[journal]\n\
    policy = \"intent-bitmap\"\n";
const ALL: [&str; 4] = [LOG5, LOG6, JOURNAL, BITMAP];

/// The member that returns.
const IT: u16 = 2;

/// A new array.
fn array(scheme: &str) -> Host {
    let members = if scheme == LOG6 { 5 } else { 4 };
    Host::create(scheme, Disk::new(members, 400, 1024))
}

/// The number of chunks that tests write; all chunks of an array in place would take long.
fn chunks(host: &Host) -> u64 {
    host.capacity().min(300)
}

fn fill(host: &mut Host, value: u8) {
    (0..chunks(host)).for_each(|chunk| host.write(chunk, value));
    host.flush();
}

/// The content of the member.
fn image(host: &mut Host) -> DiskMember {
    host.disk().members[usize::from(IT)].clone()
}

/// The member fails, the array is written without it, and it returns with `image`.
fn returns(host: &mut Host, image: DiskMember, value: u8) {
    host.fail(IT);
    host.finish();
    (0..chunks(host) / 4).for_each(|chunk| host.write(chunk * 4, value));
    host.flush();
    host.disk().members[usize::from(IT)] = image;
    host.rejoin(IT, host.returned(IT));
}

/// The returned member's record in the superblock of another member.
fn noted(host: &mut Host) -> (MemberState, u64) {
    let pages = host.disk().members[0].pages[..4].concat();
    let superblock = Superblock::parse(&pages).expect("the front copy");
    let member = superblock.members[usize::from(IT)];
    (member.state, member.failed_batch)
}

/// Checks that the member is complete: any other member may be lost, and every chunk has its value.
fn check(host: &mut Host, value: impl Fn(u64) -> u8) {
    host.finish_rebuild();
    host.flush();
    let members = host.disk().members.len() as u16;
    for other in (0..members).filter(|&other| other != IT) {
        let mut host = host.copy();
        assert!(host.opened.positions[usize::from(IT)].is_some(), "the member is in the array");
        host.disk().members[usize::from(other)].is_gone = true;
        if members == 5 {
            host.disk().members[usize::from((other + 1) % 5).max(3)].is_gone = true;
        }
        let mut host = host.lose_power();
        for chunk in 0..chunks(&host) {
            assert_eq!(host.read(chunk), Some(value(chunk)), "chunk {chunk} without {other}");
        }
    }
}

/// The content after [`returns`] in an array that was full of `before`.
fn value(before: u8, since: u8) -> impl Fn(u64) -> u8 {
    move |chunk| if chunk.is_multiple_of(4) { since } else { before }
}

#[test]
fn an_older_image_of_a_member_gets_the_writes_since_its_own_stamp() {
    for scheme in ALL {
        let mut host = array(scheme);
        fill(&mut host, 1);
        let mut host = Host::open_as(scheme, host.stop());
        let older = image(&mut host);
        fill(&mut host, 2);
        fill(&mut host, 3);
        returns(&mut host, older, 4);
        check(&mut host, value(3, 4));
    }
}

#[test]
fn what_a_log_rebuilds_begins_at_the_stamp() {
    let mut host = array(LOG5);
    fill(&mut host, 1);
    let mut host = Host::open_as(LOG5, host.stop());
    let stamped = superblock_of(&mut host).horizon;
    let older = image(&mut host);
    (0..10).for_each(|chunk| host.write(chunk, 2));
    host.flush();
    returns(&mut host, older, 4);
    host.flush();
    assert_eq!(noted(&mut host), (MemberState::Rebuilding, stamped));
    assert!(stamped > 0, "what the clean stop covered is not rebuilt");
}

fn superblock_of(host: &mut Host) -> Superblock {
    Superblock::parse(&host.disk().members[usize::from(IT)].pages[..4].concat()).expect("the front copy")
}

#[test]
fn an_image_of_a_replacement_that_was_half_rebuilt_is_rebuilt_whole() {
    for scheme in ALL {
        let mut host = array(scheme);
        fill(&mut host, 1);
        host.fail(IT);
        host.finish();
        let blank = vec![vec![0; 1024].into_boxed_slice(); 400];
        host.disk().members[usize::from(IT)] = DiskMember { pages: blank, ..DiskMember::default() };
        host.rejoin(IT, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 400 });
        let mut half = None;
        while host.array.rebuilding().is_some() {
            if noted(&mut host).0 == MemberState::Rebuilding {
                half.get_or_insert_with(|| image(&mut host));
            }
            host.complete_one();
        }
        host.flush();
        returns(&mut host, half.expect("superblocks told of it"), 4);
        check(&mut host, value(1, 4));
    }
}

#[test]
fn a_member_stamped_in_an_epoch_that_is_forgotten_is_rebuilt_whole() {
    let mut host = array(LOG5);
    fill(&mut host, 1);
    let older = image(&mut host);
    for epoch in 0..=ENDED_MAX as u8 + 1 {
        host.write(5, epoch);
        host = Host::open_as(LOG5, host.stop());
    }
    fill(&mut host, 3);
    returns(&mut host, older, 4);
    host.flush();
    assert_eq!(noted(&mut host), (MemberState::Rebuilding, 0));
    check(&mut host, value(3, 4));
}

#[test]
fn a_member_of_an_array_of_version_1_has_no_stamp_and_is_rebuilt_whole() {
    for scheme in ALL {
        let mut host = array(scheme);
        let members = host.disk().members.len();
        for member in 0..members {
            for copy in [Copy::Front, Copy::Back] {
                host.change_superblock(member, copy, &|superblock| {
                    *superblock = Superblock { owner: Area::default(), ..as_version_1(superblock) };
                });
            }
        }
        let mut host = host.lose_power();
        fill(&mut host, 1);
        let mut host = Host::open_as(scheme, host.stop());
        let older = image(&mut host);
        fill(&mut host, 2);
        returns(&mut host, older, 4);
        assert!(matches!(host.returned(IT), Rejoining::Returned { stamp: None, .. }));
        host.flush();
        if scheme == LOG5 || scheme == LOG6 {
            assert_eq!(noted(&mut host), (MemberState::Rebuilding, 0));
        }
        check(&mut host, value(2, 4));
        assert_eq!(superblock_of(&mut host).version, 1);
    }
}

#[test]
fn after_a_clean_stop_an_older_image_of_a_member_counts_as_absent() {
    for scheme in ALL {
        let mut host = array(scheme);
        fill(&mut host, 1);
        let mut older = vec![image(&mut host)];
        fill(&mut host, 2);
        older.push(image(&mut host));
        let stopped = host.stop();
        for older in older {
            let mut disk = stopped.clone();
            disk.members[usize::from(IT)] = older;
            let mut host = Host::open_as(scheme, disk);
            assert_eq!(host.opened.positions[usize::from(IT)], None, "{scheme}");
            (0..chunks(&host)).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
        }
        let mut host = Host::open_as(scheme, stopped);
        assert!(host.opened.positions[usize::from(IT)].is_some());
        assert!(!superblock_of(&mut host).is_clean, "what serves is not stopped");
    }
}

#[test]
fn a_clean_stop_is_reported_by_superblocks_on_all_members() {
    for scheme in ALL {
        let disk = array(scheme).stop();
        for member in &disk.members {
            for first in [0, 396] {
                let superblock = Superblock::parse(&member.pages[first..first + 4].concat()).expect("a copy");
                assert!(superblock.is_clean, "{scheme}");
            }
        }
    }
}

#[test]
fn a_member_that_was_copied_while_the_array_served_is_as_old_as_its_first_page() {
    let mut host = array(LOG5);
    fill(&mut host, 1);
    let mut copied = image(&mut host);
    fill(&mut host, 2);
    host.begin_checkpoint();
    host.finish();
    let newer = image(&mut host);
    copied.pages[396..].clone_from_slice(&newer.pages[396..]);
    fill(&mut host, 3);
    returns(&mut host, copied, 4);
    check(&mut host, value(3, 4));
}

#[test]
fn a_member_that_is_newer_than_the_array_is_refused() {
    for scheme in ALL {
        let mut host = array(scheme);
        fill(&mut host, 1);
        let older = host.copy_of_disk();
        let newer = {
            let mut host = Host::open_as(scheme, Host::open_as(scheme, older.clone()).stop());
            fill(&mut host, 2);
            image(&mut host)
        };
        let mut host = Host::open_as(scheme, older);
        host.fail(IT);
        host.finish();
        host.disk().members[usize::from(IT)] = newer;
        let refused = host.try_rejoin(IT, host.returned(IT));
        assert!(matches!(refused, Err(RejoinError::Newer { .. })), "{scheme}: {refused:?}");
    }
}

#[test]
fn what_a_returned_member_kept_of_the_past_does_not_count() {
    let mut host = array(LOG5);
    fill(&mut host, 1);
    host.begin_checkpoint();
    host.finish();
    host.flush();
    let its = superblock_of(&mut host);
    let older = image(&mut host);
    let heads = [its.checkpoint.first, its.checkpoint.first + its.checkpoint.pages];
    let areas = || heads.into_iter().chain(its.commits.first..its.commits.first + its.commits.pages);
    let is_zero = |page: &[u8]| page.iter().all(|&byte| byte == 0);
    let kept = |member: &DiskMember| -> Vec<u32> {
        areas().filter(|&page| !is_zero(&member.pages[page as usize])).collect()
    };
    assert!(!kept(&older).is_empty(), "it keeps checkpoints or commit records");
    host.fail(IT);
    host.finish();
    host.disk().members[usize::from(IT)] = older.clone();
    host.rejoin(IT, host.returned(IT));
    let mut is_recorded = false;
    for _ in 0..2000 {
        let now = image(&mut host);
        is_recorded |= superblock_of(&mut host).members[usize::from(IT)].state == MemberState::Rebuilding;
        let is_old = |page: &u32| now.pages[*page as usize] == older.pages[*page as usize];
        assert!(
            !is_recorded || !kept(&now).iter().any(is_old),
            "superblocks told of it before that was void"
        );
        if host.array.rebuilding().is_none() {
            break;
        }
        host.complete_one();
    }
    assert!(is_recorded);
}

#[test]
fn a_member_rolled_back_below_a_serving_array_is_found_by_checksums() {
    for scheme in [LOG5, LOG6, JOURNAL] {
        let mut host = array(scheme);
        fill(&mut host, 1);
        let older = image(&mut host);
        fill(&mut host, 2);
        host.disk().members[usize::from(IT)] = older;
        (0..chunks(&host)).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
        host.flush();
        let counts = host.scrub();
        assert_eq!(counts.lost, 0, "{scheme}: {counts:?}");
        host.flush();
        host.finish();
        assert_eq!(host.scrub().bad, 0, "{scheme}");
        // The live content is right on all members; old superblocks do not count.
        let all = chunks(&host);
        host.fail(0);
        (0..all).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
    }
}

/// The member loses some of its content, is failed for `reason`, and returns as it is.
fn damaged_and_back(host: &mut Host, reason: FailReason) {
    let data = superblock_of(host).data;
    let data = data.first as usize..(data.first + data.pages) as usize;
    host.disk().members[usize::from(IT)].pages[data].iter_mut().for_each(|page| page.fill(0x5a));
    host.fail_for(IT, reason);
    host.finish();
    (0..chunks(host) / 4).for_each(|chunk| host.write(chunk * 4, 2));
    host.flush();
    host.rejoin(IT, host.returned(IT));
}

/// Stops all but the feature `serving-chain`: arrays of before have the same promise in the serving in which they learn of
/// the damage.
fn without_chain(host: &mut Host) {
    let members = host.disk().members.len();
    for member in 0..members {
        for copy in [Copy::Front, Copy::Back] {
            host.change_superblock(member, copy, &Superblock::forget_chain);
        }
    }
}

#[test]
fn a_member_that_was_failed_for_damage_is_rebuilt_whole_when_it_returns() {
    for (scheme, has_chain) in ALL.into_iter().flat_map(|scheme| [(scheme, true), (scheme, false)]) {
        let mut host = array(scheme);
        if !has_chain {
            without_chain(&mut host);
        }
        let mut host = host.lose_power();
        fill(&mut host, 1);
        let mut host = Host::open_as(scheme, host.stop());
        damaged_and_back(&mut host, FailReason::Damage);
        host.flush();
        if scheme == LOG5 || scheme == LOG6 {
            assert_eq!(noted(&mut host), (MemberState::Rebuilding, 0));
        }
        check(&mut host, value(1, 2));
        assert_eq!(superblock_of(&mut host).has_chain(), has_chain);
    }
}

#[test]
fn a_member_that_was_failed_for_damage_stays_in_doubt_over_restarts() {
    for scheme in ALL {
        let mut host = array(scheme);
        fill(&mut host, 1);
        let mut host = Host::open_as(scheme, host.stop());
        let data = superblock_of(&mut host).data;
        let data = data.first as usize..(data.first + data.pages) as usize;
        host.disk().members[usize::from(IT)].pages[data].iter_mut().for_each(|page| page.fill(0x5a));
        host.fail_for(IT, FailReason::Damage);
        host.finish();
        (0..chunks(&host) / 4).for_each(|chunk| host.write(chunk * 4, 2));
        host.flush();
        let mut host = Host::open_as(scheme, host.stop());
        assert_eq!(host.opened.positions[usize::from(IT)], None, "{scheme}");
        assert_eq!(record(&mut host).reason, FailReason::Damage);
        host.rejoin(IT, host.returned(IT));
        host.flush();
        check(&mut host, value(1, 2));
        let back = record(&mut host);
        assert_eq!((back.reason, back.left_serving, back.is_whole), (FailReason::Unknown, 0, true));
    }
}

/// The member's record in the superblock of another member.
fn record(host: &mut Host) -> MemberRecord {
    let pages = host.disk().members[0].pages[..4].concat();
    Superblock::parse(&pages).expect("the front copy").members[usize::from(IT)]
}

#[test]
fn a_member_that_was_gone_or_taken_out_keeps_what_its_stamp_says() {
    for reason in [FailReason::Gone, FailReason::Requested] {
        let mut host = array(LOG5);
        fill(&mut host, 1);
        let mut host = Host::open_as(LOG5, host.stop());
        let stamped = superblock_of(&mut host).horizon;
        host.fail_for(IT, reason);
        host.finish();
        (0..10).for_each(|chunk| host.write(chunk * 4, 2));
        host.flush();
        let its = record(&mut host);
        let serving = superblock_of(&mut host).serving;
        assert_eq!((its.reason, its.left_serving, its.is_whole), (reason, serving, false));
        host.rejoin(IT, host.returned(IT));
        host.flush();
        assert!(noted(&mut host).1 >= stamped && stamped > 0);
        check(&mut host, |chunk| if chunk.is_multiple_of(4) && chunk < 40 { 2 } else { 1 });
    }
}

#[test]
fn a_member_failed_by_a_program_that_records_no_reason_is_in_doubt() {
    let mut host = array(LOG5);
    fill(&mut host, 1);
    let mut host = Host::open_as(LOG5, host.stop());
    host.fail_for(IT, FailReason::Requested);
    host.finish();
    (0..10).for_each(|chunk| host.write(chunk * 4, 2));
    host.flush();
    for member in [0, 1, 3] {
        for copy in [Copy::Front, Copy::Back] {
            host.change_superblock(member, copy, &|block| {
                let bit = block.features;
                block.forget_chain();
                block.features = bit;
            });
        }
    }
    assert!(record(&mut host).failed_batch > 0, "as the older program recorded it");
    let mut host = host.lose_power();
    assert_eq!(superblock_of_other(&mut host).features.compatible, Features::SERVING_CHAIN);
    host.rejoin(IT, host.returned(IT));
    host.flush();
    assert_eq!(noted(&mut host), (MemberState::Rebuilding, 0));
    check(&mut host, |chunk| if chunk.is_multiple_of(4) && chunk < 40 { 2 } else { 1 });
}

fn superblock_of_other(host: &mut Host) -> Superblock {
    Superblock::parse(&host.disk().members[0].pages[..4].concat()).expect("the front copy")
}

/// What overwrote a superblock may have overwritten more: the member is in doubt until a scrub has read all of it.
#[test]
fn a_member_whose_superblock_was_damaged_is_in_doubt_until_a_scrub_verified_it() {
    for (scheme, is_chained) in ALL.into_iter().flat_map(|scheme| [(scheme, true), (scheme, false)]) {
        let mut host = array(scheme);
        if !is_chained {
            without_chain(&mut host);
        }
        let mut host = host.lose_power();
        fill(&mut host, 1);
        assert_eq!(host.array.members_in_doubt(), 0, "{scheme}");
        host.disk().members[usize::from(IT)].pages[397].fill(0x5a);
        host.verify_superblocks();
        host.finish();
        assert_eq!(host.array.members_in_doubt(), 1 << IT, "{scheme}");
        if is_chained {
            assert!(!record(&mut host).is_whole && host.copy().array.members_in_doubt() == 1 << IT);
        }
        let mut sound = host.copy_of_disk();
        // The stamp that the repaired superblock has does not count.
        damaged_and_back(&mut host, FailReason::Gone);
        check(&mut host, value(1, 2));
        if is_chained {
            sound.members[0].is_gone = false;
            let mut host = Host::open_as(scheme, sound);
            let counts = host.scrub();
            assert_eq!((counts.bad, counts.lost), (0, 0), "{scheme}");
            host.finish();
            assert!(record(&mut host).is_whole && host.array.members_in_doubt() == 0, "{scheme}");
            assert_eq!(host.copy().array.members_in_doubt(), 0);
        }
    }
}
