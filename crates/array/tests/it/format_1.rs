//! Arrays of the first version of the format, which every later version assembles. The fixtures are never regenerated:
//! they represent the arrays that users have.

use std::collections::BTreeSet;

use stripewise_array::format::{Copy, Features, Placement, Superblock};
use stripewise_array::{AssembleError, Media, Members, Scheme, Upgrade};
use stripewise_testkit::{Disk, DiskMember, Recorder};

use crate::host::Host;

pub(crate) const LOG: &str = "name = \"fixture\"\nmetadata = \"on\"\n[geometry]\n\
    level = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 4\nbuffer = \"stripe\"\nacknowledge = \"buffered\"\n";

/// Schemes of the fixtures in place, as given to the old program, with memory that a power loss empties.
pub(crate) const JOURNAL: &str = "name = \"fixture\"\nmetadata = \"on\"\n[geometry]\n\
    level = \"raid5\"\nchunk = \"2KiB\"\n[placement]\n\
    buffer_persistence = \"volatile\"\n";
pub(crate) const BITMAP: &str = "name = \"fixture\"\nmetadata = \"on\"\n[geometry]\n\
    level = \"raid5\"\nchunk = \"2KiB\"\n[placement]\n\
    buffer_persistence = \"volatile\"\n[journal]\npolicy = \"intent-bitmap\"\n";

/// A superblock of version 1, with what that version knows.
pub(crate) fn as_version_1(block: &Superblock) -> Superblock {
    let mut block = block.clone();
    block.forget_chain();
    Superblock { version: 1, features: Features::default(), is_clean: false, horizon: 0, ..block }
}

/// An array as an old program left it.
pub(crate) struct Fixture {
    pub(crate) what: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) text: &'static str,
    pub(crate) pages: u32,
    /// The pages that the array uses of each member.
    pub(crate) used: u32,
    /// The epoch of the next assembly.
    pub(crate) epoch: u32,
    pub(crate) expected: fn(u64) -> u8,
}

/// The two fixtures in place are from the program before version 2, which was killed while it served: `create --count 3
/// --size 160KiB --page 512B`, 40 chunks written, ten of them again, flushed; then `kill -9`. The journal has updates to
/// replay; the bitmap has bits that are set.
const FIXTURES: [Fixture; 3] = [
    Fixture {
        what: "log",
        scheme: LOG,
        text: include_str!("../fixtures/format-1-log.txt"),
        pages: 192,
        used: 192,
        epoch: 3,
        expected,
    },
    Fixture {
        what: "in place with a journal",
        scheme: JOURNAL,
        text: include_str!("../fixtures/format-1-journal.txt"),
        pages: 320,
        used: 320,
        epoch: 2,
        expected: expected_in_place,
    },
    Fixture {
        what: "in place with a bitmap",
        scheme: BITMAP,
        text: include_str!("../fixtures/format-1-bitmap.txt"),
        pages: 320,
        used: 320,
        epoch: 2,
        expected: expected_in_place,
    },
];

impl Fixture {
    /// The members of the fixture: a line for each page that is not zeros, with its member, its number and its bytes. Zeros at
    /// the end are left out; a single byte fills the page.
    pub(crate) fn disk(&self) -> Disk {
        let mut disk = Disk::new(3, self.pages, 512);
        for line in self.text.lines() {
            let mut words = line.split(' ');
            let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).expect("a number");
            let (member, page) = (number(), number());
            let bytes = words.next().unwrap_or_default().as_bytes().chunks(2);
            let byte =
                |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("two digits");
            let content: Vec<u8> = bytes.map(byte).collect();
            let into = &mut disk.members[member].pages[page];
            match content[..] {
                [byte] => into.fill(byte),
                _ => into[..content.len()].copy_from_slice(&content),
            }
        }
        disk
    }

    /// Checks that the array of `disk` has the content that was written to the fixture.
    pub(crate) fn check(&self, host: &mut Host, context: &str) {
        for chunk in 0..50 {
            let found = host.read(chunk);
            assert_eq!(found, Some((self.expected)(chunk)), "{}, {context}: chunk {chunk}", self.what);
        }
    }

    pub(crate) fn upgrade(&self, media: &mut dyn Media, dry_run: bool) -> Result<Upgrade, AssembleError> {
        let scheme = Scheme::from_toml("test", self.scheme).unwrap();
        Upgrade::run(&scheme, Members::opaque(3, 512, self.used), media, dry_run)
    }
}

/// The content that hosts wrote to the log before the power loss: 40 chunks, of which ten were written again, and five
/// trimmed.
fn expected(chunk: u64) -> u8 {
    match chunk {
        30..35 => 0,
        _ => expected_in_place(chunk),
    }
}

/// The content that hosts wrote to the other fixtures: 40 chunks, of which ten were written again.
pub(crate) fn expected_in_place(chunk: u64) -> u8 {
    match chunk {
        10..20 => 100 + chunk as u8,
        40.. => 0,
        _ => chunk as u8 + 1,
    }
}

/// The versions in all superblocks, in front and back copies.
fn versions(disk: &Disk) -> BTreeSet<u16> {
    let version = |pages: &[Box<[u8]>]| Superblock::parse(&pages.concat()).map(|block| block.version);
    let of = |member: &DiskMember| {
        let last = member.pages.len() - 8;
        [version(&member.pages[..8]), version(&member.pages[last..])]
    };
    disk.members.iter().flat_map(of).flatten().collect()
}

#[test]
fn invariant_m_an_array_of_the_first_version_is_assembled_served_and_written_to_and_stays_of_it() {
    for fixture in FIXTURES {
        let mut host = Host::open_as(fixture.scheme, fixture.disk());
        assert_eq!(host.opened.epoch, fixture.epoch, "{}", fixture.what);
        fixture.check(&mut host, "as it was left");
        host.write(45, 9);
        host.flush();
        let mut host = host.lose_power();
        assert_eq!((host.read(45), host.read(12)), (Some(9), Some(112)), "{}", fixture.what);
        assert_eq!(versions(host.disk()), BTreeSet::from([1]), "{}", fixture.what);
        let mut without = host.copy_of_disk();
        without.members[1].is_gone = true;
        let mut host = Host::open_as(fixture.scheme, without);
        assert_eq!((host.read(45), host.read(12)), (Some(9), Some(112)), "{}, degraded", fixture.what);
    }
}

/// Generates the fixture of the log. Run it by hand when the format gets another version, for the fixture of that version.
#[test]
#[ignore = "makes a fixture: set FIXTURE to where it goes"]
fn make_a_fixture() {
    let Ok(path) = std::env::var("FIXTURE") else { return };
    let mut host = Host::create(LOG, Disk::new(3, 192, 512));
    (0..40).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let mut host = host.lose_power();
    (10..20).for_each(|chunk| host.write(chunk, 100 + chunk as u8));
    host.trim(30, 5);
    host.flush();
    // No flush covers this write: it may be dropped, and is.
    host.write(1, 2);
    let mut text = String::new();
    for (number, member) in host.disk().members.iter().enumerate() {
        for (page, content) in
            member.pages.iter().enumerate().filter(|(_, page)| page.iter().any(|&b| b != 0))
        {
            let bytes: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("{number} {page} {bytes}\n"));
        }
    }
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_upgrade_changes_the_version_alone_and_reports_before_what_it_will_do() {
    for fixture in FIXTURES {
        let mut disk = fixture.disk();
        let before = disk.clone();
        let upgrade = fixture.upgrade(&mut disk, true).unwrap();
        assert!(disk == before, "{}: a dry run writes nothing", fixture.what);
        let done = fixture.upgrade(&mut disk, false).unwrap();
        assert_eq!((&upgrade, upgrade.from), (&done, 1), "{}", fixture.what);
        assert_eq!(versions(&disk), BTreeSet::from([2]), "{}", fixture.what);
        let block = &done.superblock;
        // For a log, the horizon of the commit record of the flush that covered 14 batches: durability is preserved.
        assert_eq!(block.horizon > 0, block.placement == Placement::Log, "{}", fixture.what);
        assert!(!block.settings.is_empty(), "{}", fixture.what);
        let mut host = Host::open_as(fixture.scheme, disk.clone());
        fixture.check(&mut host, "upgraded");
        host.write(45, 9);
        host.flush();
        let mut host = host.lose_power();
        assert_eq!((host.read(45), host.read(12)), (Some(9), Some(112)), "{}", fixture.what);
        assert_eq!(versions(host.disk()), BTreeSet::from([2]), "{}", fixture.what);
        let again = fixture.upgrade(&mut disk, false).unwrap();
        assert_eq!((again.from, &again.superblock), (2, block), "{}: it is done once", fixture.what);
    }
}

/// Power fails after any of the writes; content that was not flushed is on some members and not on others.
#[test]
fn an_upgrade_that_is_cut_short_leaves_an_array_of_one_version_or_the_other() {
    for fixture in FIXTURES {
        let mut recorder = Recorder::new(fixture.disk());
        fixture.upgrade(&mut recorder, false).unwrap();
        assert_eq!(recorder.calls.len(), 2, "front copies, then back copies");
        let cuts = recorder.cuts(&fixture.disk());
        assert!(cuts.len() > 40, "{} cuts", cuts.len());
        let mut seen = BTreeSet::new();
        for (nth, cut) in cuts.into_iter().enumerate() {
            let context = format!("cut {nth}");
            let mut host = Host::open_as(fixture.scheme, cut.clone());
            fixture.check(&mut host, &context);
            let after = versions(host.disk());
            assert_eq!(after.len(), 1, "{}, {context}: assembly ends it", fixture.what);
            seen.extend(after);
            let mut again = cut;
            fixture.upgrade(&mut again, false).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(versions(&again), BTreeSet::from([2]), "{}, {context}", fixture.what);
            fixture.check(&mut Host::open_as(fixture.scheme, again), &context);
        }
        assert_eq!(seen, BTreeSet::from([1, 2]), "{}", fixture.what);
    }
}

#[test]
fn an_array_that_is_not_whole_is_not_upgraded_and_the_remedy_is_named() {
    for fixture in FIXTURES {
        let mut missing = fixture.disk();
        missing.members[2].is_gone = true;
        let error = fixture.upgrade(&mut missing.clone(), false).err().map(|error| error.to_string());
        let expected = "member 2 is missing, and all members are upgraded together; offer it too";
        assert_eq!(error.as_deref(), Some(expected), "{}", fixture.what);
        // An array that has served without a member records that the member failed.
        let host = Host::open_as(fixture.scheme, missing);
        let mut failed = host.copy_of_disk();
        failed.members[2].is_gone = false;
        let before = failed.clone();
        let error = fixture.upgrade(&mut failed, false).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.starts_with("member 2 has failed")), "{error:?}");
        assert!(failed == before, "{}: nothing was written", fixture.what);
    }
}

/// The owner gets a page that has no other use.
#[test]
fn an_upgraded_array_has_a_page_for_its_owner_where_one_is_free() {
    let pages = FIXTURES.map(|fixture| {
        let mut disk = fixture.disk();
        let before = disk.clone();
        let block = fixture.upgrade(&mut disk, false).unwrap().superblock;
        let page = block.owner_page(fixture.pages)?;
        assert!(disk.members.iter().all(|member| member.pages[page as usize].iter().all(|&byte| byte == 0)));
        assert_eq!(Host::open_as(fixture.scheme, before).capacity(), block.capacity, "{}", fixture.what);
        Some(page)
    });
    // The data behind the journal reaches up to the back copy, and the journal has its minimum length.
    assert_eq!(pages, [Some(22), None, Some(310)]);
}

/// A journal that is longer than necessary gives its last page to the owner, if it holds no valid record.
#[test]
fn the_owner_gets_the_last_page_of_a_journal_whose_updates_are_done() {
    let scheme_text = format!("{JOURNAL}[journal]\ncapacity = \"70KiB\"\n");
    let mut host = Host::create(&scheme_text, Disk::new(3, 310, 512));
    let all = |host: &mut Host, round: u8| (0..40).for_each(|chunk| host.write(chunk, chunk as u8 + round));
    all(&mut host, 1);
    host.flush();
    let mut disk = host.copy_of_disk();
    // As the old version wrote it, and without a free page.
    let first = |disk: &Disk| Superblock::parse(&disk.members[0].pages[..8].concat()).unwrap();
    assert_eq!(first(&disk).free_page(), None, "choose another size for this test");
    let mut host = Host::open_as(&scheme_text, disk.clone());
    for member in 0..3 {
        for copy in [Copy::Front, Copy::Back] {
            host.change_superblock(member, copy, &|block| {
                *block = as_version_1(block);
            });
        }
    }
    let scheme = Scheme::from_toml("test", &scheme_text).unwrap();
    let upgrade = |disk: &mut Disk| {
        Upgrade::run(&scheme, Members::opaque(3, 512, 310), disk, false).unwrap().superblock
    };
    let before = first(host.disk());
    all(&mut host, 2);
    host.flush();
    disk = host.copy_of_disk();
    assert_eq!(upgrade(&mut disk.clone()).owner.pages, 0, "records of this epoch count");
    let settled = Host::open_as(&scheme_text, disk);
    disk = settled.copy_of_disk();
    let after = upgrade(&mut disk);
    assert_eq!(after.journal.pages + 1, before.journal.pages);
    assert_eq!(after.owner.first, before.journal.first + before.journal.pages - 1);
    assert_eq!(after.capacity, before.capacity);
    // From then on the page is not written: many rounds of the ring.
    let page = after.owner.first as usize;
    disk.members.iter_mut().for_each(|member| member.pages[page].fill(0x5a));
    let mut host = Host::open_as(&scheme_text, disk);
    (3..20).for_each(|round| all(&mut host, round));
    host.flush();
    let mut host = host.lose_power();
    (0..40).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 19)));
    let disk = host.copy_of_disk();
    assert!(disk.members.iter().all(|member| member.pages[page].iter().all(|&byte| byte == 0x5a)));
}
