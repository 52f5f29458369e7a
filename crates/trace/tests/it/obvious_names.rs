//! Files whose header or keys are obvious names are read without a specification, and never by a guess.

use proptest::prelude::*;
use stripewise_trace::{Kind, OpenOptions, Request, TraceError};

use crate::columns::Row;
use crate::common::{named, read};

const TWO: [Row; 2] = [(0, 0, 4_096, 8_192, Kind::Read), (1_500_000, 0, 1_024, 512, Kind::Write)];

fn rows(requests: &[Request]) -> Vec<Row> {
    requests.iter().map(|r| (r.time_ns, r.volume, r.offset, r.bytes, r.kind)).collect()
}

/// The requests of a text that is detected, its format and the note.
fn detected(text: &str) -> (Vec<Row>, String, String) {
    let (requests, report) =
        read(text, &OpenOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (again, _) = read(text, &named(&report.format)).expect("its own name reads the same");
    assert_eq!(again, requests);
    (rows(&requests), report.format, report.note.unwrap_or_default())
}

fn refused(text: &str) -> (String, String) {
    match read(text, &OpenOptions::default()) {
        Err(TraceError::Format { reason, remedy, .. }) => (reason, remedy),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_header_of_obvious_names_is_read_by_its_names_and_units() {
    for (text, format) in [
        (
            "time_us,op,offset,size\n10,r,4096,8192\n1510,w,1024,512\n",
            "columns:time=time_us:us,op=op,offset=offset:bytes,size=size:bytes",
        ),
        (
            "Size (sectors);Operation;LBA;Time (ms);Latency\n16;READ;8;1,5;7\n1;WRITE;2;3;7\n",
            "columns:time=Time (ms):ms,op=Operation,offset=LBA:sectors,size=Size (sectors):sectors;\
             delimiter=semicolon;decimal=comma",
        ),
        (
            "\"id\"\t\"ts_ns\"\t\"address\"\t\"nbytes\"\t\"rw\"\n1\t10\t4096\t8192\t\"R\"\n2\t1500010\t1024\t512\t\"W\"\n",
            "columns:time=ts_ns:ns,op=rw,offset=address:bytes,size=nbytes:bytes;delimiter=tab",
        ),
        (
            "date,timestamp,sector,len,is_write\nx,2024-05-01 12:00:00.001,8,8192,False\nx,2024-05-01 12:00:00.0025,2,512,True\n",
            "columns:time=timestamp:date,op=is_write:0|false|False|FALSE/1|true|True|TRUE,offset=sector:sectors,size=len:bytes",
        ),
        (
            "{\"ts\":1714564800000001,\"action\":\"read\",\"pos\":4096,\"bytes\":8192}\n\
             {\"ts\":1714564800001501,\"action\":\"write\",\"pos\":1024,\"bytes\":512}\n",
            "columns:json:time=ts:us,op=action,offset=pos:bytes,size=bytes:bytes",
        ),
        (
            "Timestamp,Type,Offset,Size\n1714564800.001,R,4096,8192\n1714564800.0025,W,1024,512\n",
            "columns:time=Timestamp:s,op=Type,offset=Offset:bytes,size=Size:bytes",
        ),
    ] {
        let (found, name, note) = detected(text);
        assert_eq!((found.as_slice(), name.as_str()), (&TWO[..], format), "{text}");
        assert!(note.contains("read by the names of its columns"), "{note}");
    }
}

#[test]
fn units_that_the_values_decide_are_in_the_note() {
    let note = |text: &str| detected(text).2;
    let text = "Timestamp,Type,Offset,Size\n128166372003061629,R,4096,8192\n128166372003076629,W,1024,512\n";
    assert!(
        note(text)
            .contains("times are filetimes, by their size; offsets are bytes, as the sizes; sizes are bytes")
    );
    let text = "time_s,type,lba,count\n1,R,8,16\n1.0015,W,2,1\n";
    assert!(note(text).contains("sizes are sectors of 512 bytes"));
    assert_eq!(detected(text).0, TWO);
    let volumes = "time_s,type,lba,count,disk\n1,R,8,16,sda\n1.0015,W,2,1,sdb\n";
    let (found, name, _) = detected(volumes);
    assert_eq!((found[1].1, name.ends_with("volume=disk:name")), (1, true), "{name}");
}

#[test]
fn a_unit_that_nothing_decides_is_refused_with_a_line_for_each() {
    let (reason, remedy) = refused("time,op,offset,size\n10,r,4096,8192\n1510,w,1024,512\n");
    assert!(reason.contains("show the unit of `time`"), "{reason}");
    for unit in ["s", "ms", "us", "ns"] {
        let line = format!("--columns 'time=time:{unit},op=op,offset=offset:bytes,size=size:bytes'");
        assert!(remedy.contains(&line), "{remedy}");
    }
    // Each offered line reads the file.
    let spec = "columns:time=time:us,op=op,offset=offset:bytes,size=size:bytes";
    let (requests, _) =
        read("time,op,offset,size\n10,r,4096,8192\n1510,w,1024,512\n", &named(spec)).expect("reads");
    assert_eq!(rows(&requests), TWO);
    let (reason, remedy) = refused("time_us,op,offset,size\n10,r,8,16\n1510,w,2,1\n");
    assert!(reason.contains("the unit of `offset` and the unit of `size`"), "{reason}");
    assert_eq!(remedy.matches("--columns").count(), 3, "both have the same unit: {remedy}");
    assert!(remedy.contains("offset=offset:sectors,size=size:sectors"), "{remedy}");
    // Long sequential requests: 1024 may be bytes or sectors.
    let (reason, remedy) = refused("time_s,op,lba,count\n1,r,0,1024\n2,r,1024,1024\n");
    assert!(
        reason.contains("the unit of `count`") && remedy.contains("size=count:sectors"),
        "{reason} {remedy}"
    );
    let (reason, _) = refused("{\"time\":1,\"op\":\"r\",\"offset\":0,\"size\":512}\n");
    assert!(reason.contains("the unit of `time`"), "{reason}");
}

#[test]
fn words_for_operations_are_not_guessed() {
    let (reason, remedy) = refused("time_us,op,offset,size\n10,0,4096,8192\n1510,1,1024,512\n");
    assert!(reason.contains("the words for a read and for a write of `op`"), "{reason}");
    assert!(remedy.contains("op=op:0/1,") && remedy.contains("op=op:1/0,"), "{remedy}");
    let (_, remedy) = refused("time_us,op,offset,size\n10,RS,4096,8192\n1510,WS,1024,512\n15,RA,0,512\n");
    assert!(remedy.contains("op=op:RA|RS/WS,"), "{remedy}");
    let (_, remedy) = refused("time_us,op,offset,size\n10,get,4096,8192\n");
    assert!(remedy.contains("op=op:READ/WRITE,"), "{remedy}");
}

#[test]
fn formats_with_a_header_of_their_own_keep_their_name() {
    let msr = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,hm,1,Read,383496192,32768,413\n";
    assert_eq!(detected(msr).1, "msr");
    let systor =
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.1,R,0,899056122368,131072\n";
    assert_eq!(detected(systor).1, "systor");
    // The lines fit a format of other units, which the names contradict.
    let (found, name, _) = detected("time_us,lba,rw,size_sectors\n10,8,r,16\n1510,2,w,1\n");
    assert_eq!((found.as_slice(), name.starts_with("columns:time=time_us:us")), (&TWO[..], true), "{name}");
}

#[test]
fn names_that_lack_a_column_and_damage_in_most_lines_are_refused() {
    let (reason, _) = refused("time_us,offset,size\n10,4096,8192\n");
    assert!(!reason.contains("names the columns"), "{reason}");
    let (reason, remedy) = refused("time_us,op,offset,size\n10,r,x,8192\n10,r,y,512\n10,r,0,512\n");
    assert!(
        reason.contains("line 2, column 6: expected an offset") && remedy.contains("--columns"),
        "{reason}"
    );
    assert!(refused("time_us,op,offset,size\n").0.contains("no line of data"));
    let absurd: String = (0..100).map(|time| format!("{time},r,0,1073741824\n")).collect();
    let (reason, remedy) = refused(&format!("time_ns,op,offset,size\n{absurd}"));
    assert!(
        reason.contains("GB/s") && remedy.contains("--format 'columns:time=time_ns:ns"),
        "{reason} {remedy}"
    );
}

proptest! {
    #[test]
    fn any_text_under_obvious_names_is_a_trace_or_an_error(
        header in prop::sample::select(vec![
            "time,op,offset,size\n", "ts_us;rw;lba;sectors;disk\n", "time\tis_write\taddr\tlen\n",
            "{\"time_ms\":1,\"op\":\"r\",\"offset\":0,\"size\":512}\n", "[\n",
        ]),
        text in "([0-9rwx,;\t\"{}:. -]{0,16}\r?\n){0,20}",
    ) {
        let options = OpenOptions { skip_bad: u64::MAX, ..OpenOptions::default() };
        match read(format!("{header}{text}"), &options) {
            Ok((requests, report)) => {
                let (again, _) = read(format!("{header}{text}"), &OpenOptions { skip_bad: u64::MAX, ..named(&report.format) })
                    .expect("its own name");
                prop_assert_eq!(again, requests);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
