//! Text whose columns the user names: units, words, delimiters, headers, and errors in specifications.

use proptest::prelude::*;
use stripewise_trace::{FormatName, Kind, OpenOptions, Request, TraceError, WriteOptions, open};

use crate::common::{Scratch, named, read, traces, write};

pub(crate) type Row = (u64, u32, u64, u32, Kind);

/// The requests that a text with these columns holds.
pub(crate) fn rows(spec: &str, text: &str) -> Vec<Row> {
    let (requests, report) = read(text, &named(spec)).unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert_eq!(report.format.parse::<FormatName>().expect("a name"), spec.parse().expect("a name"), "{spec}");
    requests.iter().map(|r: &Request| (r.time_ns, r.volume, r.offset, r.bytes, r.kind)).collect()
}

#[test]
fn columns_mean_what_their_units_say() {
    let rows_of = [(0, 3, 5 * 512, 4_096, Kind::Read), (1_500_000, 4, 512, 512, Kind::Write)];
    for (spec, text) in [
        ("columns:time:ms,volume,offset:sectors,size:bytes,op:r/w", "10,3,5,4096,r\n11.5,4,1,512,w\n"),
        ("columns:op:0/1,size:sectors,offset,-,time:us,volume", "0,8,2560,x y,10,3\n1,1,512,,1510,4\n"),
        (
            "columns:time,volume,op,offset,size;delimiter=tab",
            "0.1\t3\tRead\t2560\t4096\n0.1015\t4\tW\t512\t512\n",
        ),
        (
            "columns:time:ns,volume,op,offset,size,...;delimiter=blank",
            " 5   3 r 2560 4096\n1500005 4 w 512 512 a b\n",
        ),
        (
            "columns:time:filetime,volume,op:RD/WR,offset,size;delimiter=semicolon;header=2",
            "7 lines of words\n\n128166372003061629; 3 ;RD;2560;4096\n128166372003076629;4;WR;512;512\n",
        ),
    ] {
        assert_eq!(rows(spec, text), rows_of, "{spec}");
    }
    let text = "0,r,1,1\n1,w,2,1\n2,t,3,1\n3,f,0,0\n";
    let all = rows("columns:time,op:r/w/t/f,offset:pages,size:pages", text);
    let kinds: Vec<(Kind, u64, u32)> = all.iter().map(|row| (row.4, row.2, row.3)).collect();
    let page = |kind, offset: u64| (kind, offset * 4_096, 4_096);
    assert_eq!(kinds, [page(Kind::Read, 1), page(Kind::Write, 2), page(Kind::Trim, 3), (Kind::Flush, 0, 0)]);
}

#[test]
fn a_specification_that_cannot_be_meant_is_refused_with_the_reason_and_an_example() {
    for (spec, reason) in [
        ("columns:", "`` is no column"),
        ("columns:offset,size,op", "no column `time`"),
        ("columns:time,offset,size", "no column `op`"),
        ("columns:time,offset,size,op,offset", "`offset` is there twice"),
        (
            "columns:time:minutes,offset,size,op",
            "`minutes` is no unit of time; write one of s, ms, us, ns, filetime, date",
        ),
        ("columns:time,offset:blocks,size,op", "write one of bytes, sectors, kib, pages, mib"),
        ("columns:time,offset,size,op:r", "lacks the word for a write"),
        ("columns:time,offset,size,op:x/x", "has `x` twice"),
        ("columns:time,offset,size,op: /w", "1 to 64 bytes"),
        ("columns:time,offset,size,op:\"r/w", "lacks the closing quote"),
        ("columns:time,offset,size,op;decimal=comma", "needs another delimiter"),
        ("columns:time,offset,size,op;only=5:Q", "from 1 to 4"),
        ("columns:time,offset,size,op;only=1", "lacks its words"),
        ("columns:time,offset,size,op;only=1:a;only=1:b", "there twice"),
        ("columns:time=t,offset,size,op", "named or counted, not both"),
        ("columns:time=t,offset=o,size=o,op=p", "`o` is the name of two columns"),
        ("columns:time=t,offset=,size=s,op=p", "lacks the name of a column"),
        ("columns:time=t,offset=o,size=s,op=p;header=0", "from 1 to 1000"),
        ("columns:json:time,offset,size,op;delimiter=tab", "is no setting"),
        ("columns:json:time,offset,size,op,...", "ignored without them"),
        ("columns:regex:(?<time>", "the regular expression is not understood"),
        ("columns:regex:a b", "no groups with names"),
        ("columns:regex:(?<when>.) (?<op>.)", "the group `when` is no column"),
        ("columns:regex:(?<time>.) (?<op>.)", "no column `offset`"),
        (
            "columns:regex:time,offset,size,op=x;pattern=(?<time>.)(?<offset>.)(?<size>.)",
            "has no group `(?<x>…)`",
        ),
        ("columns:regex:(?<time>(\\d{1000}){1000})", "the regular expression is not understood"),
        ("columns:time,offset,size,op:a/b/c/d/e", "perhaps a trim and a flush"),
        ("columns:time,offset,size,lba", "`lba` is no column"),
        ("columns:time,...,offset,size,op", "it is the last"),
        ("columns:time,offset,size,op,volume:x", "`x` is no kind of volume; write one of number, name"),
        ("columns:time,offset,size,op;delimiter=colon", "write one of comma, tab, semicolon, blank"),
        ("columns:time,offset,size,op;header=x", "no number of header lines"),
        ("columns:time,offset,size,op;skip=1", "write delimiter=NAME or header=LINES"),
    ] {
        let error = spec.parse::<FormatName>().expect_err(spec).to_string();
        assert!(error.contains(reason) && error.contains("an example: columns:time"), "{error}");
    }
    let many = format!("columns:time,offset,size,op{}", ",-".repeat(70));
    assert!(many.parse::<FormatName>().expect_err("too many").to_string().contains("more than 64 columns"));
}

#[test]
fn a_line_that_does_not_fit_is_reported_by_line_column_and_expectation() {
    let spec = "columns:time:ms,volume,offset:sectors,size,op:r/w";
    for (line, column, expected) in [
        ("1,0,5,512,x", 11, "one of the words"),
        (
            "1,0,5,0,r",
            7,
            "a size that is not 0, as every request but a flush has (to skip up to N such lines: --skip-bad N)",
        ),
        ("1,0,5", 6, "`,` and another column"),
        ("1,0,36028797018963967,512,r", 5, "a request that ends before 2^64 bytes"),
        ("1,0,5,512,r,9", 12, "the end of the line"),
        ("1,-1,5,512,r", 3, "a volume"),
        ("1,0,99999999999999999999,512,r", 5, "an offset"),
        ("1,0,5,4294967296,r", 7, "a size"),
        ("x,0,5,512,r", 1, "a time"),
    ] {
        match read(format!("0,0,0,512,w\n{line}\n"), &named(spec)) {
            Err(TraceError::Record { line: 2, column: found, expected: text, .. }) => {
                assert!(found == column && text.contains(expected), "{line}: {found} {text}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn requests_written_in_named_columns_read_back_as_they_were(requests in traces(100, 4096), header in 0u32..3) {
        prop_assume!(!requests.is_empty());
        let scratch = Scratch::new();
        for spec in [
            "columns:time:ns,volume,offset,size,op",
            "columns:op:0/1,size:pages,-,offset:sectors,time:s,volume,...;delimiter=tab",
            "columns:time:filetime,offset:pages,size:sectors,volume,op:R/W;delimiter=blank",
            "columns:time:ms,offset,size,volume,op:read/write;delimiter=semicolon",
        ] {
            let spec = if header > 0 && spec.contains(';') { format!("{spec};header={header}") } else { spec.to_owned() };
            let path = scratch.file("trace");
            let options = WriteOptions { overwrite: true, ..WriteOptions::new(spec.parse().expect("a name")) };
            write(&path, &requests, &options).unwrap_or_else(|error| panic!("{error}"));
            let mut reader = open(&path, &named(&spec)).unwrap_or_else(|error| panic!("{error}"));
            let back = crate::common::drain(&mut reader, 11).unwrap_or_else(|error| panic!("{spec}: {error}"));
            prop_assert_eq!(&back, &requests, "{}", spec);
        }
    }
}

#[test]
fn columns_are_never_guessed() {
    let found = read("1,0,5,512,q\n", &OpenOptions::default());
    assert!(matches!(found, Err(TraceError::Format { .. })));
}
