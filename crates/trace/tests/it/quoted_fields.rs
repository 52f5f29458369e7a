//! Formats whose fields are separated by commas are read with quoted fields too, as R and pandas write them.

use proptest::prelude::*;
use stripewise_trace::{OpenOptions, TraceError};

use crate::common::{named, read};

/// A few lines of formats of commas.
const TEXTS: [(&str, &str); 5] = [
    ("msr", "128166372003061629,hm,1,Read,383496192,32768,413\n128166372003061729,src,2,Write,0,512,413\n"),
    ("spc:asu", "0,303567,3584,w,0.026214\n0,303567,3584,r,0.026215\n"),
    ("alibaba", "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n"),
    ("tencent:ties", "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n"),
    ("k5cloud", "1283,1.5,W,42932745,512\n1283,2.5,R,42932745,512\n"),
];

fn quoted(text: &str, which: impl Fn(usize) -> bool) -> String {
    let field =
        |(index, field): (usize, &str)| if which(index) { format!("\"{field}\"") } else { field.to_owned() };
    let lines =
        text.lines().map(|line| line.split(',').enumerate().map(field).collect::<Vec<_>>().join(",") + "\n");
    lines.collect()
}

proptest! {
    #[test]
    fn quoted_fields_are_read_as_the_same_fields_without_quotes(
        case in 0..TEXTS.len(),
        fields in proptest::collection::vec(any::<bool>(), 8),
        plain_lines in 0usize..3,
    ) {
        let (name, text) = TEXTS[case];
        let quoted = quoted(text, |index| fields[index]);
        for options in [named(name), OpenOptions::default()] {
            let (wanted, report) = read(text.repeat(10), &options).expect("reads");
            let (found, found_report) = read(quoted.repeat(10), &options).expect("reads quotes");
            prop_assert_eq!(found, wanted, "{}", quoted);
            prop_assert_eq!(found_report.format, report.format);
        }
        // Quotes that begin later in the file.
        let text = text.repeat(plain_lines);
        let mixed = text + &quoted;
        prop_assert!(read(mixed, &named(name)).is_ok());
    }
}

#[test]
fn quotes_may_begin_behind_the_first_lines() {
    let plain = TEXTS[1].1.repeat(10_000);
    let (requests, report) =
        read(format!("{plain}{}", quoted(TEXTS[1].1, |_| true)), &named(TEXTS[1].0)).expect("reads");
    assert_eq!((requests.len(), report.lines, report.skipped_bad), (20_002, 20_002, 0));
}

#[test]
fn a_quoted_header_is_a_header_and_an_error_points_into_the_line_as_it_is() {
    let header = "\"Timestamp\",\"Hostname\",\"DiskNumber\",\"Type\",\"Offset\",\"Size\",\"ResponseTime\"\n";
    let line = "128166372000000000,\"hm\",0,\"Write\",0,4096,500\n";
    let (requests, report) = read(format!("{header}{line}{line}"), &OpenOptions::default()).expect("reads");
    assert_eq!((requests.len(), report.header_lines, report.format.as_str()), (2, 1, "msr"));
    assert!(requests.iter().all(|request| request.volume == 0));
    let bad = line.replace(",4096,", ",x,");
    match read(format!("{header}{line}{bad}"), &named("msr")) {
        Err(TraceError::Record { line: 3, column, found, .. }) => {
            assert_eq!((column as usize, found.as_str()), (bad.find(",x,").expect("there") + 2, "x"));
        }
        other => panic!("{other:?}"),
    }
}
