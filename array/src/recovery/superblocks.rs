//! Superblocks: the initial ones of a new array, reading all of them, and writing them so that one copy of each is always
//! whole.

use super::{AssembleError, Identity};
use stripewise_code::Kind;
use stripewise_core::format::in_place::InPlaceLayout;
use stripewise_core::format::layout::Layout;
use stripewise_core::format::{
    Area, Copy, Features, FormatError, MemberRecord, Placement, SUPERBLOCK_BYTES, Superblock, VERSION,
    settings_bytes_max, superblock_pages,
};
use stripewise_core::geometry::Geometry;
use stripewise_core::media::{At, Media};
use stripewise_core::operation::Outcome;
use stripewise_core::placement::PlacementPolicy;
use stripewise_core::scheme::{Members, Scheme, WindowSize};

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
        serving: 0,
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
    let placement = match scheme.placement.policy {
        PlacementPolicy::Elastic => Placement::Log,
        _ => Placement::InPlace,
    };
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
    match pairs.iter().find(|(_, found, asked)| found != asked) {
        Some((what, found, asked)) => Err(AssembleError::Refused(format!(
            "the array has {what} {found}, scheme `{}` asks for {asked}; open it with the scheme and settings that it was \
             created with (`{}`)",
            scheme.name, superblock.scheme
        ))),
        None => Ok(()),
    }
}

/// The valid copies of the superblock of one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pub(crate) front: Option<Superblock>,
    pub(crate) back: Option<Superblock>,
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

    /// Whether one of the two copies is this version.
    pub(crate) fn has(&self, version: &Superblock) -> bool {
        [&self.front, &self.back].into_iter().flatten().any(|its| its.is_version_of(version))
    }
}

/// The copies of each offered device.
pub(crate) fn read_all(media: &mut dyn Media) -> Vec<Copies> {
    (0..media.count()).map(|member| read_one(media, member)).collect()
}

fn read_one(media: &mut dyn Media, member: u16) -> Copies {
    let (pages, page_bytes) = media.size(member);
    let span = superblock_pages(page_bytes);
    if pages < 2 * span {
        return Copies::default();
    }
    let (mut newer, mut trouble) = (None, None);
    let mut copy = |first: u32, which: Copy| {
        let at: Vec<At> = (first..first + span).map(|page| At { member, page }).collect();
        let mut bytes = vec![0; span as usize * page_bytes as usize];
        let mut is_whole = true;
        media.read(&at, &mut |nth, content| match content {
            Ok(content) => bytes[nth * page_bytes as usize..][..content.len()].copy_from_slice(content),
            Err(_) => is_whole = false,
        });
        let fits = |superblock: &Superblock| superblock.page_bytes == page_bytes && superblock.pages <= pages;
        match Superblock::parse(&bytes[..SUPERBLOCK_BYTES]) {
            _ if !is_whole => trouble = Some("its superblock cannot be read".into()),
            // A misdirected write: a back copy proves facts that a front copy in its place does not.
            Ok(_) if Copy::of(&bytes) != Some(which) => {
                trouble = Some("one copy of its superblock lies where the other belongs".into());
            }
            Ok(superblock) if fits(&superblock) => return Some(superblock),
            Ok(Superblock { pages: its_pages, page_bytes: its_bytes, .. }) => {
                trouble = Some(format!(
                    "its superblock says {its_pages} pages of {its_bytes} bytes, and it has {pages} of {page_bytes}: it was \
                     cut short"
                ));
            }
            Err(error) if error.is_newer() => newer = Some(error),
            Err(FormatError::Absent { .. }) => {}
            Err(error) => trouble = Some(error.to_string()),
        }
        None
    };
    let (front, back) = (copy(0, Copy::Front), copy(pages - span, Copy::Back));
    Copies { front, back, newer, trouble }
}

/// Writes `superblock` to the members at `positions` of `media`, each with its own number and identifier: front copies,
/// flush, back copies, flush.
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

/// Writes one copy of `superblock` to each of its members, and flushes them.
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
        let member_uuid = superblock.members[number].uuid;
        let its = Superblock { number: number as u16, uuid: member_uuid, ..superblock.clone() };
        let first = if copy == Copy::Front { 0 } else { media.size(member).0 - span };
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
