//! A placement that uses none of the tree's: a plain log, through the checking simulation, with losses of members and of power.
//!
//! `docs/develop/worked-examples.md` lists every file that names it.

mod placement;
mod record;
mod recovery;

use stripewise_array::MemberNo;
use stripewise_array::geometry::Level;
use stripewise_base::prng::Prng;
use stripewise_base::units::Bytes;
use stripewise_check::guest::run_guest;
use stripewise_check::{Ask, Case, Failure, Loss, Manner, Seen, What};

use placement::{Planted, RoundRobinLog};

/// Members of 38 pages of two sectors.
const SMALL: &str = r#"
seed = 1
members = "ssd:4"
depth = 8
fail_each = false
losses = []
requests = []
[faults]
[scheme]
name = "round-robin log"
[device]
name = "small"
[device.geometry]
channels = 1
chips = 1
dies = 1
planes = 1
blocks = 24
pages = 4
page_bytes = "1KiB"
[device.timing]
read = "25us"
program = "200us"
erase = "1ms"
bus = "25ns/B"
[device.ftl]
over_provisioning = "60%"
[device.gc]
victim = "greedy"
low_watermark = { block-count = 1 }
blocking = "plane"
"#;

/// Events of a request, more or less.
const EVENTS: u64 = 20;

/// The case of this seed.
fn case(seed: u64) -> Case {
    let mut case = Case::from_toml("small", SMALL).unwrap_or_else(|error| panic!("{error}"));
    let mut random = Prng::stream(seed, 0x006C_6F67);
    let parity = 1 + random.below(2) as u32;
    case.seed = seed;
    case.scheme.geometry.level = if parity == 1 { Level::Raid5 } else { Level::Raid6 };
    case.members.devices = parity + 3 + random.below(4) as u32;
    case.device.geometry.page_bytes = Bytes(1024);
    case.volatile_members = random.chance(1, 2);
    case.depth = 1 + random.below(8) as u32;
    case.scheme.queues.plans = 2 + random.below(20) as u32;
    let geometry = case.geometry().unwrap_or_else(|error| panic!("{error}"));
    let sectors = 2 * RoundRobinLog::capacity(geometry.rows(), geometry.data);
    // Some cases write the same few pages, and some fill the array.
    let span = if random.chance(1, 3) { sectors / 4 } else { sectors };
    let count = 40 + random.below(160);
    case.requests = (0..count)
        .map(|_| {
            let what = match random.below(20) {
                0..10 => What::Write,
                10..16 => What::Read,
                16..19 => What::Flush,
                _ => What::Trim,
            };
            let sector = random.below(span - 1);
            let sectors = 1 + random.below((span - sector).min(20));
            let gap_ns = if random.chance(1, 3) { random.below(2_000_000) } else { 0 };
            Ask { gap_ns, what, sector, sectors }
        })
        .collect();
    let manners = [Manner::Gone, Manner::Silent, Manner::FailedWrite];
    let losses = random.below(u64::from(parity) + 1);
    let first = random.below(u64::from(case.members.devices)) as u16;
    case.losses = (0..losses as u16)
        .map(|nth| Loss {
            event: random.below(count * EVENTS),
            member: MemberNo::new((first + nth) % case.members.devices as u16),
            manner: manners[random.below(3) as usize],
        })
        .collect();
    case.power_losses = (0..random.below(4)).map(|_| random.below(count * EVENTS)).collect();
    case
}

fn run(case: &Case, planted: Option<Planted>) -> Result<Seen, Failure> {
    run_guest(case, None, |members| recovery::array(case, planted, members))
}

#[test]
fn a_plain_log_keeps_the_contract_through_losses_of_members_and_of_power() {
    let (mut seen, mut losses, mut both) = (Seen::default(), 0, 0);
    for seed in 0..300 {
        let case = case(seed);
        let one =
            run(&case, None).unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{}", case.to_toml()));
        assert_eq!(run(&case, None), Ok(one), "seed {seed} is played again");
        losses += case.losses.len();
        both += usize::from(!case.losses.is_empty() && one.power_losses > 0);
        seen.power_losses += one.power_losses;
        seen.succeeded += one.succeeded;
        (0..3).for_each(|nth| seen.log[nth] += one.log[nth]);
    }
    let [stripes, merges, collected] = seen.log;
    assert!(losses > 200 && both > 100 && seen.power_losses > 300, "{losses} {both} {seen:?}");
    assert!(seen.succeeded > 20_000 && stripes > 10_000 && merges > 1_000 && collected > 1_000, "{seen:?}");
}

/// The failure of the first seed, and that seed.
fn first_failure(planted: Planted) -> (u64, Failure) {
    let mut seeds = 0..300;
    let found = seeds.find_map(|seed| run(&case(seed), Some(planted)).err().map(|failure| (seed, failure)));
    found.unwrap_or_else(|| panic!("{planted:?} was not found"))
}

#[test]
fn stripes_without_parity_are_found_once_a_member_is_lost() {
    let (seed, failure) = first_failure(Planted::ParityDropped);
    assert!(failure.what.contains("holds") || failure.what.contains("failed"), "seed {seed}: {failure}");
    assert_eq!(run(&case(seed), Some(Planted::ParityDropped)), Err(failure), "seed {seed} replays");
}

#[test]
fn a_recovery_that_forgets_the_tail_is_found() {
    let (seed, failure) = first_failure(Planted::TailForgotten);
    assert!(failure.what.starts_with("after a loss of power, sector"), "seed {seed}: {failure}");
    assert_eq!(run(&case(seed), Some(Planted::TailForgotten)), Err(failure), "seed {seed} replays");
}
