//! From a real trace to its profile, to a generated trace, and back: the statistics agree.

use std::path::Path;

use stripewise_trace::profile::Profile;
use stripewise_trace::profile::check::{Finding, compare, compare_places, share_upto};
use stripewise_trace::stats::Stats;
use stripewise_trace::{OpenOptions, open};

/// The traces, with the format where it must be named.
const FILES: &[(&str, &str)] = &[
    ("msr/rsrch_1.csv.zst", ""),
    ("msr/wdev_1.csv.zst", ""),
    ("msr/prxy_0.lines1-14000.csv.zst", ""),
    ("msr/hm_0.sample1000.csv.zst", ""),
    ("spc/Financial1.first949.spc.zst", ""),
    ("spc-noasu/Financial2.first.csv.zst", ""),
    ("spc-noasu/WebSearch2.slice.csv.zst", ""),
    ("ssdsim/Financial1.first10000.ascii.zst", ""),
    ("ssdsim/DTRS1K.trace.zst", "ssdsim:us"),
    ("mqsim/wsrch-small.trace.zst", ""),
    ("mqsim/tpcc-small.trace.zst", "mqsim"),
    ("disksim/ssd-postmark-aligned2.trace.zst", ""),
    ("disksim/tpcc9dev.999.trace.zst", ""),
    ("msps/MSN-FS-disk5.lines1-90000.trace.zst", ""),
];

/// The statistics of a trace, or nothing and a printed line.
fn measure(directory: &Path, file: &str, format: &str) -> Option<Stats> {
    let path = directory.join(file);
    if !path.exists() {
        println!("skipped {file}: not in STRIPEWISE_TRACES");
        return None;
    }
    let format = (!format.is_empty()).then(|| format.parse().expect("a format"));
    let mut reader = open(&path, &OpenOptions { format, ..OpenOptions::default() }).expect("a trace");
    Some(Stats::collect(&mut reader).expect("a good trace"))
}

#[test]
fn a_trace_generated_from_the_profile_of_a_real_trace_has_its_statistics() {
    let Some(directory) = std::env::var_os("STRIPEWISE_TRACES") else {
        println!("skipped: STRIPEWISE_TRACES is not set");
        return;
    };
    let mut wrong = Vec::new();
    for &(file, format) in FILES {
        let Some(real) = measure(Path::new(&directory), file, format) else { continue };
        // Through TOML, as a user would store it.
        let written = Profile::from_stats(&real, file).expect("a profile").to_toml();
        let profile = Profile::from_toml(file, &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        let mut source = profile.generate(None, 3).unwrap_or_else(|error| panic!("{file}: {error}"));
        let made = Stats::collect(source.as_mut()).expect("generators do not fail");
        assert_eq!(
            (real.requests, real.reads, real.writes, real.trims, real.flushes),
            (made.requests, made.reads, made.writes, made.trims, made.flushes),
            "{file}"
        );
        let mut findings = compare(&profile, &made).expect("the profile was generated");
        findings.extend(compare_places(&profile, &made));
        findings.extend(beside(&real, &made));
        for finding in findings {
            println!("{file}: {finding}");
            if !finding.holds() {
                wrong.push(format!("{file}: {finding}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compares the two traces in statistics beyond the profile: its rounding must not matter.
fn beside(real: &Stats, made: &Stats) -> Vec<Finding> {
    let near = |what: &str, wanted: f64, found: f64, tolerance: f64| Finding {
        what: what.to_owned(),
        wanted,
        found,
        tolerance,
    };
    let mean = |what: &str, wanted: f64, found: f64| near(what, wanted, found, 0.02 * wanted);
    let mut findings = vec![
        mean("real mean size", real.size_all.mean_bytes, made.size_all.mean_bytes),
        mean("real mean read", real.size_read.mean_bytes, made.size_read.mean_bytes),
        mean("real mean write", real.size_write.mean_bytes, made.size_write.mean_bytes),
        mean("real rate", real.requests_per_second, made.requests_per_second),
        near(
            "real update ratio",
            real.updates.ratio,
            made.updates.ratio,
            0.02 + 1.0 / real.writes.max(1) as f64,
        ),
    ];
    for at in 1..20 {
        let gap = real.gaps.quantile_ns(f64::from(at) * 0.05);
        let (wanted, found) = (share_upto(real, gap), share_upto(made, gap));
        findings.push(near(&format!("real share of intervals up to {gap} ns"), wanted, found, 0.03));
    }
    findings
}
