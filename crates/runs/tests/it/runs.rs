//! Comparisons are run, found again, observed and stopped.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use stripewise_results::Figure;
use stripewise_results::steady::Steady;
use stripewise_results::totals::{OF_OPEN_LOOP, OF_WARMUP, TOTALS};
use stripewise_runs::{
    Comparison, ComparisonSpec, Error, InMemory, Observer, Origin, SchemeSpec, WarmUp, WorkloadSpec,
};
use stripewise_sim::Progress;
use stripewise_trace::OpenOptions;
use stripewise_trace::fold::Fold;

fn spec(out: &Path, requests: u64, schemes: &[&str]) -> ComparisonSpec {
    let schemes = schemes.iter().map(|name| SchemeSpec::parse(name).unwrap()).collect();
    let mut spec = ComparisonSpec::new(schemes).unwrap();
    spec.settings =
        vec!["device.geometry.blocks=64".parse().unwrap(), "device.geometry.chips=1".parse().unwrap()];
    let origin = Origin::generated("uniform:write=1,size=8KiB,span=64MiB").unwrap();
    spec.workload = WorkloadSpec { origin, requests: Some(requests), fold: Fold::Modulo };
    spec.out = out.join("results");
    spec
}

/// Records the calls, and stops the comparison at the call numbered `stop_at`.
#[derive(Default)]
struct Noting {
    stop_at: usize,
    looks: AtomicUsize,
    notes: Mutex<Vec<String>>,
    furthest: AtomicUsize,
}

impl Noting {
    fn stopping_at(stop_at: usize) -> Self {
        Self { stop_at, ..Self::default() }
    }

    fn note(&self, text: String) {
        self.notes.lock().unwrap().push(text);
    }
}

impl Observer for Noting {
    fn may_continue(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) + 1 != self.stop_at
    }

    fn began(&self, run: usize, scheme: &str) {
        self.note(format!("{run} began: {scheme}"));
    }

    fn advanced(&self, _run: usize, progress: Progress) {
        self.furthest.fetch_max(progress.requests as usize, Ordering::Relaxed);
    }

    fn ended(&self, run: usize) {
        self.note(format!("{run} ended"));
    }
}

#[test]
fn a_study_is_made_once_and_found_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let comparison =
        Comparison::new(spec(folder.path(), 500, &["baseline", "baseline,update.tie=rcw"]), &()).unwrap();
    assert_eq!(comparison.schemes().collect::<Vec<_>>(), ["baseline", "baseline,update.tie=rcw"]);
    let watching = Noting::default();
    let made: Vec<_> = comparison.run(1, &watching).into_iter().map(Result::unwrap).collect();
    assert!(made.iter().all(|run| run.cpu_ns.is_some()));
    let notes = watching.notes.lock().unwrap().join(", ");
    assert_eq!(notes, "0 began: baseline, 0 ended, 1 began: baseline,update.tie=rcw, 1 ended");
    assert_eq!(watching.furthest.load(Ordering::Relaxed), 500);

    let again = Noting::default();
    for (first, second) in made.iter().zip(comparison.run(2, &again)) {
        let second = second.unwrap();
        assert_eq!(second.cpu_ns, None);
        assert_eq!(second.run.results_digest(), first.run.results_digest());
    }
    assert!(again.notes.lock().unwrap().is_empty(), "what is there is not computed");
}

#[test]
fn a_study_can_be_stopped_at_any_look_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for state in ["written:70%", "steady:70%", "fresh"] {
        let mut spec = spec(folder.path(), 200, &["baseline"]);
        spec.precondition = state.parse().unwrap();
        let out = spec.out.clone();
        let comparison = Comparison::new(spec, &()).unwrap();
        let mut stopped = 0;
        for look in 1.. {
            let observer = Noting::stopping_at(look);
            match comparison.run(1, &observer).remove(0) {
                Err(Error::Stopped) => stopped += 1,
                // This call was the last of the source, or there are fewer calls.
                Ok(run) => {
                    std::fs::remove_dir_all(run.run.path()).unwrap();
                    if observer.looks.load(Ordering::Relaxed) < look {
                        break;
                    }
                }
                Err(other) => panic!("{other}"),
            }
            assert_eq!(std::fs::read_dir(&out).map_or(0, Iterator::count), 0, "{state}, look {look}");
        }
        assert!(stopped > 3, "{state}: stopped {stopped} times");
    }
}

#[test]
fn reading_a_trace_for_its_digest_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let line = "128166372000000000,host,0,Write,4096,4096,100\n";
    std::fs::write(&path, line.repeat((3 << 20) / line.len())).unwrap();
    let mut spec = spec(folder.path(), 500, &["baseline"]);
    spec.workload.origin = Origin::Trace(path, OpenOptions::default());
    let observer = Noting::stopping_at(2);
    assert!(matches!(Comparison::new(spec, &observer), Err(Error::Stopped)));
    assert_eq!(observer.looks.load(Ordering::Relaxed), 2, "at the second MiB");
}

#[test]
fn a_run_that_fails_is_named_and_keeps_no_other_from_being_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let line = "128166372000000000,host,0,Write,4096,4096,100\n";
    std::fs::write(&path, line.repeat(300) + "128166372000000000,host,0,Wrote,4096,4096,100\n").unwrap();
    let mut spec = spec(folder.path(), 500, &["baseline", "raid0"]);
    spec.workload.origin = Origin::Trace(path, OpenOptions::default());
    let outcomes = Comparison::new(spec, &()).unwrap().run(2, &());
    assert_eq!(outcomes.len(), 2);
    for (outcome, scheme) in outcomes.into_iter().zip(["baseline", "raid0"]) {
        let message = outcome.unwrap_err().to_string();
        assert!(message.starts_with(&format!("scheme {scheme}: ")), "{message}");
        assert!(message.contains("trace.csv:301:"), "{message}");
    }
}

#[test]
fn a_request_without_effect_is_reported_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |change: &dyn Fn(&mut ComparisonSpec)| {
        let mut spec = spec(folder.path(), 500, &["baseline"]);
        change(&mut spec);
        Comparison::new(spec, &()).unwrap_err().to_string()
    };
    let twice = refusal(&|spec| spec.schemes.push(SchemeSpec::parse("baseline").unwrap()));
    assert!(twice.contains("two schemes are called `baseline`"), "{twice}");
    let none = refusal(&|spec| spec.workload.requests = Some(0));
    assert!(none.contains("give at least 1"), "{none}");
    let profile = refusal(&|spec| spec.workload.origin = Origin::Profile("paper000/hm_00".into()));
    assert!(profile.contains("did you mean"), "{profile}");
    let few = refusal(&|spec| spec.members = "ssd:2".parse().unwrap());
    assert!(few.contains("scheme `baseline`, section [geometry]"), "{few}");
    let setting = refusal(&|spec| spec.settings.push("gc.victm=fifo".parse().unwrap()));
    assert!(setting.contains("setting gc.victm=fifo") && setting.contains("victim"), "{setting}");
    for (warmup, requests) in [(500, 500), (501, 500), (u64::MAX, 500)] {
        let none = refusal(&|spec| spec.warmup = WarmUp::Requests(warmup));
        assert!(none.contains(&format!("{warmup} requests leaves none")), "{none}");
        assert!(none.contains(&format!("the workload has {requests}")), "{none}");
    }
}

#[test]
fn settings_that_change_nothing_are_remarked_and_the_study_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let remarks = |settings: &[&str]| {
        let mut spec = spec(folder.path(), 500, &["baseline", "raid0"]);
        spec.settings = settings.iter().map(|setting| setting.parse().unwrap()).collect();
        spec.warmup = WarmUp::Requests(499);
        Comparison::new(spec, &()).unwrap().remarks().to_vec()
    };
    assert_eq!(remarks(&["geometry.chunk=8KiB", "gc.victim=fifo"]), [""; 0]);
    let found = remarks(&["queues.requests=64", "gc.victim=greedy"]);
    assert!(
        found.iter().any(|remark| remark.contains("gc.victim=greedy has no effect in device")),
        "{found:?}"
    );
}

#[test]
fn every_total_of_a_run_is_documented_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (last, others) = TOTALS.split_last().unwrap();
    for (pacing, more) in [("closed:4", [].as_slice()), ("open", OF_OPEN_LOOP)] {
        let mut spec = spec(folder.path(), 100, &["baseline"]);
        spec.pacing = Some(pacing.parse().unwrap());
        let made = Comparison::new(spec, &()).unwrap().run(1, &()).remove(0).unwrap();
        let totals = made.run.totals().unwrap();
        let names: Vec<_> = totals.iter().map(|total| total.name.as_str()).collect();
        let documented: Vec<_> = others.iter().chain(more).chain([last]).map(|&(name, _)| name).collect();
        assert_eq!(names, documented, "{pacing}");
    }
}

/// By hand: requests of 8 KiB every 10 ms over an idle array, each answered long before the next.
#[test]
fn rates_are_those_of_the_requests_over_the_measured_window() {
    let made = warmed(WarmUp::Requests(2000), 4000);
    let real = |name: &str| match made.run.totals().get(name) {
        Some(Figure::Real(real)) => real,
        other => panic!("{name}: {other:?}"),
    };
    let (window, mean) = (count(&made, "window_ns") as f64, count(&made, "response_mean_ns") as f64);
    let arrivals = 1999.0 * 10e6;
    assert!(window > arrivals && window < arrivals + 10e6, "{window} ns, each request takes {mean} ns");
    assert!((real("requests_per_second") - 2000.0 / window * 1e9).abs() < 1e-6);
    assert!((real("offered_requests_per_second") - 2000.0 / arrivals * 1e9).abs() < 1e-6);
    assert!((real("window_over_arrivals") - window / arrivals).abs() < 1e-9);
    let mib = count(&made, "written_bytes") as f64 / 1_048_576.0 / window * 1e9;
    assert!((real("written_mib_per_second") - mib).abs() < 1e-6 && real("read_mib_per_second") == 0.0);
    assert_eq!(real("mib_per_second"), real("written_mib_per_second"));
    let percentiles = ["response_p50_ns", "response_p95_ns", "response_p99_ns", "response_p9999_ns"];
    let percentiles = percentiles.map(|name| count(&made, name));
    assert!(percentiles.is_sorted() && percentiles[3] <= count(&made, "response_max_ns"), "{percentiles:?}");
    assert!((0.0..=1.0).contains(&real("busiest_member_utilisation")));
}

/// A run with this warm-up. The first tenth of its requests comes at once, and the others one after the other.
fn warmed(warmup: WarmUp, requests: u64) -> InMemory {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), requests, &["baseline"]);
    let trace = folder.path().join("trace.csv");
    let line = |number: u64| {
        let after_ms = number.saturating_sub(400) * 10;
        // Sizes without a pattern: equal response times would be steadier the fewer there are.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (offset, size) = (mixed % 4096 * 65536, (1 + mixed / 4096 % 6) * 8192);
        format!("{},host,0,Write,{offset},{size},100\n", 128_166_372_000_000_000 + after_ms * 10_000)
    };
    std::fs::write(&trace, (0..4000).map(line).collect::<String>()).unwrap();
    spec.workload.origin = Origin::Trace(trace, OpenOptions::default());
    spec.warmup = warmup;
    Comparison::new(spec, &()).unwrap().in_memory(0, &()).unwrap()
}

fn count(made: &InMemory, name: &str) -> u64 {
    match made.run.totals().get(name) {
        Some(Figure::Count(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn an_automatic_warm_up_leaves_out_what_the_whole_run_says_and_nothing_else() {
    let (whole, auto) = (warmed(WarmUp::Requests(0), 4000), warmed(WarmUp::Auto, 4000));
    let Steady::From(first) = whole.steady else { panic!("the run is long enough: {:?}", whole.steady) };
    assert!((1..1000).contains(&first), "the start differs, and no more than that: {first}");
    assert_eq!(auto.steady, whole.steady);
    assert_eq!((count(&auto, "warmup_requests"), count(&auto, "warmup_unfinished")), (first, 0));
    assert_eq!(count(&auto, "requests"), 4000 - first);

    let given = warmed(WarmUp::Requests(first), 4000);
    assert_ne!(auto.inputs.digest(), given.inputs.digest());
    let totals = |made: &InMemory| -> Vec<_> {
        let all = made.run.totals().iter().filter(|total| total.name != "cpu_ns");
        all.map(|total| (total.name.clone(), total.value)).collect()
    };
    let (auto_totals, given) = (totals(&auto), totals(&given));
    let (same, more) = auto_totals.split_at(given.len());
    assert_eq!(same, given);
    assert_eq!(
        given.len(),
        TOTALS.len() - 1 + OF_OPEN_LOOP.len(),
        "a run whose warm-up is given has no others"
    );
    let names: Vec<&str> = more.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, OF_WARMUP.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert_eq!(warmed(WarmUp::Auto, 4000).run.results_digest(), auto.run.results_digest());
}

#[test]
fn a_run_that_is_too_short_for_its_warm_up_says_so_and_counts_everything() {
    let short = warmed(WarmUp::Auto, 40);
    assert!(!matches!(short.steady, Steady::From(_)), "{:?}", short.steady);
    assert_eq!((count(&short, "warmup_requests"), count(&short, "warmup_unfinished")), (0, 1));
    assert_eq!(count(&short, "requests"), 40);
}

#[test]
fn a_warm_up_is_a_count_or_auto() {
    for (text, expected) in [("auto", WarmUp::Auto), ("2k", WarmUp::Requests(2000)), ("0", WarmUp::default())]
    {
        let read: WarmUp = text.parse().unwrap();
        assert_eq!(read, expected);
        assert_eq!(read.to_string().parse(), Ok(expected));
    }
    assert!("often".parse::<WarmUp>().unwrap_err().contains("or `auto`"));
}

#[test]
fn a_run_that_was_damaged_is_not_taken_for_done_and_is_made_again_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let comparison = |force: bool| {
        let mut spec = spec(folder.path(), 500, &["baseline"]);
        spec.force = force;
        Comparison::new(spec, &()).unwrap().run_one(0, &())
    };
    let first = comparison(false).unwrap();
    let path = first.run.path().join("latencies.parquet");
    let whole = std::fs::read(&path).unwrap();
    let spoil = || {
        let mut bytes = whole.clone();
        bytes[100..104].iter_mut().for_each(|byte| *byte ^= 0x5A);
        std::fs::write(&path, &bytes).unwrap();
    };
    spoil();
    let error = comparison(false).unwrap_err().to_string();
    assert!(error.contains("latencies.parquet") && error.contains("--force"), "{error}");
    for damage in
        [&spoil as &dyn Fn(), &|| std::fs::write(first.run.path().join("run.toml"), "damaged").unwrap()]
    {
        damage();
        let again = comparison(true).unwrap();
        assert_eq!(again.run.results_digest(), first.run.results_digest());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert!(comparison(false).unwrap().cpu_ns.is_none(), "what was made again is found");
    }
}

/// The settings state what differs with the seed: a recorded trace has the same requests with every seed.
#[test]
fn the_settings_say_what_seeds_vary() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    let line =
        |n: u64| format!("{},host,0,Write,{},4096,100\n", 128_166_372_000_000_000 + n * 2_000, n * 4096);
    std::fs::write(&trace, (0..20).map(line).collect::<String>()).unwrap();
    let seeds = |origin: Origin, precondition: &str, seeds: u32| {
        let mut spec = spec(folder.path(), 20, &["baseline"]);
        spec.workload.origin = origin;
        spec.precondition = precondition.parse().unwrap();
        spec.seeds = seeds.try_into().unwrap();
        let settings = Comparison::new(spec, &()).unwrap().settings().unwrap();
        settings.into_iter().find(|(name, _)| *name == "seeds").map(|(_, value)| value).unwrap()
    };
    let recorded = || Origin::Trace(trace.clone(), OpenOptions::default());
    let generated = || Origin::generated("uniform:write=1,size=8KiB,span=64MiB").unwrap();
    assert_eq!(seeds(recorded(), "steady:70%", 3), "1 to 3 (where the first data lies on flash)");
    assert_eq!(seeds(recorded(), "fresh", 3), "1 to 3 (random choices of the device)");
    assert_eq!(
        seeds(generated(), "steady:70%", 5),
        "1 to 5 (the requests and where the first data lies on flash)"
    );
    assert_eq!(seeds(generated(), "fresh", 1), "1 (the requests)");
}

/// Samples every nanosecond wrote gigabytes before anything stopped them.
#[test]
fn rows_beyond_the_budget_are_refused_before_a_run_and_end_a_run_that_reaches_it() {
    let folder = tempfile::tempdir().unwrap();
    let of = |change: &dyn Fn(&mut ComparisonSpec)| {
        let mut spec = spec(folder.path(), 2_000, &["baseline", "raid0"]);
        spec.workload.origin =
            Origin::generated("uniform:write=1,size=8KiB,span=64MiB,arrival=poisson:1ms").unwrap();
        change(&mut spec);
        Comparison::new(spec, &())
    };
    let refused = of(&|spec| spec.tables.sample_every = "1ns".parse().unwrap()).unwrap_err().to_string();
    assert!(
        refused.contains("samples of 6 members every 1ns over") && refused.contains("in 2 runs"),
        "{refused}"
    );
    assert!(refused.contains("budget of 1GiB") && refused.contains("(--table-budget "), "{refused}");
    let many = of(&|spec| (spec.tables.requests, spec.budget) = (true, "100kB".parse().unwrap()));
    assert!(many.unwrap_err().to_string().contains("rows of 2,000 requests (--rows) in 2 runs"));
    assert!(!folder.path().join("results").exists(), "nothing was run");
    let fits = of(&|spec| spec.tables.sample_every = "10ms".parse().unwrap()).unwrap();
    assert!(fits.run(1, &()).iter().all(Result::is_ok));

    // In a closed loop the length of a run is not known before.
    let closed = of(&|spec| {
        spec.pacing = Some("closed:1".parse().unwrap());
        spec.tables.sample_every = "10ns".parse().unwrap();
        spec.budget = "1MiB".parse().unwrap();
    });
    let ended: Vec<String> =
        closed.unwrap().run(1, &()).into_iter().map(|run| run.unwrap_err().to_string()).collect();
    assert!(
        ended[0].contains("exceed the budget of 1MiB") && ended[0].contains("--table-budget"),
        "{ended:?}"
    );
    let bytes: u64 = walk(&folder.path().join("results"));
    assert!(bytes < 4 << 20, "{bytes} bytes stayed");
}

fn walk(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().is_dir() {
            true => walk(&entry.path()),
            false => entry.metadata().map_or(0, |file| file.len()),
        })
        .sum()
}

#[test]
fn a_label_is_the_name_of_a_scheme_in_the_results_and_settings_are_not_added_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), 500, &["raid0"]);
    let labelled = |argument: &str| SchemeSpec::labelled(argument).unwrap();
    spec.schemes
        .extend(["small=baseline,geometry.chunk=8KiB", "large=baseline,geometry.chunk=32KiB"].map(labelled));
    let comparison = Comparison::new(spec.clone(), &()).unwrap();
    assert_eq!(comparison.schemes().skip(1).collect::<Vec<_>>(), ["small", "large"]);
    spec.schemes.push(labelled("small=raid0"));
    let twice = Comparison::new(spec, &()).unwrap_err().to_string();
    assert!(twice.contains("two schemes are called `small`"), "{twice}");
}
