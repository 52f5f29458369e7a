//! Detects the content of a file or device from its first and last bytes, before it becomes a member.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use stripewise_array::format::Superblock;
use stripewise_base::text::visible;
use stripewise_engine::{FileMedia, MemberFile};

/// Bytes at the beginning and at the end that are checked, and cleared with force. Every signature below lies in them.
const LOOKED_AT: u64 = 1 << 20;

/// The position of a magic number.
enum At {
    /// Bytes from the beginning.
    Front(usize),
    /// Bytes before the end.
    Back(usize),
}

use At::{Back, Front};

/// Magic numbers of contents that a disk may have, specific ones first. Source: the formats' own headers, as libblkid
/// knows them.
const MAGIC: [(&str, At, &[u8]); 37] = [
    ("a partition table (GPT)", Front(512), b"EFI PART"),
    ("a partition table (GPT)", Front(4096), b"EFI PART"),
    ("a partition table (GPT)", Back(512), b"EFI PART"),
    ("a partition table (GPT)", Back(4096), b"EFI PART"),
    ("an ext2, ext3 or ext4 file system", Front(0x438), b"\x53\xef"),
    ("an XFS file system", Front(0), b"XFSB"),
    ("a btrfs file system", Front(0x10040), b"_BHRfS_M"),
    ("an F2FS file system", Front(0x400), b"\x10\x20\xf5\xf2"),
    ("an EROFS file system", Front(0x400), b"\xe2\xe1\xf5\xe0"),
    ("a bcachefs or bcache device", Front(0x1018), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("a JFS file system", Front(0x8000), b"JFS1"),
    ("an NTFS file system", Front(3), b"NTFS    "),
    ("an exFAT file system", Front(3), b"EXFAT   "),
    ("a FAT file system", Front(0x36), b"FAT1"),
    ("a FAT file system", Front(0x52), b"FAT32"),
    ("an ISO 9660 file system", Front(0x8001), b"CD001"),
    ("a SquashFS file system", Front(0), b"hsqs"),
    ("a LUKS volume", Front(0), b"LUKS\xba\xbe"),
    ("a LUKS volume", Front(0x4000), b"SKUL\xba\xbe"),
    ("an LVM physical volume", Front(0), b"LABELONE"),
    ("an LVM physical volume", Front(512), b"LABELONE"),
    ("an LVM physical volume", Front(1024), b"LABELONE"),
    ("an LVM physical volume", Front(1536), b"LABELONE"),
    ("a member of a Linux md array", Front(0), b"\xfc\x4e\x2b\xa9"),
    ("a member of a Linux md array", Front(4096), b"\xfc\x4e\x2b\xa9"),
    ("a member of a Linux md array", Back(8192), b"\xfc\x4e\x2b\xa9"),
    ("a member of a Linux md array", Back(65536), b"\xfc\x4e\x2b\xa9"),
    ("swap space", Front(4086), b"SWAPSPACE2"),
    ("swap space", Front(4086), b"SWAP-SPACE"),
    ("swap space", Front(65526), b"SWAPSPACE2"),
    ("a ZFS device", Front(0x20000), b"\x0c\xb1\xba\x00\x00\x00\x00\x00"),
    ("a ZFS device", Front(0x20000), b"\x00\x00\x00\x00\x00\xba\xb1\x0c"),
    ("a BlueStore device", Front(0), b"bluestore block device"),
    ("a VDO device", Front(0), b"dmvdo001"),
    ("a QCOW2 image", Front(0), b"QFI\xfb"),
    ("a VMDK image", Front(0), b"KDMV"),
    ("a partition table (MBR) or boot sector", Front(510), b"\x55\xaa"),
];

/// The content of `path`, in words. None if its first and last mebibyte are zeros.
///
/// # Errors
/// When it cannot be read.
pub fn content(path: &Path) -> io::Result<Option<String>> {
    let block = FileMedia::superblock(path).map_err(|error| io::Error::other(error.trouble.to_string()))?;
    content_of(&File::open(path)?, block)
}

/// The content of a file, in words, given its superblock.
fn content_of(mut file: &File, block: Option<Superblock>) -> io::Result<Option<String>> {
    if let Some(block) = block {
        return Ok(Some(format!(
            "member {} of the array \"{}\" ({})",
            block.number,
            visible(&block.name),
            block.array
        )));
    }
    let bytes = file.seek(SeekFrom::End(0))?;
    let long = bytes.min(LOOKED_AT);
    let part = |from| -> io::Result<Vec<u8>> {
        let mut content = vec![0; long as usize];
        file.read_exact_at(&mut content, from)?;
        Ok(content)
    };
    let (front, back) = (part(0)?, part(bytes - long)?);
    for (what, at, magic) in &MAGIC {
        let held = match *at {
            Front(at) => front.get(at..),
            Back(at) => back.len().checked_sub(at).map(|at| &back[at..]),
        };
        if held.is_some_and(|held| held.starts_with(magic)) {
            return Ok(Some((*what).to_owned()));
        }
    }
    let is_zero = front.iter().chain(&back).all(|&byte| byte == 0);
    Ok((!is_zero).then(|| "something that is not zero".to_owned()))
}

/// Why a file or device is not accepted as a member.
#[derive(Debug, thiserror::Error)]
pub enum Taken {
    /// Its path leads to a different file than the one that was inspected.
    #[error(
        "`{}` became another file while it was looked at, and was left as it is; look what it is, and try again",
        .0.display()
    )]
    Replaced(PathBuf),
    /// It has content.
    #[error("`{}` holds {what}; `--force` takes it, and what it holds is lost", path.display())]
    Holds {
        /// The path.
        path: PathBuf,
        /// The content, in words.
        what: String,
    },
    /// It cannot be cleared.
    #[error("cannot clear `{}`: {error}", path.display())]
    Uncleared {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// The content of a file or device that is to become a member. It is open and locked, so that no other program uses it
/// from now on, and its path does not matter.
///
/// # Errors
/// When it cannot be read. When it has content, unless forced.
pub fn inspect(file: &MemberFile, force: bool) -> Result<Option<String>, Taken> {
    let path = file.path();
    let fail = |error| Taken::Unreadable { path: path.to_owned(), error };
    let block =
        FileMedia::superblock_in(file).map_err(|error| fail(io::Error::other(error.trouble.to_string())))?;
    match descriptor(file).and_then(|file| content_of(&file, block)).map_err(fail)? {
        Some(what) if !force => Err(Taken::Holds { path: path.to_owned(), what }),
        content => Ok(content),
    }
}

/// Overwrites with zeros the parts of the inspected, open file that could be mistaken for its old content: the first
/// and the last mebibyte.
///
/// # Errors
/// When its path leads to another file by now, and when it cannot be written.
pub fn clear(file: &MemberFile) -> Result<(), Taken> {
    let path = file.path();
    if !is_at_its_path(file) {
        return Err(Taken::Replaced(path.to_owned()));
    }
    let cleared = descriptor(file).and_then(|file| overwrite(&file));
    cleared.map_err(|error| Taken::Uncleared { path: path.to_owned(), error })
}

fn overwrite(mut file: &File) -> io::Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let zeros = vec![0; bytes.min(LOOKED_AT) as usize];
    for from in [0, bytes - zeros.len() as u64] {
        file.write_all_at(&zeros, from)?;
    }
    file.sync_all()
}

fn descriptor(file: &MemberFile) -> io::Result<File> {
    file.as_fd().try_clone_to_owned().map(File::from)
}

/// Whether the path of an open file still leads to it.
pub fn is_at_its_path(file: &MemberFile) -> bool {
    let identity = |found: fs::Metadata| match found.file_type().is_block_device() {
        true => (0, found.rdev()),
        false => (found.dev(), found.ino()),
    };
    let own = descriptor(file).and_then(|file| file.metadata());
    match (own, fs::metadata(file.path())) {
        (Ok(own), Ok(named)) => identity(own) == identity(named),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_of(bytes: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        content(file.path()).unwrap()
    }

    #[test]
    fn every_signature_is_found_wherever_it_lies() {
        for (what, at, magic) in &MAGIC {
            let mut bytes = vec![0; 3 << 20];
            let at = match *at {
                Front(at) => at,
                Back(at) => bytes.len() - at,
            };
            bytes[at..at + magic.len()].copy_from_slice(magic);
            assert_eq!(content_of(&bytes).as_deref(), Some(*what));
        }
    }

    #[test]
    fn zeros_are_nothing_and_anything_else_is_something() {
        assert_eq!(content_of(&[]), None);
        assert_eq!(content_of(&[0; 700]), None);
        assert_eq!(content_of(&vec![0; 3 << 20]), None);
        let something = Some("something that is not zero");
        assert_eq!(content_of(&[0, 1]).as_deref(), something);
        let mut bytes = vec![0; 3 << 20];
        *bytes.last_mut().unwrap() = 1;
        assert_eq!(content_of(&bytes).as_deref(), something);
    }

    #[test]
    fn what_was_looked_at_is_cleared_and_never_what_took_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("a"), folder.path().join("away"));
        fs::write(&path, vec![7; 8192]).unwrap();
        let file = MemberFile::open(&path, 4096).unwrap();
        assert!(matches!(inspect(&file, false), Err(Taken::Holds { .. })));
        assert!(inspect(&file, true).unwrap().is_some() && is_at_its_path(&file));
        fs::rename(&path, &away).unwrap();
        let others = |path: &Path| fs::read(path).unwrap().iter().all(|&byte| byte == 9);
        for is_link in [false, true] {
            let other = folder.path().join("other");
            fs::write(&other, vec![9; 8192]).unwrap();
            match is_link {
                true => std::os::unix::fs::symlink(&other, &path).unwrap(),
                false => fs::rename(&other, &path).unwrap(),
            }
            assert!(matches!(clear(&file), Err(Taken::Replaced(_))));
            assert!(others(&path) && fs::read(&away).unwrap()[0] == 7, "nothing was cleared");
            fs::remove_file(&path).unwrap();
        }
        // Under another name it is the same file.
        std::os::unix::fs::symlink(&away, &path).unwrap();
        clear(&file).unwrap();
        assert_eq!(content(&path).unwrap(), None);
    }

    #[test]
    fn what_is_cleared_holds_nothing_at_its_ends_and_all_between() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for bytes in [100, 5 << 20] {
            fs::write(file.path(), vec![7; bytes]).unwrap();
            overwrite(file.as_file()).unwrap();
            assert_eq!(content(file.path()).unwrap(), None);
            let left = fs::read(file.path()).unwrap();
            assert_eq!(left.len(), bytes);
            assert_eq!(left.iter().filter(|&&byte| byte == 7).count(), bytes.saturating_sub(2 << 20));
        }
    }
}
