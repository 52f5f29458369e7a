//! Reports of runs that kept every table: the figures over time have the values that the tables have.

use std::path::Path;

use serde_json::Value;
use stripewise_report::{Report, Source};
use stripewise_results::{Figure, Figures, FinishedRun, Optional, RunInputs, Store};
use stripewise_sim::tables::{GcRow, LatencyKind, LatencyRow, MemberRow, RequestRow, SampleRow, Sink};

const MS: u64 = 1_000_000;
const MEMBERS: u32 = 6;
const REQUESTS: u64 = 2_000;

/// A run with a request each millisecond, the writes after the reads in each pair. Each takes `ms`, and the last of each
/// 200 ten times as long.
fn run(store: &Store, scheme: &str, ms: u64) -> FinishedRun {
    let configuration = format!(
        "members = \"channel:1\"\n[scheme]\nname = \"{scheme}\"\n[scheme.geometry]\nlevel = \"raid5\"\ngroups = 1\n\
         [scheme.update]\npolicy = \"{scheme}\"\n"
    );
    let digest = "profile:name=paper000/lun0,requests=10;seed=1";
    let inputs = RunInputs::new(&configuration, "pacing = \"open:1\"\n", digest, 1, "0.1.0").expect("TOML");
    let mut writer = store.begin(&inputs, Optional { requests: true, updates: false }).expect("a run");
    for request in 0..REQUESTS {
        let latency_ns = ms * MS * if request % 200 == 199 { 10 } else { 1 };
        writer.request(&RequestRow {
            request,
            arrival_ns: request * MS,
            kind: (request % 2) as u8,
            latency_ns,
            member_queue_ns: latency_ns / 4,
            gc_wait_ns: latency_ns / 4,
            cell_ns: latency_ns / 2,
            ..RequestRow::default()
        });
    }
    for (kind, count) in [(LatencyKind::Read, 1), (LatencyKind::Write, 1), (LatencyKind::Both, 2)] {
        let row = |latency_ns, count| LatencyRow { kind: kind as u8, member: 0, latency_ns, count };
        writer.latency(&row(ms * MS, count * REQUESTS / 2 - 10));
        writer.latency(&row(10 * ms * MS, count * REQUESTS / 2));
    }
    for time in 0..20 {
        for member in 0..MEMBERS {
            let (time_ns, free_pages) = (time * 100 * MS, 1);
            writer.sample(&SampleRow {
                time_ns,
                member,
                reads: member,
                writes: 1,
                collecting: 0,
                free_pages,
            });
        }
    }
    // Member 0 collects all the time, for a while on two dies at once; member 1 at the beginning.
    for (member, start, end) in [(0, 0, 500), (0, 100, 300), (1, 0, 25)] {
        let row = GcRow { member, start_ns: start * MS, end_ns: end * MS, ..GcRow::default() };
        writer.gc(&row);
    }
    let row = |member: u32| MemberRow {
        member,
        erase_blocks: 10 * (1 + u64::from(member)) * ms,
        flash_program_pages: 1_000 * ms,
        operation_p999_ns: ms * MS,
        blocked_sum: 5 + u64::from(member),
        ..MemberRow::default()
    };
    let mean = ms * MS * 209 / 200;
    let totals = [
        ("requests", Figure::Count(REQUESTS)),
        ("read_requests", Figure::Count(REQUESTS / 2)),
        ("write_requests", Figure::Count(REQUESTS / 2)),
        ("response_mean_ns", Figure::Count(mean)),
        ("read_mean_ns", Figure::Count(ms * MS)),
        ("write_mean_ns", Figure::Count(2 * mean - ms * MS)),
        ("erase_blocks", Figure::Count(210 * ms)),
        ("updates", Figure::Count(100)),
        ("updates_rmw", Figure::Count(60)),
        ("updates_rcw", Figure::Count(40)),
        ("updates_full_stripe", Figure::Count(0)),
        ("updates_adjusted", Figure::Count(0)),
        ("simulated_ns", Figure::Count(2_000 * MS)),
    ];
    let totals = Figures::from_list(&totals).expect("distinct totals");
    writer.finish(&(0..MEMBERS).map(row).collect::<Vec<_>>(), &totals).expect("a finished run")
}

/// The report of `baseline` with 4 ms and `adaptive` with 3 ms.
pub(crate) fn two_runs(directory: &Path) -> String {
    let store = Store::new(directory.join("results"));
    let runs = [run(&store, "baseline", 4), run(&store, "adaptive", 3)];
    Report::new(runs.map(Source::from)).html().expect("a report")
}

/// The values of the drawings of a figure, each with its title.
fn values(html: &str, id: &str) -> Vec<(String, Value)> {
    let from = html.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("{id} is missing"));
    let section = html[from..].split("</section>").next().unwrap_or_default();
    let figure = |part: &str| {
        let (json, rest) = part.split_once('"').expect("an attribute ends");
        let json = json.replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
        let title =
            rest.split("<figcaption>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
        (title.to_owned(), serde_json::from_str(&json).expect("JSON"))
    };
    section.split("<figure data-values=\"").skip(1).map(figure).collect()
}

/// The points of a line of a drawing.
fn points(drawing: &Value, name: &str) -> Vec<(f64, f64)> {
    let line = drawing["lines"].as_array().and_then(|lines| lines.iter().find(|line| line["name"] == name));
    let line = line.unwrap_or_else(|| panic!("{name} in {drawing}"));
    let of =
        |key: &str| line[key].as_array().expect("numbers").iter().map(|it| it.as_f64().unwrap_or(f64::NAN));
    of("x").zip(of("y").collect::<Vec<_>>()).collect()
}

#[test]
fn figures_over_time_have_the_values_of_the_tables() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = two_runs(directory.path());
    // 2,000 requests in 1,999 ms: ten slices of 200 ms with 200 requests, one of which takes ten times as long.
    let drawings = values(&html, "over-time");
    assert_eq!(drawings.len(), 3);
    let (median, p99, p999) = (&drawings[0].1, &drawings[1].1, &drawings[2].1);
    for (drawing, expected) in [(median, 4), (p99, 4), (p999, 40)] {
        let expected: Vec<(f64, f64)> =
            (0..10).map(|slice| ((200 * slice + 100) as f64 * 1e6, f64::from(expected) * 1e6)).collect();
        assert_eq!(points(drawing, "baseline"), expected);
    }
    assert_eq!(points(p999, "adaptive")[9].1, 30e6);
    // Garbage collection up to 500 ms: slices of 50 ms, of which the first has half of member 1's time too.
    let (title, gc) = &values(&html, "gc-over-time")[0];
    assert_eq!(title, "lun0: members that collect garbage");
    let heights: Vec<f64> = points(gc, "adaptive").iter().map(|point| point.1).collect();
    assert_eq!(heights, [1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    // Queues of one write and as many reads as the member's number.
    let queues = values(&html, "queues");
    assert!(points(&queues[0].1, "baseline").iter().all(|point| point.1 == 3.5), "{}", queues[0].1);
    assert!(points(&queues[1].1, "baseline").iter().all(|point| point.1 == 6.0), "{}", queues[1].1);
}

#[test]
fn parts_of_the_time_and_wear_are_those_of_the_tables() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = two_runs(directory.path());
    let spent = values(&html, "spent");
    let titles: Vec<&str> = spent.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, ["lun0: times", "lun0: times of the slowest", "lun0: shares"]);
    let length = |drawing: usize, heading: &str, strip: &str, part: &str| {
        let rows = spent[drawing].1["rows"].as_array().expect("rows");
        let found = rows.iter().find(|row| row[0] == heading && row[1] == strip && row[2] == part);
        found.and_then(|row| row[3].as_f64()).unwrap_or_else(|| panic!("{heading} {strip} {part}"))
    };
    assert_eq!(length(0, "reads", "baseline", "member's queue"), 1e6);
    assert_eq!(length(0, "reads", "adaptive", "flash cells"), 1.5e6);
    assert_eq!(length(2, "writes", "baseline", "garbage collection"), 25.0);
    // Ten of the thousand writes take 40 ms.
    assert_eq!(length(0, "writes", "baseline", "flash cells"), (990.0 * 4e6 + 10.0 * 40e6) / 1_000.0 / 2.0);
    assert_eq!(length(1, "slowest 1 % of both", "baseline", "flash cells"), 20e6);
    let wear = values(&html, "wear");
    let erased = wear[0].1["rows"].as_array().expect("rows");
    assert_eq!(erased.len(), 2 * MEMBERS as usize);
    assert_eq!(
        (&erased[2][0], &erased[2][1], &erased[2][2]),
        (&"member 1".into(), &"baseline".into(), &80.into())
    );
    // The drawing has a bar of that height: the largest is 240 on an axis to 250, over 190 units.
    assert!(html.contains(&format!("height=\"{:.1}\"", 190.0 * 80.0 / 250.0)), "the bar of 80");
}

#[test]
fn no_figure_is_empty_and_every_drawing_has_its_values() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = two_runs(directory.path());
    let sections: Vec<&str> =
        html.split("<section id=\"").skip(1).filter(|part| part.contains("class=\"figure\"")).collect();
    assert!(sections.len() >= 8, "{}", sections.len());
    for section in sections {
        let id = section.split('"').next().unwrap_or_default();
        let section = section.split("</section>").next().unwrap_or_default();
        let drawings = values(&html, id);
        assert!(
            !drawings.is_empty() && drawings.len() == section.matches("<svg class=\"chart").count(),
            "{id}"
        );
        for (title, drawing) in drawings {
            let rows = drawing["rows"].as_array().map_or(0, Vec::len);
            let lines = drawing["lines"].as_array().map_or(0, Vec::len);
            assert!(rows + lines > 0 && !title.is_empty(), "{id}: {title} has no values");
        }
        assert!(
            section.contains("<ul class=\"legend\">") && section.contains("<table class=\"sortable\">"),
            "{id}"
        );
    }
    let answer = html.find("id=\"answer\"").expect("an answer");
    assert!(answer < html.find("class=\"figure\"").expect("figures"), "the answer comes first");
    assert!(
        html.contains("<strong>adaptive</strong> is fastest")
            && html.contains("25.0 % lower than baseline's")
    );
}
