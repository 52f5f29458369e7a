//! The built-in profiles are like real traces where no paper prints numbers: bursts, reuse, skew, extents and balance lie
//! within the ranges of slices of real traces, in `profile_ranges.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use stripewise_trace::profile::{Profile, builtin};
use stripewise_trace::stats::Stats;
use stripewise_trace::{OpenOptions, open};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    slice: Vec<Slice>,
    range: BTreeMap<String, [f64; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slice {
    path: String,
    format: Option<String>,
}

fn measured() -> Measured {
    toml::from_str(include_str!("profile_ranges.toml")).expect("a file of this repository")
}

/// A statistic of `stripewise trace info --json`, where the trace has it.
fn statistic(stats: &Stats, name: &str) -> Option<f64> {
    let [_, ten, hundred] = stats.skew.hottest;
    let cv = |page_writes: u64| {
        let of = |balance: &&stripewise_trace::stats::Balance| {
            balance.members == 6 && balance.page_writes == page_writes
        };
        stats.balance.iter().find(of).map(|balance| balance.cv)
    };
    match name {
        "dispersion" => stats.burstiness.dispersion.iter().map(|window| window.index).reduce(f64::max),
        "log_gap_lag1" => stats.burstiness.log_gap_lag1,
        "hurst" => stats.burstiness.hurst,
        "within_6" => Some(stats.reuse.within_6),
        "within_64" => Some(stats.reuse.within_64),
        "within_1024" => Some(stats.reuse.within_1024),
        "hottest_10" => Some(ten),
        "hottest_100" => Some(hundred),
        "extent_median_pages" => Some(stats.extents.median_pages as f64),
        "extent_mean_pages" => Some(stats.extents.mean_pages),
        "extent_sd_ln" => Some(stats.extents.sd_ln),
        "cv_of_6_in_100" => cv(100),
        "cv_of_6_in_1000" => cv(1_000),
        other => panic!("profile_ranges.toml: {other} is no statistic of this test"),
    }
}

/// Requests that are generated: as many as a long slice has; more where less than one in 40 writes new data, so that the
/// written pages are no fewer than those of slices.
fn requests(profile: &Profile) -> u64 {
    let new = profile.write_ratio * (1.0 - profile.update_ratio);
    let requests = if new < 0.025 { 500_000 } else { 60_000 };
    profile.requests.0.min(requests)
}

#[test]
fn built_in_profiles_lie_within_the_ranges_of_real_traces() {
    let measured = measured();
    let mut wrong = Vec::new();
    for builtin in builtin() {
        let Some(profile) = builtin.profile else { continue };
        // Storms are more uneven than any slice: their size is fitted to paper 000, see docs/evidence/paper-000.md.
        if profile.storm.is_some() {
            continue;
        }
        let mut source = profile.generate(Some(requests(&profile)), 7).expect("a shipped profile");
        let stats = Stats::collect(source.as_mut()).expect("generators do not fail");
        for (name, &[low, high]) in &measured.range {
            let found = statistic(&stats, name).expect("a generated trace is long enough");
            println!("{}: {name} {found:.4} in {low} to {high}", builtin.name);
            // Poisson arrivals are a choice where a paper prints a rate and no more, as paper 004 does: they cluster less.
            if name == "dispersion" && profile.arrivals.cdf.is_empty() {
                continue;
            }
            // Another seed may differ by as much as a tenth.
            let (least, most) = (low - 0.1 * low.abs(), high + 0.1 * high.abs());
            if !(least..=most).contains(&found) {
                wrong.push(format!("{}: {name} = {found} is outside {low} to {high}", builtin.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_ranges_are_those_of_the_slices() {
    let Some(directory) = std::env::var_os("STRIPEWISE_TRACES") else {
        println!("skipped: STRIPEWISE_TRACES is not set");
        return;
    };
    let measured = measured();
    let mut found: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
    for Slice { path, format } in &measured.slice {
        let file = Path::new(&directory).join(path);
        if !file.exists() {
            println!("skipped: {path} is not in STRIPEWISE_TRACES");
            return;
        }
        let format = format.as_ref().map(|format| format.parse().expect("a format"));
        let mut reader = open(&file, &OpenOptions { format, ..OpenOptions::default() }).expect("a trace");
        let stats = Stats::collect(&mut reader).expect("a good trace");
        for name in measured.range.keys() {
            found
                .entry(name)
                .or_default()
                .extend(statistic(&stats, name).map(|value| (value, path.as_str())));
        }
    }
    let mut wrong = Vec::new();
    for (name, &[low, high]) in &measured.range {
        let values = &found[name.as_str()];
        let least = values.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).expect("a slice has it");
        let most = values.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)).expect("a slice has it");
        // The ends are the least and the most of the slices, to three digits.
        let near = |end: f64, (value, _): (f64, &str)| (end - value).abs() <= 0.006 * value.abs() + 5e-5;
        if !near(low, least) || !near(high, most) {
            wrong.push(format!("{name}: {low} to {high}, but measured {least:?} to {most:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
