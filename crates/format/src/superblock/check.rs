//! The invariants of every superblock. After this check, a program can compute with any field of a superblock that it
//! read.

use stripewise_code::Kind;
use stripewise_core::geometry::Level;

use super::codec::{FRAME, chain, settings_place};
use super::places::{OWNER, areas};
use super::{
    Area, ENDED_MAX, FailReason, NAME_BYTES_MAX, Placement, SUPERBLOCK_MEMBERS_MAX, Superblock,
    superblock_pages,
};
use crate::write_seq::{EPOCHS_MAX, NUMBERS_MAX};
use crate::{FormatError, MemberState, VERSION, checkpoint};

/// The largest number of pages that a segment takes of a member.
const SEGMENT_ROWS_MAX: u32 = 1 << 16;

/// Implements [`Superblock::check`].
pub(crate) fn check(block: &Superblock) -> Result<(), FormatError> {
    check_members(block)?;
    check_areas(block)?;
    match block.placement {
        Placement::Log => check_log(block)?,
        Placement::InPlace => {
            FRAME.expect(block.segment_rows > 0, "rotate_every", block.segment_rows, "1 or more")?;
        }
    }
    check_cursors(block)?;
    let spread =
        u64::from(block.groups) * (u64::from(block.members_of_group) - u64::from(block.level.parity()));
    let most = spread * u64::from(block.data.pages);
    let fits = (1..=most).contains(&block.capacity);
    FRAME.expect(fits, "capacity", block.capacity, "1 to the pages of data that are not parity")?;
    check_epochs(block)?;
    check_name("name of the array", &block.name)?;
    check_name("name of the scheme", &block.scheme)?;
    let (settings, field) = (&block.settings, "settings of the scheme");
    let fits = settings.len() <= settings_place(block.version, block.members.len()).1;
    FRAME.expect(fits, field, settings.len() as u64, "as many bytes as there are behind the members")?;
    check_text(field, settings)?;
    check_stamp(block)
}

/// Version 1 must not have the fields that version 2 added.
fn check_stamp(block: &Superblock) -> Result<(), FormatError> {
    FRAME.expect((1..=VERSION).contains(&block.version), "version", block.version, "1 or 2")?;
    let is_bare = block.horizon == 0 && !block.is_clean && block.owner == Area::default();
    FRAME.expect(block.version > 1 || is_bare, "stamp", block.horizon, "none, in version 1")?;
    let is_unchained = block
        .members
        .iter()
        .all(|its| its.reason == FailReason::Unknown && !its.is_whole && its.left_serving == 0)
        && chain(block) == [0; 5];
    FRAME.expect(
        block.has_chain() || is_unchained,
        "serving",
        block.serving,
        "0, without `serving-chain`",
    )?;
    FRAME.expect(block.horizon < NUMBERS_MAX, "horizon", block.horizon, "62 bits")?;
    FRAME.expect(block.owner.pages <= 1, "pages of the owner", block.owner.pages, "at most 1")
}

/// Level, code, groups and members must match.
fn check_members(block: &Superblock) -> Result<(), FormatError> {
    let count = block.members.len();
    let (groups, columns) = (usize::from(block.groups), usize::from(block.members_of_group));
    let counted = (1..=SUPERBLOCK_MEMBERS_MAX).contains(&count);
    FRAME.expect(counted, "members", count as u64, "1 to 64")?;
    FRAME.expect(groups > 0, "groups", block.groups, "1 or more")?;
    let parity = block.level.parity() as usize;
    FRAME.expect(columns > parity, "members of a group", block.members_of_group, "more than its parity")?;
    let shared = groups * columns == count;
    FRAME.expect(shared, "members", count as u64, "groups times members of a group")?;
    let matches = match (block.level, block.code) {
        (Level::Raid0, code) => code.is_none(),
        (Level::Raid5, code) => code == Some(Kind::Xor),
        (Level::Raid6, code) => !matches!(code, None | Some(Kind::Xor)),
    };
    let code = super::codec::code_number(block.code);
    FRAME.expect(matches, "code", code, "none for RAID-0, 1 for RAID-5, 2 to 5 for RAID-6")?;
    let own = block.members.get(usize::from(block.number));
    FRAME.expect(own.is_some(), "number of this member", block.number, "less than the members")?;
    let is_own = own.is_some_and(|member| member.uuid == block.uuid);
    FRAME.expect(is_own, "number of this member", block.number, "that of the member with its identifier")?;
    for (nth, member) in block.members.iter().enumerate() {
        let is_new = block.members[..nth].iter().all(|before| before.uuid != member.uuid);
        FRAME.expect(is_new, "identifier of a member", nth as u64, "another one for each member")?;
    }
    Ok(())
}

/// The page size must be valid, and the areas must lie between the superblocks, apart from each other.
fn check_areas(block: &Superblock) -> Result<(), FormatError> {
    let page = block.page_bytes;
    let is_size = page.is_power_of_two() && (512..=32 << 10).contains(&page);
    FRAME.expect(is_size, "page_bytes", page, "a power of two from 512 to 32768")?;
    let inner =
        u64::from(superblock_pages(page))..u64::from(block.pages.saturating_sub(superblock_pages(page)));
    FRAME.expect(
        !inner.is_empty(),
        "pages of a member",
        block.pages,
        "more than those of two superblocks",
    )?;
    let mut taken = areas(block);
    for &(first, end, name) in taken.iter().filter(|(first, end, _)| first < end) {
        let expected = "a place between the two superblocks";
        FRAME.expect(first >= inner.start, name, first, expected)?;
        // On members that are larger than the array needs, the owner's page follows the pages that the array uses.
        let most = inner.end + if name == OWNER { u64::from(block.owner.pages) } else { 0 };
        FRAME.expect(end <= most, name, end, expected)?;
    }
    taken.sort_unstable();
    let mut free = 0;
    for &(first, end, name) in taken.iter().filter(|(first, end, _)| first < end) {
        FRAME.expect(first >= free, name, first, "a place that no other area has")?;
        free = end;
    }
    FRAME.expect(block.data.pages > 0, "pages of data", block.data.pages, "1 or more")?;
    let fits = (1..=block.data.pages).contains(&block.chunk_pages);
    FRAME.expect(fits, "pages of a chunk", block.chunk_pages, "1 to the pages of data")?;
    let means = block.bitmap.pages == 0 || block.bitmap_pages > 0;
    FRAME.expect(means, "pages of a bit of the bitmap", block.bitmap_pages, "1 or more")
}

/// A log must have parity, segments, and room for their checkpoints and for commit records.
fn check_log(block: &Superblock) -> Result<(), FormatError> {
    FRAME.expect(block.level != Level::Raid0, "level", 0u8, "5 or 6, for a log")?;
    FRAME.expect(block.chunk_pages == 1, "pages of a chunk", block.chunk_pages, "1, for a log")?;
    let rows = block.segment_rows;
    let fits = (1..=SEGMENT_ROWS_MAX.min(block.data.pages)).contains(&rows);
    FRAME.expect(fits, "segment_rows", rows, "1 to 65536, and no more than there are pages of data")?;
    let segments = u64::from(block.data.pages / rows) * u64::from(block.groups);
    let Ok(counted) = u32::try_from(segments) else {
        return FRAME.expect(false, "segments", segments, "32 bits");
    };
    FRAME.expect(block.commits.pages > 0, "pages of commit records", 0u8, "1 or more, for a log")?;
    let body_pages = checkpoint::body_bytes(counted, block.capacity).div_ceil(block.page_bytes.into());
    let fits = u64::from(block.checkpoint.pages) > body_pages;
    FRAME.expect(fits, "checkpoint_pages", block.checkpoint.pages, "a page, and those of the body")
}

/// The cursor of a rebuilding member must not exceed the number of segments (log) or rows (in place).
fn check_cursors(block: &Superblock) -> Result<(), FormatError> {
    let all = match block.placement {
        Placement::Log => block.segments(),
        Placement::InPlace => block.data.pages,
    };
    let rebuilt = block.members.iter().filter(|member| member.state == MemberState::Rebuilding);
    let most = rebuilt.map(|member| member.cursor).max().unwrap_or(0);
    FRAME.expect(
        most <= all.into(),
        "cursor of a member",
        most,
        "at most the segments of a log, or rows in place",
    )
}

/// Epochs must end in the order in which they began, before the epoch that this superblock began.
fn check_epochs(block: &Superblock) -> Result<(), FormatError> {
    FRAME.expect(block.epoch < EPOCHS_MAX, "epoch", block.epoch, "24 bits")?;
    FRAME.expect(block.update < NUMBERS_MAX, "update", block.update, "62 bits")?;
    let ended_with = block.ended.iter().map(|ended| ended.last).max().unwrap_or(0);
    FRAME.expect(ended_with < NUMBERS_MAX, "last batch of an epoch", ended_with, "62 bits")?;
    let counted = block.ended.len() <= ENDED_MAX;
    FRAME.expect(counted, "ended epochs", block.ended.len() as u64, "at most 8")?;
    let mut before = 0;
    for ended in &block.ended {
        let follows = before < ended.epoch && ended.epoch < block.epoch;
        FRAME.expect(follows, "ended epoch", ended.epoch, "behind the ones before it, before this one")?;
        before = ended.epoch;
    }
    Ok(())
}

/// A name must fit its place and contain no zero byte.
fn check_name(field: &'static str, name: &str) -> Result<(), FormatError> {
    FRAME.expect(name.len() <= NAME_BYTES_MAX, field, name.len() as u64, "at most 64 bytes long")?;
    check_text(field, name)
}

fn check_text(field: &'static str, text: &str) -> Result<(), FormatError> {
    FRAME.expect(!text.contains('\0'), field, 0u8, "text, with zeros behind it")
}
