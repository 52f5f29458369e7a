//! Tests of superblocks against the table of `docs/design/format.md`, and against damage.

use proptest::prelude::*;

use stripewise_code::Kind;
use stripewise_core::geometry::{Level, Membership, Rotation};

use super::*;
use crate::testing::{by_hand, flip, uuid};
use crate::{EPOCHS_MAX, Features, NUMBERS_MAX, Uuid, VERSION, checkpoint};

prop_compose! {
    fn member(uuid: Uuid)(
        state in prop::sample::select(&[MemberState::Active, MemberState::Failed, MemberState::Rebuilding][..]),
        failed_epoch in any::<u32>(),
        (failed_batch, cursor) in any::<(u64, u64)>(),
        reason in prop::sample::select(
            &[FailReason::Unknown, FailReason::Damage, FailReason::Gone, FailReason::Requested][..],
        ),
        (is_whole, left_serving) in any::<(bool, u64)>(),
    ) -> MemberRecord {
        MemberRecord { uuid, state, failed_epoch, failed_batch, cursor, reason, is_whole, left_serving }
    }
}

/// Level, code, groups, members of a group.
fn shape() -> impl Strategy<Value = (Level, Option<Kind>, u16, u16)> {
    let raid6 = prop::sample::select(&[Kind::Pq, Kind::Rdp, Kind::Evenodd, Kind::XCode][..]);
    prop_oneof![
        (1u16..=64).prop_map(|groups| (Level::Raid0, None, groups, 1)),
        (1u16..=8, 2u16..=8).prop_map(|(groups, members)| (Level::Raid5, Some(Kind::Xor), groups, members)),
        (1u16..=8, 3u16..=8, raid6).prop_map(|(groups, members, code)| (
            Level::Raid6,
            Some(code),
            groups,
            members
        )),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z0-9-]{1,64}", "[äöü€]{1,21}"]
}

fn settings() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z= \n\"]{1,508}", "[äöü]{1,254}"]
}

fn ended() -> impl Strategy<Value = Vec<EndedEpoch>> {
    prop::collection::btree_map(1..EPOCHS_MAX - 1, 0..NUMBERS_MAX, 0..=ENDED_MAX)
        .prop_map(|epochs| epochs.into_iter().map(|(epoch, last)| EndedEpoch { epoch, last }).collect())
}

prop_compose! {
    /// Any valid superblock: the areas follow each other, with gaps between them.
    pub(crate) fn superblock()(
        shape in shape(),
        page_bits in 9u32..=15,
        is_log in any::<bool>(),
        data_pages in 1u32..10_000,
        (rows, chunk_pages, capacity) in any::<(u16, u8, u64)>(),
        areas in prop::array::uniform4((0u32..100, 1u32..100)),
        (membership, rotation) in (0usize..2, 0usize..5),
        (compatible, read_only, update, array) in (any::<u64>(), any::<u64>(), 0..NUMBERS_MAX, uuid()),
        (ended, name, scheme, settings) in (ended(), name(), name(), settings()),
        bitmap_pages in 1u32..,
        (version, horizon, is_clean) in (1u16..=VERSION, 0..NUMBERS_MAX, any::<bool>()),
        chain in any::<[u64; 5]>(),
    )(
        members in (0..shape.2 * shape.3).map(|nth| {
            let mut bytes = array.0;
            bytes[..2].copy_from_slice(&nth.to_le_bytes());
            member(Uuid(bytes))
        }).collect::<Vec<_>>(),
        number in 0..shape.2 * shape.3,
        shape in Just(shape),
        (page_bits, data_pages, rows, chunk_pages, capacity, areas) in
            Just((page_bits, data_pages, rows, chunk_pages, capacity, areas)),
        is_log in Just(is_log && shape.0 != Level::Raid0),
        (membership, rotation, compatible, read_only, update, array) in
            Just((membership, rotation, compatible, read_only, update, array)),
        (ended, name, scheme, settings, bitmap_pages) in Just((ended, name, scheme, settings, bitmap_pages)),
        (version, horizon, is_clean) in Just((version, horizon, is_clean)),
        chain in Just(chain),
    ) -> Superblock {
        let (level, code, groups, members_of_group) = shape;
        let page_bytes = 1 << page_bits;
        let segment_rows = if is_log { u32::from(rows) % data_pages + 1 } else { u32::from(rows) + 1 };
        let spread = u64::from(groups) * (u64::from(members_of_group) - u64::from(level.parity()));
        let capacity = capacity % (spread * u64::from(data_pages)) + 1;
        let mut next = superblock_pages(page_bytes);
        let mut area = |gap: u32, pages: u32, slots: u32| {
            let first = next + gap;
            next = first + pages * slots;
            Area { first, pages }
        };
        let segments = data_pages / segment_rows * u32::from(groups);
        let all = u64::from(if is_log { segments } else { data_pages });
        let members =
            members.into_iter().map(|member| MemberRecord { cursor: member.cursor % (all + 1), ..member });
        let has_chain = version > 1 && compatible & Features::SERVING_CHAIN != 0;
        let bare = |member: MemberRecord| MemberRecord {
            reason: FailReason::Unknown,
            is_whole: false,
            left_serving: 0,
            ..member
        };
        let members: Vec<_> = members.map(|member| if has_chain { member } else { bare(member) }).collect();
        let [serving, predecessor, own_bytes, verified_to, scrub_cursor] = if has_chain { chain } else { [0; 5] };
        let body_pages = checkpoint::body_bytes(segments, capacity).div_ceil(page_bytes.into()) as u32;
        let checkpoint = area(areas[0].0, body_pages + areas[0].1, 2);
        let commits = area(areas[1].0, areas[1].1, 1);
        let bitmap = area(areas[2].0, areas[2].1, 1);
        let journal = area(areas[3].0, areas[3].1, 1);
        let data = area(0, data_pages, 1);
        let owner = area(0, 1, 1);
        Superblock {
            array,
            uuid: members[usize::from(number)].uuid,
            number,
            version,
            features: Features { compatible, read_only, incompatible: compatible & Features::LATE_PARITY },
            update,
            epoch: ended.last().map_or(0, |last| last.epoch + 1),
            horizon: if version > 1 { horizon } else { 0 },
            is_clean: version > 1 && is_clean,
            placement: if is_log { Placement::Log } else { Placement::InPlace },
            page_bytes,
            pages: next + superblock_pages(page_bytes),
            level,
            code,
            groups,
            members_of_group,
            membership: [Membership::Contiguous, Membership::LongestCodeInterval][membership],
            rotation: [
                Rotation::LeftSymmetric,
                Rotation::LeftAsymmetric,
                Rotation::RightSymmetric,
                Rotation::RightAsymmetric,
                Rotation::None,
            ][rotation],
            chunk_pages: if is_log { 1 } else { u32::from(chunk_pages) % data_pages + 1 },
            segment_rows,
            capacity,
            checkpoint,
            commits,
            data,
            journal,
            table: Area::default(),
            bitmap,
            bitmap_pages,
            owner: if version > 1 { owner } else { Area::default() },
            serving,
            predecessor,
            own_bytes,
            verified_to,
            scrub_cursor,
            ended,
            name,
            scheme,
            settings,
            members,
        }
    }
}

fn written(block: &Superblock, copy: Copy) -> Vec<u8> {
    let mut bytes = vec![0xa5; SUPERBLOCK_BYTES];
    block.encode(copy, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn written_data_is_read(block in superblock()) {
        for copy in [Copy::Front, Copy::Back] {
            let bytes = written(&block, copy);
            prop_assert_eq!(Copy::of(&bytes), Some(copy));
            prop_assert_eq!(Superblock::parse(&bytes), Ok(block.clone()));
        }
        prop_assert_eq!(block.is_read_only(), block.features.read_only != 0);
    }

    #[test]
    fn a_flipped_bit_is_an_error(block in superblock(), bit in any::<u64>()) {
        let mut bytes = written(&block, Copy::Front);
        flip(&mut bytes, bit);
        prop_assert!(Superblock::parse(&bytes).is_err());
    }

    #[test]
    fn whatever_bytes_there_are_it_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert!(Superblock::parse(&bytes).is_err());
    }

    /// The checksum is right, but the fields are arbitrary: a superblock that parses can be written again.
    #[test]
    fn whatever_it_says_it_does_not_panic(block in superblock(), at in 8usize..512, byte in any::<u8>()) {
        let mut bytes = written(&block, Copy::Back);
        bytes[at] = byte;
        codec::FRAME.seal(&mut bytes);
        if let Ok(read) = Superblock::parse(&bytes) {
            prop_assert_eq!(Superblock::parse(&written(&read, Copy::Back)), Ok(read));
        }
    }

    #[test]
    fn a_feature_that_must_be_known_or_a_greater_version_is_newer(
        block in superblock(),
        version in VERSION + 1..,
        incompatible in 2u64..,
    ) {
        for (at, value) in [(8, &version.to_le_bytes()[..]), (64, &incompatible.to_le_bytes())] {
            let mut bytes = written(&block, Copy::Front);
            bytes[at..at + value.len()].copy_from_slice(value);
            codec::FRAME.seal(&mut bytes);
            let is_newer = matches!(Superblock::parse(&bytes), Err(error) if error.is_newer());
            prop_assert!(is_newer);
        }
    }

    /// Two areas have the same place because one of them moved there.
    #[test]
    fn areas_that_overlap_are_refused(block in superblock()) {
        let mut moved = block.clone();
        moved.commits.first = block.data.first;
        prop_assert!(moved.check().is_err());
        let mut second_slot = block.clone();
        second_slot.commits.first = block.checkpoint.first + block.checkpoint.pages;
        prop_assert!(second_slot.check().is_err());
    }

    #[test]
    fn areas_outside_the_member_or_in_its_superblocks_are_refused(block in superblock()) {
        let mut short = block.clone();
        short.pages = block.data.first + block.data.pages;
        prop_assert!(short.check().is_err());
        let mut front = block.clone();
        front.checkpoint.first = superblock_pages(block.page_bytes) - 1;
        prop_assert!(front.check().is_err());
        let mut far = block;
        far.journal.first = u32::MAX;
        prop_assert!(far.check().is_err());
    }
}

/// A log of 5 members, 1 of which has failed, put together from the table of `docs/design/format.md`.
fn from_the_table() -> Vec<u8> {
    let mut fields: Vec<(usize, &[u8])> = vec![
        (0, b"STRIPEWS"),
        (8, &[1, 0]),
        (10, &[1]),
        (11, &[1]),
        (16, &[0xaa; 16]),
        (32, &[2; 16]),
        (48, &[2, 0, 0, 0, 0, 0, 0, 0]),
        (56, &[2, 0, 0, 0, 0, 0, 0, 0]),
        (72, &[7, 0, 0, 0, 0, 0, 0, 0]),
        (80, &[4, 0, 0, 0]),
        (84, &[2, 0]),
        (86, &[5, 0]),
        (88, &[0, 0x10, 0, 0]),
        (92, &[0, 0x40, 0, 0]),
        (96, &[6]),
        (97, &[2]),
        (98, &[1, 0]),
        (100, &[5, 0]),
        (102, &[0]),
        (103, &[3]),
        (104, &[1, 0, 0, 0]),
        (108, &[0, 1, 0, 0]),
        (112, &[0, 0x80, 0, 0, 0, 0, 0, 0]),
        (120, &[1, 0, 0, 0, 4, 0, 0, 0]),
        (128, &[9, 0, 0, 0, 8, 0, 0, 0]),
        (136, &[0, 1, 0, 0, 0, 0x3e, 0, 0]),
        (174, &[1, 0]),
        (176, &[2, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0]),
        (192, &[3, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0]),
        (304, b"pool"),
        (368, b"elastic"),
        (512, &[0; 16]),
        (512 + 16, &[1]),
        (512 + 48, &[1; 16]),
        (512 + 48 + 16, &[1]),
        (512 + 96, &[2; 16]),
        (512 + 96 + 16, &[1]),
        (512 + 144, &[3; 16]),
        (512 + 144 + 16, &[2]),
        (512 + 144 + 20, &[3, 0, 0, 0, 55, 0, 0, 0, 0, 0, 0, 0]),
        (512 + 192, &[4; 16]),
        (512 + 192 + 16, &[3]),
        (512 + 192 + 20, &[2, 0, 0, 0, 45, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]),
        (3584, b"metadata = \"on\"\n"),
    ];
    fields.sort_unstable();
    by_hand(4096, 4092, &fields)
}

/// The superblock of [`from_the_table`].
pub(crate) fn of_five() -> Superblock {
    let member = |nth: u8| MemberRecord::active(Uuid([nth; 16]));
    let failed = MemberRecord { state: MemberState::Failed, failed_epoch: 3, failed_batch: 55, ..member(3) };
    let rebuilding = MemberRecord {
        state: MemberState::Rebuilding,
        failed_epoch: 2,
        failed_batch: 45,
        cursor: 6,
        ..member(4)
    };
    Superblock {
        array: Uuid([0xaa; 16]),
        uuid: Uuid([2; 16]),
        number: 2,
        version: 1,
        features: Features { compatible: 2, read_only: 2, incompatible: 0 },
        update: 7,
        epoch: 4,
        horizon: 0,
        is_clean: false,
        placement: Placement::Log,
        page_bytes: 4096,
        pages: 16384,
        level: Level::Raid6,
        code: Some(Kind::Pq),
        groups: 1,
        members_of_group: 5,
        membership: Membership::Contiguous,
        rotation: Rotation::RightAsymmetric,
        chunk_pages: 1,
        segment_rows: 256,
        capacity: 32768,
        checkpoint: Area { first: 1, pages: 4 },
        commits: Area { first: 9, pages: 8 },
        data: Area { first: 256, pages: 15872 },
        journal: Area::default(),
        table: Area::default(),
        bitmap: Area::default(),
        bitmap_pages: 0,
        owner: Area::default(),
        serving: 0,
        predecessor: 0,
        own_bytes: 0,
        verified_to: 0,
        scrub_cursor: 0,
        ended: vec![EndedEpoch { epoch: 2, last: 50 }, EndedEpoch { epoch: 3, last: 60 }],
        name: "pool".into(),
        scheme: "elastic".into(),
        settings: "metadata = \"on\"\n".into(),
        members: vec![member(0), member(1), member(2), failed, rebuilding],
    }
}

#[test]
fn a_superblock_that_was_made_from_the_table_is_read() {
    let bytes = from_the_table();
    assert_eq!(Superblock::parse(&bytes), Ok(of_five()));
    assert_eq!(Copy::of(&bytes), Some(Copy::Back));
    assert_eq!(written(&of_five(), Copy::Back), bytes);
    assert_eq!(of_five().segments(), 62);
    assert!(of_five().is_read_only());
}

/// The number of each value of each axis is in its place, by the table.
#[test]
fn areas_and_axes_lie_where_the_table_says() {
    let block = Superblock {
        placement: Placement::InPlace,
        level: Level::Raid6,
        code: Some(Kind::XCode),
        membership: Membership::LongestCodeInterval,
        rotation: Rotation::None,
        journal: Area { first: 20, pages: 21 },
        table: Area { first: 50, pages: 51 },
        bitmap: Area { first: 120, pages: 22 },
        bitmap_pages: 64,
        ..of_five()
    };
    let bytes = written(&block, Copy::Front);
    assert_eq!((bytes[10], bytes[11], bytes[97], bytes[102], bytes[103]), (0, 2, 5, 1, 4));
    let areas = [20, 0, 0, 0, 21, 0, 0, 0, 50, 0, 0, 0, 51, 0, 0, 0, 120, 0, 0, 0, 22, 0, 0, 0, 64, 0, 0, 0];
    assert_eq!(bytes[144..172], areas);
    assert_eq!(Superblock::parse(&bytes), Ok(block));
}

/// A change of a superblock, and the resulting message.
type Damage = (fn(&mut Superblock), &'static str);

#[test]
fn each_field_out_of_its_bounds_is_named() {
    let cases: &[Damage] = &[
        (|block| block.page_bytes = 4095, "page_bytes is 4095"),
        (|block| block.page_bytes = 65536, "page_bytes is 65536"),
        (|block| block.pages = 2, "pages of a member is 2"),
        (|block| block.segment_rows = 0, "segment_rows is 0"),
        (|block| block.segment_rows = 15873, "segment_rows is 15873"),
        (|block| block.segment_rows = 1, "checkpoint_pages is 4"),
        (|block| block.capacity = 0, "capacity is 0"),
        (|block| block.capacity = 3 * 15872 + 1, "capacity is 47617"),
        (|block| block.chunk_pages = 2, "pages of a chunk is 2"),
        (|block| block.groups = 0, "groups is 0"),
        (|block| block.members_of_group = 4, "members is 5"),
        (|block| block.members_of_group = 2, "members of a group is 2"),
        (|block| block.code = Some(Kind::Xor), "code is 1"),
        (|block| block.level = Level::Raid5, "code is 2"),
        (|block| block.number = 5, "number of this member is 5"),
        (|block| block.number = 1, "number of this member is 1"),
        (|block| block.members[1].uuid = Uuid([0; 16]), "identifier of a member is 1"),
        (|block| block.commits.pages = 0, "pages of commit records is 0"),
        (|block| block.checkpoint.pages = 1, "checkpoint_pages is 1"),
        (|block| block.data.pages = 16384, "data is 16640"),
        (|block| block.epoch = 1 << 24, "epoch is 16777216"),
        (|block| block.epoch = 3, "ended epoch is 3"),
        (|block| block.ended.swap(0, 1), "ended epoch is 2"),
        (|block| block.ended = vec![EndedEpoch { epoch: 1, last: 0 }; 9], "ended epochs is 9"),
        (|block| block.name = "x".repeat(65), "name of the array is 65"),
        (|block| block.scheme = "a\0b".into(), "name of the scheme is 0"),
        (|block| block.settings = "x".repeat(509), "settings of the scheme is 509"),
        (|block| block.settings = "\0a".into(), "settings of the scheme is 0"),
        (|block| block.members.clear(), "members is 0"),
        (|block| block.members[4].cursor = 63, "cursor of a member is 63"),
    ];
    for (change, said) in cases {
        let mut block = of_five();
        change(&mut block);
        let error = block.check().expect_err(said).to_string();
        assert!(error.starts_with(&format!("superblock: {said}; expected ")), "{error}");
    }
}

/// The fields of version 2 are in their places by the table; the settings follow the last member.
#[test]
fn version_2_has_a_stamp_and_an_owner_and_its_settings_behind_the_members() {
    let long = "x".repeat(3340);
    let block = Superblock {
        version: 2,
        horizon: 0x0102_0304_0506_0708,
        is_clean: true,
        owner: Area { first: 17, pages: 1 },
        settings: long.clone(),
        ..of_five()
    };
    let bytes = written(&block, Copy::Front);
    assert_eq!(bytes[8..10], [2, 0]);
    assert_eq!(bytes[432..456], [8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(&bytes[512 + 5 * 48..4092], long.as_bytes());
    assert_eq!(Superblock::parse(&bytes), Ok(block.clone()));
    let longer = Superblock { settings: "x".repeat(3341), ..block };
    assert!(longer.check().is_err());
}

/// The fields of the feature `serving-chain` are in their places by the table.
#[test]
fn the_chain_of_servings_has_its_places() {
    let mut block = Superblock {
        version: 2,
        features: Features { compatible: Features::SERVING_CHAIN, ..Features::default() },
        serving: 1,
        predecessor: 2,
        own_bytes: 3,
        verified_to: 4,
        scrub_cursor: 5,
        ..of_five()
    };
    block.members[3] = MemberRecord { reason: FailReason::Gone, left_serving: 6, ..block.members[3] };
    block.members[2].is_whole = true;
    let bytes = written(&block, Copy::Front);
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    assert_eq!([472, 480, 488, 496, 504].map(word), [1, 2, 3, 4, 5]);
    let member = |nth: usize| &bytes[512 + 48 * nth..][..48];
    assert_eq!((&member(3)[18..20], &member(3)[40..]), (&[2, 0][..], &[6, 0, 0, 0, 0, 0, 0, 0][..]));
    assert_eq!(member(2)[18..20], [0, 1]);
    assert_eq!(Superblock::parse(&bytes), Ok(block.clone()));

    // A program without the feature writes zeros: all members are in doubt.
    let zeroed = Superblock {
        serving: 0,
        predecessor: 0,
        own_bytes: 0,
        verified_to: 0,
        scrub_cursor: 0,
        ..block.clone()
    };
    assert!(zeroed.check().is_ok());
    block.features.compatible = 0;
    assert!(block.check().is_err(), "the fields need the feature");
    assert_eq!(
        Superblock::parse(&written(&of_five(), Copy::Front)).map(|block| block.has_chain()),
        Ok(false)
    );
}

/// A reason of a newer program puts the member in doubt, and is not an error.
#[test]
fn an_unknown_reason_is_no_reason() {
    let features = Features { compatible: Features::SERVING_CHAIN, ..Features::default() };
    let mut bytes = written(&Superblock { version: 2, features, ..of_five() }, Copy::Front);
    bytes[512 + 48 * 3 + 18] = 200;
    bytes[4092..].fill(0);
    let sum = crate::crc32c(&bytes).to_le_bytes();
    bytes[4092..].copy_from_slice(&sum);
    assert_eq!(Superblock::parse(&bytes).map(|block| block.members[3].reason), Ok(FailReason::Unknown));
}

#[test]
fn version_1_has_no_stamp() {
    for change in [
        |block: &mut Superblock| block.horizon = 1,
        |block: &mut Superblock| block.is_clean = true,
        |block: &mut Superblock| block.owner = Area { first: 17, pages: 1 },
        |block: &mut Superblock| block.version = 3,
        |block: &mut Superblock| block.version = 0,
    ] {
        let mut block = of_five();
        change(&mut block);
        assert!(block.check().is_err());
    }
}

/// A byte that a feature defines is not interpreted without the feature's bit.
#[test]
fn a_role_without_the_feature_that_announces_it_is_refused() {
    let mut bytes = written(&of_five(), Copy::Front);
    bytes[512 + 48 + 17] = 1;
    codec::FRAME.seal(&mut bytes);
    let error = Superblock::parse(&bytes).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(error, "superblock: role of a member is 1; expected 0, without `member-roles`");
}
