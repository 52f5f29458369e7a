//! Cases computed by hand in the tests of other crates: the page lists them, and this crate does not repeat them.

/// A case and the test that checks it.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    /// The case, with its figures.
    pub case: &'static str,
    /// The file, from the root of the tree.
    pub file: &'static str,
    /// The name of the test in the file.
    pub test: &'static str,
}

/// All of them.
pub const ORACLES: &[Oracle] = &[
    Oracle {
        case: "SSDsim's fork: 8 KiB are read in 86.0 us and written in 741.0 us",
        file: "crates/flash/tests/it/phases.rs",
        test: "the_ssdsim_fork_reads_8_kib_in_86_us_and_writes_them_in_741_us",
    },
    Oracle {
        case: "SSDsim's fork: collecting 20 valid pages holds the channel for 16.54 ms, then the chip for 3.5 ms",
        file: "crates/flash/tests/it/collection.rs",
        test: "the_ssdsim_fork_moves_20_pages_in_16_54_ms_and_erases_in_3_5_ms",
    },
    Oracle {
        case: "DiskSim: 4 KiB are read in 0.1306 ms and written in 0.3056 ms",
        file: "crates/flash/tests/it/phases.rs",
        test: "disksim_reads_4_kib_in_130_6_us_and_writes_them_in_305_6_us",
    },
    Oracle {
        case: "DiskSim: a victim with 7 valid pages is cleaned within its plane in 7 · 0.225 + 1.5 = 3.075 ms",
        file: "crates/flash/tests/it/collection.rs",
        test: "disksim_cleans_a_block_with_7_valid_pages_in_3_075_ms",
    },
    Oracle {
        case: "blocked requests with means (1, 1, 1, 1, 1, 7) have a coefficient of variation of 1.1180",
        file: "crates/sim/src/uniformity.rs",
        test: "blocked_means_of_five_ones_and_a_seven_vary_by_1_1180",
    },
    Oracle {
        case: "a preconditioned device is as one that was really filled: valid pages of blocks, amplification after",
        file: "crates/flash/tests/it/precondition.rs",
        test: "a_stamped_device_is_like_one_that_was_really_written",
    },
    Oracle {
        case: "the map and collection alone, without time, amplify as the closed forms say",
        file: "crates/flash/tests/it/amplification.rs",
        test: "fifo_follows_the_closed_form_and_greedy_approaches_it",
    },
    Oracle {
        case: "DiskSim's suite on the device alone, without the array: random writes with cleaning",
        file: "crates/flash/tests/it/disksim_suite.rs",
        test: "five_million_random_writes_with_cleaning",
    },
    Oracle {
        case: "RAID-5's chunks lie where Linux md puts them",
        file: "crates/core/src/geometry/tests.rs",
        test: "left_symmetric_raid5_lays_chunks_as_linux_md_does",
    },
    Oracle {
        case: "simulator and engine get the same plans for the same requests",
        file: "crates/engine/tests/it/same_plans.rs",
        test: "both_drivers_get_the_same_plans_step_by_step",
    },
];
