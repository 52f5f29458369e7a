//! Papers with measurements that are made up.

use stripewise_papers::{Asked, Columns, Measured, Paper, StudyPoint, Verdict};

/// All claims of a paper, in full, with generated requests.
pub(crate) fn asked(paper: &Paper) -> Asked {
    Asked {
        requests: None,
        quick: false,
        traces: None,
        claims: paper.claims(),
        seed: 1,
        out: "results".into(),
    }
}

/// A paper of which only `claims` are asked for.
pub(crate) fn only(paper: &Paper, claims: &[&str]) -> Asked {
    Asked { claims: claims.iter().map(|id| (*id).to_owned()).collect(), ..asked(paper) }
}

/// The points of `asked` with runs whose columns are those that `run` gives, and 0 in all others.
pub(crate) fn made_up(
    paper: &Paper,
    asked: &Asked,
    more: &[(&str, f64)],
    run: impl Fn(&StudyPoint, &str) -> Vec<(&'static str, f64)>,
) -> Vec<Measured> {
    let points = paper.points(asked).unwrap_or_else(|error| panic!("{error}"));
    let measured = points.iter().map(|point| {
        let columns = point.schemes().iter().map(|scheme| {
            let mut columns = Columns::default();
            ALL_COLUMNS.iter().for_each(|name| columns.set(name, 0.0));
            run(point, scheme).into_iter().for_each(|(name, value)| columns.set(name, value));
            columns
        });
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        paper.measured(point, columns.collect(), more)
    });
    measured.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
}

/// The verdicts on all claims.
pub(crate) fn verdicts(paper: &Paper, measured: &[Measured]) -> Vec<Verdict> {
    let findings = paper.findings(&paper.claims(), measured, &[]).unwrap_or_else(|error| panic!("{error}"));
    findings.claims.iter().map(|claim| claim.verdict).collect()
}

/// Columns of a run that papers use.
const ALL_COLUMNS: [&str; 16] = [
    "erase_blocks",
    "gc_move_pages",
    "map_bytes",
    "parity_write_pages",
    "pre_read_pages",
    "programs_per_member_page",
    "read_bytes",
    "read_mean_ns",
    "requests",
    "response_deviation_ns",
    "response_mean_ns",
    "response_p999_ns",
    "simulated_ns",
    "write_mean_ns",
    "written_bytes",
    "write_requests",
];
