//! A scrub that a stop or a loss of power interrupts continues in the next serving, and superblocks say what was verified.

use stripewise_array::Bug;
use stripewise_array::format::Superblock;
use stripewise_testkit::Disk;

use crate::host::Host;

const LOG5: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
const JOURNAL5: &str =
    "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"in-place\"\n";
const ALL: [&str; 2] = [LOG5, JOURNAL5];

fn host(scheme: &str) -> Host {
    let mut host = Host::create(scheme, Disk::new(5, 600, 1024));
    // A log skips segments without content at once.
    (0..host.capacity() * 3 / 4).for_each(|chunk| host.write(chunk, chunk as u8 | 1));
    host.flush();
    host.finish();
    host
}

fn superblock(disk: &Disk) -> Superblock {
    Superblock::parse(&disk.members[2].pages[..4].concat()).unwrap()
}

/// Scrubs until at least `share` of 10 is done, and lets no more begin.
fn scrub_to(host: &mut Host, share: u32) -> (u32, u32) {
    host.begin_scrub();
    loop {
        let (done, all) = host.array.scrubbing().expect("it is in progress");
        if done * 10 >= all * share {
            break;
        }
        host.complete_one();
    }
    host.allow(Some(0));
    host.finish();
    host.array.scrubbing().expect("it waits")
}

/// Completes the scrub in progress. Returns the pages that it read.
fn complete(host: &mut Host) -> u64 {
    host.allow(None);
    while host.array.scrub_counts().1 {
        host.complete_one();
    }
    host.array.scrub_counts().0.pages
}

#[test]
fn a_scrub_that_a_stop_interrupted_continues_where_it_was() {
    for scheme in ALL {
        let mut host = host(scheme);
        let (done, all) = scrub_to(&mut host, 4);
        assert!(done < all, "{scheme}: {done} of {all}");
        let disk = host.stop();
        let block = superblock(&disk);
        assert!((1..=u64::from(done)).contains(&block.scrub_cursor), "{scheme}: {}", block.scrub_cursor);
        let mut host = Host::open_as(scheme, disk);
        host.resume();
        let (continued, _) = host.array.scrubbing().expect("it continues");
        assert!(u64::from(continued) >= block.scrub_cursor, "{scheme}");
        let rest = complete(&mut host);
        host.scrub();
        let whole = host.array.scrub_counts().0.pages;
        assert!(rest > 0 && rest < whole * 4 / 5, "{scheme}: {rest} of {whole}");
        let block = superblock(&host.stop());
        assert_eq!(block.scrub_cursor, 0, "{scheme}");
        assert!(
            block.verified_to > 0 && block.verified_to < block.update,
            "{scheme}: the last one was complete"
        );
    }
}

/// What a scrub had done when the array was stopped as the serving program does it, which verifies the superblocks of all
/// members last, and what the next serving continues with.
fn stopped_by_the_server(scheme: &str, bug: Option<Bug>) -> (u32, Option<u32>) {
    let mut host = host(scheme);
    let (done, _) = scrub_to(&mut host, 4);
    #[cfg(debug_assertions)]
    host.array.plant(bug);
    #[cfg(not(debug_assertions))]
    let _ = bug;
    host.verify_superblocks();
    let mut host = Host::open_as(scheme, host.stop());
    host.resume();
    (done, host.array.scrubbing().map(|(continued, _)| continued))
}

#[test]
fn the_verification_of_superblocks_before_a_stop_does_not_end_a_scrub() {
    for scheme in ALL {
        let (done, continued) = stopped_by_the_server(scheme, None);
        assert!(
            continued.is_some_and(|continued| (1..=done).contains(&continued)),
            "{scheme}: {continued:?}"
        );
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_verification_of_superblocks_that_ends_a_scrub_is_found() {
    for scheme in ALL {
        assert_eq!(stopped_by_the_server(scheme, Some(Bug::ScrubNotContinued)).1, None, "{scheme}");
    }
}

#[test]
fn a_scrub_of_two_servings_proves_nothing_about_what_the_first_one_read() {
    for scheme in ALL {
        let mut host = host(scheme);
        scrub_to(&mut host, 4);
        let mut host = Host::open_as(scheme, host.stop());
        host.resume();
        complete(&mut host);
        let block = superblock(&host.stop());
        assert_eq!((block.scrub_cursor, block.verified_to), (0, 0), "{scheme}");
    }
}

#[test]
fn a_scrub_that_is_stopped_or_found_a_loss_begins_again() {
    for scheme in ALL {
        let mut stopped = host(scheme);
        scrub_to(&mut stopped, 4);
        stopped.array.stop_scrub();
        stopped.finish();
        assert_eq!(superblock(&stopped.stop()).scrub_cursor, 0, "{scheme}: the operator stopped it");
        // Too much of every early row is lost.
        let mut host = host(scheme);
        let first = if scheme == LOG5 { 20 } else { 100 };
        for member in [0, 1, 2] {
            let disk = host.disk();
            (first..first + 60).for_each(|page| disk.members[member].pages[page].fill(0x5a));
        }
        let (done, all) = scrub_to(&mut host, 4);
        assert!(
            done < all && host.array.scrub_counts().0.lost > 0,
            "{scheme}: {:?}",
            host.array.scrub_counts()
        );
        assert_eq!(superblock(&host.stop()).scrub_cursor, 0, "{scheme}");
    }
}
