//! `stripewise overhead`.

use serde_json::Value;

use crate::support::{Sandbox, golden};

#[test]
fn the_counts_of_a_trace_are_printed() {
    let sandbox = Sandbox::with_trace();
    golden("overhead.txt", &sandbox.run("overhead --trace trace.csv").success());
    golden(
        "overhead-raid6.txt",
        &sandbox.run("overhead --trace trace.csv --level raid6 --filled -c 2KiB").success(),
    );
}

#[test]
fn ten_chunks_at_a_stripe_of_seven_cost_five_with_parity_logging() {
    let sandbox = Sandbox::new();
    sandbox.write("ten.csv", "128166372000000000,host,0,Write,0,40960,100\n");
    let line = "overhead --trace ten.csv --format msr --filled --json";
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).expect("JSON");
    assert_eq!(value["parity_logging"]["sum_chunks"], 5);
    assert_eq!(value["in_place"]["sum_chunks"], 6);
    assert_eq!((&value["chunks"], &value["full_stripes"]), (&10.into(), &1.into()));
}

#[test]
fn folding_makes_far_addresses_meet() {
    let sandbox = Sandbox::with_trace();
    let unique = |options: &str| {
        let text = sandbox.run(&format!("overhead --trace trace.csv --json {options}")).success();
        serde_json::from_str::<Value>(&text).expect("JSON")["unique_chunks"].as_u64().expect("a count")
    };
    assert!(unique("--onto 256KiB") < unique(""), "folded onto 64 chunks");
    assert!(unique("--onto 256KiB") <= 64);
    assert_eq!(unique("--onto 64MiB --fold dense:4KiB"), unique(""), "volumes lie one behind the other");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let sandbox = Sandbox::with_trace();
    for (options, says) in [
        ("--level raid0", "raid5 or raid6"),
        ("--members 1", "0 data chunks"),
        ("--chunk 100B", "at least 512"),
        ("--fold dense", "--onto"),
        ("--chunk 4", "no unit"),
    ] {
        let error = sandbox.run(&format!("overhead --trace trace.csv {options}")).failure(2);
        assert!(error.contains(says), "{options}: {error}");
    }
    assert!(sandbox.run("overhead --trace nowhere.csv").failure(1).contains("nowhere.csv"));
}
