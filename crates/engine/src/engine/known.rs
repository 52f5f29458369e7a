//! What the engine knows about an array with metadata.

use stripewise_array::format::{Superblock, Uuid};

/// The identity of an array with metadata.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) array: Uuid,
    pub(super) name: String,
    pub(super) members: Vec<Uuid>,
}

impl Known {
    pub(super) fn of(superblock: &Superblock) -> Self {
        Self {
            array: superblock.array,
            name: superblock.name.clone(),
            members: superblock.members.iter().map(|member| member.uuid).collect(),
        }
    }
}
