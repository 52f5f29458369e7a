//! Creation and assembly of an array: the content of the members becomes a controller that serves.

mod assemble;
#[cfg(test)]
mod chain_model;
mod check;
mod damage;
mod error;
mod evidence;
mod identity;
mod in_place;
mod in_place_deferred;
mod in_place_intent;
mod in_place_journal;
mod in_place_table;
mod install;
mod log;
mod named;
mod reconstruct;
mod report;
mod site;
mod superblocks;
mod upgrade;
mod walk;
mod watched;

use stripewise_base::text::{is_plain, visible};
use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::Media;
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_format::{
    EPOCHS_MAX, FeatureClass, NAME_BYTES_MAX, NUMBERS_BEGIN_MAX, Placement, SUPERBLOCK_MEMBERS_MAX, VERSION,
    settings_bytes_max,
};
use stripewise_scheme::{Metadata, Scheme};

use crate::array::Array;

use error::{check_losses, check_next};
use watched::Watched;

pub use check::{Checked, Trouble};
pub use error::AssembleError;
pub use identity::Identity;
pub use named::{NamedMembers, PAGES_PROVE, Reconstructed, Reconstruction};
pub use report::{AssemblyOptions, DamagedCopy, RecoveryReport};
pub(crate) use superblocks::{superblock_in_place, superblock_of_log};
pub use upgrade::Upgrade;

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
    match scheme.placement.facts().format {
        Some(Placement::Log) => log::create(scheme, &members, &geometry, identity, media),
        Some(Placement::InPlace) => in_place::create(scheme, &members, &geometry, identity, media),
        None => refuse("arrays of this placement cannot be created; use \"elastic\" or \"in-place\"".into()),
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
    let superblock = match scheme.placement.facts().format {
        Some(Placement::Log) => {
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
                Err(AssembleError::Failed(reason)) if media.remove_failed() => {
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
        if opening.unchained {
            offered.iter_mut().for_each(superblocks::Copies::forget_chain);
        }
        let reconstructed = reconstruct_superblocks(scheme, &members, media, &mut offered, &opening)?;
        let mut assembly =
            assemble::assemble(&offered).map_err(|error| with_blanks(error, &reconstructed))?;
        let taken = reconstructed.iter().filter(|one| one.is_taken()).filter_map(|one| one.member);
        assembly.reconstructed = taken.fold(0, |mask, member| mask | member.bit());
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
        if !opening.read_only {
            let flushes_late = opening.flushes_late || opening.has_bug(Bug::AssemblyNotFlushed);
            assembly.settle(&offered, media, flushes_late)?;
        }
        let opened = match scheme.placement.facts().format {
            Some(Placement::Log) => log::open(scheme, members, memory, media, &assembly, opening),
            Some(Placement::InPlace) => in_place::open(scheme, members, memory, media, &assembly, opening),
            None => Err(AssembleError::Refused("arrays of this placement cannot be opened".into())),
        };
        opened.map(|(mut array, mut opened)| {
            opened.damaged.extend(damage::of_superblocks(&offered, &opened.positions));
            opened.reconstructed = reconstructed;
            if opening.read_only {
                array.exec_mut().only_read();
            } else {
                superblocks::erase_moved(media, &offered, &assembly.superblock, &opened.positions);
            }
            if opening.unchained {
                array.exec_mut().doubt_none();
            }
            (array, opened)
        })
    }
}

/// Takes the members that `positions` lack out of `array`.
fn take_out_absent<M: Memory>(array: &mut Array<M>, positions: &[Option<u16>]) {
    for (member, position) in positions.iter().enumerate() {
        if position.is_none() {
            array.exec_mut().take_out(MemberNo::at(member));
        }
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
        .filter(|_| reconstruct::is_requested(opening) && reconstruct::is_wanted(offered))
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
