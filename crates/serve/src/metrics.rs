//! A status as Prometheus metrics (docs/reference/metrics.md). Names, units and types follow Prometheus' naming conventions: base
//! units, `_total` for counters.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::status::{Errors, LATENCY_EDGES_NS, Progress, Status, Stream};
use stripewise_array::health::Health;

/// The HTTP content type of the text.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of `status` as OpenMetrics text.
///
/// # Errors
/// Never, except for lack of memory.
pub(crate) fn text(status: &Status) -> Result<String, fmt::Error> {
    let name = status.name.clone().into();
    let mut registry = Registry::with_prefix_and_labels("stripewise", [("array".into(), name)].into_iter());
    registry.register_collector(Box::new(Metrics(status.clone())));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Status);

/// A family of metrics that is being written.
struct Family<'a>(MetricEncoder<'a>);

impl Family<'_> {
    fn gauge(&mut self, labels: &[(&str, &str)], value: f64) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_family(&labels)?)
    }

    fn counter(&mut self, labels: &[(&str, &str)], value: u64) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_family(&labels)?)
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = &self.0;
        let to = &mut encoder;
        array(status, to)?;
        queues_and_repairs(status, to)?;
        requests(status, to)?;
        let mut family = counters(to, "operations", "Operations on members that succeeded, by class")?;
        for operations in &status.operations {
            family.counter(&[("class", &operations.class)], operations.operations)?;
        }
        progress(status, to)?;
        let Some(log) = &status.log else { return Ok(()) };
        gauge(to, "log_segments", "Segments of the log", log.segments as f64)?;
        gauge(to, "log_free_segments", "Segments of the log that are free", log.free_segments as f64)?;
        for (name, help, value) in [
            ("log_stripes", "Stripes written", log.stripes),
            ("log_short_stripes", "Stripes with fewer chunks than there was room for", log.short_stripes),
            ("log_data_chunks", "Data chunks of hosts written", log.data_chunks),
            ("log_parity_chunks", "Parity chunks written", log.parity_chunks),
            ("log_collected_segments", "Segments collected", log.collected_segments),
            ("log_moved_chunks", "Live chunks that collection rewrote", log.moved_chunks),
            ("log_absorbed_chunks", "Chunks overwritten in memory", log.absorbed_chunks),
            ("log_metadata_pages", "Pages of metadata written", log.metadata_pages),
        ] {
            counters(to, name, help)?.counter(&[], value)?;
        }
        streams(&log.streams, to)
    }
}

fn streams(streams: &[Stream], to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let numbers: Vec<String> = (0..streams.len()).map(|number| number.to_string()).collect();
    let numbered = || numbers.iter().map(String::as_str).zip(streams);
    let mut family = counters(to, "stream_chunks", "Data chunks that the stream wrote")?;
    for (number, stream) in numbered() {
        family.counter(&[("stream", number), ("filled_by", &stream.filled_by)], stream.chunks)?;
    }
    let mut family = counters(to, "stream_opened_segments", "Segments that the stream opened")?;
    for (number, stream) in numbered() {
        family.counter(&[("stream", number), ("filled_by", &stream.filled_by)], stream.opened_segments)?;
    }
    let mut family = gauges(to, "stream_open_segments", "Segments of the stream that are open")?;
    for (number, stream) in numbered() {
        family.gauge(&[("stream", number)], stream.open_segments as f64)?;
    }
    let mut family = gauges(to, "stream_waiting_chunks", "Chunks that wait in memory for a stripe")?;
    for (number, stream) in numbered() {
        family.gauge(&[("stream", number)], stream.waiting_chunks as f64)?;
    }
    Ok(())
}

fn array(status: &Status, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = gauges(to, "health", "1 for the state that the array is in")?;
    for health in Health::ALL {
        family.gauge(&[("state", health.name())], f64::from(u8::from(status.health == health)))?;
    }
    gauge(to, "uptime_seconds", "Since the array is served", status.uptime_ns as f64 / 1e9)?;
    gauge(to, "capacity_bytes", "Bytes that hosts see", status.capacity_bytes as f64)?;
    if let Some(used) = status.used_bytes {
        gauge(to, "used_bytes", "Bytes that hold data", used as f64)?;
    }
    gauge(to, "spares", "Hot spares", status.spares.len() as f64)?;
    gauge(to, "connections", "Connections of clients", status.connections as f64)?;
    gauge(to, "requests_in_flight", "Requests that are under way", status.in_flight as f64)?;
    let dropped = "Connections ended because their client broke the protocol, or there were too many";
    counters(to, "dropped_connections", dropped)?.counter(&[], status.dropped_connections)?;
    gauge(to, "full", "1 while a log has no space", f64::from(u8::from(status.full)))?;
    let refused = "1 while more members have no space than parity tolerates, and writes are refused";
    // Each under its name and, for one release, its former name.
    for (name, former, help, is_so) in [
        ("out_of_space", "starved", "1 while members have no space", status.out_of_space),
        ("out_of_space_beyond_parity", "starved_beyond_parity", refused, status.out_of_space_beyond_parity),
    ] {
        gauge(to, name, help, f64::from(u8::from(is_so)))?;
        gauge(to, former, help, f64::from(u8::from(is_so)))?;
    }
    gauge(to, "memory_bytes", "Memory for pages and maps", status.memory_bytes as f64)?;
    if let Some(recording) = &status.recording {
        counters(to, "recorded_requests", "Requests recorded")?.counter(&[], recording.requests)?;
        let left_out = "Requests left out of the recording";
        counters(to, "recording_left_out_requests", left_out)?.counter(&[], recording.left_out)?;
    }
    Ok(())
}

fn queues_and_repairs(status: &Status, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let numbers: Vec<String> = status.members.iter().map(|member| member.number.to_string()).collect();
    operations(status, &numbers, to, "member", "member_failed_operations")?;
    // The former names, for one release.
    operations(status, &numbers, to, "element", "element_errors")?;
    members(status, &numbers, to)?;
    let halted = "1 while a rebuild goes no further until the server is restarted";
    gauge(to, "rebuild_halted", halted, f64::from(u8::from(status.rebuild_halted.is_some())))?;
    let lost = "Stripes or rows in which the last rebuild found data lost";
    gauge(to, "rebuild_lost_stripes", lost, status.rebuild_lost as f64)?;
    let Some(scrubbed) = &status.last_scrub else { return Ok(()) };
    let complete = "1 if the last scrub read everything, 0 if it was ended before";
    gauge(to, "scrub_complete", complete, f64::from(u8::from(scrubbed.complete)))?;
    gauge(to, "scrub_damaged_pages", "Damaged pages that the last scrub found", scrubbed.damaged as f64)?;
    gauge(
        to,
        "scrub_repaired_chunks",
        "Damaged pages that the last scrub repaired",
        scrubbed.repaired as f64,
    )?;
    gauge(to, "scrub_obsolete_pages", "Damaged pages that nothing depends on", scrubbed.obsolete as f64)?;
    gauge(to, "scrub_lost_chunks", "Chunks of which reads fail", scrubbed.lost as f64)?;
    let (damaged, repaired) = (scrubbed.metadata_damaged as f64, scrubbed.metadata_repaired as f64);
    gauge(to, "scrub_damaged_metadata", "Damaged copies of metadata that the last scrub found", damaged)?;
    gauge(to, "scrub_repaired_metadata", "Copies of metadata that it repaired", repaired)
}

/// The metrics of the operations of members, whose names begin with `what`; those that failed are counted as `failed`.
fn operations(
    status: &Status,
    numbers: &[String],
    to: &mut DescriptorEncoder<'_>,
    what: &str,
    failed: &str,
) -> fmt::Result {
    let numbered = || numbers.iter().map(String::as_str).zip(&status.members);
    let [up, queue, bytes] = ["up", "queue", "bytes"].map(|name| format!("{what}_{name}"));
    let mut family = gauges(to, &up, "1 while the member serves all that it holds")?;
    for (number, member) in numbered() {
        let path = member.path.as_deref().unwrap_or_else(|| "".as_ref()).display().to_string();
        let labels = [(what, number), ("path", &path), ("state", &member.state)];
        family.gauge(&labels, f64::from(u8::from(member.state == "active")))?;
    }
    let mut family = gauges(to, &queue, "Operations in the member's queue")?;
    for (number, member) in numbered() {
        family.gauge(&[(what, number)], member.queued as f64)?;
    }
    let mut family = counters(to, &bytes, "Bytes read from and written to the member")?;
    for (number, member) in numbered() {
        family.counter(&[(what, number), ("direction", "read")], member.read_bytes)?;
        family.counter(&[(what, number), ("direction", "write")], member.written_bytes)?;
    }
    let mut family = counters(to, failed, "Operations that failed")?;
    for (number, member) in numbered() {
        family.counter(&[(what, number)], member.errors)?;
    }
    Ok(())
}

/// The metrics of members; `numbers` are their labels.
fn members(status: &Status, numbers: &[String], to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let numbered = || numbers.iter().map(String::as_str).zip(&status.members);
    let by_kind = |errors: Errors| {
        [
            ("read", errors.read),
            ("write", errors.write),
            ("checksum", errors.checksum),
            ("timeout", errors.timeouts),
        ]
    };
    let mut family = counters(to, "member_errors", "What went wrong on the member, by kind")?;
    for (number, member) in numbered() {
        for (kind, errors) in by_kind(member.total_errors) {
            family.counter(&[("member", number), ("kind", kind)], errors)?;
        }
    }
    let mut family = gauges(to, "member_recent_errors", "The same, each error counting half after an hour")?;
    for (number, member) in numbered() {
        for (kind, errors) in by_kind(member.recent_errors) {
            family.gauge(&[("member", number), ("kind", kind)], errors as f64)?;
        }
    }
    let flag = |is_set: bool| f64::from(u8::from(is_set));
    let mut family = gauges(to, "member_degrading", "1 while the member may be lost soon")?;
    for (number, member) in numbered() {
        family.gauge(&[("member", number)], flag(member.degrading))?;
    }
    let mut family = gauges(to, "member_unlinked", "1 while the member's path does not lead to it")?;
    for (number, member) in numbered() {
        family.gauge(&[("member", number)], flag(member.unlinked.is_some()))?;
    }
    let mut family =
        gauges(to, "member_smart_failing", "1 while SMART predicts that the member fails; none if unknown")?;
    for (number, member) in numbered() {
        if let Some(smart) = &member.smart {
            family.gauge(&[("member", number)], flag(smart == "failing"))?;
        }
    }
    let mut family =
        counters(to, "member_repaired_pages", "Damaged pages that were written to the member again")?;
    for (number, member) in numbered() {
        family.counter(&[("member", number)], member.repaired_pages)?;
    }
    Ok(())
}

fn requests(status: &Status, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = counters(to, "requests", "Requests of hosts that were done")?;
    for requests in &status.requests {
        family.counter(&[("kind", &requests.kind)], requests.requests)?;
    }
    let mut family = counters(to, "failed_requests", "Requests of hosts that failed")?;
    for requests in &status.requests {
        family.counter(&[("kind", &requests.kind)], requests.failed)?;
    }
    let mut family = counters(to, "request_bytes", "Bytes of the requests of hosts")?;
    for requests in &status.requests {
        family.counter(&[("kind", &requests.kind)], requests.bytes)?;
    }
    let help = "Latency of the requests of hosts, from their last byte in to their answer ready to go";
    let mut family = to.encode_descriptor("request_latency_seconds", help, None, MetricType::Histogram)?;
    for requests in &status.requests {
        let mut before = 0;
        let edges = LATENCY_EDGES_NS.iter().zip(&requests.within);
        let mut buckets: Vec<(f64, u64)> = edges
            .map(|(&edge, &within)| {
                let apart = within.saturating_sub(before);
                before = within;
                (edge as f64 / 1e9, apart)
            })
            .collect();
        buckets.push((f64::INFINITY, requests.requests.saturating_sub(before)));
        let sum = requests.latency_sum_ns as f64 / 1e9;
        let labels: &[(&str, &str)] = &[("kind", &requests.kind)];
        let mut histogram = family.encode_family(&labels)?;
        histogram.encode_histogram::<NoLabelSet>(sum, requests.requests, &buckets, None)?;
    }
    Ok(())
}

fn progress(status: &Status, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let under_way = [("rebuild", &status.rebuild), ("scrub", &status.scrub)];
    let mut family = gauges(to, "progress_ratio", "Share of a rebuild or scrub that is done")?;
    for (what, progress) in under_way {
        if let Some(Progress { done, total, .. }) = *progress {
            family.gauge(&[("what", what)], done as f64 / total.max(1) as f64)?;
        }
    }
    Ok(())
}

fn gauges<'a>(
    to: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
) -> Result<Family<'a>, fmt::Error> {
    Ok(Family(to.encode_descriptor(name, help, None, MetricType::Gauge)?))
}

fn counters<'a>(
    to: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
) -> Result<Family<'a>, fmt::Error> {
    Ok(Family(to.encode_descriptor(name, help, None, MetricType::Counter)?))
}

fn gauge(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    gauges(to, name, help)?.gauge(&[], value)
}

#[cfg(test)]
mod tests {
    use stripewise_array::MemberNo;

    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    /// A status in which every part is present that may be absent.
    fn complete() -> Status {
        let quantiles = json!({"p50_ns": 1, "p99_ns": 2, "p999_ns": 3, "max_ns": 4});
        let progress =
            |member: Option<MemberNo>| json!({"member": member, "done": 1, "total": 2, "left_seconds": 3});
        let log = json!({
            "segments": 1, "free_segments": 1, "stripes": 1, "short_stripes": 1, "data_chunks": 1,
            "parity_chunks": 1, "collected_segments": 1, "moved_chunks": 1, "absorbed_chunks": 1,
            "metadata_pages": 1,
            "streams": [{
                "filled_by": "hosts", "chunks": 1, "opened_segments": 1, "open_segments": 1, "waiting_chunks": 1,
            }],
        });
        let status = json!({
            "name": "pool", "array": "", "level": "RAID-5", "scheme": "x", "health": "degraded", "read_only": false,
            "uptime_ns": 1, "capacity_bytes": 1, "used_bytes": 1, "full": false, "out_of_space": false,
            "out_of_space_beyond_parity": false, "way": "", "memory_bytes": 1, "spares": [],
            "members": [{
                "number": 0, "uuid": null, "path": "/a", "state": "active", "reason": null, "queued": 0,
                "read_bytes": 1, "written_bytes": 1, "errors": 1, "unlinked": "deleted", "smart": "failing",
            }],
            "rebuild": progress(Some(MemberNo::new(0))), "rebuild_halted": "x", "rebuild_lost": 1, "scrub": progress(None),
            "last_scrub": {"read_bytes": 1, "damaged": 1, "repaired": 1, "lost": 1, "complete": true},
            "requests": [{
                "kind": "read", "requests": 1, "failed": 0, "bytes": 1, "latency_sum_ns": 1, "latency": quantiles,
                "recent": quantiles, "within": vec![1; 13],
            }],
            "in_flight": 0, "operations": [{"class": "parity", "operations": 1}],
            "log": log,
            "connections": 1, "dropped_connections": 0, "addresses": [],
            "recording": {"folder": "/r", "requests": 1, "left_out": 0},
        });
        serde_json::from_value(status).unwrap()
    }

    /// The metrics of the page with their types. `_name` in a row is `stripewise_name`.
    fn documented() -> BTreeSet<(String, String)> {
        let page = include_str!("../../../docs/reference/metrics.md");
        let rows = page.lines().filter(|line| line.starts_with("| `stripewise_"));
        let cells = rows.map(|row| row.split('|').map(str::trim).skip(1).collect::<Vec<_>>());
        cells
            .flat_map(|cells| {
                let names = cells[0].split('`').skip(1).step_by(2);
                let full = |name: &str| {
                    format!("stripewise_{}", name.trim_start_matches("stripewise_").trim_matches('_'))
                };
                names.map(|name| (full(name), cells[1].to_owned())).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn the_page_has_every_metric_with_its_type_and_no_other() {
        let text = text(&complete()).unwrap();
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let former = |name: &str| ["_element_", "_starved"].iter().any(|part| name.contains(part));
        let exported = types.filter(|(name, _)| !former(name)).map(|(name, kind)| {
            let total = if kind == "counter" { "_total" } else { "" };
            (format!("{name}{total}"), kind.to_owned())
        });
        assert_eq!(exported.collect::<BTreeSet<_>>(), documented());
    }
}
