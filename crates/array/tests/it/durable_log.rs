//! A log with metadata: content that a flush covered is present after the array is assembled again.

use stripewise_array::format::{Copy, MemberState, Superblock, Uuid};
use stripewise_array::{
    AssemblyOptions, Controller, MemberNo, Outcome, RejoinError, Rejoining, RequestKind, SubmitError,
};
use stripewise_testkit::Disk;

use crate::host::Host;

const WAS: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n[hotness]\npolicy = \"glru\"\n\
    tiers = 2\n";

fn read_only() -> AssemblyOptions {
    AssemblyOptions { read_only: true, ..AssemblyOptions::default() }
}

fn host(pages: u32) -> Host {
    Host::create(WAS, Disk::new(4, pages, 1024))
}

#[test]
fn what_a_flush_covered_is_there_after_a_loss_of_power() {
    let mut host = host(400);
    for chunk in 0..40 {
        host.write(chunk, chunk as u8 + 1);
    }
    host.flush();
    let mut host = host.lose_power();
    for chunk in 0..40 {
        assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}");
    }
    assert_eq!(host.read(40), Some(0));
}

#[test]
fn data_written_over_and_over_is_collected_and_there() {
    let mut host = host(400);
    let chunks = host.capacity();
    let mut expected = vec![0; chunks as usize];
    for round in 0..2000u64 {
        let chunk = round * 7919 % chunks;
        let value = (round % 250 + 1) as u8;
        host.write(chunk, value);
        expected[chunk as usize] = value;
        if round % 97 == 0 {
            host.flush();
        }
    }
    host.flush();
    assert!(host.array.log_counts().collected > 0);
    let mut host = host.lose_power();
    for chunk in 0..chunks {
        assert_eq!(host.read(chunk), Some(expected[chunk as usize]), "chunk {chunk}");
    }
}

/// Pages of all members that are not zero.
fn pages_in_use(host: &mut Host) -> usize {
    let disk = host.disk();
    let pages = disk.members.iter().flat_map(|member| &member.pages);
    pages.filter(|page| page.iter().any(|&byte| byte != 0)).count()
}

#[test]
fn what_a_trim_frees_is_discarded_and_can_be_written_again() {
    let mut host = host(1600);
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    let full = pages_in_use(&mut host);
    host.trim(10, chunks - 10);
    // Each round appends a little, until a checkpoint frees the trimmed space.
    for round in 0..60 {
        host.write(round % 10, 77);
        host.flush();
    }
    assert!(host.array.metadata_counts().discarded > 0);
    let left = pages_in_use(&mut host);
    assert!(left < full / 2, "{left} pages of {full} are in use");
    host.array.audit_log().unwrap();
    let mut host = host.lose_power();
    let expected = |chunk| if chunk < 10 { 77 } else { 0 };
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(expected(chunk)), "chunk {chunk}"));
    for round in 1..4 {
        (0..chunks).for_each(|chunk| host.write(chunk, round));
    }
    host.flush();
    let mut host = host.lose_power();
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(3), "chunk {chunk}"));
}

#[test]
fn a_full_array_that_lost_a_member_can_be_written_over_forever() {
    let scheme = WAS.replace("[elastic]", "[elastic]\nroom_for_lost = 1");
    for lost in 0..4 {
        let mut host = Host::create(&scheme, Disk::new(4, 700, 1024));
        let chunks = host.capacity();
        (0..chunks).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        host.fail(lost);
        for nth in 0..5 * chunks {
            host.write(nth * 7919 % chunks, (nth % 250) as u8);
            if nth % 50 == 0 {
                host.flush();
            }
        }
        host.array.audit_log().unwrap();
    }
    let without = Host::create(WAS, Disk::new(4, 700, 1024)).capacity();
    let with = Host::create(&scheme, Disk::new(4, 700, 1024)).capacity();
    assert!(with < without, "room is kept back: {with} of {without} chunks");
}

#[test]
fn a_log_is_full_while_it_refuses_writes() {
    let mut whole = host(700);
    let chunks = whole.capacity();
    (0..chunks).for_each(|chunk| whole.write(chunk, 1));
    whole.flush();
    assert!(!whole.array.is_full());
    let mut host = host(700);
    host.fail(1);
    let is_taken = |host: &mut Host, chunk| host.ask(RequestKind::Write, chunk, host.chunks(1, 1)).is_some();
    // Stripes over three members take more space: the array is full, or fills up while it is overwritten.
    let order = (0..chunks).chain((0..3 * chunks).map(|nth| nth * 7919 % chunks));
    let taken = order.take_while(|&chunk| is_taken(&mut host, chunk)).count() as u64;
    assert!(taken < 4 * chunks && host.array.is_full(), "{taken} of {chunks}");
    host.trim(0, chunks);
    host.flush();
    assert!(is_taken(&mut host, 0) && !host.array.is_full());
}

#[test]
fn in_the_steady_state_nothing_is_discarded() {
    let mut host = host(400);
    let chunks = host.capacity();
    (0..20 * chunks).for_each(|nth| host.write(nth * 7919 % chunks, 5));
    host.flush();
    assert!(host.array.log_counts().collected > 0);
    assert_eq!(host.array.metadata_counts().discarded, 0);
}

#[test]
fn a_member_that_cannot_discard_continues() {
    let mut host = host(400);
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, 9));
    host.flush();
    host.disk().members[2].refuses_trims = true;
    host.trim(0, chunks);
    for _ in 0..60 {
        host.write(0, 3);
        host.flush();
    }
    assert!(host.array.metadata_counts().discarded > 0);
    assert!(!host.array.is_failed(MemberNo::new(2)));
    assert_eq!(host.read(0), Some(3));
}

#[test]
fn invariant_i_any_member_may_be_gone_when_the_array_is_opened() {
    for gone in 0..4 {
        let mut host = host(400);
        (0..60).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
        host.flush();
        host.disk().members[gone].is_gone = true;
        let mut host = host.lose_power();
        for chunk in 0..60 {
            assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk} without member {gone}");
        }
        (0..60).for_each(|chunk| host.write(chunk, 200));
        host.flush();
        host.disk().members[gone].is_gone = false;
        let mut host = host.lose_power();
        assert!(host.opened.positions[gone].is_none(), "it is stale");
        (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(200)));
    }
}

#[test]
fn invariant_i_a_member_of_each_group_may_be_gone_when_the_array_is_opened() {
    let contiguous = |one: usize, other: usize| one / 3 == other / 3;
    let interleaved = |one: usize, other: usize| one % 2 == other % 2;
    type IsOneGroup = fn(usize, usize) -> bool;
    let memberships: [(&str, IsOneGroup); 2] =
        [("contiguous", contiguous), ("longest-code-interval", interleaved)];
    for (membership, is_one_group) in memberships {
        let section = format!("[geometry]\ngroups = 2\nmembership = \"{membership}\"");
        let scheme = WAS.replace("[geometry]", &section);
        let mut host = Host::create(&scheme, Disk::new(6, 400, 1024));
        let chunks = host.capacity() / 2;
        // Many generations of checkpoints and commit records, and trims that only the newest of them record.
        for round in 0..12 {
            (0..chunks).for_each(|chunk| host.write(chunk, round + 1));
            host.trim(u64::from(round) * 4, 4);
            host.flush();
            for (one, other) in (0..6).flat_map(|one| (one + 1..6).map(move |other| (one, other))) {
                let mut disk = host.copy_of_disk();
                [one, other].into_iter().for_each(|gone| disk.members[gone].is_gone = true);
                if is_one_group(one, other) {
                    assert!(Host::refusal(&scheme, disk).contains("too few members"));
                    continue;
                }
                let mut host = Host::open_as(&scheme, disk);
                for chunk in 0..chunks {
                    let is_trimmed = chunk / 4 == u64::from(round);
                    let expected = if is_trimmed { 0 } else { round + 1 };
                    assert_eq!(
                        host.read(chunk),
                        Some(expected),
                        "{membership}: {chunk} without {one}, {other}"
                    );
                }
            }
        }
    }
}

#[test]
fn invariant_j_half_of_each_group_may_have_continued_without_the_other() {
    let scheme = WAS.replace("raid5", "raid6").replace("[placement]", "[code]\nkind = \"pq\"\n[placement]");
    let scheme = scheme.replace("[geometry]", "[geometry]\ngroups = 2");
    let host = Host::create(&scheme, Disk::new(8, 400, 1024));
    let without = |gone: &[usize]| {
        let mut disk = host.copy_of_disk();
        gone.iter().for_each(|&member| disk.members[member].is_gone = true);
        Host::refusal(&scheme, disk)
    };
    for half in [[0, 1, 4, 5], [2, 3, 6, 7]] {
        let refused = without(&half);
        assert!(refused.contains("could have continued without these"), "{half:?}: {refused}");
    }
    assert_eq!(without(&[0, 1, 4]), "", "of the second group the rest are more than those that are absent");
}

#[test]
fn invariant_f_a_trim_that_a_flush_covered_stays_a_trim() {
    let mut host = host(400);
    (0..30).for_each(|chunk| host.write(chunk, 9));
    host.flush();
    host.trim(3, 10);
    host.flush();
    let mut host = host.lose_power();
    for chunk in 0..30 {
        let expected = if (3..13).contains(&chunk) { 0 } else { 9 };
        assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
    }
}

#[test]
fn invariant_f_trims_of_a_checkpoint_that_came_to_nothing_are_durable_with_the_next_flush() {
    let mut continued = 0;
    for operations in 0..24 {
        let mut host = host(1600);
        (0..host.capacity()).for_each(|chunk| host.write(chunk, 9));
        host.flush();
        host.trim(3, 10);
        host.begin_checkpoint();
        host.finish_within(operations);
        [0, 1].into_iter().for_each(|member| host.fail(member));
        host.finish();
        [0, 1].into_iter().for_each(|member| host.disk().members[member].is_gone = false);
        host.rejoin(0, host.returned(0));
        let is_flushed = host.flush_while(|_, _| {});
        continued += u32::from(is_flushed && host.array.rebuilding().is_some());
        let mut host = host.lose_power();
        let trimmed = (3..13).map(|chunk| host.read(chunk));
        assert!(!is_flushed || trimmed.eq([Some(0); 10]), "lost after {operations} operations");
    }
    assert!(continued > 10, "{continued} times before the rebuild made a checkpoint of its own");
}

#[test]
fn a_rotten_page_is_decoded_and_its_chunk_rewritten() {
    let mut host = host(400);
    (0..30).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let (member, page) = host.array.chunk_in_log(11).unwrap_or_default();
    host.disk().members[member.index()].pages[page as usize][5] ^= 1;
    assert_eq!(host.read(11), Some(12));
    host.flush();
    assert_ne!(host.array.chunk_in_log(11), Some((member, page)));
}

#[test]
fn invariant_c_a_chunk_that_cannot_be_decoded_fails_though_an_older_version_is_there() {
    let mut host = host(400);
    (0..60).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    // Chunk 11 goes to a row of pages without a summary.
    (60..70).chain([11]).chain(70..120).for_each(|chunk| host.write(chunk, 2));
    host.flush();
    let (_, page) = host.array.chunk_in_log(11).expect("it is in no memory");
    host.disk().members.iter_mut().for_each(|member| member.pages[page as usize].fill(0xA5));
    assert_eq!(host.read(11), None);
    let chunks = host.capacity();
    for round in 0..2000 {
        host.write(60 + ((round * 2_654_435_761) >> 9) % (chunks - 60), 3);
    }
    host.flush();
    let mut host = host.lose_power();
    assert_eq!(host.read(11), None, "collection took away what tells that it was written anew");
    assert_eq!((host.read(10), host.read(12)), (Some(1), Some(1)));
    host.write(11, 4);
    host.flush();
    let mut host = host.lose_power();
    assert_eq!(host.read(11), Some(4));
}

#[test]
fn invariant_k_a_stripe_that_a_member_cannot_write_goes_elsewhere() {
    let mut host = host(400);
    host.disk().members[1].next_write = Some(Outcome::MediumError);
    (0..60).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    assert!(MemberNo::first(4).all(|member| !host.array.is_failed(member)));
    let mut host = host.lose_power();
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1)));
}

#[test]
fn an_array_that_is_full_says_so_and_continues_when_something_was_trimmed() {
    let mut host = host(300);
    let chunks = host.capacity();
    for round in 0..3 {
        (0..chunks).for_each(|chunk| host.write(chunk, round + 1));
    }
    host.flush();
    let mut host = host.lose_power();
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(3), "chunk {chunk}"));
    (0..chunks).for_each(|chunk| host.write(chunk, 7));
    host.flush();
}

#[test]
fn a_group_that_can_take_no_stripes_takes_them_again_when_a_member_is_back() {
    let scheme = WAS.replace("raid5", "raid6").replace("[placement]", "[code]\nkind = \"pq\"\n[placement]");
    for is_opened in [false, true] {
        let mut host = Host::create(&scheme, Disk::new(4, 400, 1024));
        let chunks = host.capacity() / 8;
        (0..chunks).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        [1, 3].into_iter().for_each(|member| host.fail(member));
        host.flush();
        if is_opened {
            host = host.lose_power();
        }
        for chunk in 0..chunks {
            assert_eq!(host.read(chunk), Some(1), "chunk {chunk}");
        }
        // Parity alone would fill the stripes.
        let no_space = host.ask(RequestKind::Write, 3, host.chunks(1, 2)).is_none();
        assert!(no_space, "opened anew: {is_opened}");
        host.disk().members[3].is_gone = false;
        host.rejoin(3, host.returned(3));
        (0..chunks).for_each(|chunk| host.write(chunk, 3));
        host.finish_rebuild();
        host.flush();
        for round in 0..5 {
            (0..chunks).for_each(|chunk| host.write(chunk, round));
        }
        host.flush();
        host.array.audit_log().unwrap();
        let mut host = host.lose_power();
        for chunk in 0..chunks {
            assert_eq!(host.read(chunk), Some(4), "chunk {chunk}");
        }
    }
}

/// Assembles the array without `gone`, writes, and re-adds the member as `how` says; then any other member may fail.
fn rejoined(how: impl Fn(&mut Host, u16) -> Rejoining) {
    for gone in 0..4u16 {
        let mut host = host(400);
        let chunks = host.capacity();
        (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
        host.flush();
        host.disk().members[gone as usize].is_gone = true;
        let mut host = host.lose_power();
        (0..50).for_each(|chunk| host.write(chunk * 3, 200));
        host.flush();
        host.disk().members[gone as usize].is_gone = false;
        let how = how(&mut host, gone);
        host.rejoin(gone, how);
        (20..40).for_each(|chunk| host.write(chunk * 3, 100));
        host.finish_rebuild();
        host.flush();
        for other in (0..4).filter(|&other| other != gone) {
            let mut host = host.copy();
            host.disk().members[other as usize].is_gone = true;
            let mut host = host.lose_power();
            assert!(host.opened.positions[gone as usize].is_some(), "it is in the array");
            for chunk in 0..chunks {
                let expected = match chunk {
                    _ if chunk % 3 == 0 && (60..120).contains(&chunk) => 100,
                    _ if chunk % 3 == 0 && chunk < 150 => 200,
                    _ => chunk as u8 | 1,
                };
                assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}, {gone} back and {other} gone");
            }
        }
    }
}

#[test]
fn invariant_j_a_member_that_returns_gets_the_writes_since() {
    rejoined(|host, gone| host.returned(gone));
}

#[test]
fn invariant_j_a_member_that_was_put_back_to_what_it_had_long_ago_is_stale() {
    let mut host = host(400);
    (0..60).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    let old = host.disk().members[1].pages.clone();
    let mut host = host.lose_power();
    (0..60).for_each(|chunk| host.write(chunk, 2));
    host.flush();
    host.disk().members[1].pages = old;
    let mut host = host.lose_power();
    assert_eq!(host.opened.positions, [Some(0), None, Some(2), Some(3)]);
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
}

#[test]
fn invariant_l_a_replacement_is_made_whole() {
    rejoined(|host, gone| {
        host.disk().members[gone as usize].pages.iter_mut().for_each(|page| page.fill(0xa5));
        Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 400 }
    });
}

#[test]
fn invariant_l_a_smaller_replacement_is_refused() {
    let mut host = host(400);
    host.fail(2);
    let smaller = Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 399 };
    assert_eq!(host.try_rejoin(2, smaller), Err(RejoinError::TooSmall { pages: 399, needed: 400 }));
}

#[test]
fn invariant_l_scrub_finds_what_is_rotten_and_rewrites_it() {
    let mut host = host(400);
    let chunks = host.capacity();
    (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    let stripes = host.array.stripes();
    // A chunk, the parity of another stripe, and the whole column of a third stripe.
    for (stripe, column) in [(0, 0), (5, 3), (9, 1)] {
        let (_, member, page, _) = stripes[stripe].columns[column];
        host.disk().members[member.index()].pages[page as usize][100] ^= 0x10;
    }
    let first = host.scrub();
    assert_eq!((first.bad, first.repaired + first.obsolete, first.lost), (3, 3, 0), "{first:?}");
    host.flush();
    let second = host.scrub();
    assert_eq!((second.bad, second.lost), (0, 0), "what was rewritten is good: {second:?}");
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 | 1)));
}

/// Changes the superblocks of all members.
fn change_superblocks(host: &mut Host, change: impl Fn(&mut Superblock)) {
    for member in 0..4 {
        for copy in [Copy::Front, Copy::Back] {
            host.change_superblock(member, copy, &change);
        }
    }
}

#[test]
fn invariant_m_features_that_must_be_known_to_write_leave_an_array_for_reading_alone() {
    let mut host = host(400);
    host.write(3, 7);
    host.flush();
    change_superblocks(&mut host, |superblock| superblock.features.read_only = 1 << 40 | 1);
    let refused = host.try_open(AssemblyOptions::default()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("`text-area`, bit 40") && refused.contains("open it read-only"), "{refused}");
    let before = host.disk().clone();
    let mut host = host.try_open(read_only()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(host.read(3), Some(7));
    assert_eq!(host.try_write(4, 1), Err(SubmitError::ReadOnly));
    host.flush();
    assert!(*host.disk() == before, "nothing was written");
}

#[test]
fn invariant_m_an_array_of_a_newer_format_is_not_opened_at_all() {
    let mut host = host(400);
    change_superblocks(&mut host, |superblock| superblock.features.incompatible = 1 << 1 | 1 << 17);
    for read_only in [false, true] {
        let opened = host.try_open(AssemblyOptions { read_only, ..AssemblyOptions::default() });
        let refused = opened.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("needs features `covered-versions`, bit 17"), "{refused}");
        assert!(refused.contains("use a newer program"), "{refused}");
    }
}

#[test]
fn reading_an_array_read_only_repairs_nothing() {
    let mut host = host(400);
    (0..30).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let (member, page) = host.array.chunk_in_log(11).unwrap_or_default();
    host.disk().members[member.index()].pages[page as usize][5] ^= 1;
    let before = host.disk().clone();
    let mut host = host.try_open(read_only()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(host.read(11), Some(12));
    let found = host.scrub();
    assert_eq!((found.bad, found.repaired), (1, 0));
    assert!(*host.disk() == before, "nothing was written");
}

/// The state of a member in the superblock of member 0.
fn state_of(host: &mut Host, member: usize) -> MemberState {
    let bytes = host.disk().members[0].pages[..4].concat();
    Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}")).members[member].state
}

/// A member that fails while it is rebuilt has the content of its first failure, and not everything that became durable
/// since.
#[test]
fn invariant_j_a_member_that_fails_while_it_is_rebuilt_gets_everything_when_it_is_back_once_more() {
    for is_power_lost in [false, true] {
        let mut host = host(1600);
        let chunks = host.capacity();
        (0..chunks).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
        host.flush();
        host.disk().members[1].is_gone = true;
        let mut host = host.lose_power();
        (0..chunks / 4).for_each(|chunk| host.write(chunk, 200));
        host.flush();
        // Another device without content.
        host.disk().members[1].is_gone = false;
        host.disk().members[1].pages.iter_mut().for_each(|page| page.fill(0xa5));
        host.rejoin(1, Rejoining::Replacement { uuid: Uuid([0x77; 16]), pages: 1600 });
        // Continue until superblocks record that the member is being rebuilt.
        while state_of(&mut host, 1) != MemberState::Rebuilding {
            host.complete_one();
        }
        assert!(host.array.rebuilding().is_some());
        host.disk().members[1].is_gone = true;
        if is_power_lost {
            host = host.lose_power();
        } else {
            host.fail(1);
            host.flush();
        }
        host.disk().members[1].is_gone = false;
        host.rejoin(1, host.returned(1));
        host.finish_rebuild();
        host.flush();
        host.disk().members[2].is_gone = true;
        let mut host = host.lose_power();
        for chunk in 0..chunks {
            let expected = if chunk < chunks / 4 { 200 } else { chunk as u8 | 1 };
            assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
        }
    }
}

#[test]
fn invariant_n_a_replacement_with_the_identifier_of_a_member_is_refused() {
    let mut host = host(400);
    host.fail(2);
    let twin = Rejoining::Replacement { uuid: Uuid([1; 16]), pages: 400 };
    assert_eq!(host.try_rejoin(2, twin), Err(RejoinError::Twin { uuid: Uuid([1; 16]), number: 0 }));
}

#[test]
fn why_a_member_is_not_taken_for_one_of_the_array_is_reported() {
    let host = host(400);
    let flip = |page: &mut Box<[u8]>| page[100] ^= 1;
    let damage = |disk: &mut Disk, member: usize| {
        let pages = &mut disk.members[member].pages;
        [0, pages.len() - 4].into_iter().for_each(|first| flip(&mut pages[first]));
    };
    let mut disk = host.copy_of_disk();
    (0..4).for_each(|member| damage(&mut disk, member));
    let all = Host::refusal(WAS, disk);
    assert!(all.contains("of offered member 3, superblock: it says that its checksum is"), "{all}");
    assert!(!all.contains("create"), "what is there is not to be written over: {all}");
    let mut disk = host.copy_of_disk();
    (1..4).for_each(|member| damage(&mut disk, member));
    disk.members[2].pages.truncate(300);
    let some = Host::refusal(WAS, disk);
    assert!(some.contains("too few members: 3 of a group of 4"), "{some}");
    assert!(some.contains("of offered member 1, superblock: it says that its checksum is"), "{some}");
    let mut disk = host.copy_of_disk();
    [1, 2].into_iter().for_each(|member| disk.members[member].pages.truncate(300));
    let short = Host::refusal(WAS, disk);
    let why = "of offered member 2, its superblock says 400 pages of 1024 bytes, and it has 300 of 1024: it was cut short";
    assert!(short.contains(why), "{short}");
    let nothing = Host::refusal(WAS, Disk::new(4, 400, 1024));
    assert!(
        nothing.contains("none of the members has a superblock of Stripewise; create an array first"),
        "{nothing}"
    );
}
