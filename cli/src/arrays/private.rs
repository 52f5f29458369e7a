//! Folders that their user alone may enter: what is in them says where arrays are, and who may stop them.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Makes a folder, where there is none, that its user alone may enter.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The same, and refuses a folder that is there and that others could put files into.
pub(super) fn make_own(folder: &Path) -> Outcome {
    let path = folder.display();
    let fail = |what: &str, error| Failure::failed(format!("cannot {what} folder `{path}`: {error}"));
    make_private(folder).map_err(|error| fail("make", error))?;
    let found = fs::metadata(folder).map_err(|error| fail("look at", error))?;
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user && found.uid() != 0 {
        return Err(Failure::failed(format!(
            "folder `{path}` belongs to user {}, who could replace what is in it; name another by --state-dir or --runtime-dir",
            found.uid()
        )));
    }
    if found.mode() & 0o022 != 0 {
        return Err(Failure::failed(format!(
            "others may write to folder `{path}` (mode {:04o}), and could replace what is in it; `chmod go-w {path}`, or name \
             another by --state-dir or --runtime-dir",
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
        make_own(&new).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!((mode(&new), mode(new.parent().unwrap())), (0o700, 0o700));
        make_own(&new).expect("it is there now");
        fs::create_dir(&shared).unwrap();
        for (bits, is_refused) in [(0o755, false), (0o775, true), (0o777, true), (0o1777, true)] {
            fs::set_permissions(&shared, fs::Permissions::from_mode(bits)).unwrap();
            let refused = make_own(&shared).err();
            assert_eq!(refused.is_some(), is_refused, "{bits:o}: {refused:?}");
            assert!(refused.is_none_or(|why| why.message().contains("chmod go-w")), "{bits:o}");
        }
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&shared, Some(1000), None).unwrap();
        assert!(make_own(&shared).unwrap_err().message().contains("belongs to user 1000"));
    }
}
