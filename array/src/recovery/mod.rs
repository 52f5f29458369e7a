//! Creation and assembly of an array: the content of the members becomes a controller that serves.

mod assemble;
mod check;
mod damage;
mod evidence;
mod in_place;
mod in_place_deferred;
mod in_place_intent;
mod in_place_journal;
mod in_place_table;
mod install;
mod log;
mod reconstruct;
mod superblocks;
mod upgrade;
mod walk;
mod watched;

use stripewise_base::text::{is_plain, visible};
use stripewise_core::format::{
    Copy, EPOCHS_MAX, FeatureClass, NAME_BYTES_MAX, NUMBERS_BEGIN_MAX, SUPERBLOCK_MEMBERS_MAX, Uuid, VERSION,
    settings_bytes_max,
};
use stripewise_core::media::Media;
use stripewise_core::memory::Memory;
use stripewise_core::placement::PlacementPolicy;
use stripewise_core::scheme::{Members, Metadata, Scheme, SchemeError};

use crate::array::Array;

use watched::Watched;

pub use check::{Checked, Trouble};
pub use damage::DamagedCopy;
pub use reconstruct::{NamedMembers, PAGES_PROVE, Reconstructed, Reconstruction};
pub(crate) use superblocks::{superblock_in_place, superblock_of_log};
pub use upgrade::Upgrade;

/// Pages that are read or written in one round. It bounds the memory for a round, whatever the size of members.
const ROUND_PAGES: usize = 1024;

/// The identity of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The identifier of the array.
    pub array: Uuid,
    /// The identifiers of its members, in order.
    pub members: Vec<Uuid>,
    /// The name of the array; at most 64 bytes.
    pub name: String,
}

/// How to assemble an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssemblyOptions {
    /// Writes nothing: no new epoch, no repair. The array accepts no writes.
    pub read_only: bool,
    /// Assembles an array despite losses that would otherwise be refused. [`RecoveryReport::losses`] lists them.
    pub force: bool,
    /// Which members devices without superblocks are, as named by the user; with `force`, others are recognized by their
    /// content.
    pub named: NamedMembers,
    /// A known bug of recovery that the checking simulation plants; without effect unless debug assertions are on.
    pub bug: Option<stripewise_core::bugs::Bug>,
}

impl AssemblyOptions {
    fn has_bug(self, bug: stripewise_core::bugs::Bug) -> bool {
        cfg!(debug_assertions) && self.bug == Some(bug)
    }
}

/// The result of assembling an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The epoch that began.
    pub epoch: u32,
    /// For each member of the array, its position among the offered devices; `None` if the member is absent or stale.
    pub positions: Vec<Option<u16>>,
    /// Batches, or records of the journal, that count and follow the last checkpoint.
    pub replayed: u64,
    /// Batches or records that were begun and not finished. They were never durable.
    pub dropped: u64,
    /// Descriptions of durable content that was lost.
    pub losses: Vec<String>,
    /// Copies of superblocks, of the table of checksums, of the bitmap and of journal records that are damaged while
    /// another copy is intact. Assembling the array for writing repairs or voids them.
    pub damaged: Vec<DamagedCopy>,
    /// The results for offered devices without superblocks; empty unless reconstruction was requested.
    pub reconstructed: Vec<Reconstructed>,
    /// Pages read.
    pub pages_read: u64,
}

/// Why an array is not created or not assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The scheme has no meaning over these members.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The devices are no array, or too little of one, or assembly would lose durable content: the reason, and the remedy.
    #[error("{0}")]
    Refused(String),
    /// A member failed, so that creation or assembly cannot continue.
    #[error("{0}")]
    Failed(String),
}

/// Writes an empty array of `scheme` over all devices that `media` offers.
///
/// # Errors
/// The scheme has no meaning over these members, or a member cannot be written.
pub fn create(
    scheme: &Scheme,
    members: Members,
    identity: &Identity,
    media: &mut dyn Media,
) -> Result<(), AssembleError> {
    let refuse = |reason: String| Err(AssembleError::Refused(reason));
    if scheme.metadata == Metadata::Off {
        return refuse(format!(
            "scheme `{}` has metadata = \"off\", so nothing of its array could be found again; use \"on\"",
            scheme.name
        ));
    }
    let count = members.count as usize;
    if count > SUPERBLOCK_MEMBERS_MAX {
        return refuse(format!("{count} members are too many; use at most {SUPERBLOCK_MEMBERS_MAX}"));
    }
    if identity.members.len() != count || usize::from(media.count()) != count {
        return refuse(format!(
            "{} members are offered and {} named for an array of {count}; make them as many",
            media.count(),
            identity.members.len()
        ));
    }
    if identity.name.len() > NAME_BYTES_MAX {
        return refuse(format!("the name has {} bytes; use at most {NAME_BYTES_MAX}", identity.name.len()));
    }
    let (settings, room) = (scheme.to_settings().len(), settings_bytes_max(VERSION, count));
    if settings > room {
        return refuse(format!(
            "the settings of scheme `{}` take {settings} bytes, and superblocks of {count} members have room for {room}; change \
             fewer settings, or use fewer members",
            scheme.name
        ));
    }
    for (what, name) in [("name", &identity.name), ("scheme's name", &scheme.name)] {
        if !is_plain(name) {
            let shown = visible(name);
            return refuse(format!("the {what} \"{shown}\" has control characters; use others"));
        }
    }
    let geometry = scheme.resolve(&members, true)?;
    match scheme.placement.policy {
        PlacementPolicy::Elastic => log::create(scheme, &members, &geometry, identity, media),
        PlacementPolicy::InPlace => in_place::create(scheme, &members, &geometry, identity, media),
        PlacementPolicy::ParityLogging | PlacementPolicy::McRais => {
            refuse("arrays of this placement cannot be created; use \"elastic\" or \"in-place\"".into())
        }
    }
}

/// Whether an array of `scheme` over such members leaves a page between its areas for the owner. If not, an array that
/// uses one page less of each member has the page after its used pages.
///
/// # Errors
/// The scheme has no meaning over these members.
pub fn leaves_room_for_owner(scheme: &Scheme, members: Members) -> Result<bool, AssembleError> {
    let geometry = scheme.resolve(&members, true)?;
    let identity = Identity::unnamed(members.count);
    let superblock = match scheme.placement.policy {
        PlacementPolicy::Elastic => {
            let layout = scheme.log_layout(&members).unwrap_or_default();
            superblock_of_log(scheme, &members, &geometry, &layout, &identity)
        }
        _ => match scheme.in_place_layout(&members, &geometry)? {
            Some(layout) => superblock_in_place(scheme, &members, &geometry, &layout, &identity),
            None => return Ok(false),
        },
    };
    Ok(superblock.free_page().is_some())
}

/// The number of pages of the smallest device that `media` offers.
fn smallest(media: &dyn Media) -> u32 {
    (0..media.count()).map(|member| media.size(member).0).min().unwrap_or(0)
}

impl<M: Memory> Array<M> {
    /// Assembles the array that `media` offers, in any order, and returns its controller. At most as many members may be
    /// absent, stale or failed as its parity tolerates. The controller can serve at once; [`Self::resume`] continues the
    /// rebuild of a member, if that was interrupted.
    ///
    /// # Errors
    /// The reason of the refusal, and the remedy.
    pub fn open(
        scheme: &Scheme,
        members: Members,
        memory: M,
        media: &mut dyn Media,
        opening: AssemblyOptions,
    ) -> Result<(Self, RecoveryReport), AssembleError> {
        let mut media = Watched::new(media);
        let mut memory = Some(memory);
        let mut first = None;
        loop {
            let result = Self::open_watched(scheme, members, &mut memory, &mut media, opening);
            match result {
                // A member that cannot be written is treated as absent: the steps begun with it do not count.
                Err(AssembleError::Failed(reason)) if media.give_up() => {
                    first.get_or_insert(reason);
                }
                Err(AssembleError::Refused(why)) if first.is_some() => {
                    return Err(AssembleError::Failed(format!("{}; {why}", first.unwrap_or_default())));
                }
                result => return result,
            }
        }
    }

    fn open_watched(
        scheme: &Scheme,
        members: Members,
        memory: &mut Option<M>,
        media: &mut dyn Media,
        opening: AssemblyOptions,
    ) -> Result<(Self, RecoveryReport), AssembleError> {
        let mut offered = superblocks::read_all(media);
        if let Some(newer) = offered.iter().find_map(|copies| copies.newer.as_ref()) {
            return Err(AssembleError::Refused(newer.to_string()));
        }
        let reconstructed = reconstruct_superblocks(scheme, &members, media, &mut offered, &opening)?;
        let assembly = assemble::assemble(&offered).map_err(|error| with_blanks(error, &reconstructed))?;
        if assembly.superblock.is_read_only() && !opening.read_only {
            let unknown = assembly.superblock.features.unknown(FeatureClass::ReadOnly);
            return Err(AssembleError::Refused(format!(
                "the array has {unknown}, which this program does not know, so it can read the array and not write it; open it \
                 read-only, or use a newer program"
            )));
        }
        if assembly.epoch.max(assembly.superblock.epoch) + 1 >= EPOCHS_MAX && !opening.read_only {
            return Err(AssembleError::Refused(
                "the array was assembled as often as its epochs allow; assemble it read-only and copy it to another".into(),
            ));
        }
        if !opening.read_only {
            check_next("update", assembly.update, NUMBERS_BEGIN_MAX)?;
        }
        superblocks::check_scheme(&assembly.superblock, scheme, &members)?;
        let unfinished = assembly.unfinished(&offered);
        if !opening.read_only && unfinished.iter().any(Option::is_some) {
            // The last update was interrupted. Until it is complete, some members have only front copies of it; and these
            // may still be in volatile memory, if the interruption was not a power loss.
            let present: Vec<u16> = assembly.positions.iter().flatten().copied().collect();
            superblocks::flush(media, &present)?;
            superblocks::write_copies(media, &assembly.superblock, &unfinished, Copy::Back)?;
        }
        let opened = match scheme.placement.policy {
            PlacementPolicy::Elastic => log::open(scheme, members, memory, media, &assembly, opening),
            PlacementPolicy::InPlace => in_place::open(scheme, members, memory, media, &assembly, opening),
            PlacementPolicy::ParityLogging | PlacementPolicy::McRais => {
                Err(AssembleError::Refused("arrays of this placement cannot be opened".into()))
            }
        };
        opened.map(|(mut array, mut opened)| {
            let (superblock, positions) = (&assembly.superblock, &opened.positions);
            let size = |member| media.size(member);
            opened.damaged.extend(damage::of_superblocks(&offered, superblock, positions, size));
            opened.reconstructed = reconstructed;
            if opening.read_only {
                array.exec.only_read();
            }
            (array, opened)
        })
    }
}

/// Makes superblocks for offered devices that have none, if that was requested.
fn reconstruct_superblocks(
    scheme: &Scheme,
    members: &Members,
    media: &mut dyn Media,
    offered: &mut [superblocks::Copies],
    opening: &AssemblyOptions,
) -> Result<Vec<Reconstructed>, AssembleError> {
    let Some(model) = reconstruct::model_of(offered)
        .filter(|_| reconstruct::is_asked(opening) && reconstruct::is_wanted(offered))
    else {
        return Ok(Vec::new());
    };
    superblocks::check_scheme(&model, scheme, members)?;
    let geometry = scheme.resolve(members, true)?;
    let layout = scheme.in_place_layout(members, &geometry)?;
    let mut remains = reconstruct::Remains { media, geometry: &geometry, layout, named: opening.named };
    remains.reconstruct(model, offered)
}

/// Adds the findings about devices without superblocks to the reason of a refusal.
fn with_blanks(error: AssembleError, reconstructed: &[Reconstructed]) -> AssembleError {
    let AssembleError::Refused(reason) = error else { return error };
    let left = reconstructed.iter().filter(|one| !one.is_taken());
    let words = left.map(|one| format!("; of offered member {}: {one}", one.offered));
    AssembleError::Refused(words.fold(reason, |reason, more| reason + &more))
}

/// Refuses to write after `number`, the last of its kind, unless it is below `most`: otherwise there would eventually be
/// no next number.
fn check_next(what: &str, number: u64, most: u64) -> Result<(), AssembleError> {
    if number < most {
        return Ok(());
    }
    Err(AssembleError::Refused(format!(
        "the last {what} has the number {number}, and from {most} on the last of all is too near; open the array \
         read-only and copy it to another"
    )))
}

impl Identity {
    /// The identity of an array that will never be assembled again.
    pub(crate) fn unnamed(members: u32) -> Self {
        let named = |member: u32| Uuid((u128::from(member) + 1).to_be_bytes());
        Self { array: Uuid([0xff; 16]), members: (0..members).map(named).collect(), name: String::new() }
    }
}
