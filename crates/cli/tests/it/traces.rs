//! `stripewise trace`: every request that is read is written.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Sandbox, golden, msr_trace};

fn statistics(sandbox: &Sandbox, name: &str) -> Value {
    let text = sandbox.run(&format!("trace info {name} --json")).success();
    let value: Value = serde_json::from_str(&text).unwrap();
    value[0]["statistics"].clone()
}

#[test]
fn the_statistics_of_a_trace_are_printed_with_histograms() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("trace info trace.csv").success();
    golden("trace-info.txt", &text);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_trace_stays_the_same_through_every_format() {
    let sandbox = Sandbox::with_trace();
    let expected = statistics(&sandbox, "trace.csv");
    let mut from = "trace.csv".to_owned();
    for to in [
        "a.parquet",
        "b.disksim.gz",
        "c.ssdsim.zst",
        "d.mqsim",
        "e.msr.zst",
        "g.systor",
        "h.k5cloud",
        "i.alibaba",
        "j.fiu",
        "k.blkparse.gz",
        "l.etw",
        "m.fio.zst",
        "n.msps",
        "f.parquet",
    ] {
        sandbox.run(&format!("trace convert {from} {to}")).success();
        from = to.to_owned();
    }
    assert_eq!(statistics(&sandbox, "f.parquet"), expected);
}

#[test]
fn text_of_any_columns_is_read_and_put_in_order_as_the_options_say() {
    let sandbox = Sandbox::new();
    sandbox.write("t.txt", "# mine\n0,0,3,8,w\n20,4096,3,8,w\n10,8192,3,8,r\n");
    let line =
        "trace convert t.txt t.msr --overwrite --columns time:ms,offset,volume,size:sectors,op:r/w;header=1";
    let ended = sandbox.run(&format!("{line} --disorder sort"));
    assert!(
        ended.stderr.contains("1 requests were older than one before them and were put in their place"),
        "{ended:?}"
    );
    ended.success();
    let text = std::fs::read_to_string(sandbox.path().join("t.msr")).unwrap();
    let fields = text.lines().map(|line| line.splitn(3, ',').nth(2).unwrap().to_owned());
    let expected = ["3,Write,0,4096,0", "3,Read,8192,4096,0", "3,Write,4096,4096,0"];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
    let error = sandbox.run(&format!("{line} --disorder refuse")).failure(1);
    assert!(error.contains("t.txt:4") && error.contains("steps back"), "{error}");
    let error = sandbox.run("trace info t.txt --columns time,offset,size").failure(2);
    assert!(error.contains("no column `op`"), "{error}");
}

#[test]
fn columns_may_begin_with_an_unused_one_wherever_they_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", ",ts,op,off,len\n0,0.001,r,0,4096\n1,0.002,w,4096,4096\n2,0.003,r,8192,4096\n");
    let columns = ["--columns", "-,time:s,op:r/w,offset,size;header=1"];
    let text = sandbox.run_words(["trace", "info", "t.csv"].iter().chain(&columns)).success();
    assert!(
        text.contains("requests               3 (2 reads, 1 writes")
            && text.contains("span                   2 ms"),
        "{text}"
    );
    sandbox.run_words(["run", "--trace", "t.csv"].iter().chain(&columns)).success();
    let error = sandbox.run("run --trace t.csv --columns time,offset,size").failure(2);
    assert!(error.contains("no column `op`"), "{error}");
    // As above, in all other commands.
    let mut found = Vec::new();
    walk(&stripewise::command(), &mut |command| {
        for arg in command.get_arguments().filter(|arg| arg.get_long() == Some("columns")) {
            assert!(arg.is_allow_hyphen_values_set(), "{}", command.get_name());
            found.push(command.get_name().to_owned());
        }
    });
    for name in ["advise", "compare", "convert", "info", "overhead", "run", "slice"] {
        assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
    }
}

/// Calls `at` for `command` and all below it.
fn walk(command: &clap::Command, at: &mut dyn FnMut(&clap::Command)) {
    at(command);
    command.get_subcommands().for_each(|command| walk(command, at));
}

#[test]
fn a_trace_goes_through_pipes() {
    let sandbox = Sandbox::with_trace();
    let mut child = sandbox
        .command()
        .args(["trace", "convert", "-", "-", "--to", "disksim", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(msr_trace(400).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    sandbox.write("piped.disksim", std::str::from_utf8(&output.stdout).unwrap());
    assert_eq!(statistics(&sandbox, "piped.disksim"), statistics(&sandbox, "trace.csv"));
}

#[test]
fn a_slice_holds_what_its_conditions_say() {
    let sandbox = Sandbox::with_trace();
    let requests = |name: &str| statistics(&sandbox, name)["requests"].as_u64().unwrap();
    sandbox.run("trace slice trace.csv part.parquet --requests 10..110").success();
    assert_eq!(requests("part.parquet"), 100);
    sandbox.run("trace slice trace.csv volume.parquet --volume 1").success();
    assert_eq!(requests("volume.parquet"), 200);
    // Requests come about every 200 us.
    sandbox.run("trace slice trace.csv time.parquet --from 10ms --to 20ms").success();
    assert!((45..=55).contains(&requests("time.parquet")), "{}", requests("time.parquet"));
    sandbox.run("trace slice trace.csv all --as disksim").success();
    assert_eq!(requests("all"), 400);
    let text = sandbox.run("trace slice trace.csv same --requests ..5").success();
    assert!(text.contains("5 requests as msr"), "{text}");
}

#[test]
fn a_generated_trace_is_the_same_for_the_same_seed() {
    let sandbox = Sandbox::new();
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        let spec = "uniform:write=0.5,span=1GiB,requests=500,arrival=poisson:100us";
        sandbox.run(&format!("trace gen {spec} -o {name}.parquet --seed {seed}")).success();
    }
    assert_eq!(statistics(&sandbox, "a.parquet"), statistics(&sandbox, "b.parquet"));
    assert_ne!(statistics(&sandbox, "a.parquet"), statistics(&sandbox, "c.parquet"));
}

#[test]
fn a_profile_of_a_trace_generates_a_trace_like_it() {
    let sandbox = Sandbox::new();
    sandbox.write("trace.csv", &msr_trace(3000));
    sandbox.run("trace info trace.csv --profile-out like.toml --quiet").success();
    sandbox.run("trace gen like.toml -o like.parquet --requests 3000").success();
    let (real, like) = (statistics(&sandbox, "trace.csv"), statistics(&sandbox, "like.parquet"));
    assert_eq!(like["requests"], 3000);
    let close = |key: &str, within: f64| {
        let [real, like] = [&real, &like].map(|value| value[key].as_f64().unwrap());
        assert!((like / real - 1.0).abs() < within, "{key}: {real} and {like}");
    };
    close("write_ratio", 0.01);
    close("requests_per_second", 0.02);
    sandbox.run("run --profile like.toml --requests 100").success();
}

#[test]
fn every_workload_that_comes_with_the_program_can_be_generated_in_short() {
    let sandbox = Sandbox::new();
    let list: Value = serde_json::from_str(&sandbox.run("profile list --json").success()).unwrap();
    for profile in list.as_array().unwrap() {
        let name = profile["profile"].as_str().unwrap();
        for requests in [100, 12_000] {
            sandbox.run(&format!("trace gen {name} -n {requests} -o a.parquet --overwrite")).success();
            assert_eq!(statistics(&sandbox, "a.parquet")["requests"], requests, "{name}");
        }
    }
}

#[test]
fn what_the_lines_of_a_trace_leave_open_is_said() {
    let sandbox = Sandbox::new();
    let lines: String = (0..50).map(|n| format!("{} 0 {} 16 {}\n", n * 1000, n * 16, n % 2)).collect();
    sandbox.write("times.txt", &lines);
    for line in ["trace info times.txt", "run --trace times.txt"] {
        let ended = sandbox.run(line);
        assert!(
            ended.stderr.contains("note: times.txt: ") && ended.stderr.contains("ssdsim:us"),
            "{}",
            ended.stderr
        );
        ended.success();
        assert_eq!(sandbox.run(&format!("{line} --quiet")).stderr, "");
    }
    assert_eq!(sandbox.run("run --trace times.txt --format ssdsim:us").stderr, "");
}

#[test]
fn a_conversion_that_would_lose_times_is_refused_unless_rounding_is_allowed() {
    let sandbox = Sandbox::new();
    sandbox.run("trace gen uniform:requests=20,arrival=poisson:1111ns -o a.parquet").success();
    let message = sandbox.run("trace convert a.parquet b.msr").failure(1);
    assert!(message.contains("grain"), "{message}");
    assert!(!sandbox.path().join("b.msr").exists() && !sandbox.path().join("b.msr.partial").exists());
    let ended = sandbox.run("trace convert a.parquet b.msr --round-times");
    assert!(ended.stderr.contains("times were rounded"), "{}", ended.stderr);
    ended.success();
}

#[test]
fn a_trace_without_a_clock_prints_no_rates() {
    let sandbox = Sandbox::new();
    let lines =
        |gap: u64| -> String { (0..50u64).map(|n| format!("{}.000 0 {} 16 0\n", n * gap, n * 16)).collect() };
    sandbox.write("clock.txt", &lines(2));
    sandbox.write("still.txt", &lines(0));
    let info = |name: &str| sandbox.run(&format!("trace info {name}")).success();
    let (clock, still) = (info("clock.txt"), info("still.txt"));
    assert!(still.contains("all requests have the same time"), "{still}");
    for word in ["requests/s", "interval up to", "mean interval", "500"] {
        assert!(clock.contains(word) && !still.contains(word), "{word}: {still}");
    }
}

#[test]
fn an_absurd_clock_is_refused_by_every_command_that_reads_traces() {
    let sandbox = Sandbox::new();
    let lines: String = (0..400u64).map(|n| format!("{} 0 {} 128 1\n", n * 300, n * 128)).collect();
    sandbox.write("times.txt", &lines);
    for line in ["trace info times.txt", "trace convert times.txt a.parquet", "run --trace times.txt"] {
        let error = sandbox.run(line).failure(1);
        assert!(error.contains("GB/s") && error.contains("ssdsim:us"), "{line}: {error}");
        sandbox.run(&format!("{line} --format ssdsim:us")).success();
    }
}
