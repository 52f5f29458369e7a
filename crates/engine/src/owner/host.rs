//! The identity of this host.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use stripewise_array::format::Uuid;

use crate::uuid::random_uuid;

/// Where Linux keeps the identifier of a machine (`machine-id(5)`).
const MACHINE_ID: &str = "/etc/machine-id";

/// A host, as arrays identify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The identifier; no other host has the same.
    pub id: Uuid,
    /// The name of the host.
    pub name: String,
}

impl Host {
    /// This host, as `array` identifies it: by its machine identifier, hashed with the array's, since `machine-id(5)`
    /// asks not to expose the identifier itself. If there is none, by random bytes that are kept in the file
    /// `fallback`.
    ///
    /// # Errors
    /// When there is neither, and no random identifier can be kept.
    pub fn here(array: Uuid, fallback: &Path) -> io::Result<Self> {
        Self::from_files(array, Path::new(MACHINE_ID), fallback)
    }

    fn from_files(array: Uuid, machine: &Path, fallback: &Path) -> io::Result<Self> {
        let known = |path: &Path| {
            std::fs::read(path).ok().map(|id| id.trim_ascii().to_vec()).filter(|id| id.len() >= 32)
        };
        let secret = match known(machine).or_else(|| known(fallback)) {
            Some(secret) => secret,
            None => keep_random(fallback)?,
        };
        let mut hasher = blake3::Hasher::new_derive_key("stripewise 2026 host of an array");
        hasher.update(&array.0).update(&secret);
        let mut id = [0; 16];
        hasher.finalize_xof().fill(&mut id);
        Ok(Self { id: Uuid(id), name: name() })
    }
}

/// Draws a random identifier for this host and keeps it in a file.
fn keep_random(path: &Path) -> io::Result<Vec<u8>> {
    let id = random_uuid().map_err(io::Error::other)?.to_string().into_bytes();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(mut file) => {
            file.write_all(&id)?;
            file.sync_all()?;
            Ok(id)
        }
        // Another command created the file in between, or its content is no identifier.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match std::fs::read(path)?.trim_ascii() {
            id if id.len() >= 32 => Ok(id.to_vec()),
            _ => Err(io::Error::other(format!("`{}` holds no identifier; remove it", path.display()))),
        },
        Err(error) => Err(error),
    }
}

/// The name of this host.
fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_to_an_array_always_and_another_one_to_another_array() {
        let folder = tempfile::tempdir().unwrap();
        let (machine, fallback) = (folder.path().join("machine-id"), folder.path().join("state/host-id"));
        let host = |array: u8| Host::from_files(Uuid([array; 16]), &machine, &fallback).unwrap();
        let kept = host(1);
        assert_eq!(host(1), kept, "it is kept where the machine has none");
        assert_ne!(host(2).id, kept.id);
        std::fs::write(&machine, "0123456789abcdef0123456789abcdef\n").unwrap();
        let known = host(1);
        assert_ne!(known.id, kept.id, "the machine's own counts");
        assert_eq!(host(1), known);
        std::fs::write(&machine, "uninitialized\n").unwrap();
        assert_eq!(host(1), kept, "what a machine has before its first boot is none");
        assert!(!kept.name.is_empty());
    }
}
