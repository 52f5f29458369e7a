//! Files and devices that are to become members. They are checked, opened and cleared on the thread of the request,
//! because the serving thread must not wait for a device.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use stripewise_array::MemberNo;
use stripewise_array::RejoinError;
use stripewise_array::format::Uuid;
use stripewise_engine::{FileError, FileMedia, MemberFile, Returning, Store};

use crate::control::ControlError;
use crate::signature::{Taken, clear, inspect};

/// The place that a file or device is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateRole {
    /// That of a member that is out of service.
    Member(MemberNo),
    /// A hot spare: that of the first member that fails.
    Spare,
}

/// The requirements of an array for a new member.
#[derive(Debug)]
pub(crate) struct Vacancy {
    pub(crate) page_bytes: u32,
    /// Pages that the array uses of each member.
    pub(crate) pages: u32,
    /// The UUIDs of the array and of the member that is out of service, by which a returning member is recognized.
    pub(crate) own: Option<(Uuid, Uuid)>,
    /// The paths of the members in service.
    pub(crate) living: Vec<PathBuf>,
}

/// Why a file or device cannot become a member.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    /// The array does not accept one now.
    #[error(transparent)]
    Refused(#[from] ControlError),
    /// The file cannot be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has content, or the system uses it.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// It is too small.
    #[error("`{}`: {error}", path.display())]
    Small { path: PathBuf, error: RejoinError },
    /// A folder, a pipe, or the like.
    #[error("`{}` is neither a file nor a block device; name one", .0.display())]
    Strange(PathBuf),
    /// A symbolic link whose target does not exist.
    #[error("`{}` is a link that leads nowhere; name the device itself, or wait until it is there", .0.display())]
    Dangling(PathBuf),
    /// A new file there would be in memory.
    #[error("there is no device `{}`, and no file is made below /dev; check the name", .0.display())]
    NoDevice(PathBuf),
    /// New files are created only for arrays of files.
    #[error(
        "`{}` does not exist, and a file is made only where all members in service are files; check the name, or make the file \
         yourself",
        .0.display()
    )]
    NoFile(PathBuf),
    /// The operating system refused.
    #[error("cannot {what} `{}`: {error}", path.display())]
    Io { what: &'static str, path: PathBuf, error: io::Error },
}

impl From<Unfit> for ControlError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Refused(error) => error,
            other => Self::refused(other.to_string()),
        }
    }
}

/// A file or device that is ready to take its place. A file that was created for it is removed again if it is not
/// accepted.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) place: CandidateRole,
    pub(crate) file: MemberFile,
    /// Its superblocks, if it is the returning member itself.
    pub(crate) returned: Option<Returning>,
    pub(crate) made: Option<NewFile>,
}

impl Candidate {
    /// A file for `place`, with its superblocks. Dropping it, most likely in the serving thread, does not wait for its
    /// device.
    fn ready(
        place: CandidateRole,
        mut file: MemberFile,
        returned: Option<Returning>,
        made: Option<NewFile>,
    ) -> Self {
        file.close_aside();
        file.forget_cache();
        Self { place, file, returned, made }
    }

    /// Opens `path` for `place`, and clears its content if `force` is set. A file that does not exist is created if the
    /// array's members are files. `vacancy` asks the array for its requirements, and is called once more before
    /// anything is cleared.
    ///
    /// # Errors
    /// Why the file cannot be accepted. It is unchanged then, unless clearing itself failed.
    pub(crate) fn prepare(
        place: CandidateRole,
        path: &Path,
        force: bool,
        mut vacancy: impl FnMut() -> Result<Vacancy, ControlError>,
    ) -> Result<Self, Unfit> {
        let Vacancy { page_bytes, pages, own, living } = vacancy()?;
        if !is_there(path)? {
            refuse_to_make(path, &living)?;
            let file = MemberFile::create(path, u64::from(pages) * u64::from(page_bytes), page_bytes)?;
            let made = Some(NewFile::of(&file));
            return Ok(Self::ready(place, file, None, made));
        }
        // Locked before it is checked, and until it is accepted: another engine may have it open, and its path may
        // change.
        let file = MemberFile::open(path, page_bytes)?;
        let is_own = |its: &Returning| !force && own == Some((its.superblock.array, its.superblock.uuid));
        if let Some(returned) = FileMedia::returning(&file)?.filter(is_own) {
            return Ok(Self::ready(place, file, Some(returned), None));
        }
        let holds = inspect(&file, force)?;
        if file.pages() < pages {
            let error = RejoinError::TooSmall { pages: file.pages(), needed: pages };
            return Err(Unfit::Small { path: path.into(), error });
        }
        if holds.is_some() {
            vacancy()?;
            clear(&file)?;
        }
        Ok(Self::ready(place, file, None, None))
    }
}

/// A file that was created, and is removed when this value is dropped, if it is still at its path.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    /// Device and inode.
    identity: Option<(u64, u64)>,
}

impl NewFile {
    fn of(file: &MemberFile) -> Self {
        let found = rustix::fs::fstat(file).ok().map(|found| (found.st_dev, found.st_ino));
        Self { path: file.path().to_owned(), identity: found }
    }

    /// Keeps the file.
    pub(crate) fn keep(mut self) {
        self.identity = None;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // A file that replaced it belongs to another program.
        let found = fs::symlink_metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        if self.identity.is_some()
            && found == self.identity
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "a new file that was not taken cannot be removed");
        }
    }
}

/// Whether the file or device exists.
fn is_there(path: &Path) -> Result<bool, Unfit> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() || found.file_type().is_block_device() => Ok(true),
        Ok(_) => Err(Unfit::Strange(path.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            // It was created just now, or the link has no target. In neither case is the path free.
            Ok(_) => Err(Unfit::Dangling(path.into())),
            Err(_) => Ok(false),
        },
        Err(error) => Err(Unfit::Io { what: "look at", path: path.into(), error }),
    }
}

/// Refuses a new file where a device is meant: a misspelt name in /dev would become a file in memory.
fn refuse_to_make(path: &Path, living: &[PathBuf]) -> Result<(), Unfit> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| Unfit::Io {
        what: "look at the folder of",
        path: path.into(),
        error,
    })?;
    // Files in /dev/shm are in memory by intent.
    if folder.starts_with("/dev") && !folder.starts_with("/dev/shm") {
        return Err(Unfit::NoDevice(path.into()));
    }
    let is_file = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file());
    if living.is_empty() || !living.iter().all(is_file) {
        return Err(Unfit::NoFile(path.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u32 = 1024;

    /// The requirements of an array of files, with the members `living`.
    fn vacancy(living: &[&Path]) -> Result<Vacancy, ControlError> {
        let living = living.iter().map(PathBuf::from).collect();
        Ok(Vacancy { page_bytes: 4096, pages: PAGES, own: None, living })
    }

    fn refused(path: &Path, force: bool, living: &[&Path]) -> String {
        let result = Candidate::prepare(CandidateRole::Spare, path, force, || vacancy(living));
        result.expect_err("this must be refused").to_string()
    }

    #[test]
    fn a_file_is_made_among_files_alone_and_never_below_dev() {
        let folder = tempfile::tempdir().unwrap();
        let (member, new) = (folder.path().join("member"), folder.path().join("new"));
        fs::write(&member, "").unwrap();
        let misspelt = Path::new("/dev/stripewise-no-such-device");
        let result = refused(misspelt, true, &[&member]);
        assert!(result.contains("no device") && !misspelt.exists(), "{result}");
        for living in [&[&member, Path::new("/dev/null")][..], &[]] {
            let result = refused(&new, true, living);
            assert!(result.contains("only where all members in service are files"), "{result}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("gone", &link).unwrap();
        let result = refused(&link, true, &[&member]);
        assert!(result.contains("leads nowhere") && !folder.path().join("gone").exists(), "{result}");
        assert!(refused(folder.path(), true, &[&member]).contains("neither a file nor"));
        assert!(refused(Path::new("/dev/null"), true, &[&member]).contains("neither a file nor"));
        let made = Candidate::prepare(CandidateRole::Spare, &new, false, || vacancy(&[&member])).unwrap();
        assert_eq!(made.file.pages(), PAGES);
    }

    #[test]
    fn a_new_file_stays_only_if_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (member, new) = (folder.path().join("member"), folder.path().join("new"));
        fs::write(&member, "").unwrap();
        let prepared = || {
            Candidate::prepare(CandidateRole::Member(MemberNo::new(2)), &new, false, || vacancy(&[&member]))
                .unwrap()
        };
        drop(prepared());
        assert!(!new.exists());
        prepared().made.unwrap().keep();
        assert!(new.exists());
        fs::remove_file(&new).unwrap();
        // Another file took its place meanwhile.
        let made = prepared();
        fs::remove_file(&new).unwrap();
        fs::write(&new, "theirs").unwrap();
        drop(made);
        assert_eq!(fs::read(&new).unwrap(), b"theirs");
    }

    #[test]
    fn what_takes_the_path_of_a_candidate_before_it_is_cleared_holds_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("holds"), folder.path().join("away"));
        let bytes = |byte| vec![byte; PAGES as usize * 4096];
        fs::write(&path, bytes(7)).unwrap();
        let mut looks = 0;
        let result = Candidate::prepare(CandidateRole::Spare, &path, true, || {
            looks += 1;
            // The array is asked a second time just before the file is cleared.
            if looks == 2 {
                fs::rename(&path, &away).unwrap();
                fs::write(&path, bytes(9)).unwrap();
            }
            vacancy(&[])
        });
        let result = result.expect_err("it is not what was looked at").to_string();
        assert!(looks == 2 && result.contains("became another file while it was looked at"), "{result}");
        assert!(fs::read(&path).unwrap() == bytes(9) && fs::read(&away).unwrap() == bytes(7));
    }

    #[test]
    fn what_is_not_taken_holds_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("holds");
        let hold = |pages: u32| fs::write(&path, vec![7; pages as usize * 4096]).unwrap();
        let holds = || fs::read(&path).unwrap().iter().all(|&byte| byte == 7);
        hold(PAGES);
        let result = refused(&path, false, &[]);
        assert!(result.contains("holds something that is not zero") && holds(), "{result}");
        hold(PAGES - 1);
        let result = refused(&path, true, &[]);
        assert!(result.contains("use a larger one") && holds(), "{result}");
        hold(PAGES);
        // Another candidate was faster.
        let mut looks = 0;
        let result = Candidate::prepare(CandidateRole::Member(MemberNo::new(2)), &path, true, || {
            looks += 1;
            if looks == 1 { vacancy(&[]) } else { Err(ControlError::refused("member 3 is being rebuilt")) }
        });
        assert!(result.is_err_and(|error| error.to_string().contains("being rebuilt")) && holds());
        let taken = Candidate::prepare(CandidateRole::Member(MemberNo::new(2)), &path, true, || vacancy(&[]))
            .unwrap();
        assert!(taken.made.is_none() && !holds(), "what is forced is cleared");
        drop(taken);
        assert!(path.exists(), "a file that was there before is never removed");
    }
}
