//! `stripewise timeline`: writes the requested file, and reports what it cannot do.

use crate::support::Sandbox;

#[test]
fn a_window_of_a_run_becomes_a_file_for_perfetto() {
    let sandbox = Sandbox::with_trace();
    let text = sandbox.run("timeline --trace trace.csv --from 100 --count 40").success();
    assert!(text.starts_with("window    40 requests, "), "{text}");
    assert!(text.contains("timeline  timeline.perfetto-trace"), "{text}");
    let file = std::fs::read(sandbox.path().join("timeline.perfetto-trace")).unwrap();
    // A trace has one field, its packets: number 1, of the wire format's type 2.
    assert_eq!(file.first(), Some(&(1 << 3 | 2)));
    assert!(file.windows(8).any(|bytes| bytes == b"pre-read"), "updates pre-read");

    let again = sandbox.run("timeline --trace trace.csv --from 100 --count 40 -o again --quiet").success();
    assert_eq!(again, "");
    assert_eq!(
        std::fs::read(sandbox.path().join("again")).unwrap(),
        file,
        "the same run is the same, bit by bit"
    );
    assert!(!sandbox.path().join("stripewise-results").exists(), "nothing is stored");
}

#[test]
fn what_has_no_time_line_is_reported() {
    let sandbox = Sandbox::with_trace();
    let errors = [
        ("timeline --trace trace.csv --count 0", "give at least 1"),
        ("timeline --trace trace.csv --from 1M", "the workload ends before request 1,000,000"),
        ("timeline --trace trace.csv --count 5 -o nowhere/line", "give another path with -o"),
        ("timeline --trace trace.csv --scheme no-such", "no-such"),
    ];
    for (line, expected) in errors {
        let ended = sandbox.run(line);
        assert!(ended.stderr.contains(expected), "{line}: {}", ended.stderr);
    }
}
