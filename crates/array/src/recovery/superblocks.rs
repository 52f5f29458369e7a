//! Superblocks: the initial ones of a new array, reading all of them, and writing them so that one copy of each is always
//! whole.

use super::{AssembleError, Identity};
use stripewise_code::Kind;
use stripewise_core::geometry::Geometry;
use stripewise_core::media::{At, Media};
use stripewise_core::members::Members;
use stripewise_core::operation::Outcome;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::layout::Layout;
use stripewise_format::{
    Area, Copy, Features, FormatError, MemberRecord, Placement, SUPERBLOCK_BYTES, Superblock, Uuid, VERSION,
    settings_bytes_max, superblock_pages,
};
use stripewise_scheme::{Scheme, WindowSize};

/// The superblock of an empty array with a log.
pub(crate) fn superblock_of_log(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    layout: &Layout,
    identity: &Identity,
) -> Superblock {
    Superblock {
        placement: Placement::Log,
        segment_rows: scheme.elastic.segment_rows,
        checkpoint: layout.checkpoint,
        commits: layout.commits,
        data: layout.data,
        ..superblock_of(scheme, members, geometry, identity)
    }
}

/// The superblock of an empty array in place.
pub(crate) fn superblock_in_place(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    layout: &InPlaceLayout,
    identity: &Identity,
) -> Superblock {
    Superblock {
        placement: Placement::InPlace,
        data: layout.data,
        journal: layout.journal,
        table: layout.table,
        bitmap: layout.intent,
        bitmap_pages: layout.region_pages,
        ..superblock_of(scheme, members, geometry, identity)
    }
}

/// The parts of superblocks that all placements share, without the areas.
fn superblock_of(scheme: &Scheme, members: &Members, geometry: &Geometry, identity: &Identity) -> Superblock {
    let record = |&uuid| MemberRecord { is_whole: true, ..MemberRecord::active(uuid) };
    Superblock {
        array: identity.array,
        uuid: identity.members.first().copied().unwrap_or_default(),
        number: 0,
        version: VERSION,
        update: 1,
        epoch: 0,
        horizon: 0,
        is_clean: false,
        placement: Placement::Log,
        features: features_of(scheme),
        page_bytes: members.page_bytes,
        pages: members.pages,
        level: geometry.level,
        code: code_of(scheme, geometry),
        groups: geometry.groups as u16,
        members_of_group: geometry.width as u16,
        membership: geometry.membership,
        rotation: geometry.rotation,
        chunk_pages: geometry.chunk_pages,
        segment_rows: geometry.rotate_every,
        capacity: scheme.pages(geometry),
        checkpoint: Area::default(),
        commits: Area::default(),
        data: Area::default(),
        journal: Area::default(),
        table: Area::default(),
        bitmap: Area::default(),
        bitmap_pages: 0,
        owner: Area::default(),
        serving: first_serving(identity.array),
        predecessor: 0,
        own_bytes: 0,
        verified_to: 0,
        scrub_cursor: 0,
        ended: Vec::new(),
        name: identity.name.clone(),
        scheme: scheme.name.clone(),
        settings: Some(scheme.to_settings())
            .filter(|text| text.len() <= settings_bytes_max(VERSION, identity.members.len()))
            .unwrap_or_default(),
        members: identity.members.iter().map(record).collect(),
    }
}

/// The serving that the creation of an array counts as: copies of it from before it is served have it in common.
pub(super) fn first_serving(array: Uuid) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = array.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The features of an array of `scheme` that not every program knows.
pub(super) fn features_of(scheme: &Scheme) -> Features {
    let is_late = scheme.has_redo_journal() && scheme.parity.window != WindowSize::default();
    Features {
        compatible: Features::SERVING_CHAIN,
        incompatible: if is_late { Features::LATE_PARITY } else { 0 },
        ..Features::default()
    }
}

/// The code of the parity of `scheme` over `geometry`.
pub(crate) fn code_of(scheme: &Scheme, geometry: &Geometry) -> Option<Kind> {
    let code = scheme.code(geometry, geometry.page_bytes).ok().flatten();
    code.map(|code| code.kind())
}

/// Checks that `superblock` describes `scheme` over `members`.
///
/// # Errors
/// The difference.
pub(crate) fn check_scheme(
    superblock: &Superblock,
    scheme: &Scheme,
    members: &Members,
) -> Result<(), AssembleError> {
    let geometry = scheme.resolve(members, true)?;
    let placement = scheme.placement.facts().format.unwrap_or(Placement::InPlace);
    let rows = if placement == Placement::Log { scheme.elastic.segment_rows } else { geometry.rotate_every };
    let code = code_of(scheme, &geometry);
    let data = scheme.log_layout(members).map_or(superblock.data, |layout| layout.data);
    let pairs = [
        ("placement", format!("{:?}", superblock.placement), format!("{placement:?}")),
        ("members", superblock.members.len().to_string(), members.count.to_string()),
        ("bytes of a page", superblock.page_bytes.to_string(), members.page_bytes.to_string()),
        ("pages of a member", superblock.pages.to_string(), members.pages.to_string()),
        ("level", superblock.level.to_string(), geometry.level.to_string()),
        ("code", format!("{:?}", superblock.code), format!("{code:?}")),
        ("groups", superblock.groups.to_string(), geometry.groups.to_string()),
        ("membership", superblock.membership.to_string(), geometry.membership.to_string()),
        ("pages of a chunk", superblock.chunk_pages.to_string(), geometry.chunk_pages.to_string()),
        ("rows of a segment", superblock.segment_rows.to_string(), rows.to_string()),
        ("pages for hosts", superblock.capacity.to_string(), scheme.pages(&geometry).to_string()),
        ("the data area", format!("{:?}", superblock.data), format!("{data:?}")),
    ];
    match pairs.iter().find(|(_, found, expected)| found != expected) {
        Some((what, found, expected)) => Err(AssembleError::Refused(format!(
            "the array has {what} {found}, scheme `{}` asks for {expected}; open it with the scheme and settings that it was \
             created with (`{}`)",
            scheme.name, superblock.scheme
        ))),
        None => Ok(()),
    }
}

/// The valid copies of the superblock of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Copies {
    pub(crate) front: Option<Superblock>,
    pub(crate) back: Option<Superblock>,
    /// The page at which the back copy begins. If the member grew, that is no longer at its end.
    pub(crate) back_page: u32,
    /// The page of a back copy at an end that the member had before it grew; it may be older than the one at the end.
    pub(crate) former: Option<u32>,
    /// The error if one of them has a format that this program does not know.
    pub(crate) newer: Option<FormatError>,
    /// Why a copy that is present does not count.
    pub(crate) trouble: Option<String>,
}

impl Copies {
    /// The newer of the two copies.
    pub(crate) fn newest(&self) -> Option<&Superblock> {
        [&self.front, &self.back].into_iter().flatten().max_by_key(|its| its.update)
    }

    /// Whether the member grew, and its newest back copy is where its end was.
    pub(crate) fn is_behind(&self) -> bool {
        self.back.is_some() && self.former == Some(self.back_page)
    }

    /// Makes superblocks of an array without the feature `serving-chain` of both copies.
    pub(super) fn forget_chain(&mut self) {
        [&mut self.front, &mut self.back].into_iter().flatten().for_each(Superblock::forget_chain);
    }

    /// Whether one of the two copies is this version.
    pub(crate) fn has(&self, version: &Superblock) -> bool {
        [&self.front, &self.back].into_iter().flatten().any(|its| its.is_version_of(version))
    }
}

/// The copies of each offered device.
pub(crate) fn read_all(media: &mut dyn Media) -> Vec<Copies> {
    let mut all: Vec<Copies> = (0..media.count()).map(|member| read_one(media, member)).collect();
    for member in 0..media.count() {
        find_back(media, member, &mut all);
    }
    all
}

fn read_one(media: &mut dyn Media, member: u16) -> Copies {
    let (pages, page_bytes) = media.size(member);
    let span = superblock_pages(page_bytes);
    let mut copies = Copies::default();
    if pages < 2 * span {
        return copies;
    }
    copies.back_page = pages - span;
    copies.front = read_copy(media, member, 0, Copy::Front, &mut copies);
    copies.back = read_copy(media, member, pages - span, Copy::Back, &mut copies);
    copies
}

/// Looks for the back copy of a member that grew: at the end that the member had, by its front copy or, if that is damaged,
/// by the superblocks of the other members. Until a back copy is written at the new end, the one at the old end counts.
fn find_back(media: &mut dyn Media, member: u16, all: &mut [Copies]) {
    let (pages, _) = media.size(member);
    let its = &all[usize::from(member)];
    let sizes = |copies: &Copies| {
        let blocks = [&copies.front, &copies.back].into_iter().flatten();
        blocks.filter_map(|block| block.back_before_growth(pages)).collect::<Vec<u32>>()
    };
    let mut places = match its.newest() {
        Some(_) => sizes(its),
        None => all.iter().flat_map(sizes).collect(),
    };
    places.sort_unstable();
    places.dedup();
    for first in places {
        // Another structure, or nothing, may be there: that is no trouble.
        let found = read_copy(media, member, first, Copy::Back, &mut Copies::default());
        let its = &mut all[usize::from(member)];
        its.former = its.former.or(found.is_some().then_some(first));
        let is_newer = |found: &Superblock| its.back.as_ref().is_none_or(|back| back.update < found.update);
        if let Some(found) = found.filter(is_newer) {
            (its.back, its.back_page) = (Some(found), first);
        }
    }
}

/// Reads the copy that begins at page `first`. If there is none that counts, `copies` gets the reason.
fn read_copy(
    media: &mut dyn Media,
    member: u16,
    first: u32,
    which: Copy,
    copies: &mut Copies,
) -> Option<Superblock> {
    let (pages, page_bytes) = media.size(member);
    let span = superblock_pages(page_bytes);
    let at: Vec<At> = (first..first + span).map(|page| At { member, page }).collect();
    let mut bytes = vec![0; span as usize * page_bytes as usize];
    let mut is_whole = true;
    media.read(&at, &mut |nth, content| match content {
        Ok(content) => bytes[nth * page_bytes as usize..][..content.len()].copy_from_slice(content),
        Err(_) => is_whole = false,
    });
    let fits = |superblock: &Superblock| superblock.page_bytes == page_bytes && superblock.pages <= pages;
    match Superblock::parse(&bytes[..SUPERBLOCK_BYTES]) {
        _ if !is_whole => copies.trouble = Some("its superblock cannot be read".into()),
        // A misdirected write: a back copy proves facts that a front copy in its place does not.
        Ok(_) if Copy::of(&bytes) != Some(which) => {
            copies.trouble = Some("one copy of its superblock lies where the other belongs".into());
        }
        Ok(superblock) if fits(&superblock) => return Some(superblock),
        Ok(Superblock { pages: its_pages, page_bytes: its_bytes, .. }) => {
            copies.trouble = Some(format!(
                "its superblock says {its_pages} pages of {its_bytes} bytes, and it has {pages} of {page_bytes}: it was \
                 cut short"
            ));
        }
        Err(error) if error.is_newer() => copies.newer = Some(error),
        Err(FormatError::Absent { .. }) => {}
        Err(error) => copies.trouble = Some(error.to_string()),
    }
    None
}

/// Writes `superblock` to the members at `positions` of `media`, each with its own number and identifier: front copies,
/// flush, back copies, flush. The back copies of the version before are at the ends of the members: see
/// [`super::assemble::Assembly::settle`].
///
/// # Errors
/// A member cannot be written.
pub(crate) fn write_all(
    media: &mut dyn Media,
    superblock: &Superblock,
    positions: &[Option<u16>],
) -> Result<(), AssembleError> {
    write_copies(media, superblock, positions, Copy::Front)?;
    write_copies(media, superblock, positions, Copy::Back)
}

/// Erases the back copies that members had at their old ends, after newer ones were written at the new ends: if the new
/// ones were torn later, the old ones must not prove an old version. A page that the owner has by now is left alone. An old
/// copy that cannot be erased does no harm by itself.
pub(crate) fn erase_moved(
    media: &mut dyn Media,
    offered: &[Copies],
    superblock: &Superblock,
    positions: &[Option<u16>],
) {
    let span = superblock_pages(superblock.page_bytes);
    for &member in positions.iter().flatten() {
        let Some(first) = offered[usize::from(member)].former else { continue };
        let (pages, page_bytes) = media.size(member);
        // A member that grew by less than a superblock has the new copy on a part of the old one.
        let old = first..(first + span).min(pages - span);
        let at: Vec<At> = old.map(|page| At { member, page }).collect();
        let is_owners = at.iter().any(|at| superblock.owner_page(pages) == Some(at.page));
        // No area reaches that far, whatever the superblocks say.
        if !is_owners && first + span >= superblock.pages && first + span < pages {
            let _ = write_and_flush(media, &at, &vec![vec![0; page_bytes as usize]; at.len()]);
        }
    }
}

/// Writes one copy of `superblock` to each of its members, and flushes them. Back copies are at the ends then.
///
/// # Errors
/// A member cannot be written.
pub(crate) fn write_copies(
    media: &mut dyn Media,
    superblock: &Superblock,
    positions: &[Option<u16>],
    copy: Copy,
) -> Result<(), AssembleError> {
    let page_bytes = superblock.page_bytes as usize;
    let span = superblock_pages(superblock.page_bytes);
    let mut at = Vec::new();
    let mut pages = Vec::new();
    for (number, position) in positions.iter().enumerate() {
        let Some(member) = *position else { continue };
        let back = media.size(member).0 - span;
        let mut its = superblock.clone();
        its.assign(number as u16, back);
        let first = if copy == Copy::Front { 0 } else { back };
        let mut bytes = vec![0; span as usize * page_bytes];
        its.encode(copy, &mut bytes[..SUPERBLOCK_BYTES]);
        at.extend((first..first + span).map(|page| At { member, page }));
        pages.extend(bytes.chunks(page_bytes).map(Vec::from));
    }
    write_and_flush(media, &at, &pages)
}

/// Writes pages, and flushes their members; after an error too, because the array may be assembled without the member that
/// failed, and takes the pages of the others for durable.
///
/// # Errors
/// A member cannot be written.
pub(crate) fn write_and_flush(
    media: &mut dyn Media,
    at: &[At],
    pages: &[impl AsRef<[u8]>],
) -> Result<(), AssembleError> {
    let contents: Vec<&[u8]> = pages.iter().map(AsRef::as_ref).collect();
    let outcomes = media.write(at, &contents);
    let written = at.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Done);
    let mut members: Vec<u16> = written.map(|(at, _)| at.member).collect();
    members.sort_unstable();
    members.dedup();
    let flushed = flush(media, &members);
    match at.iter().zip(&outcomes).find(|(_, outcome)| **outcome != Outcome::Done) {
        Some((at, outcome)) => Err(failed(at.member, "written", *outcome)),
        None => flushed,
    }
}

/// Writes pages, for a later flush.
///
/// # Errors
/// A member cannot be written.
pub(crate) fn write(media: &mut dyn Media, at: &[At], contents: &[&[u8]]) -> Result<(), AssembleError> {
    let outcomes = media.write(at, contents);
    match at.iter().zip(&outcomes).find(|(_, outcome)| **outcome != Outcome::Done) {
        Some((at, outcome)) => Err(failed(at.member, "written", *outcome)),
        None => Ok(()),
    }
}

/// Flushes members.
///
/// # Errors
/// A member cannot be flushed.
pub(crate) fn flush(media: &mut dyn Media, members: &[u16]) -> Result<(), AssembleError> {
    let outcomes = media.flush(members);
    match members.iter().zip(&outcomes).find(|(_, outcome)| **outcome != Outcome::Done) {
        Some((member, outcome)) => Err(failed(*member, "flushed", *outcome)),
        None => Ok(()),
    }
}

fn failed(member: u16, what: &str, outcome: Outcome) -> AssembleError {
    AssembleError::Failed(format!(
        "offered member {member} cannot be {what} ({outcome:?}); take it out, and open the array without it"
    ))
}
