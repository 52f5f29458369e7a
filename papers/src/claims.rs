//! The claims of a paper, each beside what was measured, with a verdict and what speaks for it.

use minijinja::value::Value;
use serde_json::{Map, json};

use crate::document::{Claim, Text};
use crate::error::Error;
use crate::language::{NOTHING, Names, of_json, of_table};
use crate::paper::Paper;
use crate::point::{Attributes, Measured, More};
use crate::text::table;
use crate::verdict::Verdict;

/// A claim that was judged.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which: `4a`.
    pub id: String,
    /// What it says.
    pub what: String,
    /// What the paper printed.
    pub printed: String,
    /// What was measured, a text for each column; the verdict is on the first that it is measured in.
    pub measured: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// What speaks for it: the likely reason, with its figures.
    pub rationale: String,
}

/// All claims that were asked for.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Title of each column of what was measured, and its name for programs.
    columns: Vec<(String, String)>,
    /// In the paper's order.
    pub claims: Vec<Finding>,
}

impl Paper {
    /// Judges the claims of these ids by what was `measured`.
    ///
    /// # Errors
    /// What is wrong in the paper's file: an unknown column, a bad expression.
    pub fn findings(
        &self,
        ids: &[String],
        measured: &[Measured],
        more: &More<'_>,
    ) -> Result<Findings, Error> {
        let columns =
            self.document.column.iter().map(|column| (column.title.to_string(), column.key.to_string()));
        let asked = self.document.claim.iter().filter(|claim| ids.iter().any(|id| **id == *claim.id));
        let claims = asked.map(|claim| self.judge(claim, measured, more)).collect::<Result<_, _>>()?;
        Ok(Findings { columns: columns.collect(), claims })
    }

    fn judge(&self, claim: &Claim, measured: &[Measured], more: &More<'_>) -> Result<Finding, Error> {
        // Keys that are missing were refused when the file was read.
        let key = |text: &Option<Text>| text.clone().unwrap_or_default();
        let text = |template: &Option<Text>, names: &Attributes| {
            self.language.line(&key(template), &Names::value("name", names.clone()))
        };
        let expression = |text: &Option<Text>, names: &Attributes| {
            self.language.expression(&key(text), &Names::value("name", names.clone()))
        };
        let mut names = self.names(measured, more)?;
        names.extend(of_table(&claim.set));
        let (mut shown, mut values, mut judged) = (Vec::new(), Vec::new(), None);
        for column in &self.document.column {
            if claim.columns.as_ref().is_some_and(|keys| keys.iter().all(|key| **key != *column.key)) {
                shown.push(NOTHING.to_owned());
                values.push(Value::from(()));
                continue;
            }
            let mut names = names.clone();
            names.insert("points".to_owned(), self.select(column.points.as_ref(), measured)?);
            names.extend(of_table(&column.set));
            self.define("name", claim.define.as_ref().unwrap_or(&Vec::new()), &mut names)?;
            let value = expression(&claim.value, &names)?;
            names.insert("value".to_owned(), value.clone());
            shown.push(text(&claim.shown, &names)?);
            values.push(value);
            judged.get_or_insert(names);
        }
        let mut names = judged.unwrap_or(names);
        names.insert("values".to_owned(), values.into());
        let word = expression(&claim.verdict, &names)?;
        let verdict =
            word.to_string().parse().map_err(|error| self.language.error(&key(&claim.verdict), error))?;
        names.insert("verdict".to_owned(), word);
        let rationale = text(&claim.rationale, &names)?;
        let rationale = rationale.trim_end_matches(';');
        Ok(Finding {
            id: claim.id.to_string(),
            what: text(&claim.what, &names)?,
            printed: key(&claim.printed).to_string(),
            measured: shown,
            verdict,
            // The word alone where nothing speaks for it.
            rationale: if rationale.is_empty() { verdict.to_string() } else { rationale.to_owned() },
        })
    }

    /// The names that every claim and table finds: constants, further findings, and all points.
    pub(crate) fn names(&self, measured: &[Measured], more: &More<'_>) -> Result<Attributes, Error> {
        let mut names = self.constants.clone();
        names.extend(more.iter().map(|(name, value)| ((*name).to_owned(), of_json(value))));
        names.insert("all".to_owned(), measured.iter().map(Measured::value).collect());
        self.define("name", &self.document.evaluation, &mut names)?;
        Ok(names)
    }

    /// The points for which an expression is true.
    pub(crate) fn select(&self, which: Option<&Text>, measured: &[Measured]) -> Result<Value, Error> {
        let mut points = Vec::new();
        for one in measured {
            if self.language.holds(which, &one.value())? {
                points.push(one.value());
            }
        }
        Ok(points.into())
    }
}

impl Findings {
    /// The titles of the columns of the table of claims.
    pub(crate) fn head(&self) -> Vec<&str> {
        let measured = self.columns.iter().map(|(title, _)| title.as_str());
        ["", "result", "printed"].into_iter().chain(measured).chain(["verdict"]).collect()
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let row = |claim: &Finding| {
            let before = [claim.id.clone(), claim.what.clone(), claim.printed.clone()];
            before
                .into_iter()
                .chain(claim.measured.iter().cloned())
                .chain([claim.verdict.to_string()])
                .collect()
        };
        self.claims.iter().map(row).collect()
    }

    /// The table of claims, and below it the rationales, as Markdown that a terminal shows well too.
    pub fn markdown(&self) -> String {
        let (head, claims) = (self.head(), self.rows());
        let mut rows = table(&head);
        claims.iter().for_each(|claim| _ = rows.add_row(claim));
        let rationales = self.claims.iter().map(|claim| format!("- {}: {}\n", claim.id, claim.rationale));
        format!("{rows}\n\n{}", rationales.collect::<String>())
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        let claim = |claim: &Finding| {
            let mut value = Map::new();
            let mut set = |key: &str, text: &str| _ = value.insert(key.to_owned(), json!(text));
            set("row", &claim.id);
            set("result", &claim.what);
            set("printed", &claim.printed);
            for ((_, key), text) in self.columns.iter().zip(&claim.measured) {
                set(key, text);
            }
            set("verdict", &claim.verdict.to_string());
            set("reason", &claim.rationale);
            serde_json::Value::Object(value)
        };
        self.claims.iter().map(claim).collect()
    }
}
