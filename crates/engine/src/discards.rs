//! Which trims a member receives: how block devices describe their discards, and how a run of trimmed pages is split
//! for them.
//!
//! Source: the kernel's Documentation/ABI/stable/sysfs-block: `discard_granularity`, `discard_max_bytes`,
//! `discard_alignment`, `write_zeroes_max_bytes`.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, fstat, major, minor};

/// The purpose of trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trims {
    /// Trimmed pages must read as zeros, as parity in place requires. Where no hole can be made, zeros are written.
    Zeros,
    /// Trimmed pages are not read before they are written again, as in a log. Only trims that help a member are issued.
    Advice,
}

/// How a member handles trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discards {
    /// It cannot make holes.
    Never,
    /// Any pages can become a hole.
    Any,
    /// It manages its space in larger granules.
    Granules {
        /// Bytes of a granule.
        bytes: u64,
        /// Offset of the first whole granule, less than the bytes of one.
        first: u64,
        /// Most bytes of one discard, in whole granules.
        most: u64,
        /// Whether discarded bytes read as zeros. Else their content is undefined.
        makes_zeros: bool,
    },
}

/// The next part of a run of trimmed pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Leave this many pages as they are.
    Leave(u32),
    /// Make a hole of this many pages, or discard them if the device's discards make no zeros.
    Hole(u32),
    /// Write zeros to this many pages.
    Zeros(u32),
}

impl Discards {
    /// How an open file or block device handles trims.
    pub(crate) fn of(file: &File) -> Self {
        match fstat(file) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice => {
                let device = format!("{}:{}", major(found.st_rdev), minor(found.st_rdev));
                Self::read(&Path::new("/sys/dev/block").join(device))
            }
            // Punching a hole shows whether the file system supports it.
            _ => Self::Any,
        }
    }

    /// Reads the limits of a device from its sysfs folder.
    fn read(device: &Path) -> Self {
        let number = |name: &str| -> io::Result<u64> {
            let text = std::fs::read_to_string(device.join(name))?;
            text.trim().parse().map_err(io::Error::other)
        };
        // A partition uses the queue of its disk.
        let queue =
            |name: &str| number(&format!("queue/{name}")).or_else(|_| number(&format!("../queue/{name}")));
        let Ok(bytes) = queue("discard_granularity") else { return Self::Any };
        let most = queue("discard_max_bytes").unwrap_or(0);
        if bytes == 0 || most == 0 {
            return Self::Never;
        }
        let first = number("discard_alignment").unwrap_or(0) % bytes;
        let makes_zeros = queue("write_zeroes_max_bytes").unwrap_or(0) > 0;
        Self::Granules { bytes, first, most: (most / bytes).max(1).saturating_mul(bytes), makes_zeros }
    }

    /// Whether its holes read as zeros.
    pub(crate) fn makes_zeros(self) -> bool {
        matches!(self, Self::Any | Self::Granules { makes_zeros: true, .. })
    }

    /// Whether trims for this purpose are useful.
    pub(crate) fn serves(self, trims: Trims) -> bool {
        match trims {
            Trims::Zeros => self.makes_zeros(),
            Trims::Advice => self != Self::Never,
        }
    }

    /// The first part of `pages` trimmed pages from `page` on.
    pub(crate) fn cut(self, trims: Trims, page_bytes: u32, page: u32, pages: u32) -> Cut {
        let page_bytes = u64::from(page_bytes);
        let at_once = |most: u64| u32::try_from((most / page_bytes).max(1)).unwrap_or(u32::MAX);
        if !self.serves(trims) {
            return match trims {
                Trims::Advice => Cut::Leave(pages),
                Trims::Zeros => Cut::Zeros(pages),
            };
        }
        let Self::Granules { bytes, first, most, .. } = self else { return Cut::Hole(pages) };
        // A granule below two pages may have no whole page; looking for one gains nothing then.
        if trims == Trims::Zeros || bytes < 2 * page_bytes {
            return Cut::Hole(pages.min(at_once(most)));
        }
        let (from, to) = (u64::from(page), u64::from(page) + u64::from(pages));
        // The bounds of a granule need not be those of pages: a granule has the pages that lie wholly in it.
        let begin = |piece: u64| (first + piece * bytes).div_ceil(page_bytes);
        let end = |piece: u64| (first + piece * bytes) / page_bytes;
        // The first granule that begins in the run, and the first that does not end in it.
        let before = (from * page_bytes).checked_sub(page_bytes + first);
        let piece = before.map_or(0, |before| before / bytes + 1);
        let behind = ((to + 1) * page_bytes).checked_sub(first + 1);
        let whole = behind.map_or(0, |behind| behind / bytes);
        match begin(piece) {
            _ if piece >= whole => Cut::Leave(pages),
            start if start > from => Cut::Leave((start - from) as u32),
            _ => Cut::Hole((end(whole.min(piece + most / bytes)) - from) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs folder for disk `sda` and its first partition, with these files of the queue, and the folders by device
    /// number.
    fn sysfs(files: &[(&str, &str)], alignment: &str) -> (tempfile::TempDir, [std::path::PathBuf; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("devices/sda");
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(disk.join("sda1")).unwrap();
        for (name, content) in files {
            std::fs::write(disk.join("queue").join(name), content).unwrap();
        }
        std::fs::write(disk.join("discard_alignment"), "0\n").unwrap();
        std::fs::write(disk.join("sda1/discard_alignment"), alignment).unwrap();
        let links = ["8:0", "8:1"].map(|number| folder.path().join(number));
        std::os::unix::fs::symlink(&disk, &links[0]).unwrap();
        std::os::unix::fs::symlink(disk.join("sda1"), &links[1]).unwrap();
        (folder, links)
    }

    const FILES: [(&str, &str); 3] = [
        ("discard_granularity", "65536\n"),
        ("discard_max_bytes", "1000000\n"),
        ("write_zeroes_max_bytes", "33553920\n"),
    ];

    #[test]
    fn disks_and_partitions_say_what_they_make_of_discards() {
        let (_folder, [disk, partition]) = sysfs(&FILES, "69632\n");
        let most = 15 * 65536;
        assert_eq!(
            Discards::read(&disk),
            Discards::Granules { bytes: 65536, first: 0, most, makes_zeros: true }
        );
        assert_eq!(
            Discards::read(&partition),
            Discards::Granules { bytes: 65536, first: 4096, most, makes_zeros: true }
        );
        let without_zeros = Discards::Granules { bytes: 65536, first: 0, most, makes_zeros: false };
        for (missing, expected) in [(0, Discards::Never), (1, Discards::Never), (2, without_zeros)] {
            let mut files = FILES;
            files[missing].1 = "0\n";
            let (_folder, [disk, partition]) = sysfs(&files, "0\n");
            assert_eq!([Discards::read(&disk), Discards::read(&partition)], [expected; 2], "{missing}");
        }
        let (_folder, [disk, _]) = sysfs(&[], "0\n");
        assert_eq!(Discards::read(&disk), Discards::Any, "sysfs that says nothing, as in some containers");
        let (_folder, [disk, _]) =
            sysfs(&[("discard_granularity", "512"), ("discard_max_bytes", "much")], "0\n");
        assert_eq!(Discards::read(&disk), Discards::Never);
    }

    /// The pages that become holes, by walking over the parts; each page of the run is in exactly one part.
    fn holes(discards: Discards, trims: Trims, page_bytes: u32, page: u32, pages: u32) -> Vec<(u32, u32)> {
        let (mut at, end) = (page, page + pages);
        let mut holes = Vec::new();
        while at < end {
            let (count, is_hole) = match discards.cut(trims, page_bytes, at, end - at) {
                Cut::Leave(count) => (count, false),
                Cut::Hole(count) => (count, true),
                Cut::Zeros(_) => panic!("it makes holes"),
            };
            assert!(count > 0 && count <= end - at, "{discards:?} {page_bytes} {at} {end}: {count}");
            if is_hole {
                holes.push((at, count));
            }
            at += count;
        }
        holes
    }

    #[test]
    fn of_a_log_only_whole_pieces_are_discarded_as_many_at_once_as_the_device_takes() {
        let pieces =
            |makes_zeros| Discards::Granules { bytes: 65536, first: 4096, most: 2 * 65536, makes_zeros };
        let discards = pieces(true);
        // Granules begin at pages 1, 17, 33, 49 and 65.
        assert_eq!(holes(discards, Trims::Advice, 4096, 0, 70), [(1, 32), (33, 32)]);
        assert_eq!(holes(discards, Trims::Advice, 4096, 2, 30), []);
        assert_eq!(holes(discards, Trims::Advice, 4096, 17, 16), [(17, 16)]);
        assert_eq!(holes(discards, Trims::Advice, 4096, 18, 16), []);
        assert_eq!(
            holes(discards, Trims::Zeros, 4096, 2, 40),
            [(2, 32), (34, 8)],
            "all of them, and aligned or not"
        );
        assert_eq!(holes(pieces(false), Trims::Advice, 4096, 0, 70), [(1, 32), (33, 32)]);
        assert_eq!(
            pieces(false).cut(Trims::Zeros, 4096, 0, 70),
            Cut::Zeros(70),
            "anything may be read there"
        );
        assert_eq!(Discards::Never.cut(Trims::Advice, 4096, 3, 9), Cut::Leave(9));
        assert_eq!(Discards::Never.cut(Trims::Zeros, 4096, 3, 9), Cut::Zeros(9));
        assert_eq!(Discards::Any.cut(Trims::Advice, 4096, 3, 9), Cut::Hole(9));
    }

    proptest::proptest! {
        /// For any limits of a device: the split ends, holes lie in whole granules, and no whole granule is left out.
        #[test]
        fn every_whole_piece_becomes_a_hole_and_nothing_else(
            (page_bits, page, pages) in (9u32..16, 0u32..200, 1u32..200),
            (granule, first, times) in (1u64..200, 0u64..200, 1u64..5),
        ) {
            let (page_bytes, bytes) = (1u32 << page_bits, granule * 512);
            let (first, most) = (first * 512 % bytes, times * bytes);
            let discards = Discards::Granules { bytes, first, most, makes_zeros: page % 2 == 0 };
            let found = holes(discards, Trims::Advice, page_bytes, page, pages);
            let size = u64::from(page_bytes);
            if bytes < 2 * size {
                proptest::prop_assert_eq!(found.iter().map(|hole| hole.1).sum::<u32>(), pages);
                return Ok(());
            }
            // The granules by definition: those with pages in the run.
            let bound = |piece: u64| first + piece * bytes;
            let pieces = (0..=u64::from(page + pages) * size / bytes)
                .map(|piece| (bound(piece).div_ceil(size), bound(piece + 1) / size))
                .filter(|&(begin, end)| begin >= u64::from(page) && end <= u64::from(page + pages));
            let pieces: Vec<(u64, u64)> = pieces.collect();
            for page in page..page + pages {
                let is_hole = found.iter().any(|&(at, count)| (at..at + count).contains(&page));
                let is_whole = pieces.iter().any(|&(begin, end)| (begin..end).contains(&page.into()));
                // A page that two granules share is a hole where both are discarded at once.
                let is_between =
                    pieces.windows(2).any(|two| two[0].1 == u64::from(page) && two[1].0 == u64::from(page) + 1);
                proptest::prop_assert!(is_hole || !is_whole, "page {}", page);
                proptest::prop_assert!(is_whole || !is_hole || is_between, "page {}", page);
            }
            for &(_, count) in &found {
                proptest::prop_assert!(u64::from(count) * size <= most);
            }
        }
    }
}
