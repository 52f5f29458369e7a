//! Error messages and their exit codes.

use crate::support::{Sandbox, msr_trace};

#[test]
fn what_is_not_understood_exits_with_2_and_the_nearest_known_name() {
    let sandbox = Sandbox::with_trace();
    for (line, said) in [
        ("compair", "compare"),
        ("compare --shceme baseline", "--scheme"),
        ("compare --scheme basline", "did you mean `baseline`?"),
        ("run --scheme basline", "did you mean `baseline`?"),
        ("compare --device ssdsim-5-1", "did you mean `ssdsim-5+1`?"),
        ("compare --profile paper000/hm_1", "did you mean `"),
        ("compare --profile hm_0x", "profile list"),
        ("compare --gen unifrom:span=1GiB", "did you mean `uniform`?"),
        ("compare --gen uniform:spam=1GiB", "did you mean `span`?"),
        ("compare --set update.tei=rcw", "did you mean `tie`?"),
        ("compare --set gc.victim=fifi", "did you mean `fifo`?"),
        ("compare --set tie", "expected KEY=VALUE"),
        ("compare --fold modula", "did you mean `modulo`?"),
        ("compare --pacing opne:3", "expected `open`"),
        ("compare --members cahnnel", "expected `ssd:N`"),
        ("compare --trace trace.csv --format mrs", "did you mean `msr`?"),
        ("compare --requests 0", "give at least 1"),
        ("compare --seed -1", "seeds are whole numbers from 0 to 18446744073709551615"),
        ("paper 000 --seed -1", "seeds are whole numbers from 0 to"),
        ("trace gen uniform:span=1GiB --seed 1.5", "seeds are whole numbers from 0 to"),
        ("compare -n -5", "expected a count such as `3M` or `3000000`, found `-5`"),
        ("compare --seeds -2", "expected a count"),
        ("compare -n 1e30", "`1e30` is too large"),
        (
            "run --trace trace.csv --sample-every 1ns",
            "more than the budget of 1GiB; take samples less often (--sample-every) or raise the budget (--table-budget",
        ),
        ("compare --scheme baseline --scheme baseline", "two schemes are called `baseline`"),
        ("compare --trace -", "trace convert -"),
        ("compare --trace trace.csv --profile hm_0", "cannot be used with"),
        ("scheme show nothing-like-it", "the nearest: "),
        ("compare --scheme nothing-like-it", "others: "),
        ("compare -j 0", "give at least 1"),
        ("compare --seeds 0", "give at least 1"),
        ("paper 000 --jobs 0", "give at least 1"),
        ("compare --warmup 2M", "a warm-up of 2000000 requests leaves none to count"),
        ("compare --set scheme.name=foo", "only labels"),
        ("device show nothing-like-it", "stripewise device list"),
        ("explain", "required"),
        ("explain --write 24KiB", "SIZE@OFFSET"),
        ("explain --write 24KiB@0 --fail 6", "0 to 5"),
        ("trace info", "required"),
        ("trace convert trace.csv out.what", "name one with --to"),
        ("trace slice trace.csv o.msr --requests 5..2", "B must be more than A"),
        ("trace slice trace.csv o.msr --from 2s --to 1s", "end of the slice"),
        ("completions tcsh", "possible values"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{line}: expected `{said}` in: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{line}: {}", ended.stdout);
    }
}

#[cfg(not(feature = "object-stores"))]
#[test]
fn a_bucket_is_refused_by_a_program_without_them_and_the_remedy_is_named() {
    let sandbox = Sandbox::new();
    for line in ["run --out s3://lab/x", "compare --out s3://lab/x", "report s3://lab/x", "runs s3://lab/x"] {
        let said = sandbox.run(line).failure(2);
        assert!(said.contains("s3://lab/x: ") && said.contains("--features object-stores"), "{line}: {said}");
    }
    let said = sandbox.run("advise --out s3://lab/x --device ssdsim-5+1").failure(2);
    assert!(said.contains("s3://lab/x: give a directory of results"), "{said}");
    let entries = std::fs::read_dir(sandbox.path()).unwrap().count();
    assert_eq!(entries, 0, "no folder has the name of a bucket");
}

#[test]
fn a_scheme_file_is_refused_with_file_line_caret_and_the_nearest_key() {
    let sandbox = Sandbox::with_trace();
    sandbox.write("mine.toml", "name = \"mine\"\n\n[geometry]\nlevle = \"raid5\"\n");
    let message = sandbox.run("compare --trace trace.csv --scheme mine.toml").failure(2);
    assert!(message.contains("mine.toml:4:1: unknown key `levle`; did you mean `level`?"), "{message}");
    assert!(message.contains("4 | levle = \"raid5\"\n  | ^^^^^\n"), "{message}");
    sandbox.write("device.toml", "name = \"d\"\n[geometry]\nchannels = 0\n");
    let message = sandbox.run("device show device.toml").failure(2);
    assert!(message.contains("device.toml"), "{message}");
}

#[test]
fn a_scheme_without_meaning_on_the_array_is_refused_with_the_reason() {
    let sandbox = Sandbox::with_trace();
    let message = sandbox.run("compare --trace trace.csv --members ssd:2").failure(2);
    assert!(message.contains("scheme `linux-md`, section [geometry]"), "{message}");
    let message = sandbox.run("run --trace trace.csv --set geometry.chunk=12KiB").failure(2);
    assert!(message.contains("scheme `baseline,geometry.chunk=12KiB`, section [geometry]"), "{message}");
}

#[test]
fn a_trace_that_is_not_there_exits_with_1_and_names_it() {
    let sandbox = Sandbox::new();
    for line in [
        "compare --trace none.csv",
        "run --trace none.csv",
        "trace info none.csv",
        "trace convert none.csv a.msr",
    ] {
        let message = sandbox.run(line).failure(1);
        assert!(message.contains("none.csv: "), "{line}: {message}");
    }
    assert!(!sandbox.path().join("stripewise-results").exists());
}

#[test]
fn a_bad_line_is_reported_with_file_line_and_column_and_may_be_skipped() {
    let sandbox = Sandbox::new();
    let mut lines: Vec<String> = msr_trace(300).lines().map(str::to_owned).collect();
    lines[250] = lines[250].replace("Write", "Wrote").replace("Read", "Reed");
    sandbox.write("bad.csv", &(lines.join("\n") + "\n"));
    for line in ["run --trace bad.csv", "trace info bad.csv", "trace convert bad.csv good.parquet"] {
        let message = sandbox.run(line).failure(1);
        assert!(message.contains("bad.csv:251:"), "{line}: {message}");
        assert!(message.contains("expected") && message.contains("--skip-bad"), "{line}: {message}");
    }
    assert!(!sandbox.path().join("good.parquet").exists(), "an incomplete trace is not left behind");
    let text = sandbox.run("run --trace bad.csv --skip-bad 1").success();
    assert!(text.contains("1 lines of the trace were no requests"), "{text}");
    let text = sandbox.run("run --trace bad.csv --skip-bad 1 --json").success();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["totals"]["requests"], &value["totals"]["skipped_lines"]), (&299.into(), &1.into()));
}

#[test]
fn a_failure_that_all_runs_share_is_reported_once_with_their_number() {
    let sandbox = Sandbox::new();
    let text = msr_trace(300);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[250] = "1,2,3";
    sandbox.write("bad.csv", &(lines.join("\n") + "\n"));
    let message = sandbox.run("compare --trace bad.csv -s baseline -s bpu --seeds 3").failure(1);
    assert_eq!(message.matches("bad.csv:251:").count(), 1, "{message}");
    assert!(message.contains("all 6 runs: bad.csv:251:"), "{message}");
}

#[test]
fn an_offset_that_is_too_large_is_blamed_and_not_the_size() {
    let sandbox = Sandbox::new();
    sandbox.write("far.csv", "128166372000000000,host,0,Write,18446744073709551615,4096,100\n");
    let message = sandbox.run("trace info far.csv --format msr").failure(1);
    assert!(message.contains("its offset is too large"), "{message}");
    assert!(!message.contains("a size: a whole number"), "{message}");
}

#[test]
fn a_part_of_a_trace_beyond_its_end_is_refused_and_leaves_no_file() {
    let sandbox = Sandbox::with_trace();
    for part in ["--requests 400..", "--from 1000s", "--volume 77"] {
        let message = sandbox.run(&format!("trace slice trace.csv part.msr {part}")).failure(1);
        assert!(message.contains("holds no request: 400 requests were read"), "{part}: {message}");
        assert!(!sandbox.path().join("part.msr").exists(), "{part}");
    }
}

#[test]
fn the_keys_that_a_device_lacks_are_named_at_once_with_an_example() {
    let sandbox = Sandbox::new();
    sandbox.write("device.toml", "name = \"d\"\n[geometry]\nchannels = 2\n");
    let message = sandbox.run("device show device.toml").failure(2);
    for said in
        ["keys are missing", "[geometry]", "chips = 4", "[timing]", "erase = \"3.5ms\"", "`ssdsim-5+1`"]
    {
        assert!(message.contains(said), "{said}: {message}");
    }
}

#[test]
fn a_setting_whose_value_stands_already_is_remarked() {
    let sandbox = Sandbox::with_trace();
    let ended = sandbox.run("run --trace trace.csv --set update.tie=rmw");
    assert!(ended.stderr.contains("update.tie=rmw has no effect in scheme baseline"), "{}", ended.stderr);
    ended.success();
    let ended = sandbox.run("run --trace trace.csv --set update.tie=rcw");
    assert!(!ended.stderr.contains("changes nothing"), "{}", ended.stderr);
}

#[test]
fn a_file_that_is_no_trace_is_reported_so() {
    let sandbox = Sandbox::new();
    sandbox.write("words.txt", "these are\nno requests\n");
    let message = sandbox.run("compare --trace words.txt").failure(1);
    assert!(message.contains("words.txt: ") && message.contains("--format"), "{message}");
    sandbox.write("pointer.csv", "version https://git-lfs.github.com/spec/v1\n");
    let message = sandbox.run("trace info pointer.csv").failure(1);
    assert!(message.contains("git lfs pull"), "{message}");
}

#[test]
fn a_request_that_the_array_cannot_hold_is_refused_with_the_remedy() {
    let sandbox = Sandbox::with_trace();
    let small = "--set device.geometry.blocks=32 --set device.geometry.pages=8 --set device.geometry.chips=1";
    sandbox.write("large.csv", "128166372000000000,host,0,Write,0,1073741824,100\n");
    let message = sandbox.run(&format!("run --trace large.csv {small}")).failure(1);
    assert!(message.contains("1073741824 bytes") && message.contains("larger array"), "{message}");
    let message = sandbox.run("explain --write 1GiB@100GiB").failure(1);
    assert!(message.contains("extends past the array"), "{message}");
}

#[test]
fn results_that_cannot_be_written_exit_with_1_and_say_where() {
    let sandbox = Sandbox::with_trace();
    sandbox.write("taken", "a file\n");
    let message = sandbox.run("run --trace trace.csv --out taken").failure(1);
    assert!(message.contains("taken"), "{message}");
}

#[test]
fn a_file_in_the_way_is_not_replaced_unless_requested() {
    let sandbox = Sandbox::with_trace();
    sandbox.write("there.msr", "mine\n");
    let message = sandbox.run("trace convert trace.csv there.msr").failure(1);
    assert!(message.contains("--overwrite"), "{message}");
    assert_eq!(std::fs::read_to_string(sandbox.path().join("there.msr")).unwrap(), "mine\n");
    sandbox.run("trace convert trace.csv there.msr --overwrite").success();
    assert_ne!(std::fs::read_to_string(sandbox.path().join("there.msr")).unwrap(), "mine\n");
}
