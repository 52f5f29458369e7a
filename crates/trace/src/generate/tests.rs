//! The properties that generators promise, measured on their requests.

use proptest::prelude::*;

use super::*;
use crate::stats::Stats;
use crate::{Kind, Request};

fn generator(spec: &str) -> Generator {
    spec.parse().unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn requests(spec: &str, seed: u64) -> Vec<Request> {
    let mut source = generator(spec).source(seed);
    let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(1000));
    loop {
        source.next_batch(&mut batch).expect("generators do not fail");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

fn stats(spec: &str) -> Stats {
    Stats::collect(generator(spec).source(1).as_mut()).expect("generators do not fail")
}

fn refused(spec: &str) -> String {
    match spec.parse::<Generator>() {
        Ok(generator) => panic!("{spec} was taken as {generator}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_example_of_the_catalog_works_and_prints_itself_in_full() {
    for about in catalog() {
        let parsed = generator(about.example);
        assert_eq!(generator(&parsed.to_string()), parsed, "{}", about.name);
        let mut batch = Vec::with_capacity(10);
        parsed.source(1).next_batch(&mut batch).expect("generators do not fail");
        assert_eq!(batch.len(), 10, "{}", about.name);
        for key in about.keys {
            assert!(parsed.to_string().contains(&format!("{}=", key.name)), "{} {}", about.name, key.name);
        }
    }
}

#[test]
fn a_wrong_specification_is_refused_with_the_remedy() {
    for (spec, remedy) in [
        ("unifrom:write=1", "unknown generator `unifrom`; did you mean `uniform`?"),
        ("uniform:sise=8KiB", "generator uniform: unknown key `sise`; did you mean `size`?"),
        ("uniform:size", "`size` has no value; write key=value"),
        ("uniform:size=,write=1", "key `size` is empty"),
        ("uniform:write=1,write=0", "key `write` is given twice"),
        ("uniform:write=1.5", "expected a share from 0 to 1, such as `0.6` or `60%`"),
        ("uniform:size=8", "write for example `8B`"),
        ("uniform:size=8Kib", "did you mean `8KiB`?"),
        ("uniform:size=4KiB+8KiB", "a size lacks its weight"),
        ("uniform:size=4KiB..10KiB", "the larger size must be a multiple of the smaller"),
        ("uniform:size=0B", "a request has 1 byte to 4 GiB - 1"),
        ("uniform:span=1KiB", "the largest request has 4096 bytes; widen the span"),
        ("uniform:start=16384PiB", "start=16384PiB"),
        ("uniform:start=16383PiB,span=2PiB", "exceed 2^64 bytes"),
        ("uniform:align=0B", "offsets cannot be multiples of nothing"),
        ("uniform:arrival=posson:1ms", "expected when requests arrive: `none`"),
        ("uniform:arrival=uniform:2ms..1ms", "`uniform:0..1ms`"),
        ("uniform:volume=5G", "below 2^32"),
        ("sequential:streams=0", "each stream needs room"),
        ("sequential:span=8KiB,streams=3", "each stream needs room"),
        ("zipf:theta=-1", "expected a number such as `0.99`"),
        ("zipf:size=4KiB..8KiB,align=size", "slots need one width"),
        ("normal:hot=80%,traffic=20%", "the hot part must take more"),
        ("disksim", "key `case` is missing"),
        ("disksim:case=rw5k", "did you mean `rw5m`?"),
        ("disksim:case=rw5m,span=1MiB,mean=1MiB", "widen it"),
        ("profile", "give the `name` of a built-in profile, or a `file`"),
        ("profile:name=paper000/hm0", "did you mean `paper000/hm_0`?"),
        ("profile:name=paper003/hpc,requests=5", "is a generator; use `hpc:"),
    ] {
        let message = refused(spec);
        assert!(message.contains(remedy), "{spec}: {message}");
    }
    assert!(matches!("profile:file=/no/such/file.toml".parse::<Generator>(), Err(TraceError::Io { .. })));
}

#[test]
fn requests_stay_in_the_span_and_on_their_alignment() {
    for (spec, size, align) in [
        ("uniform:size=8KiB,span=1MiB,start=4KiB", 8192, 8192),
        ("uniform:size=8KiB,align=512B,span=1MiB,start=4KiB", 8192, 512),
        ("zipf:size=8KiB,span=1MiB,start=4KiB", 8192, 8192),
        ("zipf:size=8KiB,span=1MiB,start=4KiB,scramble=no,theta=1.3", 8192, 8192),
        ("normal:size=8KiB,span=1MiB,start=4KiB", 8192, 8192),
        ("sequential:size=8KiB,span=1MiB,start=4KiB,streams=3", 8192, 8192),
    ] {
        let all = requests(&format!("{spec},requests=50k"), 3);
        assert_eq!(all.len(), 50_000);
        for request in &all {
            let offset = request.offset - 4096;
            assert_eq!((request.bytes, offset % align), (size, 0), "{spec}");
            assert!(offset + 8192 <= 1 << 20, "{spec}: {offset}");
        }
        let furthest = all.iter().map(|request| request.offset - 4096).max();
        assert!(furthest >= Some((1 << 20) * 3 / 4), "{spec}: {furthest:?}");
    }
}

#[test]
fn uniform_offsets_are_uniform_by_a_chi_square_test() {
    let mut seen = [0u32; 64];
    for request in requests("uniform:size=4KiB,span=256KiB,requests=64k", 5) {
        seen[(request.offset / 4096) as usize] += 1;
    }
    let chi: f64 =
        seen.iter().map(|&count| (f64::from(count) - 1000.0) * (f64::from(count) - 1000.0) / 1000.0).sum();
    // 63 degrees of freedom: 103.4 is exceeded once in a thousand by chance.
    assert!(chi < 103.4, "{chi}");
}

#[test]
fn shares_sizes_and_rates_are_those_of_the_specification() {
    let stats = stats("uniform:write=0.3,size=4KiB*3+64KiB*1,requests=200k,arrival=poisson:100us,span=1GiB");
    assert!((stats.write_ratio - 0.3).abs() < 0.005, "{}", stats.write_ratio);
    assert!(
        (stats.size_all.mean_bytes / (19.0 * 1024.0) - 1.0).abs() < 0.01,
        "{}",
        stats.size_all.mean_bytes
    );
    assert!((stats.gaps.mean_ns / 1e5 - 1.0).abs() < 0.01, "{}", stats.gaps.mean_ns);
    // Half of exponential intervals lie below mean x ln 2.
    assert!((stats.gaps.quantile_ns(0.5) as f64 / 69_315.0 - 1.0).abs() < 0.02);
}

#[test]
fn arrivals_are_fixed_uniform_or_at_once() {
    let all = requests("uniform:arrival=fixed:7us,requests=1000", 1);
    assert!(all.iter().zip(0..).all(|(request, at)| request.time_ns == at * 7000));
    let stats = stats("uniform:arrival=uniform:1us..3us,requests=100k");
    assert!((stats.gaps.mean_ns / 2000.0 - 1.0).abs() < 0.01);
    assert!(stats.gaps.quantile_ns(0.0) >= 1000 && stats.gaps.max_ns <= 3001);
    assert!(requests("uniform:arrival=none,requests=1000", 1).iter().all(|request| request.time_ns == 0));
}

#[test]
fn another_law_of_arrivals_moves_no_address() {
    let addresses = |arrival: &str| {
        let all = requests(&format!("zipf:requests=1000,arrival={arrival}"), 9);
        all.into_iter().map(|request| (request.offset, request.kind)).collect::<Vec<_>>()
    };
    assert_eq!(addresses("none"), addresses("poisson:1ms"));
}

#[test]
fn sequential_streams_each_run_through_their_part() {
    let all = requests("sequential:size=4KiB,span=64KiB,requests=40", 1);
    assert!(all.iter().zip(0..).all(|(request, at)| request.offset == at % 16 * 4096));
    let streams = stats("sequential:size=4KiB,span=1GiB,streams=4,requests=100k");
    // All but the first of each stream continue; with four streams the last eight requests nearly always show it.
    assert!(streams.sequential > 0.85, "{}", streams.sequential);
    assert_eq!(stats("sequential:size=4KiB,span=1GiB,requests=1000").sequential, 0.999);
}

#[test]
fn a_fifth_of_the_addresses_takes_four_fifths_of_the_normal_workload() {
    let all = requests("normal:span=1GB,requests=200k", 2);
    let middle = |request: &&Request| (request.offset as f64 / 1e9 - 0.5).abs() < 0.1;
    let hot = all.iter().filter(middle).count() as f64 / 2e5;
    assert!((hot - 0.8).abs() < 0.005, "{hot}");
    assert!(all.iter().all(|request| request.kind == Kind::Write));
}

#[test]
fn the_skew_of_zipf_is_that_of_its_law() {
    // Over 1000 slots with theta 0.99, the hottest 200 have H(200)/H(1000) of the probability.
    let harmonic = |slots: u32| (1..=slots).map(|rank| libm::pow(f64::from(rank), -0.99)).sum::<f64>();
    let expected = harmonic(200) / harmonic(1000);
    for scramble in ["yes", "no"] {
        let found = stats(&format!("zipf:span=4000KiB,size=4KiB,requests=500k,scramble={scramble}")).skew;
        assert!((found.hot20 - expected).abs() < 0.01, "{} for {expected}", found.hot20);
        assert!((found.zipf_theta - 0.99).abs() < 0.02, "{}", found.zipf_theta);
    }
}

#[test]
fn the_workloads_of_paper_003_have_its_numbers() {
    let hpc = stats("hpc:requests=100k,span=8GiB");
    assert!((hpc.write_ratio - 0.6).abs() < 0.01);
    assert!((hpc.gaps.mean_ns / 20e6 - 1.0).abs() < 0.02);
    let shares: Vec<f64> = hpc.size_all.atoms.iter().map(|atom| atom.requests as f64 / 1e5).collect();
    assert!(shares.iter().zip([0.5, 0.17, 0.33]).all(|(share, wanted)| (share - wanted).abs() < 0.01));
    let w = stats("wriw:size=512KiB,interval=10ms,write=20%,requests=50k,span=8GiB");
    assert!((w.write_ratio - 0.2).abs() < 0.01 && (w.gaps.mean_ns / 10e6 - 1.0).abs() < 0.02);
    assert_eq!((w.size_all.min_bytes, w.size_all.max_bytes), (512 << 10, 512 << 10));
}

#[test]
fn the_disksim_suite_has_the_stated_sizes_places_and_arrivals() {
    for (case, requests, write, sequential, mean_sectors) in [
        ("sr250k", 250_000, 0.0, 1.0, 8.0),
        ("sw250k", 250_000, 1.0, 1.0, 8.0),
        ("rr250k", 250_000, 0.0, 0.0, 12.66),
        ("rw250k", 250_000, 1.0, 0.0, 12.66),
        ("sw5m", 5_000_000, 1.0, 1.0, 9.13),
    ] {
        let stats = stats(&format!("disksim:case={case}"));
        assert_eq!((stats.requests, stats.write_ratio), (requests, write), "{case}");
        assert!((stats.sequential - sequential).abs() < 1e-4, "{case}: {}", stats.sequential);
        let sectors = stats.size_all.mean_bytes / 512.0;
        assert!((sectors - mean_sectors).abs() < 0.04, "{case}: {sectors}");
        assert!((stats.gaps.mean_ns / 500_000.0 - 1.0).abs() < 0.005 && stats.gaps.max_ns <= 1_001_000);
        assert!(stats.max_end_bytes <= 7_018_904 * 512);
        assert!((stats.alignment.page_4k - 1.0).abs() < 1e-12);
        if case == "sw5m" {
            let breaks = stats.requests as f64 * (1.0 - stats.sequential);
            assert!((15.5..16.5).contains(&breaks), "16 stretches, the first one included: {breaks}");
            assert!((sectors - 9.13).abs() < 0.005, "{sectors}");
        }
        if sequential == 0.0 {
            // m blocks have probability e^-(m-1) (1 - 1/e).
            let one = stats.size_all.atoms[0].requests as f64 / stats.requests as f64;
            assert!((one - 0.632).abs() < 0.005, "{one}");
        }
    }
}

#[test]
fn batches_of_any_capacity_are_the_same_stream() {
    let whole = requests("disksim:case=rw250k,requests=1000", 4);
    let mut source = generator("disksim:case=rw250k,requests=1000").source(4);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    for capacity in [0, 1, 7, 900, 900] {
        batch = Vec::with_capacity(capacity);
        source.next_batch(&mut batch).expect("generators do not fail");
        assert!(!batch.is_empty());
        all.extend_from_slice(&batch);
    }
    assert_eq!(all, whole);
    assert_eq!(source.progress(), Some(1.0));
    source.next_batch(&mut batch).expect("generators do not fail");
    assert!(batch.is_empty());
}

fn digest_of_20000(source: &mut dyn Source) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut batch = Vec::with_capacity(20_000);
    source.next_batch(&mut batch).expect("generators do not fail");
    assert_eq!(batch.len(), 20_000);
    for request in &batch {
        hasher.update(&request.time_ns.to_le_bytes());
        hasher.update(&request.offset.to_le_bytes());
        hasher.update(&request.bytes.to_le_bytes());
        hasher.update(&[request.kind as u8]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A user's profile without the keys that came later keeps its requests: these digests are older than the keys.
#[test]
fn profiles_without_phases_extents_or_correlation_keep_their_requests() {
    for (name, known) in [("paper000/hm_0", "2ea5249b3cca5b2b"), ("paper002/PRN_1", "be7640bf1ce8ea97")] {
        let mut profile = crate::profile::find(name).expect("shipped").profile.expect("a profile");
        (profile.places, profile.recency) = (None, None);
        profile.skew.head = 0.0;
        profile.arrivals.correlation = 0.0;
        if name == "paper002/PRN_1" {
            profile.arrivals.cdf.clear();
        }
        let mut source = profile.generate(Some(20_000), 1).expect("a profile that runs");
        assert_eq!(digest_of_20000(source.as_mut()), known, "{name}");
    }
}

/// Digest of 20,000 requests of each generator, for seed 1. A change here changes every result that was computed from
/// generated traces: it needs a line in the changelog. Checked in debug and in release builds.
#[test]
fn the_requests_of_a_seed_never_change() {
    for (spec, known) in [
        ("uniform:write=0.5,size=4KiB..64KiB,arrival=poisson:100us", "44da00972ca70e77"),
        ("sequential:streams=3,write=0.2,arrival=uniform:0..1ms", "13885b4ea322911a"),
        ("zipf:theta=0.99,arrival=poisson:1ms", "f594780e90ec59dd"),
        ("zipf:theta=1.2,scramble=no", "dc36f8c21cd67eb4"),
        ("normal:arrival=fixed:1us", "1d5d561ea595af26"),
        ("wriw", "b8dc0e8b6845e497"),
        ("hpc", "cf04e35e3eea5699"),
        ("disksim:case=rw5m", "15bebb466aecb215"),
        ("disksim:case=sw5m", "bd3357fa9777e1ae"),
        ("profile:name=paper000/hm_0,requests=20k", "4588052e226cc35d"),
        ("profile:name=paper002/PRN_1,requests=20k", "272cfd453d573985"),
    ] {
        let digest = digest_of_20000(generator(spec).source(1).as_mut());
        assert_eq!(digest, known, "{spec}");
    }
}

proptest! {
    #[test]
    fn no_specification_panics(spec in "(uniform|zipf|sequential|normal|wriw|hpc|disksim|profile):(case=r[rw]5m)?\
        (,(requests|span|size|write|align|theta|streams|start|arrival|mean|block|hot|traffic|volume)=\
        ([0-9]{1,20}|[0-9.]{1,5}(%|KiB|PiB|B|us|d|M)?|poisson:[0-9]{1,9}d|uniform:[0-9]us..[0-9]{1,19}ns|size)){0,5}") {
        if let Ok(generator) = spec.parse::<Generator>() {
            let mut batch = Vec::with_capacity(100);
            generator.source(7).next_batch(&mut batch).expect("generators do not fail");
            prop_assert!(batch.iter().all(|request| request.bytes > 0));
        }
    }
}
