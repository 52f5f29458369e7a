//! Folders that only their user may enter: their content says where arrays are, and who may stop them.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::failure::{Failure, Outcome};

/// Whether the folder may be a symbolic link to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// It may: systemd creates folders of state as links.
    Followed,
    /// It may not: the owner of the link could lead it elsewhere.
    Refused,
}

/// Creates a folder that only its user may enter, unless it exists.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// As [`make_private`], and refuses an existing folder into which others could put files.
pub(super) fn make_own(folder: &Path, links: Links) -> Outcome {
    let path = folder.display();
    let fail = |what: &str, error| Failure::failed(format!("cannot {what} folder `{path}`: {error}"));
    let elsewhere = "or name another by --state-dir or --runtime-dir";
    make_private(folder).map_err(|error| fail("make", error))?;
    if links == Links::Refused
        && fs::symlink_metadata(folder).map_err(|error| fail("look at", error))?.is_symlink()
    {
        return Err(Failure::failed(format!("folder `{path}` is a link; remove it, {elsewhere}")));
    }
    let mut flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    flags.set(OFlags::NOFOLLOW, links == Links::Refused);
    let opened = rustix::fs::open(folder, flags, Mode::empty()).map(File::from);
    let found = opened.map_err(Into::into).and_then(|opened| opened.metadata());
    let found = found.map_err(|error| fail("look at", error))?;
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user && found.uid() != 0 {
        return Err(Failure::failed(format!(
            "folder `{path}` belongs to user {}, who could replace what is in it; `chown {user} {path}`, {elsewhere}",
            found.uid()
        )));
    }
    if found.mode() & 0o022 != 0 {
        return Err(Failure::failed(format!(
            "others may write to folder `{path}` (mode {:04o}), and could replace what is in it; `chmod go-w {path}`, \
             {elsewhere}",
            found.mode() & 0o7777
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_new_folder_is_its_users_alone_and_one_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (new, shared) = (folder.path().join("a/b"), folder.path().join("shared"));
        make_own(&new, Links::Refused).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!((mode(&new), mode(new.parent().unwrap())), (0o700, 0o700));
        make_own(&new, Links::Refused).expect("it is there now");
        fs::create_dir(&shared).unwrap();
        for (bits, is_refused) in [(0o755, false), (0o775, true), (0o777, true), (0o1777, true)] {
            fs::set_permissions(&shared, fs::Permissions::from_mode(bits)).unwrap();
            let refused = make_own(&shared, Links::Refused).err();
            assert_eq!(refused.is_some(), is_refused, "{bits:o}: {refused:?}");
            assert!(refused.is_none_or(|why| why.message().contains("chmod go-w")), "{bits:o}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("a", &link).unwrap();
        make_own(&link, Links::Followed).unwrap();
        assert!(make_own(&link, Links::Refused).unwrap_err().message().contains("is a link"));
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&shared, Some(1000), None).unwrap();
        assert!(make_own(&shared, Links::Refused).unwrap_err().message().contains("belongs to user 1000"));
    }
}
