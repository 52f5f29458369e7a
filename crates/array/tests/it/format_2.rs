//! Arrays of version 2 of the format from before the feature `serving-chain`. The fixtures are never regenerated: they
//! represent the arrays that users have. The program before the feature made them and was killed while it served: `create
//! --count 3 --page 512B`, 40 chunks written, ten of them again, flushed; then `kill -9`.

use std::collections::BTreeSet;

use stripewise_array::format::{Copy, FEATURES, FailReason, FeatureClass, MemberState, Superblock, crc32c};
use stripewise_array::{AssemblyOptions, Rejoining};
use stripewise_testkit::{Disk, DiskMember, Recorder};

use crate::format_1::{BITMAP, Fixture, JOURNAL, LOG, expected_in_place};
use crate::host::Host;

const FIXTURES: [Fixture; 3] = [
    Fixture {
        what: "log",
        scheme: LOG,
        text: include_str!("../fixtures/format-2-log.txt"),
        pages: 192,
        used: 192,
        epoch: 2,
        expected: expected_in_place,
    },
    Fixture {
        what: "in place with a journal",
        scheme: JOURNAL,
        text: include_str!("../fixtures/format-2-journal.txt"),
        pages: 320,
        used: 319,
        epoch: 2,
        expected: expected_in_place,
    },
    Fixture {
        what: "in place with a bitmap",
        scheme: BITMAP,
        text: include_str!("../fixtures/format-2-bitmap.txt"),
        pages: 320,
        used: 320,
        epoch: 2,
        expected: expected_in_place,
    },
];

/// All valid superblocks.
fn blocks(disk: &Disk) -> Vec<Superblock> {
    let of = |member: &DiskMember| {
        let last = member.pages.len() - 8;
        [0, last].map(|first| Superblock::parse(&member.pages[first..first + 8].concat()))
    };
    disk.members.iter().flat_map(of).flatten().collect()
}

/// Whether the superblocks have the feature.
fn chains(disk: &Disk) -> BTreeSet<bool> {
    blocks(disk).iter().map(Superblock::has_chain).collect()
}

#[test]
fn an_array_from_before_servings_is_assembled_and_served_and_keeps_its_superblocks() {
    for fixture in FIXTURES {
        assert_eq!(chains(&fixture.disk()), BTreeSet::from([false]), "{}", fixture.what);
        let mut host = Host::open_as(fixture.scheme, fixture.disk());
        assert_eq!(host.opened.epoch, fixture.epoch, "{}", fixture.what);
        fixture.check(&mut host, "as it was left");
        assert_eq!(host.array.members_in_doubt(), 0, "{}: nothing changes before the upgrade", fixture.what);
        host.write(45, 9);
        host.flush();
        let stamped = blocks(host.disk())[0].horizon;
        host.fail_for(1, FailReason::Gone);
        host.finish();
        host.write(46, 8);
        host.flush();
        if fixture.scheme == LOG {
            let failed = blocks(host.disk())[0].members[1];
            assert_eq!((failed.state, failed.reason), (MemberState::Failed, FailReason::Unknown));
            assert!(failed.failed_batch >= stamped, "{}: its stamp counts as before", fixture.what);
        }
        host.rejoin(1, host.returned(1));
        host.finish_rebuild();
        host.scrub();
        let mut host = Host::open_as(fixture.scheme, host.stop());
        assert_eq!((host.read(45), host.read(46), host.read(12)), (Some(9), Some(8), Some(112)));
        assert_eq!(chains(host.disk()), BTreeSet::from([false]), "{}", fixture.what);
        let of_feature = |block: &Superblock| (block.serving, block.predecessor, block.verified_to);
        assert!(blocks(host.disk()).iter().all(|block| of_feature(block) == (0, 0, 0)), "{}", fixture.what);
    }
}

#[test]
fn an_upgrade_sets_the_feature_once_and_members_are_in_doubt_until_a_scrub() {
    for fixture in FIXTURES {
        let mut disk = fixture.disk();
        let before = disk.clone();
        let upgrade = fixture.upgrade(&mut disk, true).unwrap();
        assert!(disk == before, "{}: a dry run writes nothing", fixture.what);
        let done = fixture.upgrade(&mut disk, false).unwrap();
        assert_eq!((&upgrade, upgrade.from, upgrade.is_done), (&done, 2, false), "{}", fixture.what);
        assert_eq!(chains(&disk), BTreeSet::from([true]), "{}", fixture.what);
        let again = fixture.upgrade(&mut disk, false).unwrap();
        assert_eq!((again.is_done, &again.superblock), (true, &done.superblock), "{}", fixture.what);
        let mut host = Host::open_as(fixture.scheme, disk);
        fixture.check(&mut host, "upgraded");
        assert_eq!(host.array.members_in_doubt(), 0b111, "{}: nothing is known of the past", fixture.what);
        let counts = host.scrub();
        host.finish();
        assert_eq!((counts.bad, counts.lost, host.array.members_in_doubt()), (0, 0, 0), "{}", fixture.what);
        let mut host = Host::open_as(fixture.scheme, host.stop());
        assert_eq!(host.array.members_in_doubt(), 0, "{}", fixture.what);
        fixture.check(&mut host, "scrubbed");
        let block = blocks(host.disk()).remove(0);
        assert!(block.serving != 0 && block.predecessor != 0 && block.members.iter().all(|its| its.is_whole));
    }
}

/// Power fails after any of the writes; content that was not flushed is on some members and not on others.
#[test]
fn an_upgrade_that_is_cut_short_leaves_an_array_with_the_feature_or_without_it() {
    for fixture in FIXTURES {
        let mut recorder = Recorder::new(fixture.disk());
        fixture.upgrade(&mut recorder, false).unwrap();
        let cuts = recorder.cuts(&fixture.disk());
        assert!(cuts.len() > 40, "{} cuts", cuts.len());
        let mut seen = BTreeSet::new();
        for (nth, cut) in cuts.into_iter().enumerate() {
            let context = format!("cut {nth}");
            let mut host = Host::open_as(fixture.scheme, cut.clone());
            fixture.check(&mut host, &context);
            let after = chains(host.disk());
            assert_eq!(after.len(), 1, "{}, {context}: assembly ends it", fixture.what);
            seen.extend(after);
            let mut again = cut;
            fixture.upgrade(&mut again, false).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(chains(&again), BTreeSet::from([true]), "{}, {context}", fixture.what);
            fixture.check(&mut Host::open_as(fixture.scheme, again), &context);
        }
        assert_eq!(seen, BTreeSet::from([false, true]), "{}", fixture.what);
    }
}

/// Sets a bit of a word of features in all superblocks, as a newer program would.
fn with_bit(disk: &mut Disk, class: FeatureClass, bit: u8) {
    let at = match class {
        FeatureClass::Compatible => 48,
        FeatureClass::ReadOnly => 56,
        FeatureClass::Incompatible => 64,
    } + usize::from(bit / 8);
    for member in &mut disk.members {
        let last = member.pages.len() - 8;
        for first in [0, last] {
            let mut bytes = member.pages[first..first + 8].concat();
            bytes[at] |= 1 << (bit % 8);
            bytes[4092..].fill(0);
            let checksum = crc32c(&bytes);
            bytes[4092..].copy_from_slice(&checksum.to_le_bytes());
            for (page, content) in member.pages[first..first + 8].iter_mut().zip(bytes.chunks(512)) {
                page.copy_from_slice(content);
            }
        }
    }
}

/// A test for each bit that this program does not implement.
macro_rules! refuses {
    ($($test:ident: $class:ident $bit:literal $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                refused(FeatureClass::$class, $bit, $name);
            }
        )*

        #[test]
        fn every_reserved_bit_has_its_test() {
            let tested = [$((FeatureClass::$class, $bit, $name)),*];
            let reserved = FEATURES.iter().filter(|its| !its.is_known).map(|its| (its.class, its.bit, its.name));
            assert_eq!(reserved.collect::<Vec<_>>(), tested);
        }
    };
}

refuses! {
    an_array_with_covered_versions_is_refused_by_name: Incompatible 1 "covered-versions",
    an_array_with_segment_geometry_is_refused_by_name: Incompatible 2 "segment-geometry",
    an_array_with_shards_is_refused_by_name: Incompatible 3 "shards",
    an_array_with_member_roles_is_refused_by_name: Incompatible 4 "member-roles",
    an_array_with_one_round_is_refused_by_name: Incompatible 5 "one-round",
    an_array_with_partial_parity_is_refused_by_name: Incompatible 6 "partial-parity",
    an_array_with_a_cache_log_is_refused_by_name: Incompatible 7 "cache-log",
    an_array_with_a_move_map_is_refused_by_name: Incompatible 8 "move-map",
    an_array_with_a_parity_log_is_refused_by_name: Incompatible 9 "parity-log",
    an_array_with_no_parity_metadata_is_refused_by_name: Incompatible 10 "no-parity-metadata",
    an_array_with_a_text_area_is_read_and_not_written: ReadOnly 0 "text-area",
}

/// An array with the bit is refused for writing, by name; for reading too, unless the class of the bit allows it. Nothing is
/// written.
fn refused(class: FeatureClass, bit: u8, name: &str) {
    for fixture in FIXTURES {
        let mut disk = fixture.disk();
        // Reading refuses a journal that was not replayed.
        disk = Host::open_as(fixture.scheme, disk).stop();
        let sound = Host::open_as(fixture.scheme, disk.clone());
        with_bit(&mut disk, class, bit);
        let before = disk.clone();
        for force in [false, true] {
            let opening = AssemblyOptions { force, ..AssemblyOptions::default() };
            let refused = sound.try_open_of(&mut disk, opening).err().map(|error| error.to_string());
            let names = refused.as_ref().is_some_and(|reason| reason.contains(&format!("`{name}`")));
            assert!(names, "{}: {refused:?}", fixture.what);
            let reading = AssemblyOptions { read_only: true, ..opening };
            let is_read = sound.try_open_of(&mut disk, reading).is_ok();
            assert_eq!(is_read, class == FeatureClass::ReadOnly, "{}, read-only", fixture.what);
        }
        let refused = fixture.upgrade(&mut disk, false).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|reason| reason.contains(&format!("`{name}`"))), "{}", fixture.what);
        assert!(disk == before, "{}: nothing was written", fixture.what);
    }
}

/// An unknown compatible feature keeps its bit, whatever this program writes.
#[test]
fn an_unknown_compatible_bit_is_kept() {
    for fixture in FIXTURES {
        let mut disk = fixture.disk();
        with_bit(&mut disk, FeatureClass::Compatible, 17);
        let mut host = Host::open_as(fixture.scheme, disk);
        fixture.check(&mut host, "with a bit");
        let mut disk = host.stop();
        fixture.upgrade(&mut disk, false).unwrap();
        assert!(
            blocks(&disk).iter().all(|block| block.features.compatible == 1 << 17 | 1),
            "{}",
            fixture.what
        );
    }
}

/// Copies of an array, each served since: members of one never take part in the other.
#[test]
fn members_of_a_copy_that_was_served_separately_are_left_out_refused_and_rebuilt_whole() {
    for scheme in [LOG, JOURNAL, BITMAP] {
        let pages = if scheme == LOG { 192 } else { 320 };
        let mut host = Host::create(scheme, Disk::new(3, pages, 512));
        (0..40).for_each(|chunk| host.write(chunk, 1));
        host.flush();
        let origin = host.stop();
        let served = |value: u8| {
            let mut host = Host::open_as(scheme, origin.clone());
            (0..40).for_each(|chunk| host.write(chunk, value));
            host.flush();
            host.stop()
        };
        let (one, other) = (served(2), served(3));
        for stopped in [true, false] {
            let mut mixed = one.clone();
            mixed.members[2] = other.members[2].clone();
            if !stopped {
                // The copies were killed at the same point: without servings they have the same superblocks.
                let killed = |value: u8| {
                    let mut host = Host::open_as(scheme, origin.clone());
                    (0..40).for_each(|chunk| host.write(chunk, value));
                    host.flush();
                    host.copy_of_disk()
                };
                mixed = killed(2);
                mixed.members[2] = killed(3).members[2].clone();
            }
            let mut host = Host::open_as(scheme, mixed);
            let left_out = host.opened.positions.iter().position(Option::is_none);
            assert_eq!(left_out, Some(2), "{scheme}");
            (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(2), "chunk {chunk}"));
            host.flush();
            let how = host.returned(2);
            assert!(
                matches!(how, Rejoining::Returned { stamp: Some(stamp), .. } if stamp.horizon == 0),
                "{how:?}"
            );
            host.rejoin(2, how);
            host.finish_rebuild();
            host.flush();
            let mut without = host.copy_of_disk();
            without.members[0].is_gone = true;
            let mut host = Host::open_as(scheme, without);
            (0..40).for_each(|chunk| {
                assert_eq!(host.read(chunk), Some(2), "chunk {chunk} from the rebuilt member")
            });
        }
    }
}

/// Only the front copies of superblocks of each member, changed.
#[test]
fn a_reason_that_only_a_newer_program_knows_means_in_doubt() {
    let mut host = Host::create(LOG, Disk::new(3, 192, 512));
    (0..40).for_each(|chunk| host.write(chunk, 1));
    host.flush();
    host.fail_for(1, FailReason::Requested);
    host.finish();
    host.flush();
    for member in [0, 2] {
        host.change_superblock(member, Copy::Front, &|block| {
            assert_eq!(block.members[1].reason, FailReason::Requested)
        });
    }
    let mut disk = host.copy_of_disk();
    for member in [0, 2] {
        for first in [0, 184] {
            let mut bytes = disk.members[member].pages[first..first + 8].concat();
            bytes[512 + 48 + 18] = 200;
            bytes[4092..].fill(0);
            let checksum = crc32c(&bytes);
            bytes[4092..].copy_from_slice(&checksum.to_le_bytes());
            for (page, content) in
                disk.members[member].pages[first..first + 8].iter_mut().zip(bytes.chunks(512))
            {
                page.copy_from_slice(content);
            }
        }
    }
    let mut host = Host::open_as(LOG, disk);
    assert_eq!(blocks(host.disk())[0].members[1].reason, FailReason::Unknown);
    host.rejoin(1, host.returned(1));
    host.flush();
    assert_eq!(blocks(host.disk())[0].members[1].failed_batch, 0);
}
