//! The figures and tables that a paper prints: the claims that are taken from each, and the command that shows it.

use crate::document::FigureText;
use crate::paper::Paper;

/// A figure or a table of a paper, or a part of its text that makes claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedFigure {
    /// As the paper calls it: `Fig. 4(a)`.
    pub id: String,
    /// What it shows.
    pub shows: String,
    /// The claims that are taken from it.
    pub claims: Vec<String>,
    /// The files of an evaluation that show it.
    pub files: Vec<&'static str>,
    /// The command that shows it; none where nothing does.
    pub command: Option<String>,
    /// Why nothing shows it.
    pub why: Option<String>,
}

/// The file of an evaluation's figures.
const REPORT: &str = "report.html";

/// The name of the file of an evaluation's tables.
pub const TABLES: &str = "tables.html";

impl Paper {
    /// The figures and tables that the paper prints, in its order.
    pub fn figures(&self) -> Vec<PrintedFigure> {
        self.document.figure.iter().map(|figure| self.printed(figure)).collect()
    }

    fn printed(&self, figure: &FigureText) -> PrintedFigure {
        let claims: Vec<String> = figure.claims.iter().map(|claim| (**claim).to_owned()).collect();
        let files: Vec<&str> = [(figure.report, REPORT), (figure.tables, TABLES)]
            .into_iter()
            .filter_map(|(is_in, file)| is_in.then_some(file))
            .collect();
        let evaluation = || {
            let rows =
                if claims.is_empty() { String::new() } else { format!(" --rows {}", claims.join(",")) };
            (!files.is_empty()).then(|| format!("stripewise paper {}{rows}", self.number()))
        };
        PrintedFigure {
            id: figure.id.to_string(),
            shows: figure.shows.to_string(),
            command: figure.command.as_deref().map(str::to_owned).or_else(evaluation),
            why: figure.why.as_deref().map(str::to_owned),
            claims,
            files,
        }
    }
}
