//! A report of runs whose tables were written by hand: self-contained, safe, and clear about missing data.

use stripewise_report::{Claims, Paper, Report, Source, papers_order};
use stripewise_results::{Figure, Figures, FinishedRun, Optional, RunInputs, Store};
use stripewise_sim::tables::{LatencyKind, LatencyRow, MemberRow, Sink};

const HOSTILE: &str = "<script>alert(1)</script>";

/// A run of `scheme` on `members` members, with or without recorded latencies.
fn run(store: &Store, scheme: &str, policy: &str, members: u32, latencies: bool) -> FinishedRun {
    let configuration = format!(
        "members = \"channel:1\"\n[scheme]\nname = {scheme:?}\n[scheme.geometry]\nlevel = \"raid5\"\ngroups = 1\n\
         [scheme.update]\npolicy = \"{policy}\"\n"
    );
    let digest = "profile:name=paper000/lun0,requests=10;seed=1";
    let inputs =
        RunInputs::new(&configuration, "pacing = \"open:1\"\nfold_bytes = 1048576\n", digest, 1, "0.1.0")
            .expect("TOML");
    let mut writer = store.begin(&inputs, Optional::NONE).expect("a run");
    if latencies {
        let row = |kind: LatencyKind, member, latency_ns, count| LatencyRow {
            kind: kind as u8,
            member,
            latency_ns,
            count,
        };
        for (latency, count) in [(10_000_000, 9_900), (20_000_000, 9_990), (30_000_000, 10_000)] {
            writer.latency(&row(LatencyKind::Both, 0, latency, count));
        }
        for member in 0..members {
            let slower = 1 + u64::from(member);
            writer.latency(&row(LatencyKind::Operation, member, slower * 1_000_000, 990));
            writer.latency(&row(LatencyKind::Operation, member, slower * 2_000_000, 1_000));
        }
    }
    let row = |member: u32| MemberRow {
        member,
        blocked_sum: 10 + u64::from(member),
        blocked_sum_served: 5 + u64::from(member),
        operation_p999_ns: (1 + u64::from(member)) * 2_000_000,
        ..MemberRow::default()
    };
    let totals = [
        ("requests", Figure::Count(10_000)),
        ("read_requests", Figure::Count(4_000)),
        ("write_requests", Figure::Count(6_000)),
        ("response_mean_ns", Figure::Count(if policy == "baseline" { 4_000_000 } else { 3_000_000 })),
        ("read_mean_ns", Figure::Count(2_000_000)),
        ("write_mean_ns", Figure::Count(5_000_000)),
        ("erase_blocks", Figure::Count(0)),
        ("updates", Figure::Count(100)),
        ("updates_rmw", Figure::Count(60)),
        ("updates_rcw", Figure::Count(30)),
        ("updates_full_stripe", Figure::Count(10)),
        ("updates_adjusted", Figure::Count(if policy == "baseline" { 0 } else { 25 })),
        ("updates_adjusted_rcw", Figure::Count(if policy == "baseline" { 0 } else { 20 })),
        ("simulated_ns", Figure::Count(1_000_000_000)),
    ];
    let totals = Figures::from_list(&totals).expect("distinct totals");
    writer.finish(&(0..members).map(row).collect::<Vec<_>>(), &totals).expect("a finished run")
}

fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let from = html.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("{id} is missing"));
    let end = html[from..].find("</section>").expect("sections end");
    &html[from..from + end]
}

/// The page loads nothing, and has one script: the report's own, which names no other place either.
fn nothing_from_elsewhere(html: &str) {
    // The namespace of SVG is a name and no address that is loaded.
    let html = html.replace("'http://www.w3.org/2000/svg'", "");
    for foreign in ["http:", "https:", "src=", "@import", "<link", "<iframe", "<img", "fetch("] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (1, 1));
    assert!(html.contains("<script>'use strict';"), "it is the report's own");
    assert!(html.contains("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
}

/// Cells hold numbers, and the heads of a table name one unit of time.
fn times_of_a_table_have_one_unit(html: &str) {
    const UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];
    let mut timed = 0;
    for table in html.split("<table").skip(1).filter_map(|rest| rest.split("</table>").next()) {
        let texts = |tag: &'static str| {
            table
                .split(tag)
                .skip(1)
                .filter_map(|rest| Some(rest.split_once('>')?.1.split('<').next()?.trim()))
        };
        for cell in texts("<td class=\"number\"") {
            let last = cell.rsplit(' ').next().unwrap_or_default();
            assert!(!UNITS.contains(&last), "`{cell}` in {table}");
        }
        let unit = |head: &str| UNITS.into_iter().find(|unit| head.ends_with(&format!(" ({unit})")));
        let mut units: Vec<_> = texts("<th scope=\"col\"").filter_map(unit).collect();
        timed += usize::from(!units.is_empty());
        units.dedup();
        assert!(units.len() <= 1, "{units:?} in {table}");
    }
    assert!(timed >= 3, "{timed} tables have times");
}

#[test]
fn a_papers_report_has_its_figures_and_nothing_from_elsewhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::new(directory.path());
    let runs =
        vec![run(&store, "baseline", "baseline", 6, true), run(&store, "adaptive", "adaptive", 6, true)];
    let html = Report::new(runs.into_iter().map(Source::from))
        .decision_ns("adaptive", 50.0)
        .figures_of(Paper::P000)
        .claims(Claims {
            head: ["", "result", "verdict"].map(str::to_owned).to_vec(),
            rows: vec![["0a", "p99.9, <best>", "same direction"].map(str::to_owned).to_vec()],
            about: "Typical values over 5 seeds.".to_owned(),
        })
        .html()
        .expect("a report");
    let claims = section(&html, "claims");
    for part in ["p99.9, &lt;best&gt;", "same direction", "Typical values over 5 seeds."] {
        assert!(claims.contains(part), "{part}: {claims}");
    }
    let figures = [
        (2, "imbalance"),
        (3, "congested"),
        (6, "routines"),
        (7, "imbalance-by-scheme"),
        (8, "response-0"),
        (10, "tail-0"),
        (12, "member-tails-0"),
        (14, "decisions"),
    ];
    for (number, id) in figures {
        let section = section(&html, id);
        assert!(section.contains(&format!("<h2>Figure {number}: ")), "{section}");
        assert!(section.contains("<svg class=\"chart\""), "Figure {number} is drawn: {section}");
        assert!(section.contains("Printed: paper 000, Figure"), "Figure {number} says what it is after");
        assert!(
            section.contains("<details>") && section.contains("<table class=\"sortable\">"),
            "Figure {number} has its values"
        );
    }
    // The paper's Figures 9, 11 and 13 are of 7+1, and no run has that structure.
    assert_eq!(html.matches("<section id=").count(), figures.len() + 3, "and claims, totals and settings");
    assert!(
        !html.contains("7+1\"") && !html.contains("Figure 9:") && !html.contains("figure class=\"empty\"")
    );
    nothing_from_elsewhere(&html);
    times_of_a_table_have_one_unit(&html);
    assert!(
        section(&html, "response-0").contains("overall mean 3.00 ms, 0.750 of the first scheme"),
        "3 ms over 4 ms"
    );
    assert!(section(&html, "routines").contains("Adjusted: RCW instead of RMW 20.0 %"));
    assert!(
        html.contains("stripes of 5+1, requests folded onto a span of 1 MiB."),
        "the span stands at the head"
    );
    assert!(
        section(&html, "routines").contains("RMW, as Baseline 55.0 %"),
        "60 less the 5 that were adjusted to it"
    );
    assert!(section(&html, "tail-0").contains("99.9 % within 20.0 ms"));
    let tails = section(&html, "member-tails-0");
    assert!(
        tails.contains("class=\"range\"") && !tails.contains("class=\"whisker\""),
        "no interval: {tails}"
    );
    assert!(tails.contains("7.00 ms on average, 2.00 ms to 12.0 ms"));
    assert!(section(&html, "decisions").contains("100 decisions take 5.00 µs"), "100 times 50 ns");
    assert!(section(&html, "response-0").contains("No garbage collection happened: all of these runs."));
    assert!(section(&html, "imbalance").contains("one workload, so one value and no distribution"));
    // Each drawing has a description, and its references resolve.
    assert_eq!(html.matches("<svg class=\"chart").count(), html.matches("role=\"img\"").count());
    let (drawn, _) = html.split_once("<script>").expect("the script comes last");
    for part in drawn.split("url(#").skip(1) {
        let id = part.split(')').next().unwrap_or_default();
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for part in html.split("href=\"#").skip(1) {
        let id = part.split('"').next().unwrap_or_default();
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

#[test]
fn other_reports_have_plain_titles_and_nothing_that_a_paper_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::new(directory.path());
    let runs = vec![run(&store, "baseline", "baseline", 6, true), run(&store, "bpu", "bpu", 6, true)];
    let html = Report::new(runs.into_iter().map(Source::from)).html().expect("a report");
    assert!(section(&html, "response-0").contains("<h2>Response times with 5+1</h2>"));
    assert!(html.contains("<a href=\"#distribution\">Distribution of the response times</a>"));
    for of_papers in ["Figure ", "Figures ", "figure-", "Printed", "paper 000, ", "Paper 000, "] {
        assert!(!html.contains(of_papers), "{of_papers}");
    }
    assert!(!html.contains("id=\"decisions\""), "no decision was timed");
    assert!(!html.contains("write amplification"));
    assert!(
        section(&html, "totals").contains("acknowledged from")
            && section(&html, "totals").contains(">members<")
    );
}

#[test]
fn names_from_outside_are_text_and_a_figure_without_data_is_absent() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::new(directory.path());
    let run = run(&store, HOSTILE, "baseline", 4, false);
    let source = Source { run, workload: Some(format!("{HOSTILE}'\"&")) };
    let html = Report::new([source]).html().expect("a report");
    times_of_a_table_have_one_unit(&html);
    nothing_from_elsewhere(&html);
    assert!(!html.contains("alert(1)<") && html.contains("&lt;script&gt;"));
    for absent in ["congested", "distribution", "over-time", "gc-over-time", "queues", "decisions"] {
        assert!(
            !html.contains(&format!("id=\"{absent}\"")) && !html.contains(&format!("#{absent}\"")),
            "{absent}"
        );
    }
    assert!(section(&html, "response-0").contains("<h2>Response times with 3+1</h2>"));
}

#[test]
fn no_run_is_no_report_and_a_directory_has_the_papers_order() {
    let none = Report::new([]).html().expect_err("nothing to report on");
    assert!(none.to_string().contains("no run was given"));
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::new(directory.path());
    for (name, policy) in [("zeta", "adaptive"), ("alpha", "bpu"), ("omega", "baseline")] {
        run(&store, name, policy, 6, true);
    }
    let mut runs = store.runs().expect("three runs");
    runs.sort_by_cached_key(|run| papers_order(run.inputs()));
    let policies: Vec<bool> = runs.iter().map(|run| run.inputs().configuration().contains("omega")).collect();
    assert_eq!(policies, [true, false, false], "Baseline comes first");
    let file = directory.path().join("report.html");
    stripewise_report::write(runs.into_iter().map(Source::from), &file).expect("a file");
    assert!(std::fs::read_to_string(&file).expect("it is there").ends_with("</html>\n"));
    let one = store.runs().expect("still three, the report is no run").swap_remove(0);
    assert_eq!(FinishedRun::at(one.path()).expect("the same").results_digest(), one.results_digest());
    assert!(FinishedRun::at(directory.path()).is_err());
}
