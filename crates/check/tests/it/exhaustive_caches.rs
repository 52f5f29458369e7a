//! Exhaustive small cases of write caches: one row, every set of its chunks written in whole or in part, written
//! again while the first content leaves the cache, and read; under each cache, volatile or persistent; with power
//! lost before every event, and members too.

use stripewise_array::MemberNo;
use stripewise_array::Persistence;
use stripewise_array::cache::{CachePolicy, CacheSection};
use stripewise_array::geometry::Level;
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_check::{Case, Loss, Manner, Seen, What};

use crate::small::{Before, PAGE, POLICIES, ask, case, check, patterns, requests};

const CACHES: [CachePolicy; 6] = [
    CachePolicy::ParityCaching,
    CachePolicy::Isc,
    CachePolicy::Wow,
    CachePolicy::Stow,
    CachePolicy::Siw,
    CachePolicy::Hybrid,
];

/// A cache of `pages` pages whose content leaves at once, over an array of `members`.
fn cached(policy: CachePolicy, persistence: Persistence, level: Level, members: u32, pages: u64) -> Case {
    let mut case = case(members, POLICIES[0], Before::AFullStripe);
    case.scheme.geometry.level = level;
    let section = CacheSection { policy, persistence, latency: Span(1_000), ..CacheSection::default() };
    case.scheme.cache = match policy {
        CachePolicy::ParityCaching => CacheSection { chunks: 1, ..section },
        _ => CacheSection {
            size: Bytes(1024 * pages),
            low_threshold: Share(0),
            high_threshold: Share(0),
            sync_wait: Span(100_000),
            ..section
        },
    };
    case
}

/// Writes according to `pattern`, another write of the first chunk while they are in flight, a read, and optionally a
/// flush before the read.
fn asks(data: u64, pattern: u64, flushes: bool) -> Vec<stripewise_check::Ask> {
    let mut asks = requests(Before::AFullStripe, data, pattern);
    let read = asks.len() - 1;
    let mut again = ask(What::Write, 0, PAGE - 1);
    again.gap_ns = 150_000;
    asks.insert(read, again);
    if flushes {
        asks.insert(read + 1, ask(What::Flush, 0, 0));
    }
    asks
}

/// Loses power before each event, and again `later` events after it. Returns the totals.
fn lose_power_before_each(case: &mut Case, later: u64) -> Seen {
    let mut sum = Seen::default();
    case.power_losses.clear();
    let whole = check(case);
    for event in 0..=whole.played {
        case.seed = event;
        case.power_losses = if event % 3 == 0 { vec![event, event + later] } else { vec![event] };
        let seen = check(case).seen;
        sum.power_losses += seen.power_losses;
        sum.failed += seen.failed;
        sum.holes += seen.holes;
        sum.redone += seen.redone;
    }
    sum
}

#[test]
fn power_may_be_lost_at_any_event_of_a_write_cache() {
    let mut redone = 0;
    for policy in CACHES {
        for persistence in [Persistence::Persistent, Persistence::Volatile] {
            for (level, members) in [(Level::Raid0, 2), (Level::Raid5, 3), (Level::Raid6, 4)] {
                for pattern in patterns(2) {
                    let mut case = cached(policy, persistence, level, members, 6);
                    case.requests = asks(2, pattern, pattern % 2 == 0);
                    case.volatile_members = pattern % 3 == 0;
                    let seen = lose_power_before_each(&mut case, 4);
                    assert_eq!((seen.failed, seen.holes), (0, 0), "no member is lost:\n{}", case.to_toml());
                    assert!(seen.power_losses > 10, "{seen:?}");
                    redone += seen.redone;
                }
            }
        }
    }
    assert!(redone > 100, "{redone} interrupted updates were done again");
}

#[test]
fn over_a_persistent_cache_a_degraded_row_loses_nothing_when_power_is_lost() {
    for policy in CACHES {
        for member in 0..3 {
            for pattern in patterns(2) {
                let mut case = cached(policy, Persistence::Persistent, Level::Raid5, 3, 6);
                case.requests = asks(2, pattern, false);
                case.losses = vec![Loss { event: 0, member: MemberNo::new(member), manner: Manner::Gone }];
                let seen = lose_power_before_each(&mut case, 3);
                assert_eq!((seen.failed, seen.holes), (0, 0), "one loss is bearable:\n{}", case.to_toml());
            }
        }
    }
}

#[test]
fn any_member_may_be_lost_at_any_event_of_a_write_cache() {
    for policy in CACHES {
        for pattern in patterns(2) {
            // Too small for a row with its parity, and large enough.
            for pages in [1, 6] {
                let mut case = cached(policy, Persistence::Volatile, Level::Raid5, 3, pages);
                case.requests = asks(2, pattern, true);
                let whole = check(&case);
                for member in 0..3 {
                    for event in 0..=whole.played {
                        case.losses =
                            vec![Loss { event, member: MemberNo::new(member), manner: Manner::Gone }];
                        assert_eq!(check(&case).seen.failed, 0, "one loss is bearable:\n{}", case.to_toml());
                    }
                }
            }
        }
    }
}
