//! The fast method of preconditioning, compared with the direct one.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{Choice, Isolation, Pool, Victim};
use stripewise_flash::{DeviceSpec, Flash, Level, Share, State};

use crate::support::spec;

/// 8 chips of 4 planes of 512 blocks: 16384 blocks, enough for a distribution.
fn device(victim: Victim, pool: Pool) -> DeviceSpec {
    let mut device = spec(
        r#"
        name = "steady"
        [geometry]
        channels = 8
        chips = 1
        dies = 1
        planes = 4
        blocks = 512
        pages = 32
        page_bytes = "4KiB"
        [timing]
        read = "10us"
        program = "100us"
        erase = "1ms"
        bus = "1ns/B"
        [ftl]
        over_provisioning = "15%"
        [gc]
        victim = "greedy"
        low_watermark = { blocks = "2%" }
        blocking = "plane"
        "#,
    );
    device.gc.victim = victim;
    device.ftl.pool = pool;
    device
}

fn preconditioned(device: &DeviceSpec, level: Level, state: State, fill: Share, seed: u64) -> Flash {
    let mut flash = Flash::new(device, level, 1, seed).unwrap_or_else(|error| panic!("{error}"));
    flash.precondition(state, fill, seed);
    flash.audit().unwrap_or_else(|error| panic!("{error}"));
    flash
}

/// The share of blocks with at most this number of valid pages, for each number.
fn distribution(flash: &Flash) -> Vec<f64> {
    let mut counts = vec![0u32; flash.shape().pages_per_block as usize + 1];
    let members = 0..flash.shape().members;
    members.flat_map(|member| flash.valid_pages(member)).for_each(|valid| counts[valid as usize] += 1);
    let total = f64::from(counts.iter().sum::<u32>());
    let mut sum = 0;
    counts
        .iter()
        .map(|&count| {
            sum += count;
            f64::from(sum) / total
        })
        .collect()
}

/// The largest distance between two distributions (Kolmogorov and Smirnov).
fn distance(a: &Flash, b: &Flash) -> f64 {
    let pairs = distribution(a).into_iter().zip(distribution(b));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Write amplification of further writes to the first `share` of the pages; their number is a tenth of these pages.
fn next_write_amplification(flash: &mut Flash, share: Share) -> f64 {
    let (members, mut random) = (flash.shape().members, Prng::new(99));
    let pages = share.of(flash.logical_pages().into());
    flash.reset_counters(0);
    for member in 0..members {
        for _ in 0..pages / 10 {
            flash.write_untimed(member, random.below(pages) as u32);
        }
    }
    let sums = (0..members).map(|member| flash.counters(0, member));
    let (host, moved) = sums.fold((0, 0), |sums, c| (sums.0 + c.program_pages, sums.1 + c.gc_move_pages));
    1.0 + moved as f64 / host as f64
}

fn assert_alike(device: &DeviceSpec, level: Level, fill: Share) {
    let mut fast = preconditioned(device, level, State::Steady, fill, 11);
    let mut honest = preconditioned(device, level, State::Written, fill, 12);
    let distance = distance(&fast, &honest);
    let (a, b) = (next_write_amplification(&mut fast, fill), next_write_amplification(&mut honest, fill));
    println!("{:?} {:?} {level:?}: distance {distance:.4}, {a:.3} {b:.3}", device.gc.victim, device.ftl.pool);
    assert!(distance < 0.02, "{:?}: the distributions are {distance:.4} apart", device.gc.victim);
    assert!((a / b - 1.0).abs() < 0.03, "{:?}: write amplification {a:.3} and {b:.3}", device.gc.victim);
}

#[test]
fn a_stamped_device_is_like_one_that_was_really_written() {
    for victim in [Victim::Greedy, Victim::DChoices(4), Victim::Fifo, Victim::Random] {
        assert_alike(&device(victim, Pool::Plane), Level::Ssd, Share::ALL);
    }
}

#[test]
fn so_is_one_with_hardly_any_spare_space_and_one_with_much() {
    let mut device = device(Victim::Greedy, Pool::Plane);
    device.ftl.over_provisioning = Share(70_000);
    assert_alike(&device, Level::Ssd, Share::ALL);
    assert_alike(&device, Level::Ssd, Share(600_000));
}

#[test]
fn so_is_one_with_streams_which_are_all_but_one_still_empty() {
    let mut device = device(Victim::Greedy, Pool::Plane);
    (device.ftl.streams, device.ftl.isolation) = (6, Isolation::Persistent);
    assert_alike(&device, Level::Ssd, Share::ALL);
}

#[test]
fn so_is_one_of_channels_with_dynamic_allocation() {
    assert_alike(&device(Victim::Greedy, Pool::Member), Level::Channel, Share(900_000));
    let mut most_free = device(Victim::Greedy, Pool::Chip);
    most_free.ftl.choice = Choice::MostFree;
    assert_alike(&most_free, Level::Ssd, Share(900_000));
}

#[test]
fn the_same_seed_gives_the_same_device_and_another_seed_another() {
    let device = device(Victim::DChoices(2), Pool::Die);
    let map = |seed| {
        let flash = preconditioned(&device, Level::Chip, State::Steady, Share::ALL, seed);
        (0..flash.logical_pages()).map(|page| flash.lookup(3, page)).collect::<Vec<_>>()
    };
    assert_eq!(map(1), map(1));
    assert_ne!(map(1), map(2));
}

#[test]
fn exactly_the_share_that_was_requested_is_mapped() {
    for pool in [Pool::Plane, Pool::Chip, Pool::Member] {
        for state in [State::Sequential, State::Steady, State::Written] {
            let flash = preconditioned(&device(Victim::Greedy, pool), Level::Ssd, state, Share(500_000), 3);
            let pages = flash.logical_pages();
            let mapped = (0..pages).filter(|&page| flash.lookup(0, page).is_some()).count() as u32;
            assert!((0..mapped).all(|page| flash.lookup(0, page).is_some()), "{pool:?} {state:?}");
            // Half of each pool's pages, rounded down.
            assert!(
                (pages / 2 - 32..=pages / 2).contains(&mapped),
                "{pool:?} {state:?}: {mapped} of {pages}"
            );
        }
    }
}

#[test]
fn a_device_may_stay_empty() {
    for state in [State::Sequential, State::Steady, State::Written] {
        let flash = preconditioned(&device(Victim::Fifo, Pool::Die), Level::Channel, state, Share::NONE, 3);
        assert_eq!(flash.valid_pages(0).sum::<u32>(), 0);
    }
}

#[test]
fn planes_are_out_of_phase() {
    let flash =
        preconditioned(&device(Victim::Greedy, Pool::Plane), Level::Chip, State::Steady, Share::ALL, 1);
    let free: std::collections::BTreeSet<u32> =
        (0..flash.shape().members).map(|chip| flash.estimate(chip).free_pages).collect();
    assert!(free.len() > 3, "free pages of 8 chips take {} values only", free.len());
}
