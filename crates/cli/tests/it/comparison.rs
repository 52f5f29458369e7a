//! The main command, end to end.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stripewise_results::{Store, Table};

use crate::support::{Sandbox, golden, masked};

/// The directories of the runs under `out`.
fn runs(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out).into_iter().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.retain(|path| path.is_dir());
    runs.sort();
    runs
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn total(run: &Value, name: &str) -> u64 {
    run["totals"][name].as_u64().unwrap_or_else(|| panic!("{name} in {run}"))
}

#[test]
fn a_comparison_prints_its_settings_a_table_and_where_the_results_are() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("compare --trace trace.csv --seeds 2 --jobs 2 --all").success();
    assert!(text.contains("simulator's"), "how fast the simulator was: {text}");
    let shown = masked(&text);
    let kept: Vec<&str> = shown.lines().filter(|line| !line.contains("processor")).collect();
    for name in ["workload", "seeds", "device", "members", "state", "pacing", "span", "fold", "results"] {
        assert!(kept.iter().any(|line| line.starts_with(name)), "{name} is missing:\n{text}");
    }
    for scheme in
        ["linux-md", "adaptive", "brr", "least-finish", "parity-caching", "paper003-siw", "was", "stripewise"]
    {
        assert!(
            kept.iter().any(|line| line.trim_start().starts_with(scheme)),
            "{scheme} is missing:\n{text}"
        );
        for seed in [1, 2] {
            let place = format!("  stripewise-results/<digest>  {scheme}, seed {seed}: computed in <time>");
            assert!(kept.contains(&place.as_str()), "{text}");
        }
    }
    assert_eq!(runs(&sandbox.path().join("stripewise-results")).len(), 16);
    assert!(
        in_one_line(&text)
            .contains("with the same ack, linux-md or parity-caching (geometric mean of 2 seeds)"),
        "{text}"
    );
    assert!(text.contains("memory (persistent)"), "what acknowledges stands in the table: {text}");
    assert!(kept.contains(&"report    stripewise-results/report.html"), "{text}");
    let report = std::fs::read_to_string(sandbox.path().join("stripewise-results/report.html")).unwrap();
    assert!(report.contains("least-finish") && report.contains("</html>"), "the report is whole");

    let short = sandbox.run("compare --trace trace.csv --seeds 2").success();
    assert!(
        short.contains(
            "\nruns      0 computed, 16 there already; --all lists them, and has more columns\nreport    "
        ),
        "{short}"
    );
    assert!(!short.contains("simulator's") && !short.contains("seed 1:"), "without --all: {short}");
    for name in ["offered", "p99.9", "busiest", "persistent"] {
        assert!(short.contains(name), "{name} is missing: {short}");
    }
    for name in ["MiB/s", "p99.99", "simulated"] {
        assert!(text.contains(name) && !short.contains(name), "{name} is for --all: {short}");
    }

    let again = sandbox.run("report --out again.html").success();
    assert_eq!(again, "report    again.html\n");
    let again = std::fs::read_to_string(sandbox.path().join("again.html")).unwrap();
    assert_eq!(again.matches("<svg class=\"chart").count(), report.matches("<svg class=\"chart").count());
    assert!(again.contains("trace"), "the workload is called as its file is");
    assert!(sandbox.run("report nowhere").stderr.contains("no such directory"));
}

#[test]
fn an_existing_run_is_not_computed_again_unless_requested() {
    let sandbox = Sandbox::with_trace();
    let line = "compare --seeds 1 --trace trace.csv --scheme baseline --scheme always-rcw --json";
    let first: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let second: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    for (index, run) in first["runs"].as_array().unwrap().iter().enumerate() {
        let again = &second["runs"][index];
        assert_eq!((&run["computed"], &again["computed"]), (&true.into(), &false.into()));
        for key in ["scheme", "run_digest", "results_digest", "path", "totals"] {
            assert_eq!(run[key], again[key], "{key}");
        }
    }
    // `run` finds the run that `compare` made.
    let run: Value = serde_json::from_str(&sandbox.run("run --trace trace.csv --json").success()).unwrap();
    assert_eq!((&run["computed"], &run["run_digest"]), (&false.into(), &first["runs"][0]["run_digest"]));
    let forced: Value = serde_json::from_str(&sandbox.run(&format!("{line} --force")).success()).unwrap();
    assert_eq!(forced["runs"][0]["computed"], true);
    assert_eq!(forced["runs"][0]["results_digest"], first["runs"][0]["results_digest"]);
    let text = sandbox.run("run --trace trace.csv").success();
    assert!(text.contains("baseline, seed 1: there already, not computed again"), "{text}");
}

#[test]
fn the_policies_differ_as_they_must() {
    let sandbox = Sandbox::new();
    // Single pages at random: RMW pre-reads 2 pages a write, RCW the 4 others of the row.
    let line = "compare --seeds 1 --scheme baseline --scheme always-rmw --scheme always-rcw --json --pacing closed:1 \
                --gen uniform:write=1,size=8KiB,span=1GiB,requests=500";
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let runs = value["runs"].as_array().unwrap();
    let figures: Vec<_> =
        runs.iter().map(|run| (run["scheme"].as_str().unwrap(), total(run, "pre_read_pages"))).collect();
    assert_eq!(figures, [("baseline", 1000), ("always-rmw", 1000), ("always-rcw", 2000)]);
    for run in runs {
        assert_eq!((total(run, "requests"), total(run, "failed_requests")), (500, 0));
        assert_eq!((total(run, "host_write_pages"), total(run, "parity_write_pages")), (500, 500));
    }
    assert_eq!(value["settings"]["pacing"], "closed:1 (1 at a time)");
}

#[test]
fn a_variation_of_a_scheme_stands_beside_it_under_its_own_name() {
    let sandbox = Sandbox::new();
    // Each write updates the first 2 of a row's 5 chunks: RMW and RCW pre-read 3 pages, a tie.
    let schemes = "--scheme baseline --scheme baseline,update.tie=rcw --scheme linux-md";
    let spec = "uniform:write=1,size=16KiB,align=40KiB,span=1GiB,requests=200";
    let line = &format!("compare --seeds 1 --gen {spec} --pacing closed:1 {schemes} --json");
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let names: Vec<_> =
        value["runs"].as_array().unwrap().iter().map(|run| run["scheme"].as_str().unwrap()).collect();
    assert_eq!(names, ["baseline", "baseline,update.tie=rcw", "linux-md"]);
    let latency = |run: usize| total(&value["runs"][run], "write_mean_ns");
    assert_eq!(latency(1), latency(2), "the same choice under two names");
    assert_ne!(value["runs"][1]["run_digest"], value["runs"][2]["run_digest"]);
}

/// Names with several settings are long. A label stands for them wherever a scheme is named.
#[test]
fn a_label_names_a_scheme_in_tables_report_and_json() {
    let sandbox = Sandbox::with_trace();
    let long = "baseline,update.tie=rcw,geometry.chunk=16KiB";
    let line = format!("compare --trace trace.csv --seeds 2 -s raid0 -s mine={long}");
    let text = sandbox.run(&line).success();
    assert!(text.lines().any(|row| row.starts_with(" mine ")), "{text}");
    assert!(!text.contains("update.tie"), "{text}");
    let report = std::fs::read_to_string(sandbox.path().join("stripewise-results/report.html")).unwrap();
    assert!(report.contains(">mine<") || report.contains("\"mine\""), "the report shows the label");
    let value: Value = serde_json::from_str(&sandbox.run(&format!("{line} --json")).success()).unwrap();
    assert_eq!((&value["runs"][2]["scheme"], &value["runs"][2]["computed"]), (&"mine".into(), &false.into()));
    assert!(sandbox.run("runs").success().contains("mine"), "later commands know the label");
    let id = value["id"].as_str().unwrap();
    assert!(
        text.ends_with(&format!("\nid        {id} (of all results: equal ids are equal results)\n")),
        "{text}"
    );
    let digest = |text: &str| text.split(|c: char| !c.is_ascii_hexdigit()).any(|word| word.len() == 64);
    assert!(!digest(&text) && digest(&sandbox.run(&format!("{line} --all")).success()), "{text}");

    for (schemes, refusal) in [
        (
            "-s a=raid0 -s a=baseline",
            "two schemes are called `a`; give each a name of its own (LABEL=SCHEME)",
        ),
        ("-s bpu=raid0", "`bpu` is the name of another scheme"),
        ("-s =raid0", "the label is empty"),
        ("-s a=nothing", "unknown scheme `nothing`"),
    ] {
        let refused = sandbox.run(&format!("compare --trace trace.csv {schemes}")).failure(2);
        assert!(refused.contains(refusal), "{refused}");
    }
    // Without a label the name wraps, and figures stand side by side as before.
    let text = sandbox.run(&format!("compare --trace trace.csv --seeds 1 -s raid0 -s {long}")).success();
    let tables = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("scheme ")).count();
    assert!(text.contains("  geometry.chunk=16KiB") && tables(&text) <= 5, "{text}");
}

#[test]
fn no_time_is_printed_in_bare_nanoseconds() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("run --trace trace.csv").success();
    assert!(!text.contains("_ns") && text.contains("response_mean  "), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("run       ") && last.contains("  baseline, seed 1: computed in"), "{text}");
    let id = last.split_whitespace().nth(1).unwrap_or_default();
    assert!(
        id.len() == 8 && sandbox.run(&format!("report {id} --out one.html")).success().contains("one.html")
    );
    let runs = sandbox.run("runs").success();
    assert!(runs.contains("MEAN US") || runs.contains("MEAN MS"), "{runs}");
}

#[test]
fn every_setting_that_decides_a_run_makes_it_another_run_and_no_other_does() {
    let sandbox = Sandbox::with_trace();
    let digest = |options: &str| {
        let text = sandbox.run(&format!("run --trace trace.csv --requests 50 --json {options}")).success();
        let value: Value = serde_json::from_str(&text).unwrap();
        value["run_digest"].as_str().unwrap().to_owned()
    };
    let plain = digest("");
    for same in ["--rows", "--force", "--quiet", "--color never", "--out elsewhere", "--format msr"] {
        assert_eq!(digest(same), plain, "{same}");
    }
    let mut others: Vec<String> = [
        "--seed 2",
        "--warmup 10",
        "--fold dense",
        "--fold dense:64KiB",
        "--pacing open:2",
        "--pacing closed:4",
        "--gc-rows",
        "--precondition fresh",
        "--precondition steady:60%",
        "--sample-every 1ms",
        "--members chip",
        "--members channel:2",
        "--device ssdsim-7+1",
        "--scheme raid0",
        "--set gc.victim=fifo",
        "--set parity.xor=19us",
        "--requests 51",
        "--skip-bad 1",
    ]
    .iter()
    .map(|options| match options.strip_prefix("--requests ") {
        Some(requests) => {
            let line = format!("run --trace trace.csv --json --requests {requests}");
            let value: Value = serde_json::from_str(&sandbox.run(&line).success()).unwrap();
            value["run_digest"].as_str().unwrap().to_owned()
        }
        None => digest(options),
    })
    .chain([plain])
    .collect();
    let count = others.len();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), count);
}

#[test]
fn all_schemes_of_a_comparison_get_the_same_requests() {
    let sandbox = Sandbox::new();
    // RAID-0 has more room than RAID-5; both are folded onto the same span.
    let line = "compare --seeds 1 --gen uniform:size=8KiB,span=1TiB,requests=300 --scheme raid0 --scheme baseline --json";
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let of = |name: &str| [0, 1].map(|run: usize| total(&value["runs"][run], name));
    assert_eq!(of("folded_requests")[0], of("folded_requests")[1]);
    assert!(of("folded_requests")[0] > 250, "a span of 1 TiB hardly fits");
    assert!(of("array_bytes")[0] > of("array_bytes")[1]);
    assert!(value["settings"]["span"].as_str().unwrap().contains("a fifth of what the members hold"));
}

/// The figures that `compare` prints for a scheme are the same alone, beside other schemes, and in `run`.
#[test]
fn the_figures_of_a_scheme_do_not_depend_on_the_other_schemes() {
    let sandbox = Sandbox::new();
    let workload = "--gen uniform:size=8KiB,span=1TiB,requests=200 --json";
    let digests = |company: &str| -> Vec<String> {
        let text =
            sandbox.run(&format!("compare --seeds 2 {workload} --scheme baseline {company}")).success();
        let value: Value = serde_json::from_str(&text).unwrap();
        value["runs"].as_array().unwrap()[..2].iter().map(|run| run["results_digest"].to_string()).collect()
    };
    let alone = digests("");
    for company in ["--scheme stripewise", "--scheme raid6", "--scheme raid0 --scheme raid6"] {
        assert_eq!(digests(company), alone, "{company}");
    }
    let run: Value = serde_json::from_str(&sandbox.run(&format!("run {workload}")).success()).unwrap();
    assert_eq!(run["results_digest"].to_string(), alone[0]);
    assert_ne!(alone[0], alone[1], "the seed changes something");
}

#[test]
fn a_span_is_part_of_the_run_and_a_scheme_without_room_for_it_is_refused() {
    let sandbox = Sandbox::new();
    let workload = "--gen uniform:size=8KiB,span=1TiB,requests=20";
    let digest = |span: &str| {
        let value: Value =
            serde_json::from_str(&sandbox.run(&format!("run {workload} --json {span}")).success()).unwrap();
        value["run_digest"].to_string()
    };
    assert_ne!(digest("--span 1GiB"), digest(""));
    let line = format!("compare --seeds 1 {workload} --scheme baseline --scheme raid6 --span 11GiB");
    let message = sandbox.run(&line).failure(2);
    let fits =
        message.split("--span ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("the remedy");
    assert!(message.contains("scheme raid6 holds"), "{message}");
    sandbox.run(&line.replace("11GiB", fits)).success();
}

/// Paper 000's schemes with other settings must not appear under the papers' names.
#[test]
fn settings_for_all_stand_in_the_names_and_none_is_lost() {
    let sandbox = Sandbox::new();
    let workload = "--seeds 1 --gen uniform:size=8KiB,span=1GiB,requests=20";
    let line = format!(
        "compare {workload} --scheme baseline --scheme baseline,update.tie=rcw --set update.policy=bpu"
    );
    let message = sandbox.run(&line).failure(2);
    assert!(message.contains("setting update.tie=rcw: update.policy=bpu undoes it"), "{message}");
    let line = format!("compare {workload} --scheme baseline --set update.policy=bpu --json");
    let value: Value = serde_json::from_str(&sandbox.run(&line).success()).unwrap();
    assert_eq!(value["runs"][0]["scheme"], "baseline,update.policy=bpu");
}

#[test]
fn the_tables_are_parquet_files_with_a_row_for_each_thing() {
    let sandbox = Sandbox::with_trace();
    let line = "run --trace trace.csv --rows --update-rows --gc-rows --sample-every 100us --json";
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let store = Store::new(sandbox.path().join("stripewise-results"));
    let run = store.find(value["run_digest"].as_str().unwrap().parse().unwrap()).unwrap().unwrap();
    let rows = |table: Table| -> usize {
        let batches = run.batches(table).unwrap().unwrap_or_else(|| panic!("{table} is there"));
        batches.map(|batch| batch.unwrap().num_rows()).sum()
    };
    assert_eq!(rows(Table::Requests), 400);
    assert_eq!(rows(Table::Members), 6);
    assert_eq!(rows(Table::Totals), 1);
    assert!(rows(Table::Samples) >= 6);
    for table in Table::ALL {
        let bytes = std::fs::read(run.path().join(table.file())).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{table}");
    }
}

#[test]
fn rows_are_made_for_a_run_that_was_made_without_them() {
    let sandbox = Sandbox::with_trace();
    let json = |line: &str| -> Value { serde_json::from_str(&sandbox.run(line).success()).unwrap() };
    let without = json("run --trace trace.csv --json");
    let with = json("run --trace trace.csv --json --rows");
    assert_eq!(with["computed"], true);
    assert_eq!(with["run_digest"], without["run_digest"]);
    assert!(
        Path::new(&sandbox.path().join(with["path"].as_str().unwrap())).join("requests.parquet").exists()
    );
    assert_eq!(json("run --trace trace.csv --json --rows")["computed"], false);
    assert_eq!(json("run --trace trace.csv --json")["computed"], false);
}

#[test]
fn warm_up_counts_for_nothing() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("run --trace trace.csv --warmup 100 --json").success();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(total(&value, "requests"), 300);
    assert_eq!(value["settings"]["warm-up"], "100 requests");
    for warmup in [400, 500] {
        let message = sandbox.run(&format!("run --trace trace.csv --warmup {warmup}")).failure(2);
        assert!(message.contains("leaves none to count: the workload has 400"), "{message}");
    }
}

#[test]
fn json_alone_goes_to_the_standard_output() {
    let sandbox = Sandbox::with_trace();
    for line in [
        "compare --trace trace.csv --seeds 1 --json",
        "run --trace trace.csv --json",
        "explain --write 8KiB@0 --json",
        "trace info trace.csv --json",
        "trace convert trace.csv a.parquet --json",
        "trace slice trace.csv b.parquet --requests 0..5 --json",
        "trace gen uniform:requests=5 -o c.parquet --json",
        "trace formats --json",
        "scheme list --json",
        "scheme show baseline --json",
        "device list --json",
        "device show mqsim --json",
        "profile list --json",
        "profile show paper000/hm_0 --json",
        "profile show paper003/hpc --json",
    ] {
        let text = sandbox.run(line).success();
        let value: Result<Value, _> = serde_json::from_str(&text);
        assert!(value.is_ok(), "{line}: {text}");
    }
}

#[test]
fn the_totals_of_a_run_are_named_with_their_units() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("run --trace trace.csv --requests 100 --all").success();
    // The values belong to the simulator and are not compared.
    let without_value = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let unit = words.get(2).map_or(String::new(), |unit| format!(" {unit}"));
        if line.starts_with("  ") { format!("  {}{unit}\n", words[0]) } else { format!("{line}\n") }
    };
    let (from, to) = (text.find("Requests\n"), text.find("MEMBER"));
    let totals = &text[from.expect("the first group")..to.expect("the members follow")];
    golden("run-totals.txt", &totals.lines().map(without_value).collect::<String>());
}

#[test]
fn a_run_reports_what_each_ssd_did() {
    let sandbox = Sandbox::with_trace();
    let line = "run --trace trace.csv --device paper001 --members ssd:4";
    let text = sandbox.run(line).success();
    let table = text.split("\n\n").find(|part| part.starts_with("MEMBER")).expect("the members");
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let firsts: Vec<String> = table.lines().filter_map(first).collect();
    assert_eq!(firsts, ["MEMBER", "0", "1", "2", "3"], "{table}");

    let run: Value = serde_json::from_str(&sandbox.run(&format!("{line} --json")).success()).unwrap();
    let members = run["members"].as_array().expect("a row a member");
    assert_eq!(members.len(), 4);
    for name in ["host_write_pages", "erase_blocks"] {
        let sum: u64 = members.iter().map(|row| row[name].as_u64().expect("a count")).sum();
        assert_eq!(sum, total(&run, name), "{name}");
    }
    assert!(members.iter().all(|row| row["dies"] == 8 && row["busiest_die_ns"].as_u64() > Some(0)));
}

#[test]
fn quiet_prints_the_table_alone() {
    let sandbox = Sandbox::with_trace();
    let ended = sandbox.run("compare --trace trace.csv --seeds 1 --quiet");
    assert_eq!(ended.stderr, "");
    let text = ended.success();
    assert!(
        text.contains("linux-md") && !text.contains("workload") && !text.contains("stripewise-results"),
        "{text}"
    );
}

#[test]
fn a_run_that_fails_does_not_keep_the_others_from_their_table() {
    let sandbox = Sandbox::with_trace();
    // An obstacle in the directory of one run stops that run only.
    let value: Value =
        serde_json::from_str(&sandbox.run("run --trace trace.csv --scheme always-rcw --json").success())
            .unwrap();
    let path = sandbox.path().join(value["path"].as_str().unwrap());
    std::fs::write(path.join("run.toml"), "damaged").unwrap();
    let ended = sandbox.run("compare --seeds 1 --trace trace.csv --scheme baseline --scheme always-rcw");
    assert!(ended.stdout.contains("baseline"), "{}", ended.stdout);
    let message = ended.failure(1);
    assert!(message.contains("delete the run's directory"), "{message}");
}

#[test]
fn a_damaged_table_is_named_with_the_remedy_by_compare_and_report_and_no_figure_comes_from_it() {
    let sandbox = Sandbox::with_trace();
    let line = "compare --seeds 1 --trace trace.csv --scheme baseline --json";
    let value: Value = serde_json::from_str(&sandbox.run(line).success()).unwrap();
    let table = sandbox.path().join(value["runs"][0]["path"].as_str().unwrap()).join("latencies.parquet");
    let whole = std::fs::read(&table).unwrap();
    let mut bytes = whole.clone();
    bytes[100..104].iter_mut().for_each(|byte| *byte ^= 0x5A);
    std::fs::write(&table, &bytes).unwrap();
    for damaged in [line, "report --out damaged.html"] {
        let ended = sandbox.run(damaged);
        assert_eq!(ended.stdout, "", "{damaged}");
        let message = ended.failure(1);
        assert!(message.contains("latencies.parquet") && message.contains("--force"), "{damaged}: {message}");
    }
    assert!(!sandbox.path().join("damaged.html").exists());
    sandbox.run(&format!("{line} --force")).success();
    assert_eq!(std::fs::read(&table).unwrap(), whole);
    sandbox.run("report --out whole.html").success();
}

/// A column called just "WA" would leave its divisor open.
#[test]
fn no_column_is_called_by_an_amplification_whose_divisor_is_not_named() {
    let sandbox = Sandbox::with_trace();
    let run = sandbox.run("run --trace trace.csv --requests 100").success();
    let header = run.lines().find(|line| line.starts_with("MEMBER")).expect("the members");
    assert!(
        header.contains("PROGRAMS/WRITE") && !header.split_whitespace().any(|word| word == "WA"),
        "{header}"
    );
    let compared =
        sandbox.run("compare --seeds 1 --trace trace.csv --requests 100 --scheme baseline").success();
    let words: Vec<&str> = compared.split_whitespace().collect();
    assert!(words.contains(&"programs/") && words.contains(&"host") && !words.contains(&"WA"), "{compared}");
}

#[test]
fn runs_are_listed_and_named_by_the_first_digits_of_their_digests() {
    let sandbox = Sandbox::with_trace();
    sandbox.run("compare --trace trace.csv --seeds 2 --scheme baseline --scheme bpu").success();
    sandbox.run("compare --trace trace.csv --seeds 2 --scheme bpu --pacing closed:8").success();
    let table = sandbox.run("runs").success();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..5], ["RUN", "FINISHED", "SCHEME", "WORKLOAD", "SEED"]);
    assert_eq!(rows.len(), 7, "six runs:\n{table}");
    let listed: Value = serde_json::from_str(&sandbox.run("runs --json").success()).unwrap();
    let listed = listed.as_array().unwrap();
    for run in listed {
        let digest = run["run_digest"].as_str().unwrap();
        let row = rows[1..]
            .iter()
            .find(|row| digest.starts_with(row[0]))
            .unwrap_or_else(|| panic!("{digest}\n{table}"));
        assert_eq!((row[3], row[4]), (run["scheme"].as_str().unwrap(), run["workload"].as_str().unwrap()));
        assert!(sandbox.path().join(run["path"].as_str().unwrap()).join("run.toml").exists());
        assert!(run["finished"].as_str().unwrap().ends_with('Z') && run["totals"]["requests"].is_u64());
    }
    // Runs of one scheme and workload at two paces have the same names, and the last column tells them apart.
    let paced = |pace: &str| table.lines().filter(|line| line.contains("bpu") && line.contains(pace)).count();
    assert_eq!((paced("open:1"), paced("closed:8")), (2, 2), "{table}");
    let some = sandbox.run("runs --scheme baseline --json").success();
    assert_eq!(some.matches("\"run_digest\"").count(), 2, "{some}");

    let digests: Vec<&str> = listed.iter().map(|run| run["run_digest"].as_str().unwrap()).collect();
    let report =
        sandbox.run(&format!("report {} stripewise-results/{}", &digests[0][..8], digests[1])).success();
    assert_eq!(report, "report    stripewise-results/report.html\n");
    let html = std::fs::read_to_string(sandbox.path().join("stripewise-results/report.html")).unwrap();
    let shown = |digest: &&&str| html.contains(&format!("id=\"run-{}\"", &digest[..12]));
    assert!(
        digests.iter().filter(shown).count() <= 2 && html.contains(&digests[0][..12]),
        "the two and no others"
    );

    // Six runs need not share a first digit; where two do, that digit names neither.
    let first = |digest: &str| digests.iter().filter(|other| other.starts_with(&digest[..1])).count();
    if let Some(shared) = digests.iter().find(|digest| first(digest) > 1) {
        let error = sandbox.run(&format!("report {}", &shared[..1])).failure(1);
        assert!(error.contains("give more digits") && error.contains(&shared[..16]), "{error}");
    }
    let unknown = if digests.iter().any(|digest| digest.starts_with("0123456789ab")) {
        "fedcba987"
    } else {
        "0123456789ab"
    };
    let error = sandbox.run(&format!("report {unknown}")).failure(1);
    assert!(
        error.contains("no run has a digest") && error.contains("stripewise runs stripewise-results"),
        "{error}"
    );
    assert!(sandbox.run("runs nowhere").failure(1).contains("no such directory"));
    std::fs::create_dir(sandbox.path().join("empty")).unwrap();
    assert!(sandbox.run("runs empty").failure(1).contains("make some"));
}
