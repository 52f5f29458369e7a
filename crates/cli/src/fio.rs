//! Results in the form of `fio --output-format=json+`, which programs that plot and parse results of fio read.
//!
//! A run is a job. All of a response time is completion latency: there is no time of submission. What a simulation has not
//! (processor time, depths) has the values of an idle machine.

use serde_json::{Map, Value, json};
use stripewise_results::summary::Entry;
use stripewise_results::{Figure, Table};
use stripewise_runs::Finished;
use stripewise_sim::tables::LatencyKind;

use crate::failure::Outcome;

/// The version whose fields these are.
const VERSION: &str = "fio-3.33";

/// Percent of requests whose response time fio prints.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper ends of fio's buckets, in the unit of each table.
const BUCKETS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// The runs as jobs of one result of fio.
pub(crate) fn json(entries: &[Entry], finished: &[Finished]) -> Outcome<Value> {
    let now = chrono::Utc::now();
    let jobs = entries.iter().zip(finished).enumerate();
    let jobs = jobs.map(|(group, (entry, run))| job(group, entry, run)).collect::<Outcome<Vec<_>>>()?;
    Ok(json!({
        "fio version": VERSION,
        "timestamp": now.timestamp(),
        "timestamp_ms": now.timestamp_millis(),
        "time": now.format("%a %b %e %H:%M:%S %Y").to_string(),
        "global options": { "ioengine": "stripewise" },
        "jobs": jobs,
    }))
}

/// Response times and the number of requests that took each, in order.
type Bins = Vec<(u64, u64)>;

fn job(group: usize, entry: &Entry, run: &Finished) -> Outcome<Value> {
    let total = |name: &str| match entry.totals.get(name) {
        Some(Figure::Count(count)) => count as f64,
        Some(Figure::Real(real)) => real,
        None => 0.0,
    };
    let columns = run.run.columns(Table::Latencies)?.unwrap_or_default();
    let column = |name: &str| columns.get(name).map_or(&[][..], Vec::as_slice);
    let bins = |kind: LatencyKind| -> Bins {
        let rows = column("kind").iter().zip(column("latency_ns")).zip(column("count"));
        let mut before = 0;
        let own = rows.filter(|((of, _), _)| **of == kind as u64);
        own.map(|((_, ns), count)| (*ns, count - std::mem::replace(&mut before, *count))).collect()
    };
    let window_ns = total("window_ns");
    let (reads, writes) = (bins(LatencyKind::Read), bins(LatencyKind::Write));
    let direction = |kind: &str, of: &str, bytes: &str, bins: &Bins| {
        let count = total(&format!("{kind}_requests"));
        let seconds = window_ns / 1e9;
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let response = |end: &str| total(&format!("{of}_{end}_ns"));
        let times = [response("mean"), response("deviation"), response("max")];
        side(total(bytes), count, window_ns / 1e6, rate(total(bytes)), rate(count), times, bins)
    };
    let all = total("requests");
    let size = (total("read_bytes") + total("written_bytes"))
        / (total("read_requests") + total("write_requests")).max(1.0);
    let rw = match (total("read_requests") > 0.0, total("write_requests") > 0.0) {
        (true, false) => "randread",
        (false, true) => "randwrite",
        _ => "randrw",
    };
    let mut value = json!({
        "jobname": entry.scheme,
        "groupid": group,
        "error": 0,
        "eta": 0,
        "elapsed": (window_ns / 1e9).ceil() as u64,
        "job options": {
            "name": entry.scheme,
            "rw": rw,
            "bs": format!("{}", size.round() as u64),
            "iodepth": depth(entry.settings.get("pacing").map_or("", String::as_str)),
            "numjobs": "1",
            "randseed": entry.seed.to_string(),
        },
        "read": direction("read", "read", "read_bytes", &reads),
        "write": direction("write", "write", "written_bytes", &writes),
        "trim": side(0.0, total("trim_requests"), 0.0, 0.0, 0.0, [0.0; 3], &Vec::new()),
        "sync": { "total_ios": total("flush_requests") as u64, "lat_ns": latency(0, [0.0; 3], 0) },
        "job_runtime": (window_ns / 1e6) as u64,
        "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0, "minf": 0,
        "iodepth_level": levels(&["1", "2", "4", "8", "16", "32", ">=64"]),
        "iodepth_submit": levels(&["0", "4", "8", "16", "32", "64", ">=64"]),
        "iodepth_complete": levels(&["0", "4", "8", "16", "32", "64", ">=64"]),
        "latency_depth": 1, "latency_target": 0, "latency_percentile": 100.0, "latency_window": 0,
    });
    let both: Vec<(u64, u64)> = reads.into_iter().chain(writes).collect();
    for (name, unit, past) in
        [("latency_ns", 1, None), ("latency_us", 1_000, None), ("latency_ms", 1_000_000, Some(2000))]
    {
        value[name] = buckets(&both, unit, past, all);
    }
    Ok(value)
}

/// Reads, writes or trims: bytes, requests, milliseconds, bytes and requests a second, times, and the distribution of times.
fn side(
    bytes: f64,
    count: f64,
    runtime_ms: f64,
    bytes_rate: f64,
    iops: f64,
    times: [f64; 3],
    bins: &Bins,
) -> Value {
    let (count, kib) = (count as u64, (bytes_rate / 1024.0) as u64);
    let least = bins.first().map_or(0, |(ns, _)| *ns);
    let mut clat = latency(least, times, count);
    if count > 0 {
        let percentiles =
            PERCENTILES.map(|percent| (format!("{percent:.6}"), percentile(bins, percent).into()));
        clat["percentile"] = Value::Object(percentiles.into_iter().collect());
    }
    // Readers take bins for some requests.
    if !bins.is_empty() {
        let counts = bins.iter().map(|(ns, count)| (ns.to_string(), (*count).into()));
        clat["bins"] = Value::Object(counts.collect());
    }
    let mut value = json!({
        "io_bytes": bytes as u64, "io_kbytes": (bytes / 1024.0) as u64,
        "bw_bytes": bytes_rate as u64, "bw": kib, "iops": iops,
        "runtime": runtime_ms as u64, "total_ios": count, "short_ios": 0, "drop_ios": 0,
        "slat_ns": latency(0, [0.0; 3], 0),
        "lat_ns": latency(least, times, count),
        "bw_min": kib, "bw_max": kib, "bw_agg": if count > 0 { 100.0 } else { 0.0 }, "bw_mean": bytes_rate / 1024.0,
        "bw_dev": 0.0, "bw_samples": u64::from(count > 0),
        "iops_min": iops as u64, "iops_max": iops as u64, "iops_mean": iops, "iops_stddev": 0.0,
        "iops_samples": u64::from(count > 0),
    });
    value["clat_ns"] = clat;
    value
}

fn latency(least: u64, [mean, deviation, most]: [f64; 3], count: u64) -> Value {
    json!({ "min": least, "max": most as u64, "mean": mean, "stddev": deviation, "N": count })
}

/// The least time that this percentage of the requests does not exceed.
fn percentile(bins: &Bins, percent: f64) -> u64 {
    let all: u64 = bins.iter().map(|(_, count)| count).sum();
    let wanted = (all as f64 * percent / 100.0).ceil() as u64;
    let mut seen = 0;
    let reaches = |(_, count): &&(u64, u64)| {
        seen += count;
        seen >= wanted
    };
    bins.iter().find(reaches).or(bins.last()).map_or(0, |(ns, _)| *ns)
}

/// The share of the requests in percent by response time, in buckets that end below these numbers of a unit. The last table also
/// has the times beyond its largest bucket.
fn buckets(bins: &[(u64, u64)], unit: u64, past: Option<u64>, all: f64) -> Value {
    let ends: Vec<u64> = BUCKETS.into_iter().chain(past).collect();
    // Times below the unit belong to the finer table.
    let mut from = if unit == 1 { 0 } else { unit };
    let share = |from: u64, to: u64| {
        let count: u64 = bins.iter().filter(|(ns, _)| (from..to).contains(ns)).map(|(_, count)| count).sum();
        if all > 0.0 { count as f64 * 100.0 / all } else { 0.0 }
    };
    let mut table = Map::new();
    for end in ends {
        table.insert(end.to_string(), share(from, end * unit).into());
        from = end * unit;
    }
    if let Some(past) = past {
        table.insert(format!(">={past}"), share(from, u64::MAX).into());
    }
    Value::Object(table)
}

/// Shares of depths, which a simulation does not sample: all at the first.
fn levels(names: &[&str]) -> Value {
    let of = |(at, name): (usize, &&str)| ((*name).to_owned(), if at == 0 { 100.0 } else { 0.0 }.into());
    Value::Object(names.iter().enumerate().map(of).collect())
}

/// Requests at a time: of a closed loop its depth, of users their number, and 1 in open loop, where it is not bounded.
fn depth(pacing: &str) -> String {
    let (kind, rest) = pacing.split_once(':').unwrap_or((pacing, ""));
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    match kind {
        "closed" | "think" if !number.is_empty() => number,
        _ => "1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_buckets_are_those_of_the_distribution() {
        let bins: Bins = vec![(900, 1), (1_500, 8), (3_000_000, 1)];
        assert_eq!(
            [1.0, 10.0, 50.0, 90.0, 99.0].map(|percent| percentile(&bins, percent)),
            [900, 900, 1_500, 1_500, 3_000_000]
        );
        let us = buckets(&bins, 1_000, None, 10.0);
        assert_eq!((us["2"].as_f64(), us["4"].as_f64()), (Some(80.0), Some(0.0)));
        assert_eq!(buckets(&bins, 1, None, 10.0)["1000"].as_f64(), Some(10.0));
        let ms = buckets(&bins, 1_000_000, Some(2000), 10.0);
        assert_eq!((ms["4"].as_f64(), ms[">=2000"].as_f64()), (Some(10.0), Some(0.0)));
        let sum = |table: &Value| table.as_object().unwrap().values().filter_map(Value::as_f64).sum::<f64>();
        assert_eq!(sum(&us) + sum(&ms) + sum(&buckets(&bins, 1, None, 10.0)), 100.0);
    }

    #[test]
    fn the_depth_is_that_of_the_loop() {
        assert_eq!(["closed:16", "think:8,1000000ns", "open:1", ""].map(depth), ["16", "8", "1", "1"]);
    }
}
