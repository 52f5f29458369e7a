//! Each planted bug does what its description states, and content checks reveal it.
#![cfg(debug_assertions)]

use std::collections::BTreeMap;

use stripewise_base::prng::Prng;
use stripewise_flash::{Bug, Flash, Level, Media, Op, OpKind};

use crate::support::{Rig, pinning, read, small, write};

/// Content of physical pages; 0 if there is none.
#[derive(Default)]
struct Contents {
    pages: BTreeMap<(u32, u32), u32>,
    found: BTreeMap<u32, u32>,
}

impl Contents {
    fn at(&self, member: u32, page: u32) -> u32 {
        self.pages.get(&(member, page)).copied().unwrap_or(0)
    }
}

impl Media for Contents {
    fn program(&mut self, member: u32, page: u32, token: u32) {
        self.pages.insert((member, page), token + 1);
    }

    fn read(&mut self, member: u32, page: Option<u32>, token: u32) {
        let content = page.map_or(0, |page| self.at(member, page));
        self.found.insert(token, content);
    }

    fn copy(&mut self, member: u32, from: u32, to: u32) {
        let content = self.at(member, from);
        self.pages.insert((member, to), content);
    }

    fn erase(&mut self, member: u32, first: u32, count: u32) {
        for page in first..first + count {
            self.pages.remove(&(member, page));
        }
    }
}

fn rig(bug: Option<Bug>) -> Rig<Contents> {
    let flash = Flash::with_media(&small(&[]), Level::Chip, 1, 1, Contents::default());
    let mut rig = Rig::over(flash.unwrap_or_else(|error| panic!("{error}")));
    rig.flash.plant(bug);
    rig
}

/// The number of random operations until a read of the current or the pinned version returns wrong content.
fn operations_until_found(bug: Option<Bug>, limit: u32) -> Option<u32> {
    let mut rig = rig(bug);
    let mut random = Prng::new(1);
    let mut current: BTreeMap<u32, u32> = BTreeMap::new();
    let mut pinned: BTreeMap<u32, u32> = BTreeMap::new();
    for operation in 0..limit {
        let page = random.below(rig.flash.logical_pages().into()) as u32;
        let version = current.get(&page).copied().unwrap_or(0);
        match random.below(4) {
            0 => {
                let token = rig.one(0, read(page)).token;
                if rig.flash.media().found[&token] != version {
                    return Some(operation);
                }
            }
            1 if pinned.len() < 4 && !pinned.contains_key(&page) => {
                let token = rig.one(0, pinning(page)).token;
                pinned.insert(page, version);
                current.insert(page, token + 1);
            }
            2 if !pinned.is_empty() => {
                let (page, version) = pinned.pop_first().expect("a pin");
                let token =
                    rig.one(0, Op { kind: OpKind::Read, page, old_version: true, ..Op::default() }).token;
                if rig.flash.media().found[&token] != version {
                    return Some(operation);
                }
                rig.release(0, page);
            }
            _ => {
                let token = rig.one(0, write(page)).token;
                current.insert(page, token + 1);
            }
        }
    }
    None
}

#[test]
fn content_shows_every_planted_bug_soon_and_nothing_without_one() {
    assert_eq!(operations_until_found(None, 5_000), None);
    for bug in [Bug::GcFreesEarly, Bug::PinSkipped, Bug::GcKeepsMapping] {
        let found = operations_until_found(Some(bug), 1_000);
        println!("{bug:?}: {found:?}");
        assert!(found.is_some(), "{bug:?} stayed hidden");
    }
}
