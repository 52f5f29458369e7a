//! The readings of write caches, by hand: when room is free, what thresholds count, whom strips wait for, whether reads pass.

use stripewise_array::{Class, Controller, RequestKind};
use stripewise_core::ids::MemberNo;

use crate::support::Rig;

/// Two members without parity behind a cache: a write group has a page on each. Everything leaves at once, unless `more` says
/// otherwise.
fn cached(policy: &str, more: &str) -> Rig {
    let thresholds =
        if more.contains("threshold") { "" } else { "low_threshold = '0%'\nhigh_threshold = '0%'\n" };
    let text = format!(
        "name = 'test'\n[geometry]\nlevel = 'raid0'\n[cache]\npolicy = '{policy}'\nlatency = '0ns'\nstriping = '0ns'\n\
         persistence = 'persistent'\n{thresholds}{more}"
    );
    let text = if policy == "siw" { text } else { text.replace("striping = '0ns'\n", "") };
    Rig::new(&text, 2, 64)
}

/// When the request with this tag was acknowledged.
fn acknowledged(rig: &Rig, tag: u64) -> Option<u64> {
    rig.acknowledged().into_iter().find(|&(found, _)| found == tag).map(|(_, at)| at)
}

fn steps(rig: &mut Rig, count: u64) {
    for _ in 0..count {
        rig.step();
    }
}

/// Numbers of writes that have begun on each member.
fn destaged(rig: &Rig) -> [usize; 2] {
    [0, 1].map(|member| {
        let is_its = |operation: &stripewise_array::Operation| {
            operation.member == MemberNo::new(member) && operation.class == Class::HostWrite
        };
        rig.started().filter(is_its).count()
    })
}

#[test]
fn the_room_of_a_group_is_free_when_all_of_it_is_written_or_page_by_page() {
    let waits = |more: &str| {
        let mut rig = cached("wow", &format!("size = '8KiB'\noutstanding = 1\n{more}"));
        rig.world.takes.insert(1, 10);
        rig.submit(RequestKind::Write, 0, 2).unwrap();
        let second = rig.submit(RequestKind::Write, 4, 1).unwrap();
        rig.run();
        acknowledged(&rig, second).unwrap()
    };
    assert_eq!((waits("frees = 'group'"), waits("frees = 'page'")), (10, 1));
}

#[test]
fn reads_pass_a_write_that_waits_for_room_or_wait_behind_it() {
    let times = |more: &str| {
        let mut rig = cached("wow", &format!("size = '8KiB'\noutstanding = 1\nfrees = 'group'\n{more}"));
        rig.world.takes.insert(1, 10);
        rig.submit(RequestKind::Write, 0, 2).unwrap();
        let write = rig.submit(RequestKind::Write, 4, 1).unwrap();
        let read = rig.submit(RequestKind::Read, 20, 1).unwrap();
        rig.run();
        (acknowledged(&rig, write).unwrap(), acknowledged(&rig, read).unwrap())
    };
    let (write, read) = times("reads_pass = true");
    assert!(read < write && write == 10, "{read}, {write}");
    let (write, read) = times("reads_pass = false");
    assert!(read > write && write == 10, "{read}, {write}");
}

#[test]
fn thresholds_count_groups_or_pages() {
    // Ten groups of two pages; from five on content leaves.
    let leaves = |more: &str| {
        let more =
            format!("size = '80KiB'\nlow_threshold = '50%'\nhigh_threshold = '50%'\noutstanding = 1\n{more}");
        let mut rig = cached("wow", &more);
        for group in 0..5 {
            rig.submit(RequestKind::Write, group * 2, 1).unwrap();
            rig.run();
        }
        destaged(&rig)[0]
    };
    assert_eq!(leaves("count = 'pages'"), 0, "five of twenty pages");
    assert_eq!(leaves("count = 'entries'"), 1, "five of ten groups: one leaves, and four are below");
}

#[test]
fn strips_wait_for_members_without_a_strip_or_for_busy_ones() {
    let of = |waits_for: &str| {
        cached("siw", &format!("size = '80KiB'\nstrips = 1\nsync_wait = '500ns'\nwaits_for = '{waits_for}'"))
    };
    // Only the first member has a strip.
    let alone = |waits_for: &str| {
        let mut rig = of(waits_for);
        rig.submit(RequestKind::Write, 0, 1).unwrap();
        rig.array.dispatch(&mut rig.world);
        let at_once = destaged(&rig);
        rig.run();
        (at_once, destaged(&rig), rig.now() >= 500)
    };
    // At a high threshold of 0 the cache counts as full, which ends every wait: these have a higher one.
    let more =
        "size = '80KiB'\nlow_threshold = '0%'\nhigh_threshold = '100%'\nstrips = 1\nsync_wait = '500ns'\n";
    let below = |waits_for: &str| {
        let mut rig = cached("siw", &format!("{more}waits_for = '{waits_for}'"));
        rig.submit(RequestKind::Write, 0, 1).unwrap();
        rig.array.dispatch(&mut rig.world);
        let at_once = destaged(&rig);
        rig.run();
        (at_once, destaged(&rig), rig.now() >= 500)
    };
    assert_eq!(alone("no-strip").0, [1, 0], "a full cache waits for none");
    assert_eq!(below("no-strip"), ([0, 0], [1, 0], true), "after the bound it leaves alone");
    assert_eq!(below("busy"), ([1, 0], [1, 0], false));
    // Both have two strips, and the second member is slow.
    let busy = |waits_for: &str| {
        let mut rig = cached("siw", &format!("{more}waits_for = '{waits_for}'"));
        rig.world.takes.insert(1, 100);
        rig.submit(RequestKind::Write, 0, 4).unwrap();
        steps(&mut rig, 5);
        destaged(&rig)
    };
    assert_eq!(busy("no-strip"), [2, 1], "the first member accepts its next strip");
    assert_eq!(busy("busy"), [1, 1], "it waits for the slow one");
}

#[test]
fn each_sub_cache_has_an_equal_part_of_the_size() {
    // Two pages each. All go to the first member, which is slow; the second half is free, and of no use.
    let second = |count: &str| {
        let mut rig = cached("siw", &format!("size = '16KiB'\ncount = '{count}'\nsync_wait = '0ns'"));
        rig.world.takes.insert(0, 100);
        for page in [0, 2] {
            rig.submit(RequestKind::Write, page, 1).unwrap();
        }
        let third = rig.submit(RequestKind::Write, 4, 1).unwrap();
        rig.run();
        acknowledged(&rig, third).unwrap()
    };
    assert_eq!((second("entries"), second("pages")), (100, 0));
}

#[test]
fn a_write_is_acknowledged_once_its_parity_is_made_or_before() {
    let waits = |pre_parity: &str| {
        let text = format!(
            "name = 'test'\n[cache]\npolicy = 'siw'\nsize = '1MiB'\nlatency = '0ns'\nstriping = '0ns'\n\
             pre_parity = '{pre_parity}'"
        );
        let mut rig = Rig::new(&text, 5, 64);
        let tag = rig.submit(RequestKind::Write, 0, 1).unwrap();
        rig.run();
        let reads = rig.started().filter(|operation| operation.class == Class::PreRead).count();
        (acknowledged(&rig, tag).unwrap(), reads)
    };
    assert_eq!((waits("before-ack"), waits("behind-ack")), ((1, 2), (0, 2)));
}
