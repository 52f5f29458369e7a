//! Write amplification under uniform random writes, compared with theory. Untimed: map and garbage collection only.
//!
//! With `T` physical and `U` live pages, `alpha = T / U`, FIFO collection of large blocks has
//! `A = alpha / (alpha + W(-alpha e^-alpha))` (Desnoyers, SYSTOR 2012; Xiang and Kurkoski, arXiv 1110.4245). Greedy
//! collection approaches this value from below as blocks grow. A random victim has the mean valid fraction, so
//! `A = 1 / (1 - 1 / alpha)`. `T` counts only the pages that collection keeps filled, not those it keeps free.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::Victim;
use stripewise_flash::{DeviceSpec, Flash, Level, Share};

use crate::support::spec;

/// One plane of 64 Ki pages. `over_provisioning` is the share not exported; two blocks are kept free.
fn plane(blocks: u32, pages: u32, over_provisioning: Share, victim: Victim) -> DeviceSpec {
    let mut plane = spec(&format!(
        r#"
        name = "plane"
        [geometry]
        channels = 1
        chips = 1
        dies = 1
        planes = 1
        blocks = {blocks}
        pages = {pages}
        page_bytes = "4KiB"
        [timing]
        read = "10us"
        program = "100us"
        erase = "1ms"
        bus = "1ns/B"
        [ftl]
        over_provisioning = "50%"
        [gc]
        victim = "greedy"
        low_watermark = {{ block-count = 2 }}
        blocking = "plane"
        "#
    ));
    plane.ftl.over_provisioning = over_provisioning;
    plane.gc.victim = victim;
    plane
}

/// Write amplification in the steady state, and the corresponding `alpha`.
fn amplification(spec: &DeviceSpec) -> (f64, f64) {
    let mut flash = Flash::new(spec, Level::Chip, 1, 3).unwrap_or_else(|error| panic!("{error}"));
    let pages = u64::from(flash.logical_pages());
    let mut random = Prng::new(17);
    (0..pages).for_each(|page| flash.write_untimed(0, page as u32));
    (0..6 * pages).for_each(|_| flash.write_untimed(0, random.below(pages) as u32));
    flash.reset_counters(0);
    (0..4 * pages).for_each(|_| flash.write_untimed(0, random.below(pages) as u32));
    let c = flash.counters(0, 0);
    // Free are the two blocks of the low watermark, the additional one that collection frees, and half of the block
    // that is being written.
    let filled = f64::from(spec.geometry.blocks) - 2.5;
    let alpha = filled * f64::from(spec.geometry.pages) / pages as f64;
    (c.flash_program_pages() as f64 / c.program_pages as f64, alpha)
}

/// The closed form, by bisection: `x = 1 / A` solves `1 - x = e^(-alpha x)`, as substitution shows.
fn closed_form(alpha: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0);
    for _ in 0..100 {
        let x = (low + high) / 2.0;
        if 1.0 - x > libm::exp(-alpha * x) { low = x } else { high = x }
    }
    1.0 / low
}

#[test]
fn the_closed_form_has_the_published_values() {
    for (over_provisioning, expected) in [
        (0.07, 7.82),
        (0.10, 5.68),
        (0.15, 4.02),
        (0.20, 3.19),
        (0.28, 2.48),
        (0.30, 2.36),
        (0.50, 1.72),
        (1.0, 1.26),
    ] {
        let found = closed_form(1.0 + over_provisioning);
        assert!((found - expected).abs() < 0.006, "{over_provisioning}: {found}");
    }
}

#[test]
fn fifo_follows_the_closed_form_and_greedy_approaches_it() {
    for share in [80_000, 130_000, 200_000, 300_000, 500_000] {
        let (fifo, alpha) = amplification(&plane(512, 128, Share(share), Victim::Fifo));
        let (greedy, _) = amplification(&plane(512, 128, Share(share), Victim::Greedy));
        let theory = closed_form(alpha);
        println!("alpha {alpha:.3}: theory {theory:.3}, FIFO {fifo:.3}, greedy {greedy:.3}");
        assert!((fifo / theory - 1.0).abs() < 0.02, "alpha {alpha:.3}: FIFO {fifo:.3}, theory {theory:.3}");
        assert!(
            (0.95..1.005).contains(&(greedy / theory)),
            "alpha {alpha:.3}: greedy {greedy:.3}, theory {theory:.3}"
        );
    }
}

#[test]
fn greedy_comes_closer_to_the_closed_form_as_blocks_grow() {
    let gap = |blocks, pages| {
        let (greedy, alpha) = amplification(&plane(blocks, pages, Share(150_000), Victim::Greedy));
        1.0 - greedy / closed_form(alpha)
    };
    let gaps = [gap(4096, 16), gap(1024, 64), gap(256, 256)];
    println!("{gaps:?}");
    assert!(gaps[0] > gaps[1] && gaps[1] > gaps[2] && gaps[2] < 0.02, "{gaps:?}");
}

#[test]
fn a_random_victim_holds_what_the_average_block_holds() {
    for share in [130_000, 300_000] {
        let (found, alpha) = amplification(&plane(512, 128, Share(share), Victim::Random));
        let theory = 1.0 / (1.0 - 1.0 / alpha);
        println!("alpha {alpha:.3}: theory {theory:.3}, random {found:.3}");
        assert!((found / theory - 1.0).abs() < 0.03, "alpha {alpha:.3}: {found:.3}, theory {theory:.3}");
    }
}

#[test]
fn more_choice_means_less_amplification() {
    let of = |victim| amplification(&plane(1024, 64, Share(150_000), victim)).0;
    let [greedy, ten, two, fifo, random] =
        [Victim::Greedy, Victim::DChoices(10), Victim::DChoices(2), Victim::Fifo, Victim::Random].map(of);
    println!(
        "greedy {greedy:.3}, 10 choices {ten:.3}, 2 choices {two:.3}, FIFO {fifo:.3}, random {random:.3}"
    );
    assert!(greedy < ten && ten < two && two < random && ten < fifo && fifo < random);
    // Ten choices come close to greedy (Van Houdt, SIGMETRICS 2013).
    assert!(ten / greedy < 1.06, "{ten:.3} and {greedy:.3}");
}

#[test]
fn space_kept_free_costs_amplification() {
    let of = |count| {
        let mut plane = plane(512, 128, Share(200_000), Victim::Greedy);
        plane.gc.low_watermark = stripewise_flash::spec::Watermark::BlockCount(count);
        amplification(&plane).0
    };
    assert!(of(2) < of(26) && of(26) < of(52));
}
