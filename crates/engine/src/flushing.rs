//! Which flushes reach a member: those that make something durable.
//!
//! A member keeps nothing in volatile memory if it is a file in memory, which ends with the machine anyway, or a block device
//! that the engine reaches directly and whose queue says that it writes through. Any other member is flushed if it has written
//! anything since its last flush began. The first flush of a member that was opened always reaches it: earlier writes may have
//! gone through the page cache. Assembly does not ask here: it always flushes.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FileType, fstat, major, minor};

/// Which flushes reach members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushes {
    /// Those of members that have something to make durable, as far as the system says.
    #[default]
    Auto,
    /// All of them, for devices that say that they write through and do not.
    Always,
}

/// What a member may have in volatile memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unflushed {
    flushes: Flushes,
    /// Whether nothing that it acknowledges is volatile from now on.
    writes_through: bool,
    /// Whether a write or a trim ended since its last flush began that may be volatile.
    has_written: bool,
    /// Flushes that it has begun and not ended.
    in_flight: u32,
    /// The bug that a test planted.
    #[cfg(test)]
    bug: Option<Bug>,
}

impl Unflushed {
    /// A member that has just been opened: what it was sent before may be volatile.
    pub(crate) fn new(flushes: Flushes, writes_through: bool) -> Self {
        Self {
            flushes,
            writes_through,
            has_written: true,
            in_flight: 0,
            #[cfg(test)]
            bug: None,
        }
    }

    /// Whether a flush would make anything durable that the member may have.
    pub(crate) fn is_volatile(&self) -> bool {
        self.flushes == Flushes::Always || !self.writes_through
    }

    /// A write or a trim ended, well or not.
    #[inline]
    pub(crate) fn changed(&mut self) {
        self.has_written |= !self.writes_through;
    }

    /// A flush is to begin. Returns false if it may be answered at once: nothing volatile was written since the last flush began,
    /// and that flush is over.
    pub(crate) fn begin(&mut self) -> bool {
        let is_needed = self.flushes == Flushes::Always
            || self.has_written && !(self.writes_through && self.has_bug(Bug::OpeningForgotten))
            || self.in_flight > 0 && !self.has_bug(Bug::NotAwaited);
        if is_needed {
            self.in_flight += 1;
            // A flush covers what ended before it began, and perhaps nothing else.
            self.has_written &= self.has_bug(Bug::ClearedAtEnd);
        }
        is_needed
    }

    /// A flush that had to begin ended, well or not.
    pub(crate) fn ended(&mut self, is_good: bool) {
        self.in_flight -= 1;
        self.has_written |= !is_good && !self.has_bug(Bug::FailureForgotten);
        if self.has_bug(Bug::ClearedAtEnd) {
            self.has_written = false;
        }
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn has_bug(&self, _: Bug) -> bool {
        false
    }

    #[cfg(test)]
    fn has_bug(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

/// Bugs that a test plants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// The mark of a write is cleared when a flush ends, and not when it begins.
    ClearedAtEnd,
    /// A flush is answered while an earlier one is in flight.
    NotAwaited,
    /// A flush that failed counts as one that made everything durable.
    FailureForgotten,
    /// A member that writes through is not flushed after it was opened.
    OpeningForgotten,
}

/// Whether the queue of a block device says that it writes through. False for anything else.
///
/// Source: the kernel's Documentation/ABI/stable/sysfs-block, `write_cache`.
pub(crate) fn writes_through(file: &File) -> bool {
    let Ok(found) = fstat(file) else { return false };
    if FileType::from_raw_mode(found.st_mode) != FileType::BlockDevice {
        return false;
    }
    let device = format!("{}:{}", major(found.st_rdev), minor(found.st_rdev));
    queue_writes_through(&Path::new("/sys/dev/block").join(device))
}

/// The same of a device's folder in sysfs. A partition uses the queue of its disk.
fn queue_writes_through(device: &Path) -> bool {
    let cache = |place: &str| std::fs::read_to_string(device.join(place));
    let found = cache("queue/write_cache").or_else(|_| cache("../queue/write_cache"));
    found.is_ok_and(|cache| cache.trim() == "write through")
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    /// A device with a volatile cache: what a write leaves is durable when a flush ends well that began after it.
    #[derive(Default)]
    struct Device {
        /// Writes that ended.
        ended: u32,
        /// Of those, the first that are durable.
        durable: u32,
        /// For each flush in flight, the writes that ended before it began.
        flushes: Vec<u32>,
    }

    /// What a device is, and what its queue says of it.
    #[derive(Clone, Copy, Debug)]
    enum Queue {
        WritesBack,
        WritesThrough,
        Lies,
    }

    /// Answers random flushes over such a device, some of which fail. Returns the first step in which an answer claimed more than
    /// is durable. Writes before the device was opened are volatile whatever its queue says.
    fn first_lie(seed: u64, bug: Option<Bug>, queue: Queue) -> Option<usize> {
        let mut prng = Prng::new(seed);
        let mut device = Device { ended: 3, ..Device::default() };
        let says_through = !matches!(queue, Queue::WritesBack);
        let mut unflushed = Unflushed { bug, ..Unflushed::new(Flushes::Auto, says_through) };
        (0..200).find(|_| match prng.below(4) {
            0 => {
                // A write that is durable when it ends adds nothing to what a flush must cover.
                device.ended += u32::from(!matches!(queue, Queue::WritesThrough));
                unflushed.changed();
                false
            }
            1 | 2 if unflushed.begin() => {
                device.flushes.push(device.ended);
                false
            }
            // It is answered at once.
            1 | 2 => device.durable < device.ended,
            _ if device.flushes.is_empty() => false,
            _ => {
                let covered = device.flushes.swap_remove(prng.below(device.flushes.len() as u64) as usize);
                let is_good = prng.chance(4, 5);
                if is_good {
                    device.durable = device.durable.max(covered);
                }
                unflushed.ended(is_good);
                false
            }
        })
    }

    #[test]
    fn a_flush_that_is_answered_at_once_has_nothing_to_make_durable() {
        for queue in [Queue::WritesBack, Queue::WritesThrough] {
            assert_eq!((0..2_000).find_map(|seed| first_lie(seed, None, queue)), None, "{queue:?}");
        }
    }

    #[test]
    fn the_search_finds_every_planted_bug_and_a_queue_that_lies() {
        let found = |bug, queue| (0..100).any(|seed| first_lie(seed, bug, queue).is_some());
        for bug in [Bug::ClearedAtEnd, Bug::NotAwaited, Bug::FailureForgotten] {
            assert!(found(Some(bug), Queue::WritesBack), "{bug:?}");
        }
        assert!(found(Some(Bug::OpeningForgotten), Queue::WritesThrough), "not flushed after it was opened");
        assert!(found(None, Queue::Lies), "the queue lies");
    }

    #[test]
    fn flushes_are_spared_where_nothing_was_written_or_is_volatile() {
        let mut disk = Unflushed::new(Flushes::Auto, false);
        assert!(disk.begin(), "what it was sent before it was opened may be volatile");
        disk.ended(true);
        assert!(!disk.begin(), "nothing was written since");
        disk.changed();
        assert!(disk.begin() && disk.is_volatile());
        let mut memory = Unflushed::new(Flushes::Auto, true);
        assert!(memory.begin(), "so may this");
        memory.ended(true);
        memory.changed();
        assert!(!memory.begin() && !memory.is_volatile());
        let mut doubted = Unflushed::new(Flushes::Always, true);
        assert!(doubted.begin() && doubted.begin() && doubted.is_volatile());
    }

    #[test]
    fn the_queue_of_a_disk_or_of_a_partitions_disk_says_whether_it_writes_through() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, partition) = (folder.path().join("sda"), folder.path().join("sda/sda1"));
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(&partition).unwrap();
        assert!(!queue_writes_through(&disk), "it says nothing");
        for (text, through) in [("write through\n", true), ("write back\n", false), ("none\n", false)] {
            std::fs::write(disk.join("queue/write_cache"), text).unwrap();
            assert_eq!(
                (queue_writes_through(&disk), queue_writes_through(&partition)),
                (through, through),
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_is_no_device_that_writes_through() {
        assert!(!writes_through(&tempfile::tempfile().unwrap()));
    }
}
