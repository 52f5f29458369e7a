//! Plans: the points of a study, their digests, and what is refused.

use std::collections::BTreeSet;
use std::time::Instant;

use proptest::prelude::*;
use stripewise_study::{Cell, Plan, check};

use crate::{SMALL, parse, plan};

/// Point and scheme of each combination, as text.
fn combinations(plan: &Plan) -> Vec<String> {
    let mut all = Vec::new();
    for cell in plan.cells() {
        let values: Vec<String> = plan.values(&cell).map(|(key, value)| format!("{key}={value}")).collect();
        for (at, scheme) in plan.file().schemes.iter().enumerate() {
            if cell.schemes >> at & 1 == 1 {
                all.push(format!("{} {scheme}", values.join(" ")));
            }
        }
    }
    all
}

#[test]
fn a_plan_is_the_product_of_its_axes_and_the_last_one_varies_fastest() {
    let expected: Vec<String> = ["closed:4", "closed:8"]
        .into_iter()
        .flat_map(|pacing| ["greedy", "fifo"].map(|victim| (pacing, victim)))
        .flat_map(|(pacing, victim)| {
            ["baseline", "bpu"].map(|scheme| format!("pacing={pacing} gc.victim={victim} {scheme}"))
        })
        .collect();
    assert_eq!(combinations(&plan(SMALL)), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Filters of one value on some axes, beside the definition.
    #[test]
    fn only_and_except_keep_what_their_definition_keeps(
        only in prop::collection::vec((0usize..3, 0usize..4, 0usize..3), 0..3),
        except in prop::collection::vec((0usize..3, 0usize..4, 0usize..3), 0..3),
    ) {
        // Index 0 leaves the axis out.
        let pacings = ["closed:1", "closed:2"];
        let warmups = ["0", "1", "2"];
        let schemes = ["baseline", "bpu"];
        let mut text = format!(
            "[base]\nworkload = \"uniform:size=8KiB,span=64MiB\"\nrequests = 50\n[compare]\nscheme = {schemes:?}\n\
             [axes]\npacing = {pacings:?}\nwarmup = {warmups:?}\n"
        );
        for (kind, filters) in [("only", &only), ("except", &except)] {
            for &(pacing, warmup, scheme) in filters {
                text.push_str(&format!("[[{kind}]]\n"));
                for (key, known, at) in
                    [("pacing", &pacings[..], pacing), ("warmup", &warmups[..], warmup), ("scheme", &schemes[..], scheme)]
                {
                    if at > 0 {
                        text.push_str(&format!("{key} = {:?}\n", known[at - 1]));
                    }
                }
            }
        }
        let mut expected = Vec::new();
        for (p, pacing) in pacings.iter().enumerate() {
            for (w, warmup) in warmups.iter().enumerate() {
                for (s, scheme) in schemes.iter().enumerate() {
                    let named = |filter: &(usize, usize, usize)| {
                        [(filter.0, p), (filter.1, w), (filter.2, s)].iter().all(|&(at, is)| at == 0 || at - 1 == is)
                    };
                    if (only.is_empty() || only.iter().any(named)) && !except.iter().any(named) {
                        expected.push(format!("pacing={pacing} warmup={warmup} {scheme}"));
                    }
                }
            }
        }
        prop_assert_eq!(combinations(&plan(&text)), expected);
    }
}

#[test]
fn the_digest_of_a_plan_changes_with_all_that_decides_it_and_with_nothing_else() {
    let of = |text: &str| plan(text).digest();
    let digest = of(SMALL);
    for (from, to) in [
        ("[base]", "[study]\nname = \"other\"\nstore = \"elsewhere\"\n[base]"),
        ("requests = 200", "requests = \"200\""),
        ("requests = 200", "requests = 200\nmembers = \"channel\"\nprecondition = \"steady:70%\""),
        ("[replicate]", "[fail]\nretries = 5\n[replicate]"),
        ("requests = 200", "# a comment\nrequests = 200"),
    ] {
        let text = SMALL.replace(from, to);
        assert!(text != SMALL && of(&text) == digest, "{to} decides nothing");
    }
    let mut digests = BTreeSet::from([digest]);
    for (from, to) in [
        ("200", "201"),
        ("\"bpu\"", "\"adaptive\""),
        ("\"bpu\"", "\"bpu\", \"adaptive\""),
        ("\"bpu\"", "\"bpu,parity.window=3\""),
        ("8KiB", "4KiB"),
        ("closed:8", "closed:9"),
        ("\"greedy\", \"fifo\"", "\"fifo\", \"greedy\""),
        ("seeds = 3", "seeds = 4"),
        ("seeds = 3", "seeds = 3\nfirst = 2"),
        ("seeds = 3", "seeds = 3\n[[except]]\nscheme = \"bpu\""),
        ("seeds = 3", "seeds = 3\n[[only]]\nscheme = \"bpu\""),
        ("seeds = 3", "until = { figure = \"p99_ns\", relative = 0.05 }"),
    ] {
        let text = SMALL.replace(from, to);
        assert!(text != SMALL && digests.insert(of(&text)), "{to} decides something");
    }
}

#[test]
fn a_trace_counts_by_its_content_and_not_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let line = "128166372003061629,hm,0,Read,4096,8192,100\n";
    let study = |file: &str, more: &str| {
        format!(
            "[base]\nworkload = {{ trace = \"{}\"{more} }}\n[compare]\nscheme = [\"baseline\"]\n",
            folder.path().join(file).display()
        )
    };
    for (file, text) in [("a.csv", line.repeat(9)), ("b.csv", line.repeat(9)), ("c.csv", line.repeat(8))] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let digest = |file| plan(&study(file, "")).digest();
    assert_eq!(digest("a.csv"), digest("b.csv"));
    assert_ne!(digest("a.csv"), digest("c.csv"));
    assert_eq!(check(&plan(&study("c.csv", "")), &()).unwrap().points, 1);
    let wrong = format!(", blake3 = \"{}\"", "0".repeat(64));
    let error = Plan::new(parse(&study("a.csv", &wrong)).unwrap(), &()).unwrap_err().to_string();
    assert!(error.contains("a.csv") && error.contains("expects blake3:000"), "{error}");
}

#[test]
fn a_trace_of_any_columns_has_them_in_the_study_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), "0,5,r,0,4096\n1,6,w,4096,4096\n").unwrap();
    let study = |more: &str| {
        let path = folder.path().join("t.csv").display().to_string();
        parse(&format!(
            "[base]\nworkload = {{ trace = \"{path}\", {more} }}\n[compare]\nscheme = [\"baseline\"]\n"
        ))
    };
    let columns = "columns = \"-,time:s,op:r/w,offset,size\"";
    let digest = |more: &str| Plan::new(study(more).unwrap(), &()).unwrap().digest();
    assert_eq!(digest(columns), digest("format = \"columns:-,time:s,op:r/w,offset,size\""));
    let error = study(&format!("{columns}, format = \"msr\"")).unwrap_err().to_string();
    assert!(error.contains("leave `format` out"), "{error}");
    let error = study("columns = \"time,offset\"").unwrap_err().to_string();
    assert!(error.contains("no column"), "{error}");
}

#[test]
fn equal_keys_are_equal_runs_wherever_the_file_says_a_setting() {
    let as_axis = plan(SMALL);
    let in_base = SMALL
        .replace("\"gc.victim\" = [\"greedy\", \"fifo\"]", "")
        .replace("[compare]", "\"gc.victim\" = \"fifo\"\n[compare]");
    let in_base = plan(&in_base);
    let fifo = |cell: &Cell| as_axis.values(cell).any(|(_, value)| value == "fifo");
    let with_axis: Vec<Cell> = as_axis.cells().filter(|cell| fifo(cell)).collect();
    let mut known = BTreeSet::new();
    for (one, other) in with_axis.iter().zip(in_base.cells()) {
        for (scheme, seed) in [(0, 1), (1, 1), (1, 2)] {
            assert_eq!(as_axis.key(one, scheme, seed), in_base.key(&other, scheme, seed));
            let digest = |plan: &Plan, cell: &Cell| {
                plan.comparison(cell, scheme, seed).unwrap().run_inputs(0).unwrap().digest()
            };
            assert_eq!(digest(&as_axis, one), digest(&in_base, &other));
            assert!(known.insert(digest(&as_axis, one)), "each of them is another run");
        }
    }
    let keys: BTreeSet<_> = as_axis
        .cells()
        .flat_map(|cell| (0..2).map(move |scheme| (cell.clone(), scheme)))
        .map(|(cell, scheme)| as_axis.key(&cell, scheme, 1))
        .collect();
    assert_eq!(keys.len(), 8);
}

#[test]
fn combinations_that_are_refused_are_counted_with_their_reasons() {
    let text = SMALL
        .replace("\"bpu\"]", "\"bpu\", \"raid6\"]")
        .replace("\"gc.victim\" = [\"greedy\", \"fifo\"]", "members = [\"channel\", \"ssd:2\"]");
    let found = check(&plan(&text), &()).unwrap();
    // Two members are too few for any of the three; six channels for none.
    assert_eq!((found.points, found.combinations), (2, 6), "{found:?}");
    assert_eq!((found.runs_least, found.runs_most), (18, 18));
    assert_eq!(found.skipped.iter().map(|skipped| skipped.combinations).sum::<u64>(), 6);
    assert!(found.skipped.iter().all(|skipped| skipped.reason.contains("members")), "{:?}", found.skipped);
    assert!(found.skipped[0].example.contains("members = ssd:2"), "{:?}", found.skipped);
    // 14 ns for each of 3 Mi pages, and 3.4 us for each of 200 requests.
    assert_eq!(found.cpu_least_ns, 18 * (14 * (3 << 20) + 200 * 3_400));
    let small = text.replace("requests", "\"geometry.blocks\" = 64\nrequests");
    let found = check(&plan(&small), &()).unwrap();
    assert_eq!(found.cpu_least_ns, 18 * (14 * (3 << 17) + 200 * 3_400), "an eighth of the blocks");
    let nothing = text.replace("\"channel\", \"ssd:2\"", "\"ssd:2\"");
    let error = check(&plan(&nothing), &()).unwrap_err().to_string();
    assert!(error.starts_with("study.toml: no combination is left") && error.contains("members"), "{error}");
}

#[test]
fn without_the_scheme_that_all_are_compared_with_a_point_is_skipped() {
    let text = SMALL.replace(
        "seeds = 3",
        "until = { figure = \"p99_ns\", relative = 0.1, paired_with = \"bpu\" }\n\
         [[except]]\nscheme = \"bpu\"\npacing = \"closed:4\"",
    );
    let found = check(&plan(&text), &()).unwrap();
    assert_eq!((found.points, found.combinations), (2, 4));
    assert!(found.skipped[0].reason.contains("`bpu`, with which all are compared"), "{:?}", found.skipped);
    assert_eq!(found.skipped[0].combinations, 2);
}

#[test]
fn a_warm_up_as_long_as_the_workload_is_a_reason_to_skip_a_point() {
    let text = SMALL.replace("pacing = [\"closed:4\", \"closed:8\"]", "warmup = [100, 200]");
    let found = check(&plan(&text), &()).unwrap();
    assert_eq!((found.points, found.skipped[0].combinations), (2, 4));
    assert!(found.skipped[0].reason.contains("leaves none to count"), "{:?}", found.skipped);
}

/// `cargo test -p stripewise-study --release -- --ignored --nocapture million`
#[test]
#[ignore = "measures time and memory: run it in release, alone"]
fn a_million_points_are_planned_in_twenty_seconds_and_a_gigabyte() {
    let text = SMALL
        .replace("requests = 200", "")
        .replace("[\"closed:4\", \"closed:8\"]", "{ from = \"closed:1\", to = \"closed:250\", step = 1 }")
        .replace(
            "[axes]",
            "[axes]\nrequests = { from = 1000, to = 50000, step = 1000 }\nupdate.tie = [\"rmw\", \"rcw\"]",
        )
        .replace(
            "[\"greedy\", \"fifo\"]",
            "[\"greedy\", \"fifo\"]\n\"gc.low_watermark.blocks\" = { from = \"5%\", to = \"24%\", step = 1 }",
        )
        .replace("[\"baseline\", \"bpu\"]", "[\"baseline\", \"linux-md\"]");
    let began = Instant::now();
    let plan = plan(&text);
    let digest = plan.digest();
    let found = check(&plan, &()).unwrap();
    let keys = plan
        .cells()
        .fold(0u8, |all, cell| (0..2).fold(all, |all, scheme| all ^ plan.key(&cell, scheme, 1)[0]));
    let seconds = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!(
        "{} points, {} combinations skipped, {seconds:.1} s, {peak}, {digest} {keys}",
        found.points,
        found.skipped.len()
    );
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(found.points + found.skipped.iter().map(|it| it.combinations / 2).sum::<u64>(), 1_000_000);
    assert!(seconds < 20.0 && kib < 1 << 20);
}
