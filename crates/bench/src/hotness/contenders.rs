//! The contenders: the schemes of the controller, and alternatives.

use std::num::NonZeroUsize;

use hashbrown::HashMap;
use lru::LruCache;
use stripewise_array::hotness::{Hotness, HotnessPolicy, HotnessSection};

/// Chunks are pages of 4 KiB.
const PAGE: u64 = 4096;

/// A classifier of chunks into tiers.
pub(crate) enum Contender {
    /// One of ours, notified of each request by the controller's interface.
    Ours(Hotness),
    /// The same, with every request directly after the previous one: the shortcut for sequential requests.
    Sequential(Hotness, u64),
    /// One exact LRU list of all chunks that fit, with one counter per chunk (crate `lru`).
    Lru(LruCache<u32, u8>),
    /// A counter for each chunk that was ever written (crate `hashbrown`).
    Map(HashMap<u32, u8>),
}

/// Creates a contender for an array of the given number of chunks.
pub(crate) type Make = fn(u64) -> Contender;

/// All contenders, by name.
pub(crate) const CONTENDERS: &[(&str, Make)] = &[
    ("glru 128 x 8", |chunks| glru(chunks, 128, 8)),
    ("glru 128 x 64", |chunks| glru(chunks, 128, 64)),
    ("glru 16384 x 8", |chunks| glru(chunks, 16_384, 8)),
    ("glru 128 x 8, sequential", |chunks| match glru(chunks, 128, 8) {
        Contender::Ours(hotness) => Contender::Sequential(hotness, 0),
        other => other,
    }),
    ("hca", |chunks| ours(chunks, HotnessSection { policy: HotnessPolicy::Hca, ..Default::default() })),
    ("direct", |chunks| ours(chunks, HotnessSection { policy: HotnessPolicy::Direct, ..Default::default() })),
    ("crate lru, 1024 items", |_| Contender::Lru(LruCache::new(items(1024)))),
    ("crate lru, 131072 items", |_| Contender::Lru(LruCache::new(items(1 << 17)))),
    ("crate hashbrown, all chunks", |_| Contender::Map(HashMap::new())),
];

fn items(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("the contenders have items")
}

fn ours(chunks: u64, section: HotnessSection) -> Contender {
    section.check(chunks).expect("the benchmark's settings mean something");
    Contender::Ours(Hotness::new(&section, chunks, PAGE as u32))
}

fn glru(chunks: u64, lists: u32, items: u32) -> Contender {
    ours(chunks, HotnessSection { policy: HotnessPolicy::Glru, lists, items, ..Default::default() })
}

impl Contender {
    /// Size of the tables, if the contender reports it.
    pub(crate) fn own_bytes(&self) -> Option<u64> {
        match self {
            Self::Ours(hotness) | Self::Sequential(hotness, _) => Some(hotness.bytes()),
            Self::Lru(_) | Self::Map(_) => None,
        }
    }

    /// Classifies a batch; calls `sorted` with each chunk and its tier.
    pub(crate) fn run(&mut self, batch: &[u32], mut sorted: impl FnMut(u64, u8)) {
        match self {
            Self::Ours(hotness) => {
                for &page in batch {
                    let page = u64::from(page);
                    hotness.begin_request(page * PAGE, PAGE);
                    sorted(page, hotness.classify(page));
                }
            }
            Self::Sequential(hotness, next) => {
                for &page in batch {
                    hotness.begin_request(*next, PAGE);
                    *next += PAGE;
                    sorted(page.into(), hotness.classify(page.into()));
                }
            }
            Self::Lru(lru) => {
                for &page in batch {
                    let tier = if let Some(writes) = lru.get_mut(&page) {
                        *writes = writes.saturating_add(1);
                        1
                    } else {
                        lru.put(page, 1);
                        0
                    };
                    sorted(page.into(), tier);
                }
            }
            Self::Map(map) => {
                for &page in batch {
                    let writes = map.entry(page).or_default();
                    *writes = writes.saturating_add(1);
                    sorted(page.into(), u8::from(*writes >= 2));
                }
            }
        }
    }
}
