//! Papers with measurements that are made up.

use serde_json::{Value as Json, json};
use stripewise_papers::{
    Columns, Error, EvaluationOptions, Findings, Measured, More, Paper, Part, StudyPoint, Verdict,
};

/// All claims of a paper, in full, with generated requests.
pub(crate) fn all_claims(paper: &Paper) -> EvaluationOptions {
    EvaluationOptions {
        requests: None,
        quick: false,
        traces: None,
        claims: paper.claims(),
        part: Part::All,
        seed: 1,
        out: "results".into(),
    }
}

/// A paper of which only `claims` are asked for.
pub(crate) fn only(paper: &Paper, claims: &[&str]) -> EvaluationOptions {
    EvaluationOptions { claims: claims.iter().map(|id| (*id).to_owned()).collect(), ..all_claims(paper) }
}

/// The further findings of each study point: nothing was written, and intervals are not known.
pub(crate) fn of_point() -> [(&'static str, Json); 4] {
    let cost = json!({ "pre_reads": 0, "log_writes": 0, "parity_writes": 0 });
    [("parity_logging", cost), ("data_chunks", json!(0)), ("unique_chunks", json!(0)), ("span_ns", json!(0))]
}

/// The further findings of an evaluation: no intervals, and the cost of decisions.
pub(crate) fn of_all() -> [(&'static str, Json); 2] {
    let decisions =
        json!({ "baseline_ns": 5.0, "bpu_ns": 50.0, "adaptive_ns": 40.0, "machine": "a machine" });
    [("intervals", json!([])), ("decisions", decisions)]
}

/// The points of `all_claims` with runs whose columns are those that `run` gives, and 0 in all others.
pub(crate) fn made_up(
    paper: &Paper,
    all_claims: &EvaluationOptions,
    run: impl Fn(&StudyPoint, &str) -> Vec<(&'static str, f64)>,
) -> Vec<Measured> {
    made_up_with(paper, all_claims, |point, scheme, columns| {
        run(point, scheme).into_iter().for_each(|(name, value)| columns.set(name, value));
    })
}

/// The same where `run` sets the columns itself.
pub(crate) fn made_up_with(
    paper: &Paper,
    all_claims: &EvaluationOptions,
    run: impl Fn(&StudyPoint, &str, &mut Columns),
) -> Vec<Measured> {
    let points = paper.points(all_claims).unwrap_or_else(|error| panic!("{error}"));
    let measured = points.iter().map(|point| {
        let columns = point.schemes().iter().map(|scheme| {
            let mut columns = Columns::default();
            ALL_COLUMNS.iter().for_each(|name| columns.set(name, 0.0));
            columns.set_list("collecting", &[0.0; 10]);
            columns.set_none("collection_ns");
            run(point, scheme, &mut columns);
            columns
        });
        paper.measured(point, columns.collect(), &of_point())
    });
    measured.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
}

/// The file of a paper of one scheme, `one`, and one study point, whose claim 9a has these keys.
pub(crate) fn file_with_claim(keys: &str) -> String {
    format!(
        r#"
paper = "900"
reading = {{ judged = "as printed", sentence = "\"all\" (1)" }}
[[scheme]]
id = "one"
name = "One"
scheme = "baseline"
[spec]
label = "point"
schemes = "['one']"
device = "ssdsim-5+1-ldpc"
origin = "paper000/hm_0"
fold = "modulo"
requests = "none"
report = ""
[[study]]
[[column]]
title = "measured"
key = "measured"
[[claim]]
id = "9a"
what = ""
{keys}
[json]
point = {{}}
run = {{ columns = [] }}
"#
    )
}

/// Claims, reasons and tables as Markdown.
pub(crate) fn text(paper: &Paper, findings: &Findings, measured: &[Measured], more: &More<'_>) -> String {
    let sections = paper.sections(measured, more).unwrap_or_else(|error| panic!("{error}"));
    findings.markdown() + &sections.iter().map(ToString::to_string).collect::<String>()
}

/// The claims judged by what two seeds measured alike.
pub(crate) fn exact(
    paper: &Paper,
    ids: &[String],
    measured: &[Measured],
    more: &More<'_>,
) -> Result<Findings, Error> {
    paper.findings(ids, &[measured, measured], more)
}

/// The verdicts on all claims.
pub(crate) fn verdicts(paper: &Paper, measured: &[Measured]) -> Vec<Verdict> {
    let findings =
        exact(paper, &paper.claims(), measured, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    findings.claims.iter().map(|claim| claim.verdict).collect()
}

/// Columns of a run that papers use.
pub(crate) const ALL_COLUMNS: [&str; 53] = [
    "array_gc_moved_chunks",
    "array_gc_parity_chunks",
    "array_gc_segments",
    "blocked_chi2",
    "blocked_chi2_served",
    "blocked_cv",
    "blocked_cv_served",
    "buffer_absorbed_chunks",
    "busy_share_after",
    "busy_share_before",
    "cache_absorbed_chunks",
    "cache_hit_chunks",
    "cache_room_waits",
    "cache_write_chunks",
    "decode_read_pages",
    "destages",
    "die_utilisation",
    "erase_blocks",
    "gc_move_pages",
    "host_read_pages",
    "hotness_bytes",
    "incomplete_releases",
    "least_erase_blocks",
    "map_bytes",
    "most_erase_blocks",
    "parity_write_pages",
    "pre_read_pages",
    "programs_per_member_page",
    "read_bus_mean_ns",
    "read_bytes",
    "read_cell_mean_ns",
    "read_mean_ns",
    "read_p999_ns",
    "read_requests",
    "read_wait_mean_ns",
    "redirected_chunks",
    "requests",
    "response_deviation_ns",
    "response_mean_ns",
    "response_p999_ns",
    "row_wait_mean_ns",
    "short_stripes",
    "simulated_ns",
    "strip_releases",
    "stripe_data_chunks",
    "stripe_parity_chunks",
    "stripes",
    "updates",
    "updates_adjusted",
    "write_mean_ns",
    "write_requests",
    "write_wait_mean_ns",
    "written_bytes",
];
