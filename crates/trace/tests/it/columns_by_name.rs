//! Columns by the names of a header, of the keys of JSON and of the groups of a regular expression; and what a column may
//! hold: quotes, dates, several words, names of volumes.

use proptest::prelude::*;
use stripewise_trace::{FormatName, Kind, OpenOptions, TraceError, WriteOptions, open};

use crate::columns::{Row, rows};
use crate::common::{Scratch, named, read, traces, write};

const MS: u64 = 1_000_000;

/// Two requests that each of the texts below holds.
const TWO: [Row; 2] = [(0, 3, 4_096, 8_192, Kind::Read), (1_500_000, 4, 1_024, 512, Kind::Write)];

#[test]
fn columns_are_found_by_the_names_in_the_header_whatever_their_order() {
    for (spec, text) in [
        (
            "columns:time=Timestamp:us,op=Type,offset=Offset,size=Length,volume=Disk",
            "Host,Disk,Type,Length,Offset,Timestamp,Response\nhm,3,Read,8192,4096,10,7\nhm,4,Write,512,1024,1510,7\n",
        ),
        (
            "columns:op=type,time=TIMESTAMP:us,volume=disk,size=length:sectors,offset=offset:sectors",
            "\nDisk,Type,Length,Offset,Timestamp\n3,r,16,8,10\n\nDisk,Type,Length,Offset,Timestamp\n4,w,1,2,1510\n",
        ),
        (
            "columns:time=\"Time, or so (ms)\":ms,op=\"R/W\":\"a,b\"/x,offset=o,size=\"s:\"\"x\"\"\",volume=v;\
             delimiter=semicolon;header=2",
            "made by hand\n\"Time, or so (ms)\"; R/W ;o;\"s:\"\"x\"\"\";v\n1;\"a,b\";4096;8192;3\n2.5;x;1024;512;4;more;\n",
        ),
        (
            "columns:time=t:ms,op=op,offset=o,size=s,volume=v;delimiter=blank",
            " t   op o s v x\r\n 1 r 4096 8192 3\r\n 2.5 w  1024 512 4 9\r\n",
        ),
    ] {
        assert_eq!(rows(spec, text), TWO, "{spec}");
    }
}

#[test]
fn a_header_without_a_named_column_is_refused_with_the_names_that_it_has() {
    let spec = "columns:time=Time:us,op=Type,offset=Offset,size=Length";
    for (text, reason) in [
        (
            "Time,Type,Offset,Size\n1,r,0,512\n",
            "the header has no column `Length`; it has Time, Type, Offset, Size",
        ),
        ("time,TIME,Type,Offset,Length\n", "the header has several columns `Time`"),
        ("1,r,0,512\n", "the header has no column `Time`; it has 1, r, 0, 512"),
    ] {
        match read(text, &named(spec)) {
            Err(error @ TraceError::Format { .. }) => {
                let text = error.to_string();
                assert!(text.contains(reason) && text.contains("header=LINES"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(read("\n", &named(spec)), Err(TraceError::NoRequests { .. })));
}

#[test]
fn quoted_fields_lose_their_quotes_and_keep_what_is_within() {
    let two = "\"10\",\"3\",\"Read\",\"a,\"\"b\"\"\n\",\"8192\", \"4096\" \n";
    let two = two.replace('\n', "") + "\n1510,\"4\",Write,x,512,1024\n";
    assert_eq!(rows("columns:time:us,volume,op,-,size,offset", &two), TWO);
    let lone = "10\t3\tRead\t\"x\t8192\t4096\n1510\t4\tWrite\tx\"y\"\t512\t1024\n";
    assert_eq!(rows("columns:time:us,volume,op,-,size,offset;delimiter=tab", lone), TWO, "no quoted fields");
}

#[test]
fn numbers_may_be_hexadecimal_and_decimals_may_have_a_comma() {
    let text = "0xA,3,r,0x1000,0x2000\n1510,0x4,w,1024.0,5.12e2\n";
    assert_eq!(rows("columns:time:us,volume,op,offset,size", text), TWO);
    let text = "1,25;3;r;4096;8192\n2,75;4;w;1024;512\n";
    assert_eq!(rows("columns:time:ms,volume,op,offset,size;delimiter=semicolon;decimal=comma", text), TWO);
    let bad = read(text, &named("columns:time:ms,volume,op,offset,size;delimiter=semicolon"));
    assert!(matches!(bad, Err(TraceError::Record { line: 1, column: 1, .. })), "{bad:?}");
}

#[test]
fn dates_are_times() {
    for (spec, first, second) in [
        ("delimiter=comma", "2024-05-01T12:00:00.123456Z,3", "2024-05-01T14:00:00.124956+02:00,4"),
        ("delimiter=tab", "2024-02-29 23:59:59.999\t3", "2024-03-01 00:00:00.0005\t4"),
        ("delimiter=blank", "2024-02-29 23:59:59.999  3", "2024-03-01T00:00:00.0005 4"),
    ] {
        let mark = if spec.ends_with("comma") { "," } else { "\t" };
        let line = |front: &str, back: [&str; 3]| format!("{front}{mark}{}\n", back.join(mark));
        let text = line(first, ["r", "4096", "8192"]) + &line(second, ["w", "1024", "512"]);
        assert_eq!(rows(&format!("columns:time:date,volume,op,offset,size;{spec}"), &text), TWO, "{spec}");
    }
}

#[test]
fn an_operation_may_have_several_words_and_flushes_no_size() {
    let kinds = |spec: &str, text: &str| rows(spec, text).iter().map(|row| row.4).collect::<Vec<Kind>>();
    let text = "0,R,0,1\n0,RA,0,1\n0,WS,0,1\n0,W,0,1\n0,D,0,1\n0,F,,\n";
    let all = [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Trim, Kind::Flush];
    assert_eq!(kinds("columns:time,op:R|RA|RM/W|WS|WM/D/F,offset,size", text), all);
    assert_eq!(kinds("columns:time,op:R|RA/WS|W//F,offset,size", &text.replace("0,D,0,1\n", "")).len(), 5);
    let default = "0,r,0,1\n0,READ,0,1\n0,Write,0,1\n0,w,0,1\n0,discard,0,1\n0,Flush,0,0\n";
    assert_eq!(kinds("columns:time,op,offset,size", default), all);
}

#[test]
fn only_lines_with_the_words_of_a_filter_are_requests() {
    let text =
        "Q,1,r,4096,8192,3,sda\nC,x,r,4096,8192,3\n--- end\nD,2.5,w,1024,512,4,sda\nQ,3,w,1024,512,4,sdb\n";
    let spec = "columns:-,time:ms,op,offset,size,volume,-;only=1:Q/D;only=7:sda";
    assert_eq!(rows(spec, text), TWO);
    let (_, report) = read(text, &named(spec)).expect("reads");
    assert_eq!((report.other_lines, report.skipped_bad), (3, 0));
    let text = format!("event,t,op,o,s,v,disk\n{text}");
    assert_eq!(
        rows("columns:time=t:ms,op=op,offset=o,size=s,volume=v;only=Event:Q/D;only=disk:sda", &text)[..],
        TWO[..]
    );
}

#[test]
fn requests_of_size_zero_are_bad_lines_that_can_be_skipped() {
    let spec = "columns:time:ms,op,offset,size,volume";
    let text = "1,r,4096,8192,3\n2,r,0,0,3\n2.5,w,1024,512,4\n";
    let error = read(text, &named(spec)).expect_err("a size of 0").to_string();
    assert!(
        error.contains("trace:2:7: expected a size that is not 0") && error.contains("--skip-bad N"),
        "{error}"
    );
    let (requests, report) = read(text, &OpenOptions { skip_bad: 1, ..named(spec) }).expect("skips it");
    assert_eq!((requests.len(), report.skipped_bad), (2, 1));
}

#[test]
fn volumes_with_names_are_numbered_in_order_of_appearance() {
    let text = "sdb,0,r,0,512\nsda,0,r,0,512\nsdb,0,r,0,512\n";
    let volumes: Vec<u32> =
        rows("columns:volume:name,time,op,offset,size", text).iter().map(|row| row.1).collect();
    assert_eq!(volumes, [0, 1, 0]);
    let error = read(text, &named("columns:volume,time,op,offset,size")).expect_err("names").to_string();
    assert!(error.contains("trace:1:1") && error.contains("volume:name"), "{error}");
}

#[test]
fn objects_of_json_are_requests_by_their_keys() {
    let text = "[\n{\"ts\": 10, \"rw\":\"Read\", \"lba\":8, \"len\":8192.0, \"v\":3, \"x\":{\"ts\":[1,\"}\"]}},\n\
                {\"v\":\"4\",\"len\":512,\"lba\":2,\"rw\":\"W\",\"ts\":\"1510\"} \r\n]\n";
    assert_eq!(rows("columns:json:time=ts:us,op=rw,offset=lba:sectors,size=len,volume=v", text), TWO);
    let text = "{\"time\":1,\"op\":\"r\",\"offset\":4096,\"size\":8192,\"volume\":3,\"e\":\"Q\"}\n{\"e\":\"C\"}\n\
                {\"time\":2.5,\"op\":\"w\",\"offset\":1024,\"size\":512,\"volume\":4,\"e\":\"Q\"}\n";
    let spec = "columns:json:time:ms,op,offset,size,volume;only=e:Q";
    assert_eq!(rows(spec, text), TWO);
    for (line, column, expected) in [
        ("{\"e\":\"Q\",\"time\":1,\"op\":\"r\",\"offset\":1,\"size\":1}", 1, "a line that has the volume"),
        ("{\"e\":\"Q\",\"time\":1,\"op\":null}", 1, "a line that has the operation"),
        ("{\"e\":\"Q\",\"time\":\"x\",\"op\":\"r\"}", 18, "a time"),
        ("{\"e\":\"Q\"", 9, "`,` and another member, or `}`"),
        ("1,2", 1, "an object of JSON"),
    ] {
        match read(format!("{line}\n"), &named(spec)) {
            Err(TraceError::Record { column: found, expected: text, .. }) => {
                assert!(found == column && text.contains(expected), "{line}: {found} {text}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn a_regular_expression_finds_columns_by_its_groups() {
    let text = "[10 us] dev3: Read at 0x1000+8192;\n[1510 us] dev4: Write at 0x400+512;\n";
    let pattern = r"^\[(?<time_us>\d+) us\] dev(?<volume>\d+): (?<op>\w+) at (?<offset>0x[0-9a-f]+)\+(?<size_bytes>\d+);";
    assert_eq!(rows(&format!("columns:regex:{pattern}"), text), TWO);
    let pattern = r"^\[(?<t>\d+).*dev(?<v>\d): (?<k>R|W).* at (?<o>[^+]+)\+(?<s>\d+)(?<end>;?)";
    let spec = format!(
        "columns:regex:time=t:us,volume=v,op=k:R/W,offset=o,size=s;header=1;only=end:\";\";pattern={pattern}"
    );
    let text = format!("the header\n{text}[9 us] dev1: R at 0+512\n");
    assert_eq!(rows(&spec, &text), TWO);
    let error = read(
        "\n\nnothing\n",
        &named(&format!("columns:regex:time=t,op=k,offset=o,size=s;pattern={pattern}")),
    );
    match error {
        Err(TraceError::Record { line: 3, column: 1, expected, .. }) => {
            assert_eq!(expected, "a line that the regular expression matches");
        }
        other => panic!("{other:?}"),
    }
    let scratch = Scratch::new();
    let (requests, _) =
        read("1 r 0 512\n", &named("columns:time,op,offset,size;delimiter=blank")).expect("reads");
    let options = WriteOptions::new(
        format!("columns:regex:time=t,op=k,offset=o,size=s;pattern={pattern}").parse().expect("a name"),
    );
    let error = write(&scratch.file("t"), &requests, &options).expect_err("not written").to_string();
    assert!(error.contains("read and not written"), "{error}");
}

/// Any specification that can be written, with names that need quotes and without.
fn specifications() -> impl Strategy<Value = String> {
    let name = |index: usize| {
        prop::sample::select(vec![
            format!("c{index}"),
            format!("\"Time, op: {index} (x/y)\""),
            format!("\"say \"\"{index}\"\"\""),
            format!("Größe {index}"),
        ])
    };
    let time = prop::sample::select(vec!["", ":s", ":ms", ":us", ":ns", ":filetime", ":date"]);
    let size = || prop::sample::select(vec!["", ":bytes", ":sectors", ":kib", ":pages"]);
    let op = prop::sample::select(vec!["", ":0/1", ":R|RA/W|WS/D/F", ":\"a b\"/\"c,d;e\"", ":x/y//z"]);
    let order = Just(vec![0, 1, 2, 3, 4]).prop_shuffle();
    let delimiter = prop::sample::select(vec!["comma", "tab", "semicolon", "blank"]);
    let names = (name(0), name(1), name(2), name(3), name(4));
    let more = (1u32..4, any::<bool>(), any::<bool>(), 0u8..3);
    (time, size(), size(), op, order, delimiter, names, more).prop_map(
        |(time, offset, size, op, order, delimiter, names, (header, comma, only, layout))| {
            let names = [names.0, names.1, names.2, names.3, names.4];
            let parts = [
                ("time", time.to_owned()),
                ("offset", offset.to_owned()),
                ("size", size.to_owned()),
                ("op", op.to_owned()),
                ("volume", String::new()),
            ];
            let column = |&index: &usize| {
                let (name, unit) = &parts[index];
                match layout {
                    0 => format!("{name}{unit}"),
                    2 => format!("{name}=\"key {index}: x\"{unit}"),
                    _ => format!("{name}={}{unit}", names[index]),
                }
            };
            let columns: Vec<String> = order.iter().map(column).collect();
            let mut spec = format!("columns:{}{}", if layout == 2 { "json:" } else { "" }, columns.join(","));
            if layout == 0 {
                spec.push_str(",-");
            }
            if layout < 2 {
                spec.push_str(&format!(";delimiter={delimiter}"));
            }
            spec.push_str(&format!(";header={header}"));
            if comma && delimiter != "comma" {
                spec.push_str(";decimal=comma");
            }
            if only {
                let source = if layout == 0 { "6" } else { "\"the event\"" };
                spec.push_str(&format!(";only={source}:Q/\"a b\""));
            }
            spec
        },
    )
}

proptest! {
    #[test]
    fn requests_written_by_any_specification_read_back_as_they_were(
        requests in traces(100, 4096).prop_filter("no request is an error", |requests| !requests.is_empty()),
        spec in specifications(),
    ) {
        let format: FormatName = spec.parse().unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(format.to_string().parse::<FormatName>().expect("its own name"), format);
        let scratch = Scratch::new();
        let path = scratch.file("trace");
        write(&path, &requests, &WriteOptions::new(format)).unwrap_or_else(|error| panic!("{error}"));
        let mut reader = open(&path, &named(&spec)).unwrap_or_else(|error| panic!("{error}"));
        let back = crate::common::drain(&mut reader, 11).unwrap_or_else(|error| panic!("{spec}: {error}"));
        prop_assert_eq!(&back, &requests, "{}", spec);
    }

    #[test]
    fn no_specification_and_no_text_make_the_reader_panic(
        pieces in proptest::collection::vec(prop::sample::select(vec![
            "time", "op", "offset", "size", "volume", ",", ":", ";", "=", "/", "|", "\"", "json:", "regex:", "-", "...",
            "only=", "header=", "decimal=comma", "us", "date", "name", "(?<op>", ")", "x", "1", " ",
        ]), 0..24),
        start in prop::sample::select(vec![
            "", "time,op,offset,size", "time=a,op=b,offset=c,size=d", "json:time=a,op=b,offset=c,size=d",
            "regex:(?<time>.*) (?<op>.) (?<offset_sectors>.*) (?<size>.*)", "time:date,op,offset,size,volume:name;header=1",
        ]),
        text in "([0-9rwx,;\t\"{}:abcd. -]{0,12}\n){0,12}",
        head in prop::sample::select(vec!["", "a,b,c,d\n", "{\"a\":1,\"b\":\"r\",\"c\":0,\"d\":\"1\"}\n"]),
    ) {
        let spec = format!("columns:{start}{}", pieces.concat());
        for spec in [spec.as_str(), &format!("columns:{start}")] {
            let Ok(format) = spec.parse::<FormatName>() else { continue };
            prop_assert_eq!(format.to_string().parse::<FormatName>().expect("its own name"), format);
            let options = OpenOptions { skip_bad: u64::MAX, format: Some(format), ..OpenOptions::default() };
            if let Ok((requests, report)) = read(format!("{head}{text}"), &options) {
                let others = report.blank_lines + report.header_lines + report.other_lines + report.skipped_bad;
                prop_assert_eq!(report.lines, requests.len() as u64 + others);
                prop_assert!(requests.iter().all(|request| request.bytes > 0 || request.kind == Kind::Flush));
            }
        }
    }
}

#[test]
fn a_request_that_the_columns_cannot_hold_is_refused() {
    let scratch = Scratch::new();
    let (requests, _) =
        read("0,r,0,512,5\n1,w,0,512,0\n", &named("columns:time:ms,op,offset,size,volume")).expect("reads");
    for (spec, loss) in [
        ("columns:time=t,op=o,offset=x,size=y", "volume 5 has no column"),
        ("columns:time=t,op=o,offset=x,size=y:kib,volume=v", "size 512 is no multiple of 1024"),
        ("columns:time,op,offset,size,volume:name", "names are numbered in order of appearance"),
        ("columns:time,op,offset,size,volume;only=2:w", "`r` is none of the words that `only` asks for"),
    ] {
        let error = write(&scratch.file("t"), &requests, &WriteOptions::new(spec.parse().expect("a name")));
        let error = error.expect_err(spec).to_string();
        assert!(error.contains("request 1 ") && error.contains(loss), "{error}");
    }
    assert_eq!(requests[1].time_ns, MS);
}
