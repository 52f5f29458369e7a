//! `stripewise study`: its exit codes, and that a killed study is resumed.

use std::process::Stdio;
use std::time::Duration;

use crate::support::Sandbox;

const STUDY: &str = r#"
[base]
workload = "uniform:size=8KiB,write=0.5,span=16MiB"
requests = 100
[compare]
scheme = ["baseline", "bpu"]
[axes]
pacing = ["closed:2", "closed:4"]
members = ["channel", "ssd:2"]
[replicate]
seeds = 6
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("study.toml", STUDY);
    sandbox
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_study_is_checked_run_and_shown() {
    let sandbox = sandbox();
    let check = json(&sandbox.run("study check study.toml --json").success());
    assert_eq!((&check["points"], &check["runs"]["most"]), (&2.into(), &24.into()));
    let none = sandbox.run("study show study.toml").failure(1);
    assert!(none.contains("stripewise study run study.toml"), "{none}");
    let some = sandbox.run("-q study run study.toml --limit 5 --jobs 2").success();
    assert!(some.contains("5 made") && some.contains("left out  4 combinations"), "{some}");
    let status = json(&sandbox.run("study status study.toml --json").success());
    assert_eq!((&status["runs"], &status["points"]), (&5.into(), &2.into()));
    assert!(sandbox.run("study run study.toml").success().contains("19 made"));
    assert!(
        sandbox.run("study run study.toml").success().contains("0 made in 0 s of processor time, 24 there")
    );
    let status = json(&sandbox.run("study status study.toml --json").success());
    assert_eq!((&status["runs_left"], &status["points_ended"]["fixed"]), (&0.into(), &2.into()));
    assert_eq!(&status["plan"], &check["plan"]);
    let shown = json(&sandbox.run("study show study.toml --only pacing=closed:4 --json").success());
    let rows = shown.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[0]["difference"].is_null() && rows[1]["difference"]["mean"].is_number(), "{shown}");
    let indexed = sandbox.run("study index study.toml").success();
    assert!(indexed.contains("study.results/catalogue/") && indexed.contains("24 runs"), "{indexed}");
    assert_eq!(sandbox.run("study errors study.toml").success(), "no run failed\n");
}

#[test]
fn a_study_ends_in_a_report_and_another_shows_what_is_requested() {
    let sandbox = sandbox();
    let none = sandbox.run("report study.toml").failure(1);
    assert!(none.contains("stripewise study run study.toml"), "{none}");
    let made = sandbox.run("study run study.toml").success();
    assert!(made.contains("report    study.results/report.html"), "{made}");
    let read = |name: &str| std::fs::read_to_string(sandbox.path().join(name)).expect("a report");
    let html = read("study.results/report.html");
    for part in ["over-1-1", "over-1-3", "summary", "points"] {
        assert!(html.contains(&format!("id=\"{part}\"")), "{part} is missing");
    }
    assert!(html.contains("programs_per_host_page over pacing") && html.contains("24 runs, 6 seeds a point"));
    assert!(!html.contains("over members"), "the other members fit no scheme");
    let command = "report study.toml --figure p99_ns --over pacing --only members=channel -o some.html";
    assert_eq!(sandbox.run(command).success(), "report    some.html\n");
    let html = read("some.html");
    assert!(html.contains("response_p99 over pacing") && !html.contains("id=\"over-1-2\""));
    for (options, message) in [
        ("study.toml --over pacng", "--over: unknown axis `pacng`; did you mean `pacing`?"),
        ("study.toml --only pacing=closed:3", "--only: unknown value `closed:3`"),
        ("study.toml --figure p98", "--figure: unknown figure `p98`"),
        ("study.toml study.results", "a study has a report of its own"),
        ("--over pacing", "give its file"),
    ] {
        let error = sandbox.run(&format!("report {options}")).failure(2);
        assert!(error.contains(message), "{options}: {error}");
    }
    let error = sandbox.run("report study.results").failure(1);
    assert!(error.contains("study.results has the results of a study; give the study file"), "{error}");
}

#[test]
fn a_label_names_a_scheme_of_a_study_and_tables_name_their_units() {
    let sandbox = Sandbox::new();
    let labelled = STUDY.replace("\"bpu\"", "\"mine=baseline,update.tie=rcw,geometry.chunk=16KiB\"");
    let except = "[[except]]\nscheme = \"mine\"\npacing = \"closed:4\"\n";
    sandbox.write("study.toml", &labelled.replace("[replicate]", &format!("{except}[replicate]")));
    sandbox.run("-q study run study.toml").success();
    let shown = sandbox.run("study show study.toml").success();
    assert!(shown.starts_with("response_mean\n") && !shown.contains("update.tie"), "{shown}");
    assert!(shown.contains("MEAN US") && shown.contains("± US"), "{shown}");
    let rows = json(&sandbox.run("study show study.toml --json").success());
    let names: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["scheme"].as_str().unwrap()).collect();
    assert_eq!(
        (names.contains(&"mine"), names.len()),
        (true, names.iter().filter(|name| **name == "baseline").count() + 1)
    );
    sandbox.write("study.toml", &labelled.replace("mine=", "bpu="));
    let refused = sandbox.run("study check study.toml").failure(2);
    assert!(refused.contains("`bpu` is the name of another scheme"), "{refused}");
}

/// The same runs as `compare`, so the same means, to the last bit.
#[test]
fn a_study_and_a_comparison_have_the_same_means_and_differences() {
    let sandbox = sandbox();
    sandbox.run("study run study.toml").success();
    let shown = json(&sandbox.run("study show study.toml --only pacing=closed:4 --json").success());
    let options = "-g uniform:size=8KiB,write=0.5,span=16MiB -n 100 --pacing closed:4 --seeds 6";
    let compared = json(&sandbox.run(&format!("compare -s baseline -s bpu {options} --json")).success());
    let runs = compared["runs"].as_array().unwrap();
    for (at, scheme) in ["baseline", "bpu"].into_iter().enumerate() {
        let values: Vec<f64> = runs
            .iter()
            .filter(|run| run["scheme"] == scheme)
            .map(|run| run["totals"]["response_mean_ns"].as_f64().unwrap())
            .collect();
        assert_eq!(values.len(), 6);
        let mean = values.iter().sum::<f64>() / 6.0;
        assert_eq!(shown[at]["mean"].as_f64().unwrap(), mean, "{scheme}");
    }
}

#[test]
fn mistakes_and_failures_have_exit_codes_of_their_own() {
    let sandbox = sandbox();
    sandbox.write("wrong.toml", &STUDY.replace("requests", "reqests"));
    let wrong = sandbox.run("study run wrong.toml").failure(2);
    assert!(
        wrong.starts_with("error: wrong.toml:4:1: unknown key `reqests`; did you mean `requests`?"),
        "{wrong}"
    );
    sandbox.write("empty.toml", &STUDY.replace("\"channel\", ", ""));
    assert!(sandbox.run("study run empty.toml").failure(2).contains("no combination is left"));
    assert!(sandbox.run("study run none.toml").failure(1).contains("none.toml: cannot read the study file"));
    assert!(
        sandbox.run("study show study.toml --only pacin=x").failure(2).contains("did you mean `pacing`?")
    );
    assert!(
        sandbox.run("study show study.toml --figure p98_ns").failure(2).contains("unknown figure `p98_ns`")
    );

    sandbox.write("failing.toml", &format!("{STUDY}[fail]\nretries = 1\nrun_limit = \"1ns\"\n"));
    let ended = sandbox.run("study run failing.toml");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stdout.contains("FAILED    8 runs of 2 points"), "{ended:?}");
    assert!(ended.stderr.contains("stripewise study errors failing.toml"), "{ended:?}");
    let errors = json(&sandbox.run("study errors failing.toml --json").success());
    let errors = errors.as_array().unwrap();
    assert!(errors.len() == 8 && errors.iter().all(|error| error["attempts"] == 2), "{errors:?}");
}

/// The command and its workers take the digest of a trace from the cache, and notice that the trace has changed.
#[test]
fn a_trace_is_read_for_its_digest_once_and_again_when_it_has_changed() {
    let sandbox = Sandbox::with_trace();
    let text = STUDY.replace("\"uniform:size=8KiB,write=0.5,span=16MiB\"", "{ trace = \"trace.csv\" }");
    sandbox.write("study.toml", &text);
    let plan = || json(&sandbox.run("study check study.toml --json").success())["plan"].to_string();
    let first = plan();
    let cache = sandbox.path().join("cache/digests");
    // What was just written may be written again without a change of its times.
    assert!(!cache.exists());
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(plan(), first);
    let entries: Vec<_> = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    // Another digest in its place shows that the trace is not read.
    let kept = std::fs::read_to_string(entry).unwrap();
    let digest = kept.lines().last().unwrap();
    std::fs::write(entry, kept.replace(digest, &"5".repeat(64))).unwrap();
    let other = plan();
    assert_ne!(other, first);
    sandbox.run("study run study.toml --jobs 2 --limit 4").success();
    assert_eq!(plan(), other);
    let trace = sandbox.path().join("trace.csv");
    let content = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, content).unwrap();
    assert_eq!(plan(), first);
}

/// An interpreter that says what it was called with. The one called `python` has the package.
fn with_interpreters(sandbox: &Sandbox) {
    let write = |name: &str, script: &str| {
        let path = sandbox.write(name, script);
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    std::fs::create_dir(sandbox.path().join("bin")).unwrap();
    write(
        "bin/python3",
        "#!/bin/sh\necho 'Traceback:' >&2\necho \"No module named 'stripewise'\" >&2\nexit 1\n",
    );
    write("bin/python", "#!/bin/sh\n[ \"$1 $2\" = '-P -c' ] && exit 0\nprintf '%s\\n' \"$@\"\nexit 3\n");
}

#[test]
fn a_study_on_another_place_is_handed_over_to_the_python_package() {
    let sandbox = sandbox();
    with_interpreters(&sandbox);
    let line = "-q study run study.toml --on slurm --store elsewhere --limit 2k";
    let on = |path: &str, python: Option<&str>| {
        let mut command = sandbox.command();
        command.env("PATH", path).env_remove("VIRTUAL_ENV").env_remove("STRIPEWISE_PYTHON");
        command.envs(python.map(|python| ("STRIPEWISE_PYTHON", python)));
        let output = command.args(line.split(' ')).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let bin = sandbox.path().join("bin");
    let (code, said, _) = on(&format!("{}:/usr/bin:/bin", bin.display()), None);
    let build = format!("--build={}", stripewise_runs::version());
    let expected = [
        "-P",
        "-m",
        "stripewise.cluster",
        "run",
        "study.toml",
        "--store=elsewhere",
        "--on=slurm",
        &build,
        "--limit=2000",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), [&expected[..], &["--quiet"]].concat());
    assert_eq!(code, Some(3), "the exit code is that of the package");

    // Neither of these has the package.
    std::fs::remove_file(bin.join("python")).unwrap();
    let (code, _, error) = on(&bin.display().to_string(), None);
    assert_eq!(code, Some(2), "{error}");
    for part in ["pip install 'stripewise[study]'", "python3: No module named 'stripewise'", "\n  python: "] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let (code, _, error) = on("/usr/bin:/bin", Some("no/such/python"));
    assert!(code == Some(2) && error.contains("no/such/python: ") && !error.contains("python3"), "{error}");
}

#[test]
fn modules_in_the_folder_of_a_study_are_not_run() {
    let sandbox = sandbox();
    for module in ["stripewise", "tomllib", "json", "os", "dask"] {
        sandbox.write(&format!("{module}.py"), "open('ran', 'w').close()\n");
    }
    std::fs::create_dir(sandbox.path().join("stripewise")).unwrap();
    for module in ["__init__", "cluster"] {
        sandbox.write(&format!("stripewise/{module}.py"), "open('ran', 'w').close()\n");
    }
    let mut command = sandbox.command();
    command.env("STRIPEWISE_PYTHON", "python3").args(["study", "run", "study.toml", "--on", "local"]);
    let output = command.output();
    assert!(!sandbox.path().join("ran").exists(), "{output:?}");
}

#[test]
fn clean_removes_old_files_that_are_half_written_and_nothing_else() {
    let sandbox = sandbox();
    assert!(sandbox.run("study clean study.toml").success().starts_with("removed 0 half written files"));
    sandbox.run("study run study.toml --limit 4").success();
    let kept = sandbox.run("study status study.toml").success();
    let partial = |name: &str| sandbox.path().join(format!("study.results/runs/{name}.partial"));
    for name in ["old", "new"] {
        std::fs::write(partial(name), [0; 2048]).unwrap();
    }
    let before = std::time::SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::options().write(true).open(partial("old")).unwrap().set_modified(before).unwrap();
    let output = sandbox.run("study clean study.toml --dry-run").success();
    assert!(output.starts_with("would remove study.results/runs/old.partial: 2 KiB, 2"), "{output}");
    assert!(
        output.ends_with("would remove 1 half written files, 2 KiB\n") && partial("old").exists(),
        "{output}"
    );
    let output = sandbox.run("study clean study.toml").success();
    assert!(output.starts_with("removed study.results/runs/old.partial"), "{output}");
    assert!(!partial("old").exists() && partial("new").exists());
    assert!(sandbox.run("study clean study.toml --older-than soon").failure(2).contains("10min or 1h"));
    sandbox.run("study clean study.toml --older-than 0s").success();
    assert!(!partial("new").exists());
    assert_eq!(sandbox.run("study status study.toml").success(), kept);
}

/// Processor time, which other programs do not change much: `docs/evidence/benchmarks.md` has the elapsed time on idle cores.
/// `cargo test -p stripewise --test it -- --ignored --nocapture ten_thousand`
#[test]
#[ignore = "makes 10,000 runs, which takes minutes"]
fn ten_thousand_runs_take_at_most_fifteen_percent_more_processor_time_than_alone() {
    let sandbox = Sandbox::new();
    let text = STUDY
        .replace("span=16MiB", "span=64MiB")
        .replace("requests = 100\n", "requests = 1000\n\"geometry.blocks\" = 64\n")
        .replace("[\"closed:2\", \"closed:4\"]", "{ from = \"closed:1\", to = \"closed:50\", step = 1 }")
        .replace("members = [\"channel\", \"ssd:2\"]\n", "")
        .replace("seeds = 6", "seeds = 100");
    sandbox.write("study.toml", &text);
    let mut shell = sandbox.within(std::process::Command::new("sh"));
    let script = "\"$0\" study run study.toml --jobs 2 >&2; times";
    let ended = shell.args(["-c", script, env!("CARGO_BIN_EXE_stripewise")]).output().unwrap();
    let output = String::from_utf8(ended.stdout).unwrap();
    // The second line has the times of the children: 1m2.34s 0m5.67s.
    let seconds = |time: &str| -> f64 {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    let study: f64 = output.lines().nth(1).unwrap().split(' ').map(seconds).sum();
    let status = json(&sandbox.run("study status study.toml --json").success());
    let runs = status["cpu_ns"].as_f64().unwrap() / 1e9;
    println!("{} runs: {runs:.1} s, the study {study:.1} s, {:.3} times", status["runs"], study / runs);
    assert_eq!(status["runs"], 10_000);
    assert!(study / runs <= 1.15, "{study} of {runs} s");
}

#[test]
fn a_study_that_is_killed_is_resumed_by_the_same_command() {
    let whole = sandbox();
    whole.run("study run study.toml --jobs 1").success();
    let expected = whole.run("study show study.toml --json").success();
    let sandbox = sandbox();
    let mut kills = 0;
    for milliseconds in [40, 120, 250, 400] {
        let mut command = sandbox.command();
        command.args(["study", "run", "study.toml"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        kills += u32::from(child.try_wait().unwrap().is_none());
        // A command that has ended already is no error.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills > 0, "at least one was killed while it ran");
    sandbox.run("study run study.toml").success();
    assert_eq!(sandbox.run("study show study.toml --json").success(), expected);
}
