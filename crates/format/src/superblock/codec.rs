//! Converts a superblock to and from its bytes.

use stripewise_code::Kind;
use stripewise_core::geometry::{Level, Membership, Rotation};

use super::{
    Area, Copy, ENDED_MAX, EndedEpoch, FailReason, MemberRecord, MemberState, NAME_BYTES_MAX, Placement,
    SUPERBLOCK_BYTES, SUPERBLOCK_MEMBERS_MAX, Superblock,
};
use crate::fields::{Frame, put, u16_at, u32_at, u64_at, uuid_at};
use crate::{FeatureClass, Features, FormatError, Structure, VERSION};

pub(super) const FRAME: Frame = Frame {
    structure: Structure::Superblock,
    magic: *b"STRIPEWS",
    bytes_min: SUPERBLOCK_BYTES,
    checksum_at: SUPERBLOCK_BYTES - 4,
};

const COPIES: [Copy; 2] = [Copy::Front, Copy::Back];
const PLACEMENTS: [Placement; 2] = [Placement::Log, Placement::InPlace];
const CODES: [Option<Kind>; 6] =
    [None, Some(Kind::Xor), Some(Kind::Pq), Some(Kind::Rdp), Some(Kind::Evenodd), Some(Kind::XCode)];
const MEMBERSHIPS: [Membership; 2] = [Membership::Contiguous, Membership::LongestCodeInterval];
const ROTATIONS: [Rotation; 5] = [
    Rotation::LeftSymmetric,
    Rotation::LeftAsymmetric,
    Rotation::RightSymmetric,
    Rotation::RightAsymmetric,
    Rotation::None,
];
const STATES: [MemberState; 3] = [MemberState::Active, MemberState::Failed, MemberState::Rebuilding];

const ENDED_AT: usize = 176;
const ENDED_BYTES: usize = 16;
const NAME_AT: usize = 304;
const SCHEME_AT: usize = 368;
const MEMBERS_AT: usize = 512;
const MEMBER_BYTES: usize = 48;
const ROLE_AT: usize = 17;
const HORIZON_AT: usize = 432;
const FLAGS_AT: usize = 440;
const OWNER_AT: usize = 448;
const SERVING_AT: usize = 472;

const REASON_AT: usize = 18;
const WHOLE_AT: usize = 19;
const LEFT_AT: usize = 40;
const REASONS: [FailReason; 4] =
    [FailReason::Unknown, FailReason::Damage, FailReason::Gone, FailReason::Requested];

/// The flag of a clean stop.
const CLEAN: u32 = 1;

/// Where the settings of the scheme begin, and the number of bytes they have room for. They follow the places of all
/// possible members in version 1, and the places of the existing members from version 2 on.
pub(super) const fn settings_place(version: u16, members: usize) -> (usize, usize) {
    let before = if version == 1 { SUPERBLOCK_MEMBERS_MAX } else { members };
    let at = MEMBERS_AT + MEMBER_BYTES * before;
    (at, (SUPERBLOCK_BYTES - 4).saturating_sub(at))
}

/// The number of a code.
pub(super) fn code_number(code: Option<Kind>) -> u8 {
    number(&CODES, code)
}

/// Implements [`Superblock::encode`].
pub(crate) fn encode(block: &Superblock, copy: Copy, into: &mut [u8]) {
    if let Err(error) = block.check() {
        panic!("a superblock that no program may write: {error}");
    }
    into.fill(0);
    let into = &mut into[..SUPERBLOCK_BYTES];
    FRAME.begin(into);
    put(into, 8, &block.version.to_le_bytes());
    into[10] = number(&COPIES, copy);
    into[11] = number(&PLACEMENTS, block.placement) + 1;
    put(into, 16, &block.array.0);
    put(into, 32, &block.uuid.0);
    put(into, 48, &block.features.compatible.to_le_bytes());
    put(into, 56, &block.features.read_only.to_le_bytes());
    put(into, 64, &block.features.incompatible.to_le_bytes());
    put(into, 72, &block.update.to_le_bytes());
    put(into, 80, &block.epoch.to_le_bytes());
    put(into, 84, &block.number.to_le_bytes());
    put(into, 86, &(block.members.len() as u16).to_le_bytes());
    put(into, 88, &block.page_bytes.to_le_bytes());
    put(into, 92, &block.pages.to_le_bytes());
    into[96] = match block.level {
        Level::Raid0 => 0,
        Level::Raid5 => 5,
        Level::Raid6 => 6,
    };
    into[97] = code_number(block.code);
    put(into, 98, &block.groups.to_le_bytes());
    put(into, 100, &block.members_of_group.to_le_bytes());
    into[102] = number(&MEMBERSHIPS, block.membership);
    into[103] = number(&ROTATIONS, block.rotation);
    put(into, 104, &block.chunk_pages.to_le_bytes());
    put(into, 108, &block.segment_rows.to_le_bytes());
    put(into, 112, &block.capacity.to_le_bytes());
    let areas = [block.checkpoint, block.commits, block.data, block.journal, block.table, block.bitmap];
    for (area, at) in areas.iter().zip((120..).step_by(8)) {
        put(into, at, &area.first.to_le_bytes());
        put(into, at + 4, &area.pages.to_le_bytes());
    }
    put(into, 168, &block.bitmap_pages.to_le_bytes());
    put(into, 174, &1u16.to_le_bytes());
    for (ended, at) in block.ended.iter().zip((ENDED_AT..).step_by(ENDED_BYTES)) {
        put(into, at, &ended.epoch.to_le_bytes());
        put(into, at + 8, &ended.last.to_le_bytes());
    }
    put(into, NAME_AT, block.name.as_bytes());
    put(into, SCHEME_AT, block.scheme.as_bytes());
    for (member, at) in block.members.iter().zip((MEMBERS_AT..).step_by(MEMBER_BYTES)) {
        put(into, at, &member.uuid.0);
        into[at + 16] = number(&STATES, member.state) + 1;
        put(into, at + 20, &member.failed_epoch.to_le_bytes());
        put(into, at + 24, &member.failed_batch.to_le_bytes());
        put(into, at + 32, &member.cursor.to_le_bytes());
    }
    if block.version > 1 {
        put(into, HORIZON_AT, &block.horizon.to_le_bytes());
        put(into, FLAGS_AT, &(if block.is_clean { CLEAN } else { 0 }).to_le_bytes());
        put(into, OWNER_AT, &block.owner.first.to_le_bytes());
        put(into, OWNER_AT + 4, &block.owner.pages.to_le_bytes());
    }
    if block.has_chain() {
        for (value, at) in chain(block).into_iter().zip((SERVING_AT..).step_by(8)) {
            put(into, at, &value.to_le_bytes());
        }
        for (member, at) in block.members.iter().zip((MEMBERS_AT..).step_by(MEMBER_BYTES)) {
            into[at + REASON_AT] = number(&REASONS, member.reason);
            into[at + WHOLE_AT] = u8::from(member.is_whole);
            put(into, at + LEFT_AT, &member.left_serving.to_le_bytes());
        }
    }
    put(into, settings_place(block.version, block.members.len()).0, block.settings.as_bytes());
    FRAME.seal(into);
}

/// Implements [`Copy::of`].
pub(super) fn copy_of(bytes: &[u8]) -> Option<Copy> {
    COPIES.get(usize::from(*bytes.get(10)?)).copied()
}

/// The fields of the feature `serving-chain`, in their order.
pub(super) fn chain(block: &Superblock) -> [u64; 5] {
    [block.serving, block.predecessor, block.own_bytes, block.verified_to, block.scrub_cursor]
}

/// Implements [`Superblock::parse`].
pub(crate) fn parse(bytes: &[u8]) -> Result<Superblock, FormatError> {
    let bytes = &bytes[..bytes.len().min(SUPERBLOCK_BYTES)];
    FRAME.check(bytes)?;
    let features = Features {
        compatible: u64_at(bytes, 48),
        read_only: u64_at(bytes, 56),
        incompatible: u64_at(bytes, 64),
    };
    let version = u16_at(bytes, 8);
    if version > VERSION {
        return Err(FormatError::NewerVersion { structure: Structure::Superblock, version });
    }
    let needed = features.unknown(FeatureClass::Incompatible);
    if !needed.is_empty() {
        return Err(FormatError::NewerFeatures { structure: Structure::Superblock, needed });
    }
    FRAME.expect(version > 0, "version", version, "1 or more")?;
    one_of(&COPIES, bytes[10], 0, "copy", "0 or 1")?;
    let level = match bytes[96] {
        0 => Level::Raid0,
        5 => Level::Raid5,
        6 => Level::Raid6,
        level => return Err(field("level", level, "0, 5 or 6")),
    };
    let shard = (u16_at(bytes, 172), u16_at(bytes, 174));
    FRAME.expect(shard == (0, 1), "shard", shard.0, "0 of 1")?;
    let area = |at| Area { first: u32_at(bytes, at), pages: u32_at(bytes, at + 4) };
    let has_chain = version > 1 && features.compatible & Features::SERVING_CHAIN != 0;
    let chain = |nth: usize| if has_chain { u64_at(bytes, SERVING_AT + 8 * nth) } else { 0 };
    let members = members(bytes, has_chain)?;
    let (settings_at, settings_bytes) = settings_place(version, members.len());
    // Version 1 reserves these fields.
    let is_new = version > 1;
    let block = Superblock {
        version,
        array: uuid_at(bytes, 16),
        uuid: uuid_at(bytes, 32),
        number: u16_at(bytes, 84),
        features,
        update: u64_at(bytes, 72),
        epoch: u32_at(bytes, 80),
        horizon: if is_new { u64_at(bytes, HORIZON_AT) } else { 0 },
        is_clean: is_new && u32_at(bytes, FLAGS_AT) & CLEAN != 0,
        owner: if is_new { area(OWNER_AT) } else { Area::default() },
        placement: one_of(&PLACEMENTS, bytes[11], 1, "placement", "1 or 2")?,
        page_bytes: u32_at(bytes, 88),
        pages: u32_at(bytes, 92),
        level,
        code: one_of(&CODES, bytes[97], 0, "code", "0 to 5")?,
        groups: u16_at(bytes, 98),
        members_of_group: u16_at(bytes, 100),
        membership: one_of(&MEMBERSHIPS, bytes[102], 0, "membership", "0 or 1")?,
        rotation: one_of(&ROTATIONS, bytes[103], 0, "rotation", "0 to 4")?,
        chunk_pages: u32_at(bytes, 104),
        segment_rows: u32_at(bytes, 108),
        capacity: u64_at(bytes, 112),
        checkpoint: area(120),
        commits: area(128),
        data: area(136),
        journal: area(144),
        table: area(152),
        bitmap: area(160),
        bitmap_pages: u32_at(bytes, 168),
        serving: chain(0),
        predecessor: chain(1),
        own_bytes: chain(2),
        verified_to: chain(3),
        scrub_cursor: chain(4),
        ended: ended(bytes),
        name: text(bytes, (NAME_AT, NAME_BYTES_MAX), "name of the array")?,
        scheme: text(bytes, (SCHEME_AT, NAME_BYTES_MAX), "name of the scheme")?,
        settings: text(bytes, (settings_at, settings_bytes), "settings of the scheme")?,
        members,
    };
    block.check()?;
    Ok(block)
}

/// The past epochs.
fn ended(bytes: &[u8]) -> Vec<EndedEpoch> {
    let all = (ENDED_AT..).step_by(ENDED_BYTES).take(ENDED_MAX);
    let entries = all.map(|at| EndedEpoch { epoch: u32_at(bytes, at), last: u64_at(bytes, at + 8) });
    entries.filter(|entry| entry.epoch != 0).collect()
}

/// The members of the array.
fn members(bytes: &[u8], has_chain: bool) -> Result<Vec<MemberRecord>, FormatError> {
    let count = u16_at(bytes, 86);
    let counted = usize::from(count) <= SUPERBLOCK_MEMBERS_MAX;
    FRAME.expect(counted, "members", count, "1 to 64")?;
    let member = |at: usize| {
        // A feature gives this byte a meaning, but the feature's bit is not set: this program must not guess.
        FRAME.expect(
            bytes[at + ROLE_AT] == 0,
            "role of a member",
            bytes[at + ROLE_AT],
            "0, without `member-roles`",
        )?;
        Ok(MemberRecord {
            uuid: uuid_at(bytes, at),
            state: one_of(&STATES, bytes[at + 16], 1, "state of a member", "1, 2 or 3")?,
            failed_epoch: u32_at(bytes, at + 20),
            failed_batch: u64_at(bytes, at + 24),
            cursor: u64_at(bytes, at + 32),
            // A newer program may know more reasons: to this one the member is in doubt.
            reason: if has_chain { reason(bytes[at + REASON_AT]) } else { FailReason::Unknown },
            is_whole: has_chain && bytes[at + WHOLE_AT] == 1,
            left_serving: if has_chain { u64_at(bytes, at + LEFT_AT) } else { 0 },
        })
    };
    (MEMBERS_AT..).step_by(MEMBER_BYTES).take(count.into()).map(member).collect()
}

fn reason(number: u8) -> FailReason {
    REASONS.get(usize::from(number)).copied().unwrap_or_default()
}

/// The text in a place, given by first byte and length, without trailing zeros.
fn text(bytes: &[u8], (at, length): (usize, usize), field: &'static str) -> Result<String, FormatError> {
    let place = &bytes[at..at + length];
    let end = place.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    match str::from_utf8(&place[..end]) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(self::field(field, place[error.valid_up_to()], "UTF-8, with zeros behind it")),
    }
}

/// The position of a value in the list of all values.
fn number<T: PartialEq>(all: &[T], value: T) -> u8 {
    all.iter().position(|known| *known == value).expect("all values are listed") as u8
}

/// The value with this number; the first value has the number `base`.
fn one_of<T: core::marker::Copy>(
    all: &[T],
    number: u8,
    base: u8,
    name: &'static str,
    expected: &'static str,
) -> Result<T, FormatError> {
    let known = number.checked_sub(base).and_then(|nth| all.get(usize::from(nth)));
    known.copied().ok_or(field(name, number, expected))
}

fn field(name: &'static str, found: u8, expected: &'static str) -> FormatError {
    FormatError::Field { structure: Structure::Superblock, field: name, expected, found: found.into() }
}
