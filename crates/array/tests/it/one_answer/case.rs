//! A case: an array with a history and with damage, and the content that hosts should read.

use std::collections::BTreeSet;

use stripewise_array::format::{Superblock, superblock_pages};
use stripewise_array::{
    Array, AssemblyOptions, Checked, Controller, Members, PRESETS, PageMemory, RequestKind, Scheme, Trouble,
};
use stripewise_base::prng::Prng;
use stripewise_core::ids::MemberNo;
use stripewise_testkit::Disk;

use super::damage::{self, Damage};

use crate::host::Host;

pub(crate) const PAGE: u32 = 1024;

/// The guarantees of a scheme.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    name: &'static str,
    pub(crate) parity: usize,
    pub(crate) is_log: bool,
    pub(crate) has_checksums: bool,
    groups: u64,
    /// The number of chunks whose parity may be deferred.
    window: u32,
}

const fn kind(name: &'static str, parity: usize, is_log: bool, has_checksums: bool) -> Kind {
    Kind { name, parity, is_log, has_checksums, groups: 1, window: 0 }
}

const KINDS: [Kind; 10] = [
    kind("durable-raid5", 1, false, true),
    kind("durable-raid6", 2, false, true),
    kind("durable-was", 1, true, true),
    kind("durable-raid6-was", 2, true, true),
    kind("bitmap-raid5", 1, false, false),
    kind("bitmap-raid6", 2, false, false),
    Kind { window: 6, ..kind("durable-raid5", 1, false, true) },
    Kind { window: 6, ..kind("durable-raid6", 2, false, true) },
    Kind { groups: 2, ..kind("durable-raid5", 1, false, true) },
    Kind { groups: 2, ..kind("durable-was", 1, true, true) },
];

impl Kind {
    fn scheme(self) -> String {
        if !self.has_checksums {
            let level = &self.name["bitmap-".len()..];
            return format!(
                "name = \"{}\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n[journal]\npolicy = \"intent-bitmap\"\n",
                self.name
            );
        }
        let (_, text) = PRESETS.iter().find(|(name, _)| *name == self.name).expect("it is a preset");
        let groups = format!("[geometry]\ngroups = {}\n", self.groups);
        let text =
            text.replace("[elastic]\n", "[elastic]\nsegment_rows = 8\n").replace("[geometry]\n", &groups);
        let window = format!("[parity]\nwindow = {}\n", self.window);
        text + if self.window > 0 { &window } else { "" }
    }

    fn pages(self) -> u32 {
        if self.is_log { 300 } else { 220 }
    }
}

/// The content that a read of a chunk may return.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    value: u8,
    /// In place, a trim is advisory: a trimmed chunk may return its old content.
    before: Option<u8>,
}

pub(crate) struct Example {
    pub(crate) random: Prng,
    pub(crate) kind: Kind,
    pub(crate) scheme: String,
    /// The members after the damage.
    pub(crate) disk: Disk,
    contents: Vec<Content>,
    /// Rows of an array without checksums with a changed page: the result of reading them is undefined.
    changed_rows: BTreeSet<u32>,
}

impl Example {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Prng::new(seed);
        let kind = KINDS[(seed % KINDS.len() as u64) as usize];
        let members = kind.groups * (kind.parity as u64 + 3 + random.below(3));
        let scheme = kind.scheme();
        let host = Host::create(&scheme, Disk::new(members as usize, kind.pages(), PAGE));
        let contents = vec![Content::default(); host.capacity() as usize];
        let disk = host.copy_of_disk();
        let mut case = Self { random, kind, scheme, disk, contents, changed_rows: BTreeSet::new() };
        case.live(host, members);
        case.damage();
        case
    }

    /// Writes, trims and flushes, with failures of members in between.
    fn live(&mut self, mut host: Host, members: u64) {
        let chunks = host.capacity();
        let span = 1 + self.random.below(chunks);
        let mut failed = 0;
        for _ in 0..self.random.below(250) {
            let among = if self.random.chance(1, 2) { span } else { chunks };
            let chunk = self.random.below(among);
            match self.random.below(100) {
                0..80 => {
                    let value = 1 + self.random.below(255) as u8;
                    host.write(chunk, value);
                    self.contents[chunk as usize] = Content { value, before: None };
                }
                80..88 => {
                    host.trim(chunk, 1);
                    let content = &mut self.contents[chunk as usize];
                    let before = if self.kind.is_log { None } else { content.before.or(Some(content.value)) };
                    *content = Content { value: 0, before };
                }
                88..95 => host.flush(),
                95..98 => {
                    host.flush();
                    host = host.lose_power();
                }
                _ if failed < self.kind.parity && self.random.chance(1, 4) => {
                    failed += 1;
                    host.fail(self.random.below(members) as u16);
                }
                _ => {}
            }
        }
        host.flush();
        if self.random.chance(1, 2) {
            host.begin_checkpoint();
        }
        host.finish();
        host.flush();
        self.disk = host.copy_of_disk();
    }

    /// Removes members, and damages pages of the rest.
    fn damage(&mut self) {
        let members = self.disk.members.len() as u64;
        if self.random.chance(1, 3) {
            for _ in 0..=self.random.below(self.kind.parity as u64 + 1) {
                self.disk.members[self.random.below(members) as usize].is_gone = true;
            }
        }
        for Damage { member, page, is_unreadable, row } in damage::draw(self) {
            let device = &mut self.disk.members[member];
            if is_unreadable {
                device.unreadable.insert(page);
                continue;
            }
            let content = &mut device.pages[page as usize];
            let before = content.clone();
            match self.random.below(2) {
                0 => content.fill(0),
                _ => content[self.random.below(PAGE.into()) as usize] ^= 1 << self.random.below(8),
            }
            if !self.kind.has_checksums && *content != before {
                self.changed_rows.insert(row);
            }
        }
    }

    /// The superblock of the first member that is present.
    pub(crate) fn superblock(&self) -> Superblock {
        let pages = superblock_pages(PAGE) as usize;
        let there = self.disk.members.iter().find(|member| !member.is_gone);
        let bytes = there.map_or_else(Vec::new, |member| member.pages[..pages].concat());
        Superblock::parse(&bytes).expect("superblocks are not damaged")
    }

    /// The findings of a check of the damaged members; `None` if there are too few of them. If the check is refused
    /// because updates must be replayed, the array is first assembled for writing.
    pub(crate) fn checked(&mut self) -> Option<(Checked, Vec<Trouble>)> {
        if let Some(found) = check(&self.scheme, &self.disk) {
            return Some(found);
        }
        let mut host = self.open()?;
        host.flush();
        host.finish();
        self.disk = host.copy_of_disk();
        assert!(!self.kind.is_log, "a log has nothing to be done again");
        Some(check(&self.scheme, &self.disk).expect("it is done again"))
    }

    /// The array over the damaged members; `None` if assembly is refused.
    pub(crate) fn open(&self) -> Option<Host> {
        let mut host = Host::try_open_as(&self.scheme, self.disk.clone(), AssemblyOptions::default()).ok()?;
        host.resume();
        host.finish();
        Some(host)
    }

    pub(crate) fn reopened(&self, disk: &Disk) -> Host {
        Host::open_as(&self.scheme, disk.clone())
    }

    /// Checks that reads of the chunks of `lost` fail, and that all others return the last written content.
    pub(crate) fn reads_fail_exactly_of(&self, host: &mut Host, lost: &BTreeSet<u64>, when: &str) {
        for chunk in 0..host.capacity() {
            let found = host.read_pattern(chunk);
            assert_eq!(
                found.is_none(),
                lost.contains(&chunk),
                "chunk {chunk}: {found:?}, {when}, {:?}",
                self.kind
            );
            let is_known = self.kind.has_checksums || !self.changed_rows.contains(&self.row_of(host, chunk));
            if let Some(found) = found.filter(|_| is_known) {
                let Content { value, before } = self.contents[chunk as usize];
                let is_right = found == Some(value) || before.is_some() && found == before;
                assert!(is_right, "chunk {chunk}: {found:?} and not {value}, {when}, {:?}", self.kind);
            }
        }
    }

    /// The row in place of a chunk, counted from the first page of the members.
    fn row_of(&self, host: &Host, chunk: u64) -> u32 {
        host.array.homes(chunk * u64::from(PAGE)).map_or(u32::MAX, |(.., page)| page)
    }

    /// Checks, after a scrub or a rebuild, that exactly `lost` is lost, and that no trouble remains that it could have
    /// repaired.
    pub(crate) fn after(&self, host: &mut Host, lost: &BTreeSet<u64>, when: &str) {
        let (checked, troubles) = check(&self.scheme, &host.copy_of_disk()).expect("it was opened");
        let still: BTreeSet<u64> = super::lost_of(&troubles);
        assert_eq!(still, *lost, "{when}, {:?}", self.kind);
        assert_eq!(checked.reduced, 0, "{when}: {troubles:?}, {:?}", self.kind);
        assert!(!lost.is_empty() || troubles.is_empty(), "{when}: {troubles:?}, {:?}", self.kind);
        self.reads_fail_exactly_of(host, lost, when);
    }

    /// Whether a chunk of `lost` is in a stripe or row that has a page on `member`.
    pub(crate) fn has_lost_on(&self, host: &Host, lost: &BTreeSet<u64>, member: u16) -> bool {
        if !self.kind.is_log {
            let width = (host.array.members() as u64 / self.kind.groups) as u16;
            let home =
                |chunk: u64| host.array.homes(chunk * u64::from(PAGE)).map(|(member, ..)| member.number());
            return lost.iter().any(|&chunk| home(chunk).is_some_and(|its| its / width == member / width));
        }
        host.array.stripes().iter().any(|stripe| {
            let is_lost = |chunk: Option<u64>| chunk.is_some_and(|chunk| lost.contains(&chunk));
            let places = |chunk: u64| host.array.chunk_in_log(chunk);
            stripe.columns.iter().any(|its| its.1 == MemberNo::new(member))
                && stripe.columns.iter().any(|&(_, member, page, chunk)| {
                    is_lost(chunk) && chunk.and_then(places) == Some((member, page))
                })
        })
    }

    /// Checks that everything is readable, whichever P members are absent.
    pub(crate) fn tolerates_any_loss(&mut self, disk: &Disk) {
        let members = disk.members.len();
        let first = self.random.below(members as u64) as usize;
        for second in (0..members).step_by(2) {
            let mut disk = disk.clone();
            disk.members[second].is_gone = true;
            if self.kind.parity > 1 {
                disk.members[first].is_gone = true;
            }
            let (checked, troubles) = check(&self.scheme, &disk).expect("P members may be absent");
            assert_eq!((checked.lost, troubles), (0, vec![]), "without {first} and {second}");
            self.reads_fail_exactly_of(&mut self.reopened(&disk), &BTreeSet::new(), "without P members");
        }
    }
}

/// Checks the array of `disk`; `None` if assembly is refused.
pub(crate) fn check(scheme: &str, disk: &Disk) -> Option<(Checked, Vec<Trouble>)> {
    let mut read = disk.clone();
    let members = Members {
        discard: false,
        ..Members::opaque(disk.members.len() as u32, PAGE, disk.members[0].pages.len() as u32)
    };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    let (array, opened) = Array::open(&scheme, members, PageMemory::new(PAGE), &mut read, opening).ok()?;
    let mut troubles = Vec::new();
    let checked = array.check_all(&mut read, &opened, &mut |trouble| troubles.push(trouble.clone()));
    Some((checked, troubles))
}

impl Host {
    /// The value of a chunk; `Some(None)` if its bytes differ, `None` if it cannot be read.
    fn read_pattern(&mut self, chunk: u64) -> Option<Option<u8>> {
        let content = self.ask(RequestKind::Read, chunk, self.chunks(1, 0xee))?;
        Some(content.iter().all(|&byte| byte == content[0]).then_some(content[0]))
    }
}
