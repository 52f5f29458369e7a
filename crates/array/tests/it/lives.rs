//! After any life of an array and a scrub that lost nothing, a check finds nothing: both judge the same copies by the same rule.

use stripewise_array::format::Uuid;
use stripewise_array::{Array, AssemblyOptions, Members, PageMemory, Rejoining, Scheme, Trouble};
use stripewise_base::prng::Prng;
use stripewise_testkit::Disk;

use crate::host::Host;

const LOG: &str = "[placement]\npolicy = \"elastic\"\nbuffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\n\
    acknowledge = \"buffered\"\n";
const JOURNAL: &str = "[placement]\npolicy = \"in-place\"\n";
const BITMAP: &str = "[placement]\npolicy = \"in-place\"\n[journal]\npolicy = \"intent-bitmap\"\n";

const PAGE: u32 = 1024;
const PAGES: u32 = 600;
const MEMBERS: u32 = 5;
const CHUNKS: u64 = 60;

fn scheme(level: &str, placement: &str) -> String {
    format!("name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"{level}\"\n{placement}")
}

fn check(scheme: &str, mut disk: Disk) -> Vec<Trouble> {
    let members = Members { discard: false, ..Members::opaque(MEMBERS, PAGE, PAGES) };
    let scheme = Scheme::from_toml("test", scheme).expect("it is a scheme");
    let opening = AssemblyOptions { read_only: true, ..AssemblyOptions::default() };
    let opened = Array::open(&scheme, members, PageMemory::new(PAGE), &mut disk, opening);
    let (array, opened) = opened.unwrap_or_else(|error| panic!("{error}"));
    let mut troubles = Vec::new();
    array.check_all(&mut disk, &opened, &mut |trouble| troubles.push(trouble.clone()));
    troubles
}

/// Lives through some events with at most one member in trouble at a time, and ends with a scrub.
fn live(scheme: &str, seed: u64) -> Host {
    let mut prng = Prng::new(seed);
    let mut host = Host::create(scheme, Disk::new(MEMBERS as usize, PAGES, PAGE));
    let mut uuids = 100;
    for _ in 0..4 + prng.below(16) {
        match prng.below(9) {
            0..4 => {
                for _ in 0..prng.below(30) {
                    host.write(prng.below(CHUNKS), prng.below(250) as u8 + 1);
                }
                host.flush();
            }
            4 => host.trim(prng.below(CHUNKS / 2), 1 + prng.below(8)),
            5 => {
                host.flush();
                host = host.lose_power();
                host.resume();
            }
            6 => {
                let disk = host.stop();
                host = Host::open_as(scheme, disk);
                host.resume();
            }
            7 => {
                // A member leaves and returns, or another takes its place, with whatever was on it.
                let member = prng.below(MEMBERS.into()) as u16;
                host.flush();
                host.finish();
                host.fail(member);
                (0..prng.below(20)).for_each(|_| host.write(prng.below(CHUNKS), 77));
                host.flush();
                host.finish();
                host.disk().members[usize::from(member)].is_gone = false;
                uuids += 1;
                let how = match prng.chance(1, 2) {
                    true => host.returned(member),
                    false => Rejoining::Replacement { uuid: Uuid([uuids; 16]), pages: PAGES },
                };
                host.rejoin(member, how);
                host.finish_rebuild();
                host.finish();
            }
            _ => {
                // Rot anywhere on one member, in pages that count and in others.
                host.flush();
                host.finish();
                let member = prng.below(MEMBERS.into()) as usize;
                for _ in 0..1 + prng.below(40) {
                    let end = if prng.chance(2, 3) { 80 } else { PAGES.into() };
                    let page = prng.below(end) as usize;
                    host.disk().members[member].pages[page][prng.below(PAGE.into()) as usize] ^= 0x41;
                }
                host.scrub();
                host.flush();
                host.finish();
            }
        }
    }
    host.flush();
    host.finish();
    let found = host.scrub();
    host.finish();
    assert_eq!(found.lost, 0, "seed {seed}: {found:?}\n{scheme}");
    host
}

#[test]
fn after_any_life_and_a_scrub_a_check_finds_nothing() {
    let seeds = std::env::var("STRIPEWISE_LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    for placement in [LOG, JOURNAL, BITMAP] {
        for level in ["raid5", "raid6"] {
            let scheme = scheme(level, placement);
            for seed in 0..seeds {
                let host = live(&scheme, seed);
                let what = format!("seed {seed}, {level}, {placement}");
                assert_eq!(check(&scheme, host.copy_of_disk()), [], "{what}: power is lost");
                assert_eq!(check(&scheme, host.stop()), [], "{what}: stopped");
            }
        }
    }
}
