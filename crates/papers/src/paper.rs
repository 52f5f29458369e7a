//! A paper: its file, read and ready to be asked.

use std::path::PathBuf;
use std::sync::Arc;

use stripewise_base::suggest::unknown;
use stripewise_results::Figure;
use stripewise_runs::Finished;

use crate::collections;
use crate::document::Document;
use crate::error::Error;
use crate::language::{Language, of_json, of_table};
use crate::point::{Attributes, Columns, Measured, MeasuredPoint, More, PointRun, StudyPoint};

/// A paper's number, its file, the text of that, and its macros.
macro_rules! shipped {
    ($number:literal) => {
        (
            $number,
            concat!("crates/papers/data/paper", $number, ".toml"),
            include_str!(concat!("../data/paper", $number, ".toml")),
            include_str!(concat!("../data/paper", $number, ".jinja")),
        )
    };
}

/// The papers.
const SHIPPED: [(&str, &str, &str, &str); 5] =
    [shipped!("000"), shipped!("001"), shipped!("002"), shipped!("003"), shipped!("004")];

/// What is measured of the claims that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All columns, and all maps where all claims are asked for.
    #[default]
    All,
    /// The columns that are judged.
    Judged,
    /// What each becomes by one change at a time: the columns that change one thing, and those that they change.
    Explained,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct EvaluationOptions {
    /// Replay only this number of requests of each workload.
    pub requests: Option<u64>,
    /// Replay a part of each workload where nothing is said of how many requests: what the paper's file says.
    pub quick: bool,
    /// Where the real traces lie, if they are to be replayed.
    pub traces: Option<PathBuf>,
    /// Ids of claims, in order.
    pub claims: Vec<String>,
    /// What of them is measured.
    pub part: Part,
    /// Seed of everything random.
    pub seed: u64,
    /// The directory of results.
    pub out: PathBuf,
}

/// The claims of `all`, those of a paper, that `ids` ask for, in order and each once; all where nothing is asked for.
///
/// # Errors
/// An id that the paper has not.
pub fn claims_of(paper: &str, all: Vec<String>, ids: &[String]) -> Result<Vec<String>, String> {
    if let Some(id) = ids.iter().find(|id| !all.contains(id)) {
        let (first, last) = (&all[0], &all[all.len() - 1]);
        return Err(format!("`{id}`: no such result; paper {paper} has {first} to {last}"));
    }
    Ok(all.into_iter().filter(|id| ids.is_empty() || ids.contains(id)).collect())
}

/// A paper.
#[derive(Debug)]
pub struct Paper {
    pub(crate) document: Document,
    pub(crate) language: Language,
    pub(crate) constants: Attributes,
    schemes: Arc<[String]>,
}

impl Paper {
    /// The shipped paper of that number.
    ///
    /// # Errors
    /// There is none; or its file is wrong, which a test excludes.
    pub fn find(number: &str) -> Result<Self, Error> {
        let found = SHIPPED.iter().find(|(one, ..)| *one == number);
        let (_, file, text, macros) = found
            .ok_or_else(|| Error::Unknown(unknown("paper", number, &SHIPPED.map(|(number, ..)| number))))?;
        Self::read(file, text, macros)
    }

    /// Numbers of the shipped papers.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(number, ..)| *number)
    }

    /// Reads `text`, the contents of `file`, whose texts may use the Jinja `macros`.
    ///
    /// # Errors
    /// What is no TOML, an unknown key, a duplicate id, a reference to what is not there.
    pub fn read(file: &str, text: &str, macros: &str) -> Result<Self, Error> {
        let document = Document::read(file, text)?;
        let language = Language::new(file, text, macros);
        let constants = of_table(&document.constants).collect();
        let schemes = document.scheme.iter().map(|scheme| scheme.id.to_string()).collect();
        Ok(Self { document, language, constants, schemes })
    }

    /// Its number: `004`.
    pub fn number(&self) -> &str {
        &self.document.paper
    }

    /// The ids of its claims, in order.
    pub fn claims(&self) -> Vec<String> {
        self.document.claim.iter().map(|claim| claim.id.to_string()).collect()
    }

    /// What `finished`, the runs of `point`, measured; `more` is what was counted besides of the whole point.
    ///
    /// # Errors
    /// When their tables cannot be read, or what is wrong in the paper's file.
    pub fn measure(
        &self,
        point: &StudyPoint,
        finished: &[Finished],
        more: &More<'_>,
    ) -> Result<Measured, Error> {
        let mut runs = Vec::new();
        for one in finished {
            let mut columns = totals(one)?;
            if self.document.collections {
                collections::add(&mut columns, one)?;
            }
            runs.push(columns);
        }
        self.measured(point, runs, more)
    }

    /// The same of the columns of each run, in the order of the point's schemes.
    ///
    /// # Errors
    /// What is wrong in the paper's file: a metric of a column that is not there.
    pub fn measured(
        &self,
        point: &StudyPoint,
        columns: Vec<Columns>,
        more: &More<'_>,
    ) -> Result<Measured, Error> {
        let mut runs = Vec::new();
        for (id, Columns(mut values)) in point.schemes.iter().zip(columns) {
            let scheme = self.scheme(id, &self.document.spec.schemes)?;
            self.define("column", &self.document.metric, &mut values)?;
            let text = self.language.line(&scheme.scheme, &point.names())?;
            for (name, value) in [("id", id), ("name", &scheme.name), ("scheme", &text)] {
                values.insert(name.to_owned(), value.into());
            }
            runs.push(Arc::new(PointRun { scheme: id.clone(), values }));
        }
        let mut attributes = point.attributes.clone();
        attributes.extend(more.iter().map(|(name, value)| ((*name).to_owned(), of_json(value))));
        let with =
            |attributes| MeasuredPoint { attributes, runs: runs.clone(), schemes: Arc::clone(&self.schemes) };
        let mut measured = Measured(Arc::new(with(attributes.clone())));
        for (name, text) in self.document.measured.iter().flatten() {
            let value = self.language.expression(text, &measured.value())?;
            attributes.insert(name.clone(), value);
            measured = Measured(Arc::new(with(attributes.clone())));
        }
        Ok(measured)
    }

    /// How a report names the workload of a point: empty where its runs are no part of it, none where the trace's own name
    /// stands.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn report_name(&self, point: &StudyPoint) -> Result<Option<String>, Error> {
        let template = self.document.spec.report.as_ref();
        template.map(|template| self.language.line(template, &point.names())).transpose()
    }

    /// Whether its texts state what choosing a parity update routine costs.
    pub fn has_decisions(&self) -> bool {
        self.document.decisions
    }
}

/// The totals of a run.
fn totals(finished: &Finished) -> Result<Columns, Error> {
    let mut columns = Columns::default();
    for total in finished.run.totals()?.iter() {
        let value = match total.value {
            Figure::Count(count) => count as f64,
            Figure::Real(real) => real,
        };
        columns.set(&total.name, value);
    }
    Ok(columns)
}
