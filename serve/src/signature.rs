//! What a file or device holds, told from its first and last bytes, before it is made an element.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use stripewise_engine::FileMedia;

/// Bytes at the beginning, and at the end, that are looked at, and cleared by force. Every signature below lies in them.
const LOOKED_AT: u64 = 1 << 20;

/// Where a magic number lies.
enum At {
    /// So many bytes from the beginning.
    Front(usize),
    /// So many bytes before the end.
    Back(usize),
}

use At::{Back, Front};

/// Magic numbers of what a disk may hold, specific ones first. Source: the formats' own headers, as libblkid knows them.
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

/// What `path` holds, in words; none where its first and last mebibyte are zeros.
///
/// # Errors
/// When it cannot be read.
pub fn content(path: &Path) -> io::Result<Option<String>> {
    let found = FileMedia::superblock(path).map_err(|error| io::Error::other(error.trouble.to_string()))?;
    if let Some(block) = found {
        return Ok(Some(format!(
            "element {} of the array \"{}\" ({})",
            block.number, block.name, block.array
        )));
    }
    let mut file = File::open(path)?;
    let bytes = file.seek(SeekFrom::End(0))?;
    let long = bytes.min(LOOKED_AT);
    let mut part = |from| -> io::Result<Vec<u8>> {
        let mut content = vec![0; long as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut content)?;
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

/// Whether the system uses the block device, so that even force must not take it: mounted, swap, part of something else.
///
/// # Errors
/// When it cannot be opened for another reason.
fn is_in_use(path: &Path) -> io::Result<bool> {
    if !std::fs::metadata(path)?.file_type().is_block_device() {
        return Ok(false);
    }
    // Linux opens a block device exclusively only if nothing else holds it.
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    match OpenOptions::new().read(true).custom_flags(exclusive).open(path) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(true),
        other => other.map(|_| false),
    }
}

/// Why a file or device is not taken as an element.
#[derive(Debug, thiserror::Error)]
pub enum Taken {
    /// The system has it.
    #[error("`{}` is in use by the system (mounted, swap, or part of another device); force does not change that", .0.display())]
    InUse(PathBuf),
    /// It holds something.
    #[error("`{}` holds {what}; `--force` takes it, and what it holds is lost", path.display())]
    Holds {
        /// Which one.
        path: PathBuf,
        /// What, in words.
        what: String,
    },
    /// It cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// What a device or file holds that is to become an element.
///
/// # Errors
/// When the system uses it or it cannot be read; when it holds anything, unless forced.
pub fn inspect(path: &Path, force: bool) -> Result<Option<String>, Taken> {
    let fail = |error| Taken::Unreadable { path: path.to_owned(), error };
    if is_in_use(path).map_err(fail)? {
        return Err(Taken::InUse(path.to_owned()));
    }
    match content(path).map_err(fail)? {
        Some(what) if !force => Err(Taken::Holds { path: path.to_owned(), what }),
        content => Ok(content),
    }
}

/// Overwrites with zeros what could be taken for what was there before: the first and the last mebibyte.
///
/// # Errors
/// When it cannot be written.
pub fn clear(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let bytes = file.seek(SeekFrom::End(0))?;
    let zeros = vec![0; bytes.min(LOOKED_AT) as usize];
    for from in [0, bytes - zeros.len() as u64] {
        file.seek(SeekFrom::Start(from))?;
        file.write_all(&zeros)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        content(file.path()).unwrap()
    }

    #[test]
    fn every_signature_is_told_wherever_it_lies() {
        for (what, at, magic) in &MAGIC {
            let mut bytes = vec![0; 3 << 20];
            let at = match *at {
                Front(at) => at,
                Back(at) => bytes.len() - at,
            };
            bytes[at..at + magic.len()].copy_from_slice(magic);
            assert_eq!(told(&bytes).as_deref(), Some(*what));
        }
    }

    #[test]
    fn zeros_are_nothing_and_anything_else_is_something() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[0; 700]), None);
        assert_eq!(told(&vec![0; 3 << 20]), None);
        let something = Some("something that is not zero");
        assert_eq!(told(&[0, 1]).as_deref(), something);
        let mut bytes = vec![0; 3 << 20];
        *bytes.last_mut().unwrap() = 1;
        assert_eq!(told(&bytes).as_deref(), something);
    }

    #[test]
    fn what_is_cleared_holds_nothing_at_its_ends_and_all_between() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for bytes in [100, 5 << 20] {
            std::fs::write(file.path(), vec![7; bytes]).unwrap();
            clear(file.path()).unwrap();
            assert_eq!(content(file.path()).unwrap(), None);
            let left = std::fs::read(file.path()).unwrap();
            assert_eq!(left.len(), bytes);
            assert_eq!(left.iter().filter(|&&byte| byte == 7).count(), bytes.saturating_sub(2 << 20));
        }
        assert!(!is_in_use(file.path()).unwrap(), "a file is no device");
    }
}
