//! Units that the lines of a trace do not show: a file that is implausible in its detected format is refused until
//! the user names a unit. The error names the file's problem and the remedy.

use stripewise_trace::format::format_names;
use stripewise_trace::{OpenOptions, TraceError};

use crate::common::{named, read};

/// The reason and the remedy in the error of a file that fits no format, or implausibly fits one.
fn refused(text: &str) -> (String, String) {
    match read(text, &OpenOptions::default()) {
        Err(TraceError::Format { reason, remedy, .. }) => (reason, remedy),
        other => panic!("{:?}", other.map(|(requests, report)| (requests.len(), report))),
    }
}

/// Lines of DiskSim: offsets in blocks and sizes as they are counted.
fn disksim(requests: impl IntoIterator<Item = (u64, u64)>) -> String {
    let lines = requests.into_iter().enumerate();
    lines.map(|(n, (block, size))| format!("{}.500 0 {block} {size} {}\n", n * 3, n % 2)).collect()
}

#[test]
fn disksim_files_whose_sizes_are_pages_are_refused_until_the_unit_is_named() {
    // Pages of 4 KiB that a trace of small requests touches: addresses of pages, in blocks; sizes of one to three pages.
    let text = disksim((0..400).map(|n| (n * 7919 % 10_000 * 8, 1 + n % 3)));
    let (reason, remedy) = refused(&text);
    assert!(
        reason.contains("read as disksim:blocks") && reason.contains("sizes were counted in pages"),
        "{reason}"
    );
    assert!(
        remedy.contains("disksim:pages") && remedy.contains("disksim:blocks if that is right"),
        "{remedy}"
    );
    let mean = |name: &str| {
        let (requests, _) = read(text.clone(), &named(name)).expect("reads");
        requests.iter().map(|request| f64::from(request.bytes)).sum::<f64>() / requests.len() as f64
    };
    assert_eq!(mean("disksim:pages"), 8.0 * mean("disksim:blocks"));
    assert_eq!(mean("disksim"), mean("disksim:blocks"));
}

#[test]
fn requests_that_continue_one_another_in_pages_alone_show_that_sizes_are_pages() {
    let streams = |unit: u64| disksim((0..400).map(|n| (3 + n / 4 * 1_000 + n % 4 * 2 * unit, 2)));
    let (reason, remedy) = refused(&streams(8));
    assert!(
        reason.contains("continue one another") && remedy.contains("disksim:pages"),
        "{reason}; {remedy}"
    );
    let (_, report) =
        read(streams(1), &OpenOptions::default()).expect("small requests that continue in blocks");
    assert!(!report.note.unwrap_or_default().contains("pages"));
}

#[test]
fn disksim_files_of_small_requests_are_refused_and_those_of_usual_sizes_read_without_a_remark() {
    let note = |text: &str| {
        let (_, report) = read(text, &OpenOptions::default()).expect("reads");
        report.note.unwrap_or_default()
    };
    // Neither aligned nor continued, as Financial1 with sizes in pages: 1.8 units a request, 7.1 KiB and not 910 bytes.
    let small = |count: u64| disksim((0..count).map(|n| (n * 7919 % 80_000 + 1, 1 + u64::from(n % 10 < 8))));
    let (reason, remedy) = refused(&small(400));
    assert!(reason.contains("counted in pages of 4 KiB"), "{reason}");
    assert!(
        remedy.contains("disksim:pages") && remedy.contains("disksim:blocks if that is right"),
        "{remedy}"
    );
    assert_eq!(read(small(400), &named("disksim:pages")).expect("reads").0[0].bytes, 8_192);
    // Too few to judge.
    assert!(note(&small(20)).contains("if not, name disksim:pages"), "{}", note(&small(20)));
    let usual = disksim((0..400).map(|n| (n * 7919 % 10_000 * 8, 8 * (1 + n % 3))));
    assert!(!note(&usual).contains("pages"), "{}", note(&usual));
}

#[test]
fn a_clock_that_makes_an_absurd_rate_is_refused_until_the_unit_is_named() {
    // 64 KiB every 3 units: 22 TB/s in nanoseconds, 22 GB/s in microseconds of four volumes.
    let lines = |volumes: u64| -> String {
        (0..400u64).map(|n| format!("{} {} {} 128 1\n", n * 3, n % volumes, n * 128)).collect()
    };
    let (reason, remedy) = refused(&lines(4));
    assert!(reason.contains("read as ssdsim:ns") && reason.contains("GB/s on each volume"), "{reason}");
    assert!(remedy.contains("ssdsim:us (") && remedy.contains("ssdsim:ns if that is right"), "{remedy}");
    for (name, span_ns) in [("ssdsim:us", 399 * 3_000), ("ssdsim:ns", 399 * 3)] {
        let (requests, _) = read(lines(4), &named(name)).expect("what is named is taken at its word");
        assert_eq!(requests.last().expect("requests").time_ns, span_ns, "{name}");
    }
    // On one volume microseconds are absurd too, and only the columns can name another unit.
    let (_, remedy) = refused(&lines(1));
    assert!(!remedy.contains("ssdsim:us") && remedy.contains("--columns"), "{remedy}");
    // Without a clock there is no rate.
    let still: String = (0..400u64).map(|n| format!("7 0 {} 128 1\n", n * 128)).collect();
    assert_eq!(read(still, &OpenOptions::default()).expect("reads").0.len(), 400);
}

#[test]
fn a_file_in_no_known_format_gets_the_three_likeliest_formats() {
    for (line, likeliest) in [
        // Alibaba's columns with another opcode, MSR's with an unknown type, and a text of no trace.
        ("419,X,8792731648,16384,1577808144360767\n", "alibaba"),
        ("128166372003061629,hm,1,Erase,383496192,32768,413\n", "msr"),
        ("26214000 1 240840 6 7\n26214001 1 240840 0 7\n", "disksim:blocks"),
    ] {
        let (reason, remedy) = refused(&line.repeat(8));
        let (_, names) = remedy.split_once("likeliest: ").unwrap_or_else(|| panic!("{reason}; {remedy}"));
        let names = names.split(';').next().unwrap_or_default();
        assert!(names.contains(likeliest) && names.split(", ").count() == 3, "{names}: {reason}");
        let known = format_names();
        assert!(names.split(", ").all(|name| known.iter().any(|(known, _)| known == name)), "{names}");
    }
}

#[test]
fn every_variant_is_in_the_list_of_names_the_first_included() {
    let names: Vec<String> = format_names().into_iter().map(|(name, _)| name).collect();
    for name in ["tencent", "tencent:ties", "tencent:spread", "ssdsim:ns", "disksim:pages", "blktrace:q"] {
        assert!(names.iter().any(|other| other == name), "{name} in {names:?}");
    }
}
