//! Every profile's trace has the profile's statistics, measured by the code that measures any trace.

use super::check::{Finding, compare, compare_places};
use proptest::prelude::*;
use stripewise_base::units::{Bytes, Count, Span};

use super::*;
use crate::generate::Generator;

/// Requests of each trial: enough for the tolerances, few enough for a test. `STRIPEWISE_FULL_PROFILES=1` uses the
/// profiles' own numbers, up to 23 million.
const TRIAL: u64 = 60_000;

fn failing(findings: Vec<Finding>) -> Vec<String> {
    findings.iter().filter(|finding| !finding.holds()).map(ToString::to_string).collect()
}

fn measure(profile: &Profile, requests: Option<u64>, seed: u64) -> Stats {
    let mut source =
        profile.generate(requests, seed).unwrap_or_else(|error| panic!("{}: {error}", profile.source));
    Stats::collect(source.as_mut()).expect("generators do not fail")
}

#[test]
fn every_shipped_profile_yields_a_trace_that_matches_it() {
    let full = std::env::var_os("STRIPEWISE_FULL_PROFILES").is_some();
    for builtin in builtin() {
        let Some(profile) = builtin.profile else { continue };
        let requests = if full { profile.requests.0 } else { profile.requests.0.min(TRIAL) };
        let stats = measure(&profile, Some(requests), 11);
        assert_eq!(stats.requests, requests);
        let mut wrong = failing(compare(&profile, &stats).expect("the profile was generated"));
        wrong.extend(failing(compare_places(&profile, &stats)));
        assert!(wrong.is_empty(), "{}:\n{}", builtin.name, wrong.join("\n"));
    }
}

#[test]
fn every_shipped_workload_can_be_requested_by_name() {
    let all = builtin();
    assert_eq!(all.len(), 6 + 4 + 5 + 12 + 14 + 6);
    for builtin in all {
        assert!(!builtin.source.is_empty());
        let direct: Generator = builtin.generator.parse().unwrap_or_else(|error| panic!("{error}"));
        if builtin.profile.is_none() {
            let named: Generator = format!("profile:name={}", builtin.name).parse().expect("named");
            let (mut a, mut b) = (Vec::with_capacity(64), Vec::with_capacity(64));
            named.source(5).next_batch(&mut a).expect("generators do not fail");
            direct.source(5).next_batch(&mut b).expect("generators do not fail");
            assert_eq!(a, b, "{}", builtin.name);
        }
    }
}

fn example() -> Profile {
    find("paper000/lun1").expect("shipped").profile.expect("a profile")
}

#[test]
fn a_profile_survives_its_file() {
    for builtin in builtin() {
        let Some(profile) = builtin.profile else { continue };
        let text = profile.to_toml();
        let read = Profile::from_toml("x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, profile, "{text}");
    }
}

#[test]
fn a_profile_without_meaning_is_refused_with_the_remedy() {
    let text = example().to_toml();
    for (from, to, remedy) in [
        ("write_ratio", "write_ration", "did you mean `write_ratio`?"),
        ("write_ratio = 0.454", "write_ratio = 1.454", "write_ratio = 1.454 is not a share"),
        (
            "write_ratio = 0.454",
            "trim_ratio = 0.6\nflush_ratio = 0.6\nwrite_ratio = 0.4",
            "exceed 1 together",
        ),
        ("requests = \"824068\"", "requests = \"many\"", "a count such as `3M`"),
        ("\"16GiB\"", "\"16\"", "write for example `16B`"),
        ("\"16GiB\"", "\"2048PiB\"", "is beyond 1024 PiB; narrow it"),
        ("mean_kib = 11.2", "mean_kib = 0.01", "sizes.read: a mean size lies between 0.5 and 65536 KiB"),
        ("mean_kib = 11.2", "atoms = [[\"0B\", 1.0]]", "a size is 1 B to 4 GiB - 1"),
        ("[sizes.write]", "[sizes.trim]", "sizes.write is missing; give { mean_kib = 8 } or atoms"),
        ("\"2s\"", "\"2ms\"", "arrivals.cdf descends at point 6"),
        ("[1.0, \"2s\"]", "[0.9, \"2s\"]", "arrivals.cdf runs from share 0 to 0.9; add points for 0 and 1"),
        ("\"4368572ns\"", "\"1s\"", "arrivals.mean = 1s contradicts arrivals.cdf, which allows"),
        ("correlation = 0.7", "correlation = 1.5", "arrivals.correlation = 1.5 is not a share"),
        ("hot20 = 0.8", "hot20 = 80", "skew.hot20 = 80 is not a share"),
        ("head = 0.03", "head = 3", "skew.head = 3 is not a share"),
        ("immediate = 0.1", "immediate = 1.1", "recency.immediate = 1.1 is not a share"),
        ("share = 0.0", "share = 0.95", "recency.share and recency.immediate exceed 1 together"),
        (
            "sigma = 1.43",
            "sigma = 5",
            "places.extents needs a median from 4KiB to 1TiB and a sigma from 0 to 4",
        ),
        ("phase = true", "phases = true", "did you mean `phase`?"),
        (
            "[recency]",
            "[storm]\nshare = 2\npages = 1\nevery = 9\n[recency]",
            "storm.share = 2 is not a share",
        ),
        (
            "[recency]",
            "[storm]\nshare = 0.1\npages = 0\nevery = 9\n[recency]",
            "storm.pages is no number of places",
        ),
        (
            "[recency]",
            "[storm]\nshare = 0.1\npages = 9\nevery = 9\n[recency]",
            "no place is met twice; raise it",
        ),
        ("within = \"6\"", "within = \"0\"", "no number of writes from 1 to"),
        (
            "write_ratio = 0.454",
            "write_ratio = 0.454\nstart_sector = [0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]",
            "not all 0",
        ),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from}\n{text}");
        let made = Profile::from_toml("x.toml", &wrong).and_then(|profile| profile.generate(Some(1000), 1));
        let message = made.map(|_| ()).expect_err(to).to_string();
        assert!(message.contains(remedy), "{to}: {message}");
    }
}

#[test]
fn the_printed_but_impossible_interval_of_lun1_is_refused() {
    // Table IV prints 2.0 ms at 100 % after 4.2 ms at 80 %: the shipped profile says 2.0 s.
    let printed = example().to_toml().replacen("\"2s\"", "\"2.0ms\"", 1);
    let message = Profile::from_toml("paper", &printed).expect_err("descends").to_string();
    assert!(message.contains("[1, 2ms] after [0.8, 4.2ms]"), "{message}");
}

#[test]
fn correlated_intervals_have_the_distribution_of_independent_ones_and_cluster() {
    let shipped = find("paper000/hm_0").expect("shipped").profile.expect("a profile");
    let base = Profile { arrivals: Arrivals { correlation: 0.0, ..shipped.arrivals.clone() }, ..shipped };
    let correlated =
        Profile { arrivals: Arrivals { correlation: 0.85, ..base.arrivals.clone() }, ..base.clone() };
    let (random, clustered) = (measure(&base, Some(TRIAL), 3), measure(&correlated, Some(TRIAL), 3));
    let lag = |stats: &Stats| stats.burstiness.log_gap_lag1.expect("intervals differ");
    assert!(lag(&random).abs() < 0.02 && (0.5..0.75).contains(&lag(&clustered)), "{}", lag(&clustered));
    let a_second = |stats: &Stats| {
        stats
            .burstiness
            .dispersion
            .iter()
            .find(|window| window.window_ns == 1_000_000_000)
            .expect("90 s")
            .index
    };
    assert!(a_second(&clustered) > 3.0 * a_second(&random), "{} {}", a_second(&clustered), a_second(&random));
}

#[test]
fn a_storm_takes_its_share_of_the_updates_and_leaves_the_printed_statistics_alone() {
    let base = find("paper000/Ali_1").expect("shipped").profile.expect("a profile");
    let storm = Storm { share: 0.4, pages: Count(1), every: Count(1 << 40) };
    let stormy = Profile { storm: Some(storm), ..base.clone() };
    let of = |profile: &Profile| {
        let (mut source, mut batch) = (profile.generate(Some(TRIAL), 7).expect("a profile"), Vec::new());
        let mut writes = std::collections::BTreeMap::new();
        loop {
            source.next_batch(&mut batch).expect("generators do not fail");
            if batch.is_empty() {
                break;
            }
            let kind = |request: &&crate::Request| request.kind == crate::Kind::Write;
            batch.iter().filter(kind).for_each(|write| *writes.entry(write.offset).or_insert(0u64) += 1);
        }
        let (all, most) = (writes.values().sum::<u64>(), writes.values().copied().max().unwrap_or(0));
        most as f64 / all as f64
    };
    // 0.4 of the updates (0.874) that continue no recent request (all but a tenth of all requests).
    let (calm, hottest) = (of(&base), of(&stormy));
    assert!(calm < 0.05 && (0.28..0.36).contains(&hottest), "{calm} {hottest}");
    let [calm, stormy] = [&base, &stormy].map(|profile| measure(profile, Some(TRIAL), 7));
    for (name, of) in [
        ("write ratio", [calm.write_ratio, stormy.write_ratio]),
        ("write size", [calm.size_write.mean_bytes, stormy.size_write.mean_bytes]),
        ("update ratio", [calm.updates.ratio, stormy.updates.ratio]),
    ] {
        assert!((of[1] / of[0] - 1.0).abs() < 0.02, "{name}: {of:?}");
    }
}

#[test]
fn writes_return_as_soon_and_as_often_as_the_recency_says() {
    // Few pages are popular: without recency a write hardly ever returns to one of the last 64.
    let sizes =
        Sizes { write: Some(SizeLaw { mean_kib: None, atoms: vec![(Bytes(4096), 1.0)] }), ..example().sizes };
    let base = Profile {
        write_ratio: 1.0,
        update_ratio: 0.5,
        sequential: 0.0,
        sizes,
        skew: Skew { hot20: 0.2, head: 0.0 },
        ..example()
    };
    let soon = |recency| {
        let mut source = Profile { recency, ..base.clone() }.generate(Some(20_000), 5).expect("a profile");
        let (mut batch, mut last) = (Vec::with_capacity(20_000), std::collections::BTreeMap::new());
        source.next_batch(&mut batch).expect("generators do not fail");
        let mut meets = |(at, request): (usize, &crate::Request)| {
            last.insert(request.offset, at).is_some_and(|before| at - before <= 64)
        };
        batch.iter().enumerate().filter(|write| meets(*write)).count() as f64 / batch.len() as f64
    };
    // While there are few pages, an update meets a recent one by chance: 64 ln(20,000 / 64) of the 20,000, about 2 %.
    let by_chance = soon(None);
    assert!(by_chance < 0.03, "{by_chance}");
    // Half of the writes are updates.
    let found = soon(Some(Recency { share: 0.6, within: Count(64), immediate: 0.0 }));
    assert!((found - by_chance - 0.3).abs() < 0.02, "{found}");
}

#[test]
fn the_hottest_data_meets_all_members_if_zones_begin_anywhere() {
    // Paper 002: 64 chips in groups of 4, where a stripe has 48 data chips.
    let chips = |phase: bool| {
        let places = Some(Places { phase, extents: None });
        let profile = Profile {
            places,
            recency: None,
            ..find("paper002/HM_0").expect("shipped").profile.expect("one")
        };
        let mut source = profile.generate(Some(20_000), 5).expect("a profile");
        let (mut batch, mut hits) = (Vec::with_capacity(20_000), std::collections::BTreeMap::new());
        source.next_batch(&mut batch).expect("generators do not fail");
        batch.iter().for_each(|request| *hits.entry(request.offset / 4096).or_insert(0u32) += 1);
        let mut pages: Vec<(u32, u64)> = hits.into_iter().map(|(page, count)| (count, page)).collect();
        pages.sort_unstable_by(|a, b| b.cmp(a));
        pages.iter().take(100).map(|&(_, page)| page % 48).collect::<std::collections::BTreeSet<u64>>().len()
    };
    // Of 48 chips 100 pages at random places miss 48 exp(-100 / 48), about 6.
    assert!(chips(true) >= 36 && chips(false) < 24, "{} {}", chips(true), chips(false));
}

#[test]
fn lengths_of_extents_follow_the_law_that_a_profile_gives() {
    let law = |median: u64, sigma| {
        Some(Places { phase: true, extents: Some(ExtentLaw { median: Bytes(median), sigma }) })
    };
    let sizes =
        Sizes { write: Some(SizeLaw { mean_kib: None, atoms: vec![(Bytes(4096), 1.0)] }), ..example().sizes };
    let base =
        Profile { write_ratio: 1.0, update_ratio: 0.5, sequential: 0.1, sizes, recency: None, ..example() };
    for (median, sigma) in [(16u64 << 10, 1.0), (64 << 10, 1.4)] {
        let stats = measure(&Profile { places: law(median, sigma), ..base.clone() }, Some(TRIAL), 5);
        let extents = stats.extents;
        // Some thousand extents; a few are adjacent, and the last ones have not grown to their length.
        let pages = median as f64 / 4096.0;
        assert!(
            (extents.mean_ln - pages.ln()).abs() < 0.2 && (extents.sd_ln - sigma).abs() < 0.2,
            "{extents:?}"
        );
    }
}

#[test]
fn a_fit_that_is_kept_is_that_of_the_same_profile_and_length() {
    let fitted = |profile: &Profile, requests| check::fit_skew(profile, requests).expect("a fit");
    let even = example();
    let skew = Skew { hot20: 0.9, ..even.skew };
    let uneven = Profile { skew, ..even.clone() };
    let direct = |profile: &Profile, requests| {
        let arrivals = Arrivals { mean: Some(Span(0)), ..Arrivals::default() };
        check::bisect(&Profile { arrivals, ..profile.clone() }, requests).expect("a fit")
    };
    let cases = [(&even, 2_000), (&uneven, 2_000), (&even, 3_000), (&even, 2_000)];
    for (profile, requests) in cases {
        assert_eq!(fitted(profile, requests), direct(profile, requests));
    }
    assert_ne!(fitted(&even, 2_000), fitted(&uneven, 2_000));
}

#[test]
fn trims_and_flushes_come_in_their_shares() {
    let profile = Profile { trim_ratio: 0.1, flush_ratio: 0.05, ..example() };
    let stats = measure(&profile, Some(20_000), 1);
    assert_eq!((stats.requests, stats.trims, stats.flushes), (20_000, 2_000, 1_000));
    assert_eq!(stats.writes, (17_000.0 * profile.write_ratio + 0.5) as u64);
    assert!(stats.size_trim.mean_bytes > 0.0);
}

#[test]
fn extreme_profiles_are_met_as_well() {
    let base = Profile { start_sector: None, ..example() };
    let law = |mean_kib| Some(SizeLaw { mean_kib: Some(mean_kib), atoms: Vec::new() });
    for (name, profile) in [
        ("only reads", Profile { write_ratio: 0.0, update_ratio: 0.0, sequential: 0.0, ..base.clone() }),
        (
            "only first writes",
            Profile {
                write_ratio: 1.0,
                update_ratio: 0.0,
                skew: Skew { hot20: 0.2, head: 0.0 },
                ..base.clone()
            },
        ),
        ("only updates", Profile { write_ratio: 1.0, update_ratio: 1.0, ..base.clone() }),
        (
            "all sequential writes",
            Profile {
                write_ratio: 1.0,
                update_ratio: 0.0,
                sequential: 1.0,
                skew: Skew { hot20: 0.2, head: 0.0 },
                sizes: Sizes {
                    write: Some(SizeLaw { mean_kib: None, atoms: vec![(Bytes(65_536), 1.0)] }),
                    ..Sizes::default()
                },
                ..base.clone()
            },
        ),
        ("a span that is too small", Profile { span: Bytes(1 << 20), ..base.clone() }),
        ("a span that is huge", Profile { span: Bytes(1 << 50), ..base.clone() }),
        (
            "large requests",
            Profile {
                sizes: Sizes { read: law(4096.0), write: law(4096.0), ..Sizes::default() },
                ..base.clone()
            },
        ),
        (
            "no alignment",
            Profile {
                start_sector: Some([0.125; 8]),
                sizes: Sizes { read: law(2.0), write: law(2.0), ..Sizes::default() },
                ..base.clone()
            },
        ),
    ] {
        let stats = measure(&profile, Some(20_000), 5);
        let wrong = failing(compare(&profile, &stats).expect("the profile was generated"));
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
        // A single extent is hit wherever a request ends.
        let off = (stats.sequential - profile.sequential).abs();
        assert!(off < 0.03 || name == "only updates", "{name}: {}", stats.sequential);
    }
}

#[test]
fn another_seed_is_another_trace_with_the_same_statistics() {
    let take = |seed: u64| {
        let mut batch = Vec::with_capacity(1000);
        let mut source = example().generate(Some(1000), seed).expect("shipped");
        source.next_batch(&mut batch).expect("generators do not fail");
        batch
    };
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any profile is refused or runs, and its requests stay below 2^63.
    #[test]
    fn no_profile_panics(
        requests in 0u64..1 << 50,
        requested in prop::option::of(0u64..300),
        ratios in prop::array::uniform6(0.0f64..1.0),
        (written, read_only) in (prop::option::of(0u64..1 << 61), prop::option::of(0u64..1 << 61)),
        span in 0u64..1 << 61,
        atoms in prop::collection::vec((0u64..1 << 33, 0.0f64..2.0), 0..4),
        mean_kib in prop::option::of(0.0f64..70_000.0),
        mut gaps in prop::collection::vec((0.0f64..1.0, 0u64..1 << 62), 0..5),
        mean in prop::option::of(0u64..u64::MAX),
        starts in prop::option::of(prop::array::uniform8(0.0f64..1.0)),
        (phase, extents) in (any::<bool>(), prop::option::of((0u64..1 << 42, 0.0f64..4.5))),
        recency in prop::option::of((0.0f64..1.0, 0u64..2000, 0.0f64..0.5)),
    ) {
        gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut largest = 0;
        let cdf: Vec<(f64, Span)> = gaps.iter().map(|&(share, gap)| {
            largest = gap.max(largest);
            (share, Span(largest))
        }).collect();
        let [write_ratio, trim, flush, update_ratio, sequential, hot20] = ratios;
        let law = SizeLaw { mean_kib, atoms: atoms.into_iter().map(|(size, share)| (Bytes(size), share)).collect() };
        let mut arrivals = Arrivals { mean: mean.map(Span), cdf, correlation: 0.0 };
        if let (Some(first), true) = (arrivals.cdf.first_mut(), requests % 2 == 0) {
            first.0 = 0.0;
            arrivals.cdf.push((1.0, Span(u64::MAX)));
        }
        let profile = Profile {
            source: String::new(),
            storm: (requests % 3 == 0)
                .then(|| Storm { share: hot20, pages: Count(requests % 5 + 1), every: Count(requests + 9) }),
            requests: Count(requests),
            write_ratio,
            trim_ratio: trim * 0.5,
            flush_ratio: flush * 0.5,
            update_ratio,
            sequential,
            span: Bytes(span),
            sizes: Sizes { read: Some(law.clone()), write: Some(law), ..Sizes::default() },
            arrivals,
            footprint: Footprint { written: written.map(Bytes), read_only: read_only.map(Bytes), reads_of_written: hot20 },
            skew: Skew { hot20, head: hot20 },
            places: Some(Places {
                phase,
                extents: extents.map(|(median, sigma)| ExtentLaw { median: Bytes(median), sigma }),
            }),
            recency: recency.map(|(share, within, immediate)| Recency { share, within: Count(within), immediate }),
            start_sector: starts,
        };
        if let Ok(mut source) = profile.generate(requested, 3) {
            let mut batch = Vec::with_capacity(300);
            source.next_batch(&mut batch).expect("generators do not fail");
            prop_assert!(batch.iter().all(|request| request.offset < 1 << 63));
            prop_assert!(batch.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        }
    }
}
