//! Results in the form of fio, for programs that read fio's.

use serde_json::Value;

use crate::support::Sandbox;

/// The fields that fio itself prints, and its own reader of distributions reads them.
#[test]
fn results_in_the_form_of_fio_have_its_fields_and_are_read_by_its_own_programs() {
    let sandbox = Sandbox::with_trace();
    let line = "compare --trace trace.csv --seeds 1 -s baseline -s raid0 --output-format fio";
    let text = sandbox.run(line).success();
    let value: Value = serde_json::from_str(&text).unwrap();
    let jobs = value["jobs"].as_array().unwrap();
    assert_eq!(
        jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect::<Vec<_>>(),
        ["baseline", "raid0"]
    );
    let own: Value = serde_json::from_str(&sandbox.run("run --trace trace.csv --json").success()).unwrap();
    let reads = &jobs[0]["read"];
    assert_eq!(reads["total_ios"], own["totals"]["read_requests"]);
    assert_eq!(reads["clat_ns"]["mean"].as_f64(), own["totals"]["read_mean_ns"].as_f64());
    assert_eq!(reads["clat_ns"]["percentile"]["99.000000"], own["totals"]["read_p99_ns"]);
    let bins = reads["clat_ns"]["bins"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!(Some(bins), reads["total_ios"].as_u64());
    let iops = reads["iops"].as_f64().unwrap() + jobs[0]["write"]["iops"].as_f64().unwrap();
    assert!((iops - own["totals"]["requests_per_second"].as_f64().unwrap()).abs() < 1e-6 * iops, "{iops}");

    let fio = |arguments: &[&str]| {
        std::process::Command::new("fio").args(arguments).current_dir(sandbox.path()).output().ok()
    };
    let arguments =
        ["--name=x", "--ioengine=null", "--size=1M", "--bs=4k", "--rw=randrw", "--output-format=json+"];
    let Some(output) = fio(&arguments).filter(|output| output.status.success()) else {
        eprintln!("skipped: there is no fio");
        return;
    };
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (theirs, ours) = (&theirs["jobs"][0], &jobs[0]);
    for name in keys(theirs) {
        assert!(ours.get(&name).is_some(), "fio has {name}");
    }
    for side in ["read", "write", "trim"] {
        for name in keys(&theirs[side]) {
            assert!(ours[side].get(&name).is_some(), "fio has {side}.{name}");
        }
        for times in ["slat_ns", "clat_ns", "lat_ns"] {
            for name in keys(&theirs[side][times]) {
                assert!(ours[side][times].get(&name).is_some(), "fio has {side}.{times}.{name}");
            }
        }
    }
    for table in
        ["latency_ns", "latency_us", "latency_ms", "iodepth_level", "iodepth_submit", "iodepth_complete"]
    {
        assert_eq!(keys(&ours[table]), keys(&theirs[table]), "{table}");
    }
    std::fs::write(sandbox.path().join("fio.json"), text).unwrap();
    let mut reader = std::process::Command::new("fio_jsonplus_clat2csv");
    let Ok(read) = reader.args(["fio.json", "fio.csv"]).current_dir(sandbox.path()).output() else {
        eprintln!("skipped: there is no fio_jsonplus_clat2csv");
        return;
    };
    if String::from_utf8_lossy(&read.stderr).contains("No module named") {
        eprintln!("skipped: fio_jsonplus_clat2csv lacks a module of Python");
        return;
    }
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(std::fs::read_to_string(sandbox.path().join("fio_job1.csv")).unwrap().lines().count() > 10);
}
