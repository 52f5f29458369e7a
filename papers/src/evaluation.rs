//! What the evaluations of all papers have in common: results with names, what is asked for, studies.

use std::fmt::Display;
use std::path::PathBuf;

use stripewise_study::{Error, SchemeSpec, Span, StudySpec, smallest_bytes};

use crate::slice::{self, Slice};

/// The results of a paper, as this project numbers them.
pub trait Results: Copy + Ord + 'static {
    /// The paper: `000`.
    const PAPER: &'static str;
    /// All, in order.
    const ALL: &'static [Self];
    /// The real traces of which slices are replayed.
    const SLICES: &'static [Slice];

    /// As the table names it: `0a`.
    fn name(self) -> &'static str;
}

/// The results that `names` ask for, in order and each once; all where nothing is asked for.
///
/// # Errors
/// A name that the paper has not.
pub fn rows<R: Results>(names: &[String]) -> Result<Vec<R>, String> {
    let find = |name: &String| {
        let found = R::ALL.iter().copied().find(|row| row.name() == name);
        let (first, last) = (R::ALL[0].name(), R::ALL[R::ALL.len() - 1].name());
        found.ok_or_else(|| format!("`{name}`: no such result; paper {} has {first} to {last}", R::PAPER))
    };
    let mut rows = names.iter().map(find).collect::<Result<Vec<R>, String>>()?;
    if rows.is_empty() {
        rows = R::ALL.to_vec();
    }
    rows.sort();
    rows.dedup();
    Ok(rows)
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options<R> {
    /// Replay only so many requests of each workload.
    pub requests: Option<u64>,
    /// Replay a part of each workload where nothing is said of how many requests: what the paper's module says.
    pub quick: bool,
    /// Where the real traces lie, if they are to be replayed.
    pub traces: Option<PathBuf>,
    /// Which results.
    pub rows: Vec<R>,
    /// Seed of everything random.
    pub seed: u64,
    /// The directory of results.
    pub out: PathBuf,
}

impl<R: Results> Options<R> {
    /// The real traces that are asked for and are there: each with its file.
    pub(crate) fn slices(&self) -> impl Iterator<Item = (PathBuf, Slice)> {
        self.asked().filter(|(path, _)| path.is_file())
    }

    /// The real traces that are asked for and are not there.
    pub fn missing(&self) -> Vec<String> {
        let absent = self.asked().filter(|(path, _)| !path.is_file());
        absent.map(|(path, slice)| format!("{}: no file {}", slice.workload, path.display())).collect()
    }

    fn asked(&self) -> impl Iterator<Item = (PathBuf, Slice)> {
        let root = self.traces.as_deref().filter(|_| !self.rows.is_empty());
        root.into_iter().flat_map(|root| slice::files(root, R::SLICES))
    }
}

/// Where a study's requests come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// Generated to what the paper says of them.
    Generated,
    /// A part of a real trace.
    Slice,
}

/// One study of an evaluation: several schemes over the same requests.
pub trait Cell: Display {
    /// The results of the paper that it is a part of.
    type Results: Results;

    /// Where its requests come from.
    fn traces(&self) -> Traces;

    /// The study.
    ///
    /// # Errors
    /// A real trace that cannot be read; otherwise none as long as the paper's schemes and devices are shipped.
    fn study(&self, options: &Options<Self::Results>) -> Result<StudySpec, Error>;
}

/// `spec` over the span that a paper's comparison has: what the smallest of `all` holds at first, its schemes as the command line
/// takes them. It does not depend on which of them `spec` asks for, so a part of a comparison gets the requests of the whole.
///
/// # Errors
/// None as long as the paper's schemes and devices are shipped.
pub(crate) fn over_span_of(
    spec: StudySpec,
    all: impl IntoIterator<Item = String>,
) -> Result<StudySpec, Error> {
    let schemes = all.into_iter().map(|scheme| SchemeSpec::parse(&scheme)).collect::<Result<_, _>>()?;
    let span = Span::Bytes(smallest_bytes(&StudySpec { schemes, ..spec.clone() })?);
    Ok(StudySpec { span, ..spec })
}

#[cfg(test)]
mod tests {
    use stripewise_study::Study;

    use super::*;
    use crate::paper003::Row;
    use crate::{default_scheme, paper003};

    #[test]
    fn results_come_in_order_and_once_and_unknown_ones_are_told() {
        let of =
            |names: &[&str]| rows::<Row>(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["3d", "3a", "3d"]), Ok(vec![Row::A, Row::D]));
        assert_eq!(of(&[]).map(|rows| rows.len()), Ok(12));
        assert_eq!(of(&["3a", "0a"]), Err("`0a`: no such result; paper 003 has 3a to 3l".to_owned()));
    }

    fn options<R: Results>(rows: &[R]) -> Options<R> {
        let rows = rows.to_vec();
        Options { requests: Some(10_000), quick: true, traces: None, rows, seed: 1, out: "results".into() }
    }

    /// Every study by its name, with its span: as the paper has it, and as each of its schemes alone has it.
    fn spans<C: Cell>(cells: &[C], options: &Options<C::Results>) -> Vec<(String, u64)> {
        let of = |spec: StudySpec| Study::new(spec, &()).map(|study| study.span_bytes());
        let mut all = Vec::new();
        for cell in cells {
            let spec = cell.study(options).unwrap_or_else(|error| panic!("{cell}: {error}"));
            let whole = of(spec.clone()).unwrap_or_else(|error| panic!("{cell}: {error}"));
            // No smaller than has to be: the span of the paper's evaluation as it was measured.
            assert_eq!(smallest_bytes(&spec).ok(), Some(whole), "{cell}");
            for one in &spec.schemes {
                let schemes = vec![one.clone()];
                assert_eq!(of(StudySpec { schemes, ..spec.clone() }).ok(), Some(whole), "{cell}: {one:?}");
            }
            all.push((cell.to_string(), whole));
        }
        all
    }

    #[test]
    fn each_scheme_of_a_paper_gets_the_requests_of_the_whole_comparison_when_it_runs_alone() {
        let few = |count: usize, spans: Vec<(String, u64)>| assert!(spans.len() >= count, "{spans:?}");
        let of_003 = options(Row::ALL);
        few(2, spans(&paper003::cells(&of_003)[..2], &of_003));
        let of_all = options(default_scheme::Row::ALL);
        let each = default_scheme::cells(&of_all).unwrap_or_else(|error| panic!("{error}"));
        few(5, spans(&each[each.len() - 5..], &of_all));
    }
}
