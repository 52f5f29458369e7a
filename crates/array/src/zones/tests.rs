//! Zones by hand: five members of RAID-5 with 24 pages each, of which every zone has 8. So each zone has 32 pages for data.

use super::*;
use stripewise_core::members::Members;
use stripewise_scheme::placement::{MixedZones, ZoneSection, ZonesSection};

/// Blocks of four pages that are classified at their second access, in chunks of 4, 2 and 1 pages.
fn zones(awaits_flush: bool, more: &str) -> Zones {
    let text = format!(
        "name = 'test'\n[placement]\npolicy = 'mc-rais'\n[mix]\nhistory = 2\n[zones]\nblock = '16KiB'\n\
         reads.chunk = '16KiB'\nmixed.chunk = '8KiB'\nwrites.chunk = '4KiB'\n{more}"
    );
    let scheme = Scheme::from_toml("test", &text).unwrap();
    let members = Members { volatile_cache: awaits_flush, ..Members::opaque(5, 4096, 24) };
    let geometry = scheme.resolve(&members, false).unwrap();
    Zones::new(&scheme, &geometry, 4096, awaits_flush)
}

/// The request with this number.
fn request(number: u32) -> RequestId {
    RequestId::new(number)
}

/// Writes pages `first..=last` as request `id`, to the end of the request. Returns the target runs.
fn write(zones: &mut Zones, id: u32, first: u64, last: u64) -> Vec<(u64, u64)> {
    let epoch = zones.begin(RequestKind::Write, (first, last));
    let runs = sent(zones, id, first, last);
    for page in runs.iter().flat_map(|&(page, count)| page..page + count) {
        if zones.mover_to(page) == Some(request(id)) {
            zones.moved_to(page);
        }
    }
    zones.end(request(id), RequestKind::Write, (first, last), epoch);
    zones.audit().unwrap();
    runs
}

/// The target runs of a write.
fn sent(zones: &mut Zones, id: u32, first: u64, last: u64) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    let mut page = first;
    while page <= last {
        let run = zones.write_run(request(id), page, last + 1, |_| true);
        runs.push((run.page, run.count));
        page += run.count;
    }
    runs
}

fn read(zones: &mut Zones, first: u64, last: u64) -> Vec<(u64, u64)> {
    let epoch = zones.begin(RequestKind::Read, (first, last));
    let mut runs = Vec::new();
    let mut page = first;
    while page <= last {
        let run = zones.read_run(page, last + 1);
        runs.push((run.page, run.count));
        page += run.count;
    }
    zones.end(request(0), RequestKind::Read, (first, last), epoch);
    runs
}

#[test]
fn a_block_moves_to_the_zone_of_its_tendency_as_it_is_written_again_and_only_the_written_pages() {
    let mut zones = zones(false, "");
    assert_eq!(write(&mut zones, 0, 4, 7), [(4, 4)], "new data goes to the zone of reads, at home");
    // The second write makes the block write-intensive: its pages go to the first pages of the third zone.
    assert_eq!(write(&mut zones, 0, 5, 6), [(64, 2)]);
    assert_eq!(read(&mut zones, 4, 7), [(4, 1), (64, 2), (7, 1)], "a read is split where the zones are");
    // Two reads of three accesses or more: mixed. Pages that are written move on, the others stay.
    read(&mut zones, 4, 4);
    assert_eq!(write(&mut zones, 0, 6, 6), [(32, 1)]);
    assert_eq!(read(&mut zones, 4, 7), [(4, 1), (64, 1), (32, 1), (7, 1)]);
    assert_eq!(zones.counts().moved, 3);
}

/// Zones of eight pages on each member for blocks that are mostly read and mostly written, and for `mixed` kinds in between.
fn zones_between(mixed: usize) -> Zones {
    let mixed = vec!["{ chunk = '8KiB' }"; mixed].join(", ");
    let text = format!(
        "name = 'test'\n[placement]\npolicy = 'mc-rais'\n[mix]\nhistory = 2\n[zones]\nblock = '16KiB'\n\
         reads.chunk = '16KiB'\nmixed = [{mixed}]\nwrites.chunk = '4KiB'"
    );
    let scheme = Scheme::from_toml("test", &text).unwrap();
    let pages = 16 + 8 * scheme.zones.mixed.0.len() as u32;
    let members = Members { volatile_cache: false, ..Members::opaque(5, 4096, pages) };
    Zones::new(&scheme, &scheme.resolve(&members, false).unwrap(), 4096, false)
}

#[test]
fn blocks_between_go_to_the_zone_of_their_share_of_writes_and_without_one_stay_where_they_are() {
    // Each zone has 32 pages for data.
    let place = |mixed: usize, reads: u64, writes: u64| {
        let mut zones = zones_between(mixed);
        write(&mut zones, 0, 0, 0);
        (0..reads).for_each(|_| drop(read(&mut zones, 0, 0)));
        (1..writes).for_each(|_| drop(write(&mut zones, 0, 0, 0)));
        zones.audit().unwrap();
        zones.place(0) / 32
    };
    assert_eq!([place(3, 6, 4), place(3, 5, 5), place(3, 4, 6), place(3, 0, 4)], [1, 2, 3, 4]);
    assert_eq!([place(1, 6, 4), place(1, 4, 6), place(1, 0, 4)], [1, 1, 2]);
    assert_eq!([place(0, 6, 4), place(0, 4, 6), place(0, 0, 4)], [0, 0, 1]);
}

#[test]
fn a_block_that_is_read_again_goes_back_home() {
    let mut zones = zones(false, "");
    (0..2).for_each(|_| drop(write(&mut zones, 0, 0, 0)));
    assert_eq!(zones.place(0), 64);
    (0..8).for_each(|_| drop(read(&mut zones, 0, 0)));
    assert_eq!(write(&mut zones, 0, 0, 0), [(0, 1)]);
    assert_eq!(zones.place(0), 0);
}

#[test]
fn the_place_changes_when_the_write_is_done_and_not_at_all_if_it_fails() {
    let mut zones = zones(false, "");
    write(&mut zones, 0, 0, 3);
    let pages = (0, 3);
    let epoch = zones.begin(RequestKind::Write, pages);
    assert_eq!(sent(&mut zones, 7, 0, 3), [(64, 4)]);
    assert!(zones.is_moving(2, request(8)), "others wait");
    assert!(!zones.is_moving(2, request(7)));
    zones.moved_to(64);
    assert_eq!(read(&mut zones, 0, 3), [(64, 1), (1, 3)]);
    zones.end(request(7), RequestKind::Write, pages, epoch);
    assert!(!zones.is_moving(2, request(8)), "it failed for the other three");
    assert_eq!(read(&mut zones, 0, 3), [(64, 1), (1, 3)]);
    zones.audit().unwrap();
}

#[test]
fn a_page_that_was_left_is_free_when_all_requests_of_that_time_are_over() {
    let mut zones = zones(false, "");
    (0..2).for_each(|_| drop(write(&mut zones, 0, 0, 0)));
    let reader = zones.begin(RequestKind::Read, (0, 0));
    assert_eq!(zones.read_run(0, 1), ZoneRun { page: 64, count: 1 });
    (0..8).for_each(|_| drop(read(&mut zones, 0, 0)));
    write(&mut zones, 0, 0, 0);
    assert_eq!(zones.place(0), 0);
    (0..9).for_each(|_| drop(read(&mut zones, 8, 8)));
    assert!(!zones.spaces[1].is_free(64), "the first reader may be on its way there");
    zones.end(request(0), RequestKind::Read, (0, 0), reader);
    assert!(zones.spaces[1].is_free(64));
}

#[test]
fn a_page_goes_back_home_when_no_request_is_left_that_may_read_it_there() {
    let mut zones = zones(false, "");
    write(&mut zones, 0, 0, 0);
    // All requests count, of any page.
    let reader = zones.begin(RequestKind::Read, (8, 8));
    write(&mut zones, 0, 0, 0);
    assert_eq!(zones.place(0), 64);
    (0..8).for_each(|_| drop(read(&mut zones, 0, 0)));
    assert_eq!(write(&mut zones, 0, 0, 0), [(64, 1)], "it would find what is not yet written");
    zones.end(request(0), RequestKind::Read, (8, 8), reader);
    (0..8).for_each(|_| drop(read(&mut zones, 0, 0)));
    assert_eq!(write(&mut zones, 0, 0, 0), [(0, 1)]);
}

#[test]
fn from_a_full_zone_the_block_goes_home_that_was_not_written_for_longest() {
    let mut zones = zones(false, "evict_below = '10%'");
    for block in (0..8).chain(0..8) {
        write(&mut zones, 0, block * 4, block * 4 + 3);
    }
    assert_eq!(zones.spaces[1].count(), 0, "all of it is write-intensive, and fills the zone");
    write(&mut zones, 0, 0, 0);
    assert_eq!(zones.evict(), Some((4, 4)), "block 1: block 0 was written a moment ago");
    assert!(!zones.is_stopped());
    zones.bring_home(request(99));
    assert!(zones.is_moving(5, request(1)), "a write of the page waits");
    (4..8).for_each(|page| zones.moved_to(page));
    zones.brought_home(request(99), false);
    assert_eq!((zones.counts().evicted, zones.blocks()), (4, 7), "and the map forgets it");
    assert_eq!(read(&mut zones, 4, 7), [(4, 4)]);
    zones.audit().unwrap();
    assert_eq!(zones.evict(), None, "there is room now");
}

#[test]
fn a_host_that_writes_a_block_keeps_it_from_going_home() {
    let mut zones = zones(false, "evict_below = '10%'");
    for block in (0..8).chain(0..8) {
        write(&mut zones, 0, block * 4, block * 4 + 3);
    }
    assert_eq!(zones.evict(), Some((0, 4)));
    write(&mut zones, 0, 2, 2);
    assert!(zones.is_stopped());
    zones.brought_home(request(99), false);
    assert_eq!(read(&mut zones, 0, 3), [(64, 4)]);
}

#[test]
fn moves_that_no_flush_covers_are_taken_back_after_a_loss_of_power() {
    let mut zones = zones(true, "");
    (0..2).for_each(|_| drop(write(&mut zones, 0, 0, 0)));
    let flush = zones.moves();
    (0..2).for_each(|_| drop(write(&mut zones, 0, 4, 4)));
    assert_eq!((zones.place(0), zones.place(4)), (64, 65));
    assert_eq!((zones.durable_place(0), zones.durable_place(4)), (0, 4));
    zones.flushed(flush);
    assert_eq!((zones.durable_place(0), zones.durable_place(4)), (64, 4));
    let zones = zones.restarted();
    assert_eq!((zones.place(0), zones.place(4)), (64, 4));
    zones.audit().unwrap();
    assert!(zones.spaces[1].is_free(65));
}

#[test]
fn pages_that_cannot_be_written_are_not_moved_to() {
    let mut zones = zones(false, "");
    write(&mut zones, 0, 0, 3);
    let epoch = zones.begin(RequestKind::Write, (0, 3));
    assert_eq!(zones.write_run(request(5), 0, 4, |page| page > 65), ZoneRun { page: 66, count: 4 });
    zones.end(request(5), RequestKind::Write, (0, 3), epoch);
    zones.audit().unwrap();
    let epoch = zones.begin(RequestKind::Write, (0, 3));
    assert_eq!(
        zones.write_run(request(5), 0, 4, |_| false),
        ZoneRun { page: 0, count: 4 },
        "then all stays where it is"
    );
    zones.end(request(5), RequestKind::Write, (0, 3), epoch);
    zones.audit().unwrap();
}

#[test]
fn the_filter_answers_for_blocks_that_were_never_written() {
    let mut zones = zones(false, "");
    write(&mut zones, 0, 0, 0);
    (1..8).for_each(|block| drop(read(&mut zones, block * 4, block * 4)));
    let ZoneCounts { looks, filtered, in_vain, .. } = zones.counts();
    assert_eq!((looks, filtered + in_vain), (8, 8), "also the first write found nothing");
}

#[test]
fn what_a_file_leaves_out_of_a_zone_is_its_default() {
    let text = "name = 'test'\n[zones]\nwrites.parts = 3\nmixed.chunk = '16KiB'";
    let scheme = Scheme::from_toml("test", text).unwrap();
    let default = ZonesSection::default();
    let writes = ZoneSection { parts: 3, ..default.writes };
    let of = |kib: u64, parts| ZoneSection { chunk: stripewise_base::units::Bytes(kib << 10), parts };
    assert_eq!(scheme.zones, ZonesSection { writes, mixed: MixedZones(vec![of(16, 1)]), ..default });
    assert_eq!(
        Scheme::from_toml("test", &scheme.to_toml()).unwrap(),
        scheme,
        "and it is read as it is written"
    );
    let several = "name = 'test'\n[zones]\nmixed = [{ chunk = '16KiB' }, { parts = 2 }]";
    let several = Scheme::from_toml("test", several).unwrap();
    assert_eq!(several.zones.mixed, MixedZones(vec![of(16, 1), of(8, 2)]));
    let none = Scheme::from_toml("test", "name = 'test'\n[zones]\nmixed = []").unwrap();
    for scheme in [several, none] {
        assert_eq!(Scheme::from_toml("test", &scheme.to_toml()).unwrap(), scheme);
    }
    for zone in ["writes.part = 3", "mixed.part = 3", "mixed = [{ part = 3 }]"] {
        let error = Scheme::from_toml("test", &format!("name = 'test'\n[zones]\n{zone}")).unwrap_err();
        assert!(error.to_string().contains("`parts`"), "{error}");
    }
    let error = Scheme::from_toml("test", "name = 'test'\n[zones]\nmixed = '8KiB'").unwrap_err().to_string();
    assert!(error.contains("a list of zones"), "{error}");
}

#[test]
fn zones_without_meaning_are_refused_with_the_reason() {
    let refused = |text: &str| {
        let text = format!("name = 'test'\n[placement]\npolicy = 'mc-rais'\n{text}");
        let members = Members { volatile_cache: false, ..Members::opaque(5, 4096, 64) };
        Scheme::from_toml("test", &text).unwrap().resolve(&members, false).unwrap_err().to_string()
    };
    assert!(refused("[geometry]\nchunk = '8KiB'").contains("each zone has its own"));
    assert!(refused("[zones]\nmixed.chunk = '12KiB'").contains("must divide the chunk of zones.reads"));
    assert!(refused("[zones]\nwrites.chunk = '2KiB'").contains("a multiple of the member's page"));
    assert!(refused("[zones]\nwrites = { chunk = '4KiB', parts = 0 }").contains("1 to 65536 parts"));
    assert!(refused("[zones]\nwrites = { chunk = '4KiB', parts = 1000 }").contains("no zone a chunk"));
    assert!(refused(&format!("[zones]\nmixed = [{}]", "{}, ".repeat(15))).contains("at most 14 zones"));
    assert!(refused("[zones]\nblock = '6KiB'").contains("whole pages"));
    assert!(refused("[zones]\nevict_below = '100%'").contains("anything to hold"));
    assert!(refused("[mix]\nhistory = 0").contains("1 to 255 accesses"));
    assert!(refused("first_writes = 'gather'").contains("that zones have a home for"));
    assert!(refused("[dispatch]\npolicy = 'piq'").contains("looks for a place"));
}

#[test]
fn as_a_log_a_page_of_its_zone_goes_to_the_next_free_page_and_its_old_one_is_free_then() {
    let mut zones = zones(false, "writes_as = 'log'");
    write(&mut zones, 0, 4, 7);
    assert_eq!(write(&mut zones, 0, 5, 6), [(64, 2)], "it moves to the zone of writes");
    let pages = (5, 6);
    let epoch = zones.begin(RequestKind::Write, pages);
    assert_eq!(sent(&mut zones, 7, 5, 6), [(66, 2)]);
    assert_eq!(read(&mut zones, 5, 6), [(64, 2)], "until it is written there");
    (66..68).for_each(|page| zones.moved_to(page));
    assert!(!zones.spaces[1].is_free(64), "the write itself has not ended");
    zones.end(request(7), RequestKind::Write, pages, epoch);
    assert!(zones.spaces[1].is_free(64) && zones.spaces[1].is_free(65));
    assert_eq!((zones.counts().moved, zones.counts().appended), (2, 2));
    zones.audit().unwrap();
}

#[test]
fn a_log_goes_round_its_zones_for_many_laps_and_cleaning_keeps_room() {
    // 64 pages at home, and 16 in each of the other zones.
    let mut zones = zones(false, "writes_as = 'log'\nevict_below = '10%'\nreads.parts = 4");
    let mut prng = stripewise_base::prng::Prng::new(7);
    let mut evicted = 0;
    for _ in 0..2_000 {
        let first = prng.below(64);
        let last = (first + prng.below(4)).min(63);
        if prng.below(4) == 0 {
            read(&mut zones, first, last);
        } else {
            write(&mut zones, 0, first, last);
        }
        while let Some((first, count)) = zones.evict() {
            zones.bring_home(request(99));
            for page in first..first + count {
                if zones.mover_to(page) == Some(request(99)) {
                    zones.moved_to(page);
                }
            }
            zones.brought_home(request(99), false);
            evicted += 1;
        }
        zones.audit().unwrap();
        assert!((0..64).all(|page| zones.owner(zones.place(page)) == page));
    }
    let ZoneCounts { moved, appended, refused, .. } = zones.counts();
    assert!(moved + appended > 20 * 32, "{moved} pages moved, {appended} appended");
    assert!(appended > 100 && evicted > 100, "{appended} appended, {evicted} evictions, {refused} refused");
}
